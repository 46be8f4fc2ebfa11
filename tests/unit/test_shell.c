/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell, as a shell reads them. */
#include "base/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void as_the_shell_reads_it(void **state)
{
    static const char *const words[] = {"run/a-b_c.1,2:3@host",
                                        "r/b c;d\"\xc3\xa9",
                                        "it's",
                                        "'",
                                        "",
                                        "$HOME `id`",
                                        "~",
                                        "a\\b",
                                        "a\nb",
                                        "#",
                                        "*?[a]",
                                        "-x!"};

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        struct buf command = {0};
        char got[100];
        size_t n;
        FILE *f;

        buf_addstr(&command, "printf '%s' ");
        shell_word(&command, words[i]);
        f = popen(buf_str(&command), "r"); /* NOLINT: a shell is what is asked */
        assert_non_null(f);
        n = fread(got, 1, sizeof(got) - 1, f);
        got[n] = '\0';
        assert_int_equal(pclose(f), 0);
        assert_string_equal(got, words[i]);
        buf_release(&command);
    }
}

static void plain_words_stay(void **state)
{
    struct buf b = {0};

    (void)state;
    shell_word(&b, "wprof-train.py-20261130-101112-0a1b2c");
    assert_string_equal(buf_str(&b), "wprof-train.py-20261130-101112-0a1b2c");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_shell_reads_it),
        cmocka_unit_test(plain_words_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
