/* SPDX-License-Identifier: Apache-2.0 */
/* What tiers B and C read: perf's records about own processes, and the texts of /proc about threads. */
#include "base/buf.h"
#include "platform/clock.h"
#include "platform/perf_task.h"
#include "platform/proctask.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- records ---- */

struct record {
    struct buf b;
};

static void add64(struct record *r, uint64_t v)
{
    buf_add(&r->b, &v, 8);
}

static void add32(struct record *r, uint32_t v)
{
    buf_add(&r->b, &v, 4);
}

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
    struct perf_event_header h = {.type = type, .misc = misc};

    *r = (struct record){{0}};
    buf_add(&r->b, &h, sizeof(h));
}

/* pid 7, tid 8, at 99: what sample_id_all puts behind each record. */
static void add_trailer(struct record *r)
{
    add32(r, 7);
    add32(r, 8);
    add64(r, 99);
}

static int parse(struct record *r, int kernel, struct perf_task_record *out)
{
    const struct perf_task t = {.kernel = kernel};
    struct perf_event_header *h = (void *)r->b.data;

    h->size = (uint16_t)r->b.len;
    return perf_task_parse(&t, (const uint8_t *)r->b.data, r->b.len, out);
}

static void begin_sample(struct record *r, uint16_t misc)
{
    begin(r, PERF_RECORD_SAMPLE, misc);
    add_trailer(r); /* pid, tid, time come first here */
}

static void add_regs(struct record *r)
{
    add64(r, PERF_SAMPLE_REGS_ABI_64);
    for (uint64_t i = 1; i <= 5; i++)
        add64(r, i * 0x1000);
}

static void test_sample(void **state)
{
    struct perf_task_record out;
    struct record r;

    begin_sample(&r, PERF_RECORD_MISC_KERNEL);
    add64(&r, 3); /* the kernel's frames, and whose they are */
    add64(&r, PERF_CONTEXT_KERNEL);
    add64(&r, 0xffffffff81000001);
    add64(&r, 0xffffffff81000002);
    add_regs(&r);
    add64(&r, 16); /* room, 16 bytes, of which 8 are filled */
    add64(&r, 0x1234);
    add64(&r, 0);
    add64(&r, 8);
    assert_int_equal(parse(&r, 1, &out), 1);
    assert_int_equal(out.kind, PERF_TASK_SAMPLE);
    assert_int_equal(out.pid, 7);
    assert_int_equal(out.tid, 8);
    assert_int_equal(out.ts, 99);
    assert_int_equal(out.sample.user, 0);
    assert_int_equal(out.sample.has_user, 1);
    assert_int_equal(out.sample.kernel_n, 2);
    assert_true(out.sample.kernel[1] == 0xffffffff81000002);
    assert_int_equal(out.sample.regs.bp, 0x1000);
    assert_int_equal(out.sample.regs.sp, 0x2000);
    assert_int_equal(out.sample.regs.ip, 0x3000);
    assert_int_equal(out.sample.regs.r10, 0x4000);
    assert_int_equal(out.sample.regs.r13, 0x5000);
    assert_int_equal(out.sample.stack_n, 8);
    assert_memory_equal(out.sample.stack, "\x34\x12", 2);
    buf_release(&r.b);
}

/* In a time namespace the kernel's clock is another one than what everything else tells. */
static void test_times(void **state)
{
    const struct perf_task t = {.ahead = -9};
    struct perf_task_record out;
    struct clock_ahead ahead;
    struct record r;

    (void)state;
    begin(&r, PERF_RECORD_SWITCH, 0);
    add_trailer(&r);
    ((struct perf_event_header *)(void *)r.b.data)->size = (uint16_t)r.b.len;
    assert_int_equal(perf_task_parse(&t, (const uint8_t *)r.b.data, r.b.len, &out), 1);
    assert_int_equal(out.ts, 90);
    buf_release(&r.b);
    clock_ahead_parse("monotonic         777         5\nboottime           -2 999999999\n", &ahead);
    assert_true(ahead.monotonic == 777000000005 && ahead.boottime == -1000000001);
    clock_ahead_parse("what is this\nboottime 1", &ahead);
    assert_true(!ahead.monotonic && !ahead.boottime);
}

/* A thread of the kernel's, or one that ends: no registers, no stack. */
static void test_sample_without_user(void **state)
{
    struct perf_task_record out;
    struct record r;

    begin_sample(&r, PERF_RECORD_MISC_USER);
    add64(&r, PERF_SAMPLE_REGS_ABI_NONE);
    add64(&r, 0);
    assert_int_equal(parse(&r, 0, &out), 1);
    assert_int_equal(out.sample.has_user, 0);
    assert_int_equal(out.sample.stack_n, 0);
    buf_release(&r.b);
}

/* Counts that go beyond the record's end. */
static void test_malformed(void **state)
{
    struct perf_task_record out;
    struct record r;

    begin_sample(&r, PERF_RECORD_MISC_USER);
    add_regs(&r);
    add64(&r, 1 << 20);
    add64(&r, 0);
    assert_int_equal(parse(&r, 0, &out), 0);
    buf_release(&r.b);
    begin_sample(&r, PERF_RECORD_MISC_KERNEL);
    add64(&r, UINT64_MAX);
    add_regs(&r);
    assert_int_equal(parse(&r, 1, &out), 0);
    buf_release(&r.b);
    begin(&r, PERF_RECORD_COMM, 0);
    add32(&r, 7);
    add32(&r, 8);
    buf_add(&r.b, "unended!", 8);
    add_trailer(&r);
    memset(r.b.data + 16, 'x', r.b.len - 16);
    assert_int_equal(parse(&r, 0, &out), 0);
    buf_release(&r.b);
}

static void test_switches(void **state)
{
    static const struct {
        uint16_t misc;
        enum perf_task_kind kind;
    } kinds[] = {
        {0, PERF_TASK_IN},
        {PERF_RECORD_MISC_SWITCH_OUT, PERF_TASK_OUT},
        {PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, PERF_TASK_TAKEN},
    };

    for (size_t i = 0; i < 3; i++) {
        struct perf_task_record out;
        struct record r;

        begin(&r, PERF_RECORD_SWITCH, kinds[i].misc);
        add_trailer(&r);
        assert_int_equal(parse(&r, 0, &out), 1);
        assert_int_equal(out.kind, kinds[i].kind);
        assert_int_equal(out.tid, 8);
        assert_int_equal(out.ts, 99);
        buf_release(&r.b);
    }
}

static void test_births_and_names(void **state)
{
    struct perf_task_record out;
    struct record r;

    begin(&r, PERF_RECORD_FORK, 0);
    add32(&r, 20);
    add32(&r, 7);
    add32(&r, 21);
    add32(&r, 8);
    add64(&r, 99);
    add_trailer(&r);
    assert_int_equal(parse(&r, 0, &out), 1);
    assert_int_equal(out.kind, PERF_TASK_FORK);
    assert_int_equal(out.pid, 20);
    assert_int_equal(out.ppid, 7);
    assert_int_equal(out.tid, 21);
    buf_release(&r.b);
    for (int exec = 0; exec < 2; exec++) {
        begin(&r, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
        add32(&r, 7);
        add32(&r, 8);
        buf_add(&r.b, "python3", 8);
        add_trailer(&r);
        assert_int_equal(parse(&r, 0, &out), 1);
        assert_int_equal(out.kind, exec ? PERF_TASK_CODE : PERF_TASK_COMM);
        assert_string_equal(out.name, "python3");
        buf_release(&r.b);
    }
}

/* ---- /proc ---- */

static void test_stat(void **state)
{
    struct proctask t;
    long hz = sysconf(_SC_CLK_TCK);

    assert_int_equal(
        proctask_parse_stat("42 (a) b (c) S 17 1 1 0 -1 0 1 2 3 4 100 50 7 3 20 0 3 0 7000 1 2 3 4 "
                            "5 140737 0 0\n",
                            &t),
        0);
    assert_string_equal(t.comm, "a) b (c");
    assert_int_equal(t.state, 'S');
    assert_int_equal(t.ppid, 17);
    assert_int_equal(t.user_ns, 100 * (1000000000 / hz));
    assert_int_equal(t.sys_ns, 50 * (1000000000 / hz));
    assert_int_equal(t.children_ns, 10 * (1000000000 / hz));
    assert_int_equal(t.start_ns, 7000ull * (1000000000ull / (uint64_t)hz));
    assert_int_equal(t.stack_start, 140737);
    assert_int_equal(t.cpu, -1); /* cut off before it */
    assert_false(t.kernel_thread);
}

static void test_stat_with_a_name_that_looks_like_fields(void **state)
{
    struct proctask t;
    const char *text =
        "17 (a) R 1) b) S 3 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 10 11 12 13 14 15 16 17 0 0 "
        "0 0 0 0 0 17 5 0 0 0 0 0 0 0 0 0 0 0 0 0";

    assert_int_equal(proctask_parse_stat(text, &t), 0);
    assert_string_equal(t.comm, "a) R 1) b");
    assert_int_equal(t.state, 'S');
    assert_int_equal(t.ppid, 3);
    assert_int_equal(t.cpu, 5);
    assert_false(t.kernel_thread);
}

static void test_stat_of_a_kernel_thread(void **state)
{
    struct proctask t;

    assert_int_equal(
        proctask_parse_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 9 0 0 20 0 1 0 5 0 0", &t), 0);
    assert_true(t.kernel_thread);
}

static void test_malformed_stat(void **state)
{
    struct proctask t;
    const char *const bad[] = {"",       "17",       "17 (a",      "17 )a( S 1",
                               "17 (a)", "17 (a) S", "42 (a S 17", "17 (a) S x 1 1 1 1 1"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(proctask_parse_stat(bad[i], &t), -1);
}

static void test_call(void **state)
{
    struct proctask_call c;

    assert_int_equal(proctask_parse_call("running\n", &c), 0);
    assert_int_equal(proctask_parse_call("0 0x3 0x7ffe0 0x400 0x0 0x0 0x0 0x7ffd10 0x7f0012\n", &c), 1);
    assert_int_equal(c.nr, 0);
    assert_int_equal(c.args[0], 3);
    assert_int_equal(c.args[2], 0x400);
    assert_int_equal(c.sp, 0x7ffd10);
    assert_int_equal(c.pc, 0x7f0012);
    assert_int_equal(proctask_parse_call("-1 0x7ffd10 0x7f0012\n", &c), 1);
    assert_int_equal(c.nr, -1);
    assert_int_equal(c.pc, 0x7f0012);
    assert_int_equal(proctask_parse_call("5 0x1\n", &c), -1);
    assert_int_equal(proctask_parse_call("", &c), -1);
}

/* This very process: its threads' figures are there and go up. */
static void test_live(void **state)
{
    struct pid_list threads = {0};
    struct proctask_run before, after;
    int fd = proctask_open(getpid(), getpid(), "schedstat");
    volatile unsigned n = 0;

    assert_int_equal(proctask_threads(getpid(), &threads), 0);
    assert_true(threads.list.n >= 1);
    assert_int_equal(proctask_own_tid(getpid(), getpid()) != 0, 1);
    vec_release(&threads.list);
    if (fd < 0 || proctask_run(fd, &before))
        skip();
    while (n < 100000000)
        n++;
    assert_int_equal(proctask_run(fd, &after), 0);
    assert_true(after.run_ns > before.run_ns);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_sample_without_user),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_births_and_names),
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_stat_with_a_name_that_looks_like_fields),
        cmocka_unit_test(test_stat_of_a_kernel_thread),
        cmocka_unit_test(test_malformed_stat),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_live),
    };

    return cmocka_run_group_tests_name("platform: tasks", tests, NULL, NULL);
}
