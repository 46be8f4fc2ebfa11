/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection, walk and names on every CPython of this machine, without root. WPROF_PY_RECORD=DIR also writes
 * what was read as fixtures for test_py_fixture.c.
 */
#include "test_py.h"

#include "test_py_fixture.h"

static struct interpreters all;
static unsigned versions_seen; /* bit v: 3.v */

struct seen {
    struct running run;
    struct py_detector detector;
    struct py_target target;
    struct py_process *process;
    struct recorder recorder;
    struct py_mem mem;
    struct py_thread threads[16];
    int threads_n;
};

/* 0: skipped, a version that is refused, or that can't run the script. */
static int look(struct seen *s, const struct interpreter *x, const char *script, const char *arg)
{
    const char *argv[] = {x->exe, "-S", script, arg, NULL};
    struct err e = {""};
    int r;

    *s = (struct seen){0};
    assert_int_equal(running_start(&s->run, x, argv), 0);
    if (running_ready(&s->run)) { /* before 3.8 there is no module for subinterpreters */
        assert_string_not_equal(script, KNOWN);
        return 0;
    }
    r = detect_in_process(&s->detector, s->run.pid, &s->target, &e);
    if (r < 0) {
        print_message("# %s: %s\n", x->exe, e.msg);
        assert_non_null(strstr(e.msg, "is not a version that wprof reads"));
        return 0;
    }
    assert_int_equal(r, 1);
    s->process = py_process_new(s->run.pid);
    s->mem = py_process_mem(s->process);
    s->mem = recorder_start(&s->recorder, s->mem);
    if (py_walk_check(&s->mem, &s->target.layout, &s->target.proc, &e) != 1)
        fail_msg("%s: %s", x->exe, e.msg);
    s->threads_n = py_walk_list(s->threads, 16, &s->mem, &s->target.layout, &s->target.proc);
    return 1;
}

static void unlook(struct seen *s)
{
    running_end(&s->run);
    py_detector_release(&s->detector);
    free(s->process);
    recorder_release(&s->recorder);
}

static void test_known(void **state)
{
    const struct interpreter *x = *state;
    struct seen s;
    struct py_stack st;
    struct py_cache cache = {0};

    if (look(&s, x, KNOWN, NULL)) {
        print_message("# %s: CPython %u.%u\n", x->exe, s.target.layout.version >> 8,
                      s.target.layout.version & 255);
        versions_seen |= 1u << (s.target.layout.version & 255);
        assert_int_equal(s.threads_n, 2);
        for (int cached = 0; cached < 2; cached++) { /* newest first: [1] is the main thread */
            py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, s.threads[1].thread_id, &cache);
            assert_int_equal(st.walk.searched, cached ? 0 : 2);
            check_known(&st, &s.mem, &s.target.layout, known_main, ARRAY_SIZE(known_main));
            for (uint32_t i = 0; i < st.walk.n; i++)
                py_walk_names(&s.mem, &s.target.layout, &st.frames[i], &(struct py_str){0},
                              &(struct py_str){0});
        }
        py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, s.threads[0].thread_id, NULL);
        check_known(&st, &s.mem, &s.target.layout, known_thread, ARRAY_SIZE(known_thread));
        assert_int_equal(s.threads[1].native_id, s.run.pid);
        assert_int_not_equal(s.threads[0].native_id, s.run.pid);
        recorder_save(&s.recorder, &s.target, s.threads[1].thread_id, s.threads[0].thread_id);
    }
    unlook(&s);
}

static void test_no_thread_state(void **state)
{
    struct seen s;
    struct py_stack st;
    struct py_cache cache = {0};

    if (look(&s, *state, KNOWN, NULL)) {
        for (int again = 0; again < 2; again++) {
            py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, 0x1234, &cache);
            assert_int_equal(st.walk.status, PY_NO_THREAD);
            assert_int_equal(st.walk.n, 0);
            assert_int_equal(st.walk.searched, again ? 0 : 2); /* remembered that there is none */
        }
        /* Another thread's state in the cache must not be taken for this thread's. */
        cache.ts = s.threads[0].ts;
        py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, s.threads[1].thread_id, &cache);
        assert_int_equal(st.walk.ts, s.threads[1].ts);
        assert_int_equal(cache.ts, s.threads[1].ts);
    }
    unlook(&s);
}

static void test_long_name(void **state)
{
    struct seen s;
    struct py_stack st;
    struct py_code c;

    if (look(&s, *state, KNOWN, "long")) {
        py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, s.threads[0].thread_id, NULL);
        assert_int_equal(st.walk.n, 4);
        assert_int_equal(py_code_read(&c, &s.mem, &s.target.layout, &st.frames[1]), 0);
        assert_int_equal(strlen(c.name), PY_TEXT_MAX + 3);
        assert_string_equal(c.name + PY_TEXT_MAX - 1, "n...");
        py_code_release(&c);
        /* Another object in its place: the frame is no longer this code. */
        st.frames[1].firstline++;
        assert_int_equal(py_code_read(&c, &s.mem, &s.target.layout, &st.frames[1]), -1);
        st.frames[1].firstline--;
        st.frames[1].name++;
        assert_int_equal(py_code_read(&c, &s.mem, &s.target.layout, &st.frames[1]), -1);
    }
    unlook(&s);
}

/* Frames of a subinterpreter, and of the main one that called it, from the thread's two states. */
static void test_subinterpreter(void **state)
{
    static const char *const want[] = {"inner", "<module>", "outer", "main", "<module>"};
    struct seen s;
    struct py_stack st;
    struct py_cache cache = {0};

    if (look(&s, *state, "tests/fixtures/python/sub.py", NULL)) {
        assert_int_equal(s.threads_n, 2);
        assert_int_equal(s.threads[0].thread_id, s.threads[1].thread_id);
        for (int cached = 0; cached < 2; cached++) {
            py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, s.threads[0].thread_id, &cache);
            assert_int_equal(st.walk.status, PY_DONE);
            assert_int_equal(st.walk.n, ARRAY_SIZE(want));
            assert_int_equal(st.walk.ts, s.threads[0].ts);
            for (uint32_t i = 0; i < st.walk.n; i++) {
                struct py_code c;

                assert_int_equal(py_code_read(&c, &s.mem, &s.target.layout, &st.frames[i]), 0);
                assert_string_equal(c.name, want[i]);
                py_code_release(&c);
            }
        }
        /* A thread without a state: all interpreters are looked through again, since a state may have come.
         */
        cache = (struct py_cache){0};
        for (int i = 0; i < 2; i++) {
            py_walk_thread(&st, &s.mem, &s.target.layout, &s.target.proc, 0x1234, &cache);
            assert_int_equal(st.walk.status, PY_NO_THREAD);
            assert_true(st.walk.searched >= 2);
        }
    }
    unlook(&s);
}

/* Who has the GIL: nobody while all wait, the one that runs Python code while it does. */
static void test_gil(void **state)
{
    const struct interpreter *x = *state;
    const char *argv[] = {x->exe, "-S", "tests/fixtures/python/burn.py", "30", NULL};
    struct seen s;
    struct py_gil g;
    struct running run;
    int held = 0;

    if (look(&s, x, KNOWN, NULL)) {
        assert_int_equal(py_walk_gil(&g, &s.mem, &s.target.layout, &s.target.proc, s.threads[1].ts), 0);
        assert_int_equal(g.locked, 0);
        assert_true(g.holder == s.threads[0].ts || g.holder == s.threads[1].ts);
        assert_int_equal(running_start(&run, x, argv), 0);
        s.process->pid = run.pid;
        for (int i = 0; i < 3000 && held < 20; i++) {
            struct py_target t;
            struct err e = {""};

            usleep(10000);
            py_process_forget(s.process);
            if (!held && detect_in_process(&s.detector, run.pid, &t, &e) == 1)
                s.target = t;
            if (py_walk_list(s.threads, 16, &s.mem, &s.target.layout, &s.target.proc) != 2)
                continue;
            if (!py_walk_gil(&g, &s.mem, &s.target.layout, &s.target.proc, s.threads[1].ts))
                held += g.locked && g.holder == s.threads[1].ts;
        }
        if (s.target.layout.flags & PY_LAYOUT_FREE_THREADED)
            assert_int_equal(held, 0);
        else
            assert_int_equal(held, 20);
        running_end(&run);
    }
    unlook(&s);
}

static void test_have_version(void **state)
{
    if (!(versions_seen & 1u << (size_t)*state)) {
        print_message("# no CPython 3.%zu here (pyenv, or tests/tools/fetch-pythons.sh)\n", (size_t)*state);
        skip();
    }
}

int main(void)
{
    struct CMUnitTest have[PY_VERSION_MAX - PY_VERSION_MIN + 1];
    char names[ARRAY_SIZE(have)][16];
    int failed = 0;

    interpreters_find(&all);
    for (size_t i = 0; i < all.n; i++) {
        struct CMUnitTest tests[] = {
            cmocka_unit_test_prestate(test_known, &all.a[i]),
            cmocka_unit_test_prestate(test_no_thread_state, &all.a[i]),
            cmocka_unit_test_prestate(test_long_name, &all.a[i]),
            cmocka_unit_test_prestate(test_subinterpreter, &all.a[i]),
            cmocka_unit_test_prestate(test_gil, &all.a[i]),
        };

        failed += cmocka_run_group_tests_name(all.a[i].exe, tests, NULL, NULL);
    }
    for (size_t i = 0; i < ARRAY_SIZE(have); i++) {
        snprintf(names[i], sizeof(names[i]), "CPython 3.%zu", i + (PY_VERSION_MIN & 255));
        have[i] = (struct CMUnitTest){names[i], test_have_version, NULL, NULL,
                                      (void *)(i + (PY_VERSION_MIN & 255))};
    }
    failed += cmocka_run_group_tests_name("versions", have, NULL, NULL);
    return failed != 0;
}
