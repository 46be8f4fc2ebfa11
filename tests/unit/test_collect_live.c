/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu collector for real, over children that burn CPU in functions of this program. Needs root and a
 * kernel's BTF. */
#include "base/mem.h"
#include "model/collector.h"
#include "platform/clock.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { HZ = 499, CHILDREN = 20 };

struct run {
    struct store store;
    struct meta meta;
    struct record_ctx ctx;
    struct collector *c;
    pid_t child;
    int gate;
};

static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

__attribute__((noinline, noclone)) static void burn(uint64_t ms)
{
    uint64_t end = cpu_ns() + ms * 1000000;

    while (cpu_ns() < end)
        __asm__ volatile("");
    __asm__ volatile("");
}

static void burn_alone(void)
{
    burn(400);
    __asm__ volatile(""); /* or it were a jump */
}

static void burn_in_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t p = fork();

        if (!p) {
            burn(20);
            _exit(0);
        }
        waitpid(p, NULL, 0);
    }
}

static void burn_after_exec(void)
{
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done", (char *)NULL);
    _exit(127);
}

static int possible(void)
{
    if (geteuid() == 0 && access("/sys/kernel/btf/vmlinux", R_OK) == 0)
        return 1;
    print_message("# needs root and /sys/kernel/btf/vmlinux\n");
    return 0;
}

/* The child waits at the gate until everything listens, as the recorder has it; it is none that is launched,
 * of which only what it executes counts. */
static void record_as(struct run *r, void (*what)(void), int whole_machine)
{
    struct err e = {0};
    int gate[2], status;
    char c;

    *r = (struct run){.ctx = {.frequency = HZ, .now = clock_monotonic}};
    r->ctx.whole_machine = whole_machine;
    r->ctx.store = &r->store;
    r->ctx.meta = &r->meta;
    assert_int_equal(pipe(gate), 0);
    r->child = fork();
    if (!r->child) {
        close(gate[1]);
        if (read(gate[0], &c, 1) != 1)
            _exit(1);
        what();
        _exit(0);
    }
    close(gate[0]);
    if (!whole_machine)
        *vec_push(&r->ctx.targets) = r->child;
    r->c = collector_cpu.open(&r->ctx, &e);
    if (!r->c)
        kill(r->child, SIGKILL);
    assert_string_equal(e.msg, "");
    assert_int_equal(collector_cpu.start(r->c, &e), 0);
    assert_int_equal(write(gate[1], "x", 1), 1);
    close(gate[1]);
    do {
        struct pollfd p = {collector_cpu.fd(r->c), POLLIN, 0};

        poll(&p, 1, 1000);
        assert_int_equal(collector_cpu.poll(r->c, &e), 0);
    } while (waitpid(r->child, &status, WNOHANG) == 0);
    assert_int_equal(status, 0);
    assert_int_equal(collector_cpu.stop(r->c, &e), 0);
}

static void record(struct run *r, void (*what)(void))
{
    record_as(r, what, 0);
}

static void release(struct run *r)
{
    collector_cpu.free(r->c);
    vec_release(&r->ctx.targets);
    store_release(&r->store);
    meta_release(&r->meta);
}

/* Samples with this flag. */
static size_t flagged(const struct run *r, uint16_t flag)
{
    size_t n = 0;

    for (size_t i = 0; i < r->store.events.n; i++)
        n += !!(r->store.events.a[i].flags & flag);
    return n;
}

/* Does the stack hold an address within n bytes of the function's beginning? Both as the program's file has
 * them. */
static int holds(const struct run *r, uint32_t stack, const void *function, size_t n)
{
    extern const char __executable_start[];
    uint64_t at = (uint64_t)(uintptr_t)function - (uint64_t)(uintptr_t)__executable_start;

    for (const struct stack_node *s; (s = stacks_get(&r->store.stacks, stack)); stack = s->parent) {
        const struct frame *f = frames_get(&r->store.frames, s->frame);
        const struct module *m = frames_module(&r->store.frames, f->module);

        if (m && m->kind == MODULE_FILE && f->addr >= at && f->addr < at + n &&
            strstr(strtab_get((struct strtab *)&r->store.strings, m->path), "test_collect_live"))
            return 1;
    }
    return 0;
}

static void test_alone(void **state)
{
    struct run r;
    size_t n, in = 0;

    if (!possible())
        skip();
    record(&r, burn_alone);
    n = r.store.events.n;
    assert_in_range(n, 100, 400); /* 200 are expected */
    assert_int_equal(store_counter(&r.store, "cpu.taken", 0), n);
    assert_int_equal(store_counter(&r.store, "cpu.lost", 1), 0);
    assert_true(flagged(&r, EVENT_ROOT) * 100 >= n * 98);
    for (size_t i = 0; i < n; i++)
        in += holds(&r, r.store.events.a[i].stack, (const void *)burn, 200) &&
              holds(&r, r.store.events.a[i].stack, (const void *)burn_alone, 100);
    assert_true(in * 100 >= n * 90);
    assert_in_range(store_counter(&r.store, "target.cpu_ns", 0), 350000000, 700000000);
    assert_int_equal(collector_cpu.alive(r.c), 0);
    release(&r);
}

static void test_children(void **state)
{
    struct run r;
    size_t tasks = 0;

    if (!possible())
        skip();
    record(&r, burn_in_children);
    assert_in_range(r.store.events.n, 100, 400);
    assert_true(flagged(&r, EVENT_ROOT) * 100 >= r.store.events.n * 98);
    for (size_t i = 0; i < r.store.tasks.list.n; i++) {
        const struct task *t = &r.store.tasks.list.a[i];

        if (t->ns_pid != (uint32_t)r.child) {
            assert_int_equal(tasks_get(&r.store.tasks, t->parent)->ns_pid, r.child);
            assert_true(t->cpu_ns >= 15000000);
            assert_int_not_equal(t->last_ns, 0);
            tasks++;
        }
    }
    assert_int_equal(tasks, CHILDREN);
    release(&r);
}

static void test_exec(void **state)
{
    const struct task *t;
    struct run r;

    if (!possible())
        skip();
    record(&r, burn_after_exec);
    assert_true(r.store.events.n > 5);
    assert_true(flagged(&r, EVENT_ROOT) * 100 >= r.store.events.n * 90);
    /* the first may be of the program before, which keeps its name */
    t = tasks_get(&r.store.tasks, r.store.events.a[r.store.events.n - 1].task);
    assert_string_equal(strtab_get(&r.store.strings, t->comm), "sh");
    release(&r);
}

static void test_whole_machine(void **state)
{
    struct run r;
    size_t mine = 0;

    if (!possible())
        skip();
    record_as(&r, burn_alone, 1);
    for (size_t i = 0; i < r.store.events.n; i++)
        mine += tasks_get(&r.store.tasks, r.store.events.a[i].task)->ns_pid == (uint32_t)r.child;
    assert_in_range(mine, 50, 400);
    assert_true(store_counter(&r.store, "target.cpu_ns", 0) > 350000000);
    release(&r);
}

static void test_no_target(void **state)
{
    struct record_ctx ctx = {.frequency = HZ, .now = clock_monotonic};
    struct store s = {0};
    struct err e = {0};
    pid_t gone;

    if (!possible())
        skip();
    gone = fork();
    if (!gone)
        _exit(0);
    waitpid(gone, NULL, 0);
    ctx.store = &s;
    *vec_push(&ctx.targets) = gone;
    assert_null(collector_cpu.open(&ctx, &e));
    assert_non_null(strstr(e.msg, "no such process"));
    vec_release(&ctx.targets);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),         cmocka_unit_test(test_children),  cmocka_unit_test(test_exec),
        cmocka_unit_test(test_whole_machine), cmocka_unit_test(test_no_target),
    };

    return cmocka_run_group_tests_name("collect: live", tests, NULL, NULL);
}
