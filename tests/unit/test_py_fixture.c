/* SPDX-License-Identifier: Apache-2.0 */
/* The walker and the readers over recorded memory of CPython 3.8 to 3.14: no process, no root, no
 * interpreter. */
#include "test_py.h"

#include "test_py_fixture.h"

#include "base/hash.h"

#define FIXTURES "tests/fixtures/python"

static void load(struct fixture *f, struct py_mem *mem, const char *version)
{
    char path[128];

    snprintf(path, sizeof(path), FIXTURES "/%s.zst", version);
    if (fixture_load(f, path))
        fail_msg("no %s", path);
    *mem = (struct py_mem){fixture_read, f};
}

static void test_known(void **state)
{
    struct fixture f;
    struct py_mem mem;
    struct py_stack st;

    load(&f, &mem, *state);
    py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
    check_known(&st, &mem, &f.head.layout, known_main, ARRAY_SIZE(known_main));
    py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.thread_id, NULL);
    check_known(&st, &mem, &f.head.layout, known_thread, ARRAY_SIZE(known_thread));
    fixture_release(&f);
}

/* The layout that was in use when it was recorded is still the one of the table. */
static void test_layout_kept(void **state)
{
    struct fixture f;
    struct py_mem mem;

    load(&f, &mem, *state);
    if (!(f.head.layout.flags & PY_LAYOUT_FREE_THREADED))
        assert_memory_equal(&f.head.layout, py_layout_of(f.head.layout.version), sizeof(struct py_layout));
    fixture_release(&f);
}

/* Memory that can't be read at any one place must end the walk, with the frames so far. */
struct holes {
    struct fixture *f;
    size_t n, fail_at;
};

static int holes_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct holes *h = ctx;

    return h->n++ == h->fail_at ? -1 : fixture_read(h->f, addr, dst, n);
}

static void test_holes(void **state)
{
    struct fixture f;
    struct py_mem mem;
    struct py_stack whole, st;
    struct holes h = {&f, 0, SIZE_MAX};

    load(&f, &mem, *state);
    py_walk_thread(&whole, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
    mem = (struct py_mem){holes_read, &h};
    py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
    for (size_t last = h.n, i = 0; i < last; i++) {
        h.n = 0;
        h.fail_at = i;
        py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
        assert_true(st.walk.status == PY_READ || st.walk.bad == 1 ||
                    (st.walk.n == whole.walk.n && st.walk.status == PY_DONE));
        assert_true(st.walk.n <= whole.walk.n);
        for (uint32_t k = 0; k + st.walk.bad < st.walk.n; k++)
            assert_true(st.walk.bad || st.frames[k].code == whole.frames[k].code);
    }
    fixture_release(&f);
}

/* Bytes that changed: anything may come out of it, but nothing may be read or written out of bounds (see
 * SAN=1). */
static void test_flips(void **state)
{
    struct fixture f;
    struct py_mem mem;
    static struct py_stack st;
    uint64_t seed = 1;

    load(&f, &mem, *state);
    for (int round = 0; round < 2000; round++) {
        struct piece *x = &f.pieces.a[hash_u64(seed++) % f.pieces.n];
        uint8_t *at = x->n ? x->p + hash_u64(seed++) % x->n : NULL, was = at ? *at : 0;

        if (!at)
            continue;
        *at ^= (uint8_t)(1u << hash_u64(seed++) % 8);
        py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
        assert_true(st.walk.n <= PY_MAX_DEPTH);
        for (uint32_t k = 0; k < st.walk.n && k < 30; k++) {
            struct py_code c;
            struct py_str name, file;
            int unsure;

            if (!py_code_read(&c, &mem, &f.head.layout, &st.frames[k]))
                py_code_line(&c, &st.frames[k], &unsure);
            py_code_release(&c);
            py_walk_names(&mem, &f.head.layout, &st.frames[k], &name, &file);
            py_code_from_copy(&c, &name, &file, 1);
            py_code_release(&c);
        }
        *at = was;
    }
    fixture_release(&f);
}

/* A code object that is not one: PyCode_Type's address differs. */
static void test_not_code(void **state)
{
    struct fixture f;
    struct py_mem mem;
    struct py_stack st;

    load(&f, &mem, *state);
    f.head.proc.code_type ^= 64;
    py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
    assert_int_equal(st.walk.n, 0);
    assert_true(st.walk.bad >= ARRAY_SIZE(known_main));
    f.head.proc.code_type = 0; /* unknown: not checked */
    py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
    assert_true(st.walk.n >= ARRAY_SIZE(known_main));
    fixture_release(&f);
}

/* Names as BPF copies them: the same, or cut at PY_NAME_MAX bytes and marked. */
static void test_copied_names(void **state)
{
    struct fixture f;
    struct py_mem mem;
    struct py_stack st;

    load(&f, &mem, *state);
    py_walk_thread(&st, &mem, &f.head.layout, &f.head.proc, f.head.main_id, NULL);
    for (uint32_t k = 0; k < st.walk.n; k++) {
        struct py_str name, file;
        struct py_code whole, copy;

        py_walk_names(&mem, &f.head.layout, &st.frames[k], &name, &file);
        assert_int_equal(py_code_read(&whole, &mem, &f.head.layout, &st.frames[k]), 0);
        assert_int_equal(py_code_from_copy(&copy, &name, &file, st.frames[k].firstline), 0);
        assert_string_equal(copy.name, whole.name);
        assert_int_equal(strncmp(copy.file, whole.file, strcspn(copy.file, ".")), 0);
        assert_false(copy.has_lines);
        int unsure;
        assert_int_equal(py_code_line(&copy, &st.frames[k], &unsure), st.frames[k].firstline);
        assert_true(unsure);
        py_code_release(&whole);
        py_code_release(&copy);
    }
    fixture_release(&f);
}

static void test_codes(void **state)
{
    struct py_codes t = {0};
    struct py_frame f = {.code = 0x1000, .name = 7, .firstline = 3}, g = f;
    struct py_code c = {0};
    uint32_t id;

    (void)state;
    assert_int_equal(py_codes_find(&t, 1, &f), 0);
    id = py_codes_add(&t, 1, &f, &c); /* unreadable at first */
    assert_null(py_codes_get(&t, id)->name);
    c = (struct py_code){.name = mem_strdup("late"), .file = mem_strdup("x.py")};
    assert_int_equal(py_codes_add(&t, 1, &f, &c), id);
    assert_string_equal(py_codes_get(&t, id)->name, "late");
    g.firstline++; /* the address was reused: other identities */
    assert_int_equal(py_codes_find(&t, 1, &g), 0);
    g = f;
    g.name++;
    assert_int_equal(py_codes_find(&t, 1, &g), 0);
    assert_int_equal(py_codes_find(&t, 2, &f), 0); /* another process */
    assert_int_equal(py_codes_find(&t, 1, &f), id);
    py_codes_release(&t);
}

int main(void)
{
    static const char *const versions[] = {"3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"};
    const struct CMUnitTest other[] = {cmocka_unit_test(test_codes)};
    int failed = cmocka_run_group_tests_name("code objects", other, NULL, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        void *v = (void *)versions[i];
        struct CMUnitTest tests[] = {
            cmocka_unit_test_prestate(test_known, v),        cmocka_unit_test_prestate(test_layout_kept, v),
            cmocka_unit_test_prestate(test_holes, v),        cmocka_unit_test_prestate(test_not_code, v),
            cmocka_unit_test_prestate(test_copied_names, v), cmocka_unit_test_prestate(test_flips, v),
        };

        failed += cmocka_run_group_tests_name(versions[i], tests, NULL, NULL);
    }
    return failed != 0;
}
