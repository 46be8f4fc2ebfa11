/* SPDX-License-Identifier: Apache-2.0 */
/* A session's life: made, flushed, read while recorded, killed, sealed, replaced, refused. */
#include "base/io.h"
#include "model/quality.h"
#include "model/session.h"
#include "render/figures.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[64];

static int enter(void **state)
{
    strcpy(top, "/tmp/wprof-session-XXXXXX");
    return !mkdtemp(top) || chdir(top);
}

static int leave(void **state)
{
    char *cmd = mem_printf("rm -rf %s", top);
    int rc = chdir("/") || system(cmd);

    free(cmd);
    return rc;
}

static void some_events(struct store *s, uint64_t from, int n)
{
    struct task k = {.pid = 5, .tid = 5, .start_ns = 1, .comm = strtab_add(&s->strings, "prog")};
    uint32_t task = tasks_add(&s->tasks, &k);

    for (int i = 0; i < n; i++) {
        struct frame f = {.kind = FRAME_NATIVE, .func = strtab_add(&s->strings, i % 2 ? "a" : "b")};
        uint32_t stack = stacks_push(&s->stacks, 0, frames_add(&s->frames, &f));

        *vec_push(&s->events) = (struct event){.ts = from + 1000 * (uint64_t)i,
                                               .value = 1,
                                               .task = task,
                                               .stack = stack,
                                               .flags = EVENT_ROOT,
                                               .kind = EVENT_SAMPLE};
    }
}

static struct meta a_meta(void)
{
    struct meta m = {
        .session_id = mem_strdup("20260716-153012-abc123"), .schema_version = 1, .exit_code = -1};

    m.state = mem_strdup("recording");
    m.kind = mem_strdup("cpu-oncpu");
    m.host = mem_strdup("box");
    m.workload = mem_strdup("prog \"x\"\n");
    m.start_ts = 1784215812.25;
    m.start_mono = 1000;
    m.realtime_offset = 1784215812249999000ull;
    *vec_push(&m.notes) = mem_strdup("one");
    *vec_push(&m.notes) = mem_strdup("two");
    *vec_push(&m.command) = mem_strdup("./prog");
    *vec_push(&m.command) = mem_strdup("");
    *vec_push(&m.collectors) =
        (struct meta_collector){mem_strdup("cpu"), mem_strdup("on"), mem_strdup("cpu-clock")};
    return m;
}

static struct session_create how(const char *dir)
{
    return (struct session_create){.dir = dir, .uid = (uid_t)-1, .gid = (gid_t)-1};
}

static void recorded_read_and_sealed(void **state)
{
    struct session_create c = how("one/");
    struct meta m = a_meta();
    struct store s = {0};
    struct session r;
    struct err e = {0};
    struct stat st;
    struct session_writer *w = session_create(&c, &s, &m, &e);

    assert_non_null(w);
    assert_string_equal(session_path(w), "one");
    assert_int_equal(stat("one", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat("one/meta.json", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    some_events(&s, 5000, 10);
    store_set_counter(&s, "cpu.taken", 10);
    store_set_counter(&s, "own.cpu_ns", 1000);
    assert_int_equal(session_flush(w, &e), 0);
    assert_int_equal(s.events.n, 0);
    assert_int_equal(session_open(&r, "one", &e), 0);
    assert_false(r.sealed);
    assert_string_equal(r.meta.state, "recording");
    assert_int_equal(r.store.events.n, 10);
    session_release(&r);
    some_events(&s, 90000, 7);
    assert_int_equal(session_flush(w, &e), 0);
    assert_int_equal(session_reload(w, &e), 0);
    assert_int_equal(s.events.n, 17);
    assert_int_equal(s.events.a[0].ts, 5000);
    assert_int_equal(session_add_artifact(w, &m, "folded", "folded.txt", "a 1\n", 4, &e), 0);
    assert_int_equal(session_seal(w, &m, &e), 0);
    session_writer_free(w);
    store_release(&s);
    meta_release(&m);

    assert_int_equal(session_open(&r, NULL, &e), 0); /* the newest here */
    assert_string_equal(r.path, "one");
    assert_true(r.sealed);
    assert_string_equal(r.meta.state, "sealed");
    assert_int_equal(r.bad_bytes, 0);
    assert_int_equal(r.store.events.n, 17);
    assert_int_equal(store_counter(&r.store, "cpu.taken", 0), 10);
    assert_int_equal(r.meta.notes.n, 2);
    assert_string_equal(r.meta.notes.a[1], "two");
    assert_int_equal(r.meta.command.n, 2);
    assert_string_equal(r.meta.workload, "prog \"x\"\n");
    assert_int_equal(r.meta.realtime_offset, 1784215812249999000ull);
    assert_int_equal(r.meta.exit_code, -1);
    assert_memory_equal(r.meta.agent_ver, "wprof ", 6);
    assert_int_equal(r.meta.artifacts.n, 2);
    assert_int_equal(strlen(r.meta.artifacts.a[1].sha256), 64);
    assert_int_equal(access("one/events.wlog.tmp", F_OK), -1);
    session_release(&r);
}

static void killed_leaves_whole_blocks(void **state)
{
    struct session_create c = how("killed");
    struct meta m = a_meta();
    struct store s = {0};
    struct session r;
    struct err e = {0};
    struct session_writer *w = session_create(&c, &s, &m, &e);
    int fd;

    assert_non_null(w);
    some_events(&s, 5000, 10);
    assert_int_equal(session_flush(w, &e), 0);
    session_writer_free(w); /* no seal: the lock is gone too */
    fd = open("killed/events.wlog", O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "WBLK half a block", 17), 17);
    close(fd);
    assert_int_equal(session_open(&r, "killed", &e), 0);
    assert_string_equal(r.meta.state, "unsealed");
    assert_int_equal(r.bad_bytes, 17);
    assert_int_equal(r.store.events.n, 10);
    assert_true(fabs(r.meta.duration_s - 13e-6) < 1e-9);
    session_release(&r);
    store_release(&s);
    meta_release(&m);
}

static void refusals(void **state)
{
    struct session_create c = how("full");
    struct meta m = a_meta();
    struct store s = {0};
    struct session r;
    struct err e = {0};
    struct session_writer *w;

    assert_int_equal(mkdir("full", 0755), 0);
    close(open("full/precious", O_CREAT | O_WRONLY, 0644));
    assert_null(session_create(&c, &s, &m, &e));
    assert_non_null(strstr(e.msg, "not empty"));
    c.force = 1;
    assert_null(session_create(&c, &s, &m, &e));
    assert_non_null(strstr(e.msg, "no wprof session"));
    assert_int_equal(access("full/precious", F_OK), 0);
    assert_int_equal(symlink("full", "link"), 0);
    c.dir = "link/";
    assert_null(session_create(&c, &s, &m, &e));
    c.dir = "no/such/parent";
    assert_null(session_create(&c, &s, &m, &e));
    c.dir = "mine";
    w = session_create(&c, &s, &m, &e);
    assert_non_null(w);
    assert_null(session_create(&c, &s, &m, &e)); /* being recorded */
    assert_non_null(strstr(e.msg, "being recorded"));
    session_writer_free(w);
    assert_int_equal(mkdir("mine/extra", 0700), 0);
    close(open("mine/extra/x", O_CREAT | O_WRONLY, 0644));
    assert_null(session_create(&c, &s, &m, &e)); /* --force replaces a session, and nothing else in there */
    assert_non_null(strstr(e.msg, "it holds extra, which wprof did not make"));
    assert_int_equal(access("mine/extra/x", F_OK), 0);
    assert_int_equal(access("mine/meta.json", F_OK), 0);
    assert_int_equal(rename("mine/extra", "mine/reports"), 0);
    close(open("mine/folded.txt.tmp", O_CREAT | O_WRONLY, 0644));
    close(open("mine/mydata.txt", O_CREAT | O_WRONLY, 0644));
    assert_null(session_create(&c, &s, &m, &e));
    assert_int_equal(access("mine/reports/x", F_OK), 0);
    assert_int_equal(unlink("mine/mydata.txt"), 0);
    w = session_create(&c, &s, &m, &e);
    assert_non_null(w);
    assert_int_equal(access("mine/reports", F_OK), -1);
    assert_int_equal(access("mine/folded.txt.tmp", F_OK), -1);
    session_writer_free(w);
    assert_int_equal(session_open(&r, "nowhere", &e), -1);
    assert_int_equal(session_open(&r, "full", &e), -1);
    assert_non_null(strstr(e.msg, "no session"));
    assert_int_equal(session_open(&r, "full/precious", &e), -1);
    assert_non_null(strstr(e.msg, "is a file"));
    assert_int_equal(session_open(&r, ".", &e), -1);
    assert_non_null(strstr(e.msg, "folder of"));
    assert_non_null(strstr(e.msg, "mine"));
    store_release(&s);
    meta_release(&m);
}

static void no_room(void **state)
{
    struct session_create c = how("small");
    struct meta m = a_meta();
    struct store s = {0};
    struct err e = {0};
    struct session_writer *w;

    c.max_size = 100;
    w = session_create(&c, &s, &m, &e);
    assert_non_null(w);
    some_events(&s, 1, 100);
    assert_int_equal(session_flush(w, &e), 1);
    assert_true(session_bytes(w) > 100);
    assert_int_equal(session_flush(w, &e), 1);
    session_writer_free(w);
    store_release(&s);
    meta_release(&m);
}

/* A limit on the file's size stands for the full disk: the write stops in the middle of a block. */
static void disk_full(void **state)
{
    struct rlimit before, tight;
    struct session_create c = how("enospc");
    struct meta m = a_meta();
    struct store s = {0};
    struct session r;
    struct err e = {0};
    struct session_writer *w = session_create(&c, &s, &m, &e);
    uint64_t whole;

    assert_non_null(w);
    some_events(&s, 5000, 10);
    assert_int_equal(session_flush(w, &e), 0);
    whole = session_bytes(w);
    some_events(&s, 90000, 2000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = whole + 40;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_int_equal(session_flush(w, &e), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(e.msg, "enospc/events.wlog"));
    assert_int_equal(session_bytes(w), whole); /* the part of a block is cut off again */
    assert_int_equal(session_open(&r, "enospc", &e), 0);
    assert_int_equal(r.store.events.n, 10);
    assert_int_equal(r.bad_bytes, 0);
    session_release(&r);
    assert_int_equal(s.events.n, 2000); /* nothing is lost in memory */
    assert_int_equal(session_seal(w, &m, &e), 0);
    session_writer_free(w);
    assert_int_equal(session_open(&r, "enospc", &e), 0);
    assert_true(r.sealed);
    assert_int_equal(r.store.events.n, 2010);
    session_release(&r);
    store_release(&s);
    meta_release(&m);
}

static void names(void **state)
{
    char id[24], *dir;

    session_new_id(id, 1784215812);
    assert_int_equal(strlen(id), 22);
    assert_int_equal(id[8], '-');
    assert_int_equal(id[15], '-');
    dir = session_default_dir("/usr/bin/my prog;x", "20260716-153012-abc123");
    assert_string_equal(dir, "wprof-my_prog_x-20260716-153012-abc123");
    free(dir);
}

static void quality_figures(void **state)
{
    struct quality q;
    struct store s = {0};
    struct meta m = {0};
    struct frame nameless = {.kind = FRAME_NATIVE, .addr = 0x10};

    some_events(&s, 1, 8);
    s.events.a[0].flags = EVENT_TRUNCATED;
    s.events.a[1].flags |= EVENT_PYTHON;
    s.events.a[2].flags |= EVENT_PYTHON | EVENT_PYTHON_FRAMES;
    s.events.a[3].stack = stacks_push(&s.stacks, s.events.a[3].stack, frames_add(&s.frames, &nameless));
    store_set_counter(&s, "cpu.expected", 10);
    store_set_counter(&s, "cpu.lost", 1);
    store_set_counter(&s, "cpu.nostack", 1);
    store_set_counter(&s, "cpu.bpf_ns", 1000000);
    store_set_counter(&s, "own.cpu_ns", 4000000);
    store_set_counter(&s, "target.cpu_ns", 1000000000);
    quality_compute(&q, &s, &m);
    assert_int_equal(q.taken, 8);
    assert_int_equal(q.expected, 10);
    assert_int_equal(q.lost, 2);
    assert_int_equal(q.truncated, 1);
    assert_int_equal(q.unwound, 7);
    assert_true(fabs(q.unwound_share - 0.875) < 1e-9);
    assert_true(fabs(q.unknown_share - 0.125) < 1e-9);
    assert_true(fabs(q.python_share - 0.5) < 1e-9);
    assert_true(fabs(q.cost_share - 0.005) < 1e-9);
    assert_int_equal(q.frames, 3);
    assert_int_equal(q.frames_unknown, 1);
    assert_true(isnan(q.tables_s));
    /* two of them came by another's file: how those were walked is not known, and they are no part of it */
    s.events.a[6].flags = s.events.a[7].flags = 0;
    store_set_counter(&s, "cpu.taken", 6);
    store_set_counter(&s, "import.samples", 2);
    quality_compute(&q, &s, &m);
    assert_int_equal(q.taken, 6);
    assert_int_equal(q.imported, 2);
    assert_true(fabs(q.unwound_share - 5.0 / 6) < 1e-9);
    store_release(&s);
    quality_compute(&q, &s, &m);
    assert_true(isnan(q.unwound_share) && isnan(q.cost_share));
}

static const char *first_warning(uint64_t expected, uint64_t taken)
{
    struct quality q = {.expected = expected, .taken = taken, .unwound_share = 1, .cost_share = 0.001};
    struct meta m = a_meta();
    struct figures f = {0};
    static char text[256];

    free(m.state);
    m.state = mem_strdup("sealed");
    figures_make(&f, &q, &m);
    snprintf(text, sizeof(text), "%s", f.warnings.n ? f.warnings.a[0] : "");
    figures_release(&f);
    meta_release(&m);
    return text;
}

static void few_samples_by_chance(void **state)
{
    assert_non_null(strstr(first_warning(72, 64), "Only 64 samples")); /* within a timer's noise */
    assert_string_equal(first_warning(1000, 960), "");
    assert_string_equal(first_warning(1000000, 990000), "");
    assert_non_null(strstr(first_warning(1000, 860), "of the expected samples"));
    assert_non_null(strstr(first_warning(100000, 94000), "of the expected samples"));
}

static void bad_meta(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"session_id\":\"x\"}",
        "{\"session_id\":3,\"schema_version\":1}",
        "{\"session_id\":\"x\",\"schema_version\":2}",
        "{\"session_id\":\"x\",\"schema_version\":1",
    };
    static const char odd[] =
        "{\"session_id\":\"x\",\"schema_version\":1,\"kinds\":7,\"command\":[1,null,\"a\"],"
        "\"collectors\":[3,{}],\"artifacts\":{},\"notes\":[\"n\"],\"clock\":[],\"pid\":\"p\"}";
    struct meta m;
    struct err e;
    struct buf b = {0};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(meta_parse(&m, bad[i], strlen(bad[i]), &e), -1);
        meta_release(&m);
    }
    assert_int_equal(meta_parse(&m, odd, strlen(odd), &e), 0);
    assert_int_equal(m.command.n, 1);
    assert_int_equal(m.collectors.n, 1);
    assert_int_equal(m.notes.n, 1);
    meta_write(&m, NULL, &b);
    meta_release(&m);
    assert_int_equal(meta_parse(&m, b.data, b.len, &e), 0);
    meta_release(&m);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(recorded_read_and_sealed, enter, leave),
        cmocka_unit_test_setup_teardown(killed_leaves_whole_blocks, enter, leave),
        cmocka_unit_test_setup_teardown(refusals, enter, leave),
        cmocka_unit_test_setup_teardown(no_room, enter, leave),
        cmocka_unit_test_setup_teardown(disk_full, enter, leave),
        cmocka_unit_test(names),
        cmocka_unit_test(quality_figures),
        cmocka_unit_test(few_samples_by_chance),
        cmocka_unit_test(bad_meta),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
