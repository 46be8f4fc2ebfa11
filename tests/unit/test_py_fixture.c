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

/*
 * Free-threaded 3.14: each thread runs a copy of the bytecode of its own, so the instruction is found from
 * its copy's start. Invented memory, laid out as its headers say (Include/cpython/code.h,
 * pycore_interpframe_structs.h).
 */
enum {
    BASE = 0x10000,
    INTERP = 0x10400,
    TSTATE = 0x10800,
    FRAME = 0x10c00,
    SHIM = 0x10d00,
    CODE = 0x11000,
    COPIES = 0x11200,
    OWN_COPY = 0x11800,
    CODE_TYPE = 0x7000,
    NAME = 0x11400,
    FILENAME = 0x11500
};

struct invented {
    uint8_t bytes[0x2000];
};

static int invented_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    const struct invented *m = ctx;

    if (addr < BASE || addr + n > BASE + sizeof(m->bytes))
        return -1;
    memcpy(dst, m->bytes + (addr - BASE), n);
    return 0;
}

static void invent(struct invented *m, uint64_t addr, uint64_t v)
{
    memcpy(m->bytes + (addr - BASE), &v, sizeof(v));
}

static void invent_thread(struct invented *m, const struct py_layout *l)
{
    invent(m, BASE + l->interp_head, INTERP);
    invent(m, INTERP + l->interp_threads, TSTATE);
    invent(m, TSTATE + l->ts_thread_id, 77);
    invent(m, TSTATE + l->ts_interp, INTERP);
    invent(m, TSTATE + l->ts_frame, FRAME);
    invent(m, FRAME + l->frame_code, CODE | 1);
    invent(m, FRAME + l->frame_back, SHIM);
    invent(m, FRAME + l->frame_instr, OWN_COPY + 6);
    invent(m, FRAME + l->frame_tlbc, 2); /* with it owner 0: a thread's frame */
    m->bytes[SHIM - BASE + l->frame_owner] = 3;
    invent(m, CODE + l->code_type, CODE_TYPE);
    invent(m, CODE + l->code_firstline, 12);
    invent(m, CODE + l->code_qualname, NAME);
    invent(m, CODE + l->code_filename, FILENAME);
    invent(m, CODE + l->code_tlbc, COPIES);
    invent(m, COPIES, 3);
    invent(m, COPIES + 8, CODE + l->code_start);
    invent(m, COPIES + 24, OWN_COPY);
}

static void test_copied_bytecode(void **state)
{
    struct py_layout l = *py_layout_of(0x030e);
    static struct invented m;
    struct py_mem mem = {invented_read, &m};
    struct py_proc proc = {.runtime = BASE, .code_type = CODE_TYPE};
    struct py_stack st;

    (void)state;
    l.flags |= PY_LAYOUT_FREE_THREADED;
    l.interp_next = 0x100;
    l.interp_threads = 0x108;
    l.frame_tlbc = 72;
    l.frame_owner = 78;
    l.frame_len = 79;
    l.code_type = 24;
    l.code_firstline = 84;
    l.code_filename = 128;
    l.code_name = 136;
    l.code_qualname = 144;
    l.code_linetable = 152;
    l.code_version = 108;
    l.code_tlbc = 224;
    l.code_start = 232;
    invent_thread(&m, &l);
    py_walk_thread(&st, &mem, &l, &proc, 77, NULL);
    assert_int_equal(st.walk.status, PY_DONE);
    assert_int_equal(st.walk.n, 1);
    assert_int_equal(st.frames[0].code, CODE);
    assert_int_equal(st.frames[0].firstline, 12);
    assert_int_equal(st.frames[0].lasti, 6);
    assert_int_equal(st.frames[0].addr, SHIM);
    assert_int_equal(st.frames[0].flags, PY_FRAME_ENTRY);
    invent(&m, FRAME + l.frame_tlbc, 500); /* no such copy: the line can't be told */
    py_walk_thread(&st, &mem, &l, &proc, 77, NULL);
    assert_int_equal(st.walk.n, 1);
    assert_int_equal(st.frames[0].flags, PY_FRAME_ENTRY | PY_FRAME_LINE_UNSURE);
}

int main(void)
{
    static const char *const versions[] = {"3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"};
    const struct CMUnitTest other[] = {cmocka_unit_test(test_codes), cmocka_unit_test(test_copied_bytecode)};
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
