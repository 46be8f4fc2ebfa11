// SPDX-License-Identifier: Apache-2.0
/* Sessions as tables: values, references over several sessions, and the copy in a database. */
#include "exchange/tables/sql.h"
#include "gpu_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { START = 1000 };

static int read_log(struct session *s, struct err *e)
{
    return 0;
}

static int read_topology(const struct session *s, struct graph *g, struct err *e)
{
    struct graph_node *p = graph_process(g, 12, 1, 0), *t = graph_thread(g, 13, 0);

    graph_edge_flow(graph_edge(g, GRAPH_EDGE_OWN, p, t), p, 77, 1);
    return 0;
}

static const struct tables_reader reader = {read_log, read_topology};

/* A process with a thread; n samples, a wait that the thread ended, a kernel that ran and its call. */
static void fill(struct gpu_fixture *f, unsigned n)
{
    struct store *s = &f->s.store;
    uint32_t process, thread, stack;
    struct event *ev;

    gpu_fixture_init(f, START, START + 1000);
    process = gpu_fixture_task(f, "train", 0);
    thread = gpu_fixture_task(f, "load;er", process);
    stack = gpu_fixture_stack(f, "main;step");
    for (unsigned i = 0; i < n; i++) {
        ev = gpu_fixture_event(f, EVENT_SAMPLE, thread, START + i, START + i);
        ev->stack = stack;
    }
    ev = gpu_fixture_event(f, EVENT_OFFCPU, process, START + 100, START + 350);
    ev->attr = waits_add(&s->waits, &(struct wait){.waker_task = thread,
                                                   .waker_stack = stack,
                                                   .reason = WAIT_FUTEX,
                                                   .what = strtab_add(&s->strings, "futex 0x1")});
    ev = gpu_fixture_event(f, EVENT_MARKER, process, START + 5, START + 25);
    ev->metric = strtab_add(&s->strings, "step 1");
    gpu_fixture_gpu(f, "gemm", (struct gpu_work){.op = GPU_KERNEL, .device = 2, .grid = {4, 2, 1}}, thread,
                    START + 200, START + 260)
        ->value = 9;
    gpu_fixture_gpu(f, "cudaLaunchKernel", (struct gpu_work){.op = GPU_RUNTIME}, thread, START + 190,
                    START + 195)
        ->value = 9;
}

static struct tables *tables_of(struct gpu_fixture *f, size_t n)
{
    struct tables *t = tables_new(&reader);

    for (size_t i = 0; i < n; i++)
        tables_add_open(t, &f[i].s);
    return t;
}

/* The first row's columns, "a|b|c". */
static char *ask(struct sqlite *db, const char *sql)
{
    struct err e = {0};
    struct sqlite_rows *r = sqlite_query(db, sql, &e);
    struct buf out = {0};

    if (!r || sqlite_next(r, &e) != 1)
        fail_msg("%s: %s", sql, e.msg);
    for (int i = 0; i < sqlite_columns(r); i++) {
        const char *text = sqlite_text(r, i);

        buf_addf(&out, "%s%s", i ? "|" : "", text ? text : "NULL");
    }
    sqlite_rows_free(r);
    return buf_detach(&out);
}

static void expect(struct sqlite *db, const char *sql, const char *want)
{
    char *got = ask(db, sql);

    assert_string_equal(got, want);
    free(got);
}

static void check_two_sessions(struct sqlite *db)
{
    expect(db, "SELECT count(*), sum(value) FROM samples", "8|8");
    expect(db, "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM samples GROUP BY session)", "3,5");
    expect(db, "SELECT count(*) FROM samples JOIN tasks t ON t.id = task WHERE t.session != samples.session",
           "0");
    expect(db, "SELECT group_concat(stack || ' ' || samples) FROM folded",
           "train;load_er;main (t.py);step (t.py) 3,train;load_er;main (t.py);step (t.py) 5");
    expect(db, "SELECT name, self, total FROM functions WHERE session = 2 ORDER BY self DESC",
           "step (t.py)|5|5");
    expect(db, "SELECT kind, ts, dur, reason, what, w.name, open FROM spans JOIN tasks w ON w.id = waker",
           "offcpu|100|250|futex|futex 0x1|load;er|0");
    expect(db, "SELECT what, dur, reason, waker FROM spans WHERE kind = 'mark'", "step 1|20|NULL|NULL");
    expect(db,
           "SELECT kernels.op, kernels.name, kernels.ts, kernels.dur, device, grid, block, kernels.bytes, "
           "calls.name FROM "
           "kernels\n"
           "JOIN calls USING (session, correlation) JOIN tasks p ON p.id = kernels.task",
           "kernel|gemm|200|60|1|4x2x1|NULL|NULL|cudaLaunchKernel");
}

static void test_values(void **state)
{
    struct gpu_fixture f[2];
    struct err e = {0};
    struct tables *t;
    struct tables_sql *sql;
    struct buf text = {0};

    fill(&f[0], 3);
    fill(&f[1], 5);
    t = tables_of(f, 2);
    sql = tables_sql_new(t, &e);
    assert_non_null(sql);
    check_two_sessions(tables_sql_db(sql));
    tables_stack_text(t, 4, &text);
    assert_string_equal(buf_str(&text), "main (t.py);step (t.py)");
    buf_release(&text);
    tables_sql_free(sql);
    tables_free(t);
    gpu_fixture_release(&f[0]);
    gpu_fixture_release(&f[1]);
}

static void test_copy(void **state)
{
    struct gpu_fixture f[2];
    char path[] = "/tmp/wprof-tables-XXXXXX";
    struct buf file = {0};
    struct err e = {0};
    struct tables *t;
    struct sqlite *db;
    int fd = mkstemp(path);

    fill(&f[0], 3);
    fill(&f[1], 5);
    t = tables_of(f, 2);
    assert_int_equal(tables_sql_copy(t, &file, &e), 0);
    assert_int_equal(write(fd, file.data, file.len), (ssize_t)file.len);
    close(fd);
    db = sqlite_file(path, &e);
    assert_non_null(db);
    check_two_sessions(db);
    expect(db, "PRAGMA integrity_check", "ok");
    expect(db, "SELECT count(*) FROM pragma_foreign_key_check", "0");
    sqlite_close(db);
    unlink(path);
    buf_release(&file);
    tables_free(t);
    gpu_fixture_release(&f[0]);
    gpu_fixture_release(&f[1]);
}

/* Logs that somebody damaged may refer to what is not there. */
static void test_references_to_nothing(void **state)
{
    struct gpu_fixture f;
    struct err e = {0};
    struct tables *t;
    struct tables_sql *sql;

    fill(&f, 1);
    f.s.store.events.a[0].task = 4711;
    f.s.store.events.a[0].stack = UINT32_MAX;
    f.s.store.events.a[1].attr = 99;
    f.s.store.events.a[3].attr = 99;
    t = tables_of(&f, 1);
    sql = tables_sql_new(t, &e);
    assert_non_null(sql);
    expect(tables_sql_db(sql), "SELECT task, stack, value FROM samples", "NULL|NULL|1");
    expect(tables_sql_db(sql), "SELECT waker, reason, dur FROM spans", "NULL|NULL|250");
    expect(tables_sql_db(sql), "SELECT count(*), sum(op IS NULL) FROM calls", "2|1");
    expect(tables_sql_db(sql), "SELECT stack, samples FROM folded", "[no stack]|1");
    tables_sql_free(sql);
    tables_free(t);
    gpu_fixture_release(&f);
}

static void test_topology(void **state)
{
    struct gpu_fixture f;
    struct err e = {0};
    struct tables *t;
    struct tables_sql *sql;

    fill(&f, 1);
    t = tables_of(&f, 1);
    sql = tables_sql_new(t, &e);
    assert_non_null(sql);
    expect(tables_sql_db(sql),
           "SELECT a.kind, b.kind, e.kind, bytes_ab, bytes_ba FROM edges e JOIN nodes a ON a.id = a\n"
           "JOIN nodes b ON b.id = b",
           "process|thread|own|77|0");
    tables_sql_free(sql);
    tables_free(t);
    gpu_fixture_release(&f);
}

/* Rows by their number, from 1, also where the number is not one. */
static void test_lookup(void **state)
{
    struct gpu_fixture f;
    struct err e = {0};
    struct tables *t;
    struct tables_sql *sql;
    struct sqlite *db;

    fill(&f, 4);
    t = tables_of(&f, 1);
    sql = tables_sql_new(t, &e);
    db = tables_sql_db(sql);
    expect(db, "SELECT ts FROM samples WHERE id = 3", "2");
    expect(db, "SELECT count(*) FROM samples WHERE id IN (0, 5, -1, 2, NULL, 9e18)", "1");
    expect(db, "SELECT count(*) FROM samples WHERE id = 2.5", "0");
    expect(db, "SELECT group_concat(id) FROM (SELECT id FROM samples ORDER BY id DESC)", "4,3,2,1");
    sqlite_read_only(db, 0);
    assert_null(sqlite_query(db, "CREATE TABLE x(a)", &e));
    assert_non_null(strstr(e.msg, "not authorized"));
    tables_sql_free(sql);
    tables_free(t);
    gpu_fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_references_to_nothing),
        cmocka_unit_test(test_topology),
        cmocka_unit_test(test_lookup),
    };
    struct err e = {0};
    struct sqlite *db = sqlite_memory(&e);

    if (!db)
        return 0; /* built without SQLite: nothing to test */
    sqlite_close(db);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
