/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of ranges are a word and a number. */
#include "model/numbered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* want NULL: it is none. */
static void names(const char *text, const char *want, const char *mark)
{
    struct strtab t = {0};
    uint32_t word = 0, unit = 0;

    assert_int_equal(numbered_names(&t, text, &word, &unit), want != NULL);
    if (want) {
        assert_string_equal(strtab_get(&t, word), want);
        assert_string_equal(strtab_get(&t, unit), mark);
    }
    strtab_release(&t);
}

static void words_and_numbers(void **state)
{
    names("iteration 12", "iteration", "iteration 12");
    names("batch_0", "batch", "batch 0");
    names("ProfilerStep#7", "ProfilerStep", "ProfilerStep 7");
    names("epoch:3", "epoch", "epoch 3");
    names("iter12", "iter", "iter 12");
    names("step007", "step", "step 007");
    names("train step 4", "train step", "train step 4");
    names("conv2", NULL, NULL); /* a name, not the second of many */
    names("fp16", NULL, NULL);
    names("12", NULL, NULL);
    names("_12", NULL, NULL);
    names("step", NULL, NULL);
    names("step 4 of 7", "step 4 of", "step 4 of 7");
    names("", NULL, NULL);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
