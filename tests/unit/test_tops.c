/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and call trees of a profile, and how they read as text. */
#include "analyze/calls.h"
#include "analyze/fold.h"
#include "analyze/tops.h"
#include "render/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct store s;
    struct profile p;
};

static void add(struct world *w, const char *stack, uint64_t value)
{
    char *copy = mem_strdup(stack), *rest = copy, *name;
    uint32_t id = 0;

    while ((name = strsep(&rest, ";"))) {
        struct frame f = {.kind = FRAME_NATIVE, .func = strtab_add(&w->s.strings, name)};

        id = stacks_push(&w->s.stacks, id, frames_add(&w->s.frames, &f));
    }
    *vec_push(&w->s.events) = (struct event){.value = value, .stack = id, .kind = EVENT_SAMPLE};
    free(copy);
}

static void world_init(struct world *w)
{
    struct fold_opts o = {0};
    struct err e;

    *w = (struct world){0};
    add(w, "main;f;f;f", 10); /* f calls itself */
    add(w, "main;f;g;f;leaf", 20);
    add(w, "main;h;leaf", 30);
    add(w, "main", 40);
    assert_int_equal(fold_store(&w->p, &w->s, 0, &o, &e), 0);
}

static void world_release(struct world *w)
{
    profile_release(&w->p);
    store_release(&w->s);
}

static void functions(void **state)
{
    struct text_style style = {0};
    struct buf out = {0};
    struct world w;
    struct table t;

    world_init(&w);
    tops_functions(&t, &w.p, 0, TOPS_FUNCTION, 0, 0);
    text_table(&t, "Self", &style, &out);
    assert_string_equal(out.data, "Self\n"
                                  "    self        total       kind    name  in\n"
                                  "  50.0 %  50   50.0 %   50  native  leaf\n"
                                  "  40.0 %  40  100.0 %  100  native  main\n"
                                  "  10.0 %  10   30.0 %   30  native  f\n");
    table_release(&t);
    buf_clear(&out);
    tops_functions(&t, &w.p, 0, TOPS_FUNCTION, 1, 2);
    text_table(&t, "Total", &style, &out);
    assert_non_null(strstr(out.data, "main"));
    assert_non_null(strstr(out.data, "leaf"));
    assert_null(strstr(out.data, " f\n"));
    assert_non_null(strstr(out.data, "... 3 more"));
    table_release(&t);
    buf_release(&out);
    world_release(&w);
}

static void check_calls(struct world *w, const char *name, int callers, const char *text)
{
    struct text_style style = {0};
    struct buf out = {0};
    struct profile c;
    struct err e = {0};

    assert_int_equal(calls_profile(&c, &w->p, 0, name, callers, &e), 0);
    text_tree(&c, 0, 0, &style, &out);
    assert_string_equal(out.data, text);
    buf_release(&out);
    profile_release(&c);
}

static void calls(void **state)
{
    struct profile c;
    struct err e = {0};
    struct world w;

    world_init(&w);
    check_calls(&w, "leaf", 1,
                "    total     self\n"
                "  100.0 %           leaf\n"
                "   60.0 %           ├ h\n"
                "   60.0 %   60.0 %  │ main\n"
                "   40.0 %           └ f\n"
                "   40.0 %             g\n"
                "   40.0 %             f\n"
                "   40.0 %   40.0 %    main\n");
    check_calls(&w, "f", 1, /* recursion: of each sample the innermost call */
                "    total     self\n"
                "  100.0 %           f\n"
                "   66.7 %           ├ g\n"
                "   66.7 %           │ f\n"
                "   66.7 %   66.7 %  │ main\n"
                "   33.3 %           └ f\n"
                "   33.3 %             f\n"
                "   33.3 %   33.3 %    main\n");
    check_calls(&w, "f", 0,
                "    total     self\n"
                "  100.0 %           f\n"
                "   66.7 %           ├ g\n"
                "   66.7 %           │ f\n"
                "   66.7 %   66.7 %  │ leaf\n"
                "   33.3 %           └ f\n"
                "   33.3 %   33.3 %    f\n");
    check_calls(&w, "eaf", 0, "    total     self\n  100.0 %  100.0 %  leaf\n"); /* a part of a name */
    assert_int_equal(calls_profile(&c, &w.p, 0, "mian", 0, &e), -1);
    assert_non_null(strstr(e.msg, "did you mean 'main'"));
    profile_release(&c);
    world_release(&w);
}

static void long_names_lose_their_middle(void **state)
{
    struct buf out = {0};

    text_clean("abcdefghijklmnop", 7, &out);
    assert_string_equal(out.data, "abcd…op");
    buf_clear(&out);
    text_clean("\xc3\xa4\xc3\xa4\x1b[1m\xff\xc2\x85", 0, &out);
    assert_string_equal(out.data, "\xc3\xa4\xc3\xa4?[1m??");
    buf_clear(&out);
    text_clean("void f<int, 2>(int, (anonymous namespace)::g, long)", 24,
               &out); /* what tells it apart stays */
    assert_string_equal(buf_str(&out), "void f<int, 2>(…)");
    buf_clear(&out);
    text_clean("void f<int, 2>(int, long)", 12, &out);
    assert_string_equal(buf_str(&out), "void f…2>(…)");
    buf_clear(&out);
    text_clean("long_name (file.py:12)", 12, &out); /* a place, no arguments */
    assert_string_equal(buf_str(&out), "long_nam…12)");
    buf_clear(&out);
    text_clean("short", 7, &out);
    assert_string_equal(out.data, "short");
    buf_release(&out);
}

static void tree_sums_up_the_small(void **state)
{
    struct text_style style = {0};
    struct buf out = {0};
    struct fold_opts o = {0};
    struct world w = {0};
    struct err e;

    add(&w, "main;big", 95);
    add(&w, "main;small1", 2);
    add(&w, "main;small2", 3);
    assert_int_equal(fold_store(&w.p, &w.s, 0, &o, &e), 0);
    text_tree(&w.p, 0, 0.1, &style, &out);
    assert_string_equal(out.data, "    total     self\n"
                                  "  100.0 %           main\n"
                                  "   95.0 %   95.0 %  ├ big\n"
                                  "    5.0 %           └ (2 smaller)\n");
    buf_release(&out);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions),
        cmocka_unit_test(calls),
        cmocka_unit_test(long_names_lose_their_middle),
        cmocka_unit_test(tree_sums_up_the_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
