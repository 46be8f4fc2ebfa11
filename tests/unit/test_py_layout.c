/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layouts against CPython's own headers, where they are installed, and hostile _Py_DebugOffsets.
 */
#include "test_py.h"

#include "test_py_fixture.h"

#include <sys/stat.h>

/* ---- headers ---- */

#define FIELD(name)                                                                                          \
    {                                                                                                        \
#name, offsetof(struct py_layout, name), sizeof(((struct py_layout *)0)->name)                       \
    }

static const struct field {
    const char *name;
    size_t at, size;
} fields[] = {
    FIELD(version),        FIELD(shim_owner),
    FIELD(str_shift),      FIELD(interp_head),
    FIELD(interp_next),    FIELD(interp_threads),
    FIELD(ts_prev),        FIELD(ts_next),
    FIELD(ts_interp),      FIELD(ts_thread_id),
    FIELD(ts_native_id),   FIELD(ts_frame),
    FIELD(ts_cframe),      FIELD(cframe_frame),
    FIELD(cframe_prev),    FIELD(frame_back),
    FIELD(frame_code),     FIELD(frame_instr),
    FIELD(frame_owner),    FIELD(code_type),
    FIELD(code_firstline), FIELD(code_filename),
    FIELD(code_name),      FIELD(code_qualname),
    FIELD(code_linetable), FIELD(code_start),
    FIELD(code_version),   FIELD(bytes_size),
    FIELD(bytes_data),     FIELD(str_length),
    FIELD(str_state),      FIELD(str_ascii),
    FIELD(str_compact),    FIELD(gil),
    FIELD(gil_locked),     FIELD(gil_holder),
    FIELD(gil_size),
};

static unsigned field_value(const struct py_layout *l, const struct field *f)
{
    uint16_t v16;
    uint8_t v8;

    memcpy(&v16, (const char *)l + f->at, f->size == 2 ? 2 : 1);
    memcpy(&v8, (const char *)l + f->at, 1);
    return f->size == 2 ? v16 : v8;
}

/* Compares what offsets.c printed. Returns how many fields, -1 for a version that isn't in the table. */
static int compare(FILE *f, const char *include)
{
    const struct py_layout *l = NULL;
    char name[64];
    size_t value;
    int n = 0;

    while (fscanf(f, "%63s %zu", name, &value) == 2) {
        size_t i = 0;

        if (!l) {
            l = py_layout_of((unsigned)value);
            if (!l)
                return -1;
        }
        while (i < ARRAY_SIZE(fields) && strcmp(fields[i].name, name) != 0)
            i++;
        if (i == ARRAY_SIZE(fields))
            fail_msg("no field %s", name);
        if (field_value(l, &fields[i]) != value)
            fail_msg("%s: %s is %zu, in the table %u", include, name, value, field_value(l, &fields[i]));
        n++;
    }
    return n;
}

static void check_headers(const char *include)
{
    char tmp[] = "/tmp/wprof-test-XXXXXX", command[4 * PATH_MAX], above[PATH_MAX];
    FILE *f;

    snprintf(above, sizeof(above), "%s", include);
    *strrchr(above, '/') = '\0';
    assert_non_null(mkdtemp(tmp));
    snprintf(command, sizeof(command),
             "${CC:-cc} -w -I'%s' -I'%s' -I'%s/internal' -o %s/offsets tests/fixtures/python/offsets.c "
             "2>/dev/null",
             above, include, include, tmp);
    if (system(command)) {
        print_message("# %s: does not compile\n", include);
    } else {
        snprintf(command, sizeof(command), "%s/offsets", tmp);
        f = popen(command, "r");
        assert_non_null(f);
        print_message("# %s: %d fields\n", include, compare(f, include));
        pclose(f);
    }
    snprintf(command, sizeof(command), "rm -rf %s", tmp);
    assert_int_equal(system(command), 0);
}

static void test_headers(void **state)
{
    const char *home = getenv("HOME"), *root = getenv("PYENV_ROOT");
    char patterns[3][PATH_MAX];
    int n = 0;

    (void)state;
    snprintf(patterns[0], PATH_MAX, "%s%s/versions/*/include/python3.*/internal/pycore_pystate.h",
             root ? root : (home ? home : "/root"), root ? "" : "/.pyenv");
    snprintf(patterns[1], PATH_MAX, "/usr/include/python3.*/internal/pycore_pystate.h");
    fetched_pattern(patterns[2], "usr/include/python3.*/internal/pycore_pystate.h");
    for (int i = 0; i < 3; i++) {
        glob_t g;

        if (glob(patterns[i], 0, NULL, &g))
            continue;
        for (size_t k = 0; k < g.gl_pathc; k++, n++) {
            *strstr(g.gl_pathv[k], "/internal/") = '\0';
            check_headers(g.gl_pathv[k]);
        }
        globfree(&g);
    }
    if (!n) {
        print_message("# no headers of CPython here\n");
        skip();
    }
}

/* What is read in one piece must hold what is looked for in it. */
static void test_every_version(void **state)
{
    (void)state;
    for (unsigned v = PY_VERSION_MIN; v <= PY_VERSION_MAX; v++) {
        const struct py_layout *l = py_layout_of(v);

        assert_int_equal(l->version, v);
        assert_true(l->ts_thread_id + 8 <= PY_TSTATE_READ && l->ts_cframe + 8 <= PY_TSTATE_READ);
        assert_true(l->frame_len <= PY_CHUNK / 2);
        assert_true(l->code_name + 8 <= l->code_type + PY_CODE_READ);
        assert_true(l->code_qualname + 8 <= l->code_type + PY_CODE_READ);
    }
    assert_null(py_layout_of(PY_VERSION_MIN - 1));
    assert_null(py_layout_of(PY_VERSION_MAX + 1));
}

/* ---- _Py_DebugOffsets ---- */

static const void *recorded_offsets(struct fixture *f, const char *version, size_t *n)
{
    char path[128];

    snprintf(path, sizeof(path), "tests/fixtures/python/%s.offsets.zst", version);
    if (fixture_load(f, path))
        fail_msg("no %s", path);
    *n = f->pieces.a[0].n;
    return f->pieces.a[0].p;
}

static void test_offsets(void **state)
{
    struct fixture f;
    struct py_layout l;
    struct err e = {""};
    size_t n;
    const void *p = recorded_offsets(&f, *state, &n);
    uint8_t *bad = mem_dup(p, n);
    uint64_t v;

    assert_int_equal(py_layout_from_offsets(&l, p, n, &e), 0);
    assert_memory_equal(&l, py_layout_of(l.version), sizeof(l));
    assert_int_equal(py_offsets_version(p, 16), 0);
    assert_int_equal(py_layout_from_offsets(&l, p, 400, &e), -1);

    for (size_t i = 3; i < n / 8; i++) { /* each word out of any bounds: refused, or not one that is used */
        memcpy(bad, p, n);
        v = UINT64_MAX - 8;
        memcpy(bad + 8 * i, &v, 8);
        e.msg[0] = '\0';
        if (py_layout_from_offsets(&l, bad, n, &e))
            assert_non_null(strstr(e.msg, "_Py_DebugOffsets"));
        else
            assert_memory_equal(&l, py_layout_of(l.version), sizeof(l));
    }
    memcpy(bad, p, n);
    v = 0x030f00f0;
    memcpy(bad + 8, &v, 8);
    assert_int_equal(py_layout_from_offsets(&l, bad, n, &e), -1);
    assert_non_null(strstr(e.msg, "CPython 3.15 is not a version"));
    bad[0] = 'y';
    assert_int_equal(py_offsets_version(bad, n), 0);
    free(bad);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_every_version),
        cmocka_unit_test_prestate(test_offsets, "3.13"),
        cmocka_unit_test_prestate(test_offsets, "3.14"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
