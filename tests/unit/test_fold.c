/* SPDX-License-Identifier: Apache-2.0 */
/* From events to the profile and its folded text. */
#include "analyze/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct store s;
    uint32_t module;
};

static uint32_t named(struct store *s, unsigned kind, const char *func, const char *file, uint32_t line)
{
    struct frame f = {
        .kind = (uint8_t)kind, .func = strtab_add(&s->strings, func), .file = strtab_add(&s->strings, file)};

    f.line = line;
    return frames_add(&s->frames, &f);
}

static uint32_t raw(struct world *w, unsigned kind, uint64_t addr, const char *func, const char *inlined)
{
    struct frame f = {.kind = (uint8_t)kind, .module = w->module, .addr = addr};
    struct frame_name names[2] = {{strtab_add(&w->s.strings, func)}, {strtab_add(&w->s.strings, inlined)}};
    uint32_t id;

    names[0].line = (uint32_t)addr;
    id = frames_add(&w->s.frames, &f);
    if (func)
        frames_set_names(&w->s.frames, id, names, inlined ? 2 : 1);
    return id;
}

static uint32_t stack(struct store *s, const uint32_t *frames, size_t n)
{
    uint32_t id = 0;

    for (size_t i = 0; i < n; i++)
        id = stacks_push(&s->stacks, id, frames[i]);
    return id;
}

static void sample(struct store *s, uint32_t task, uint32_t stack, uint64_t ts, uint64_t value)
{
    *vec_push(&s->events) =
        (struct event){.ts = ts, .value = value, .task = task, .stack = stack, .kind = EVENT_SAMPLE};
}

static void world_init(struct world *w)
{
    struct module m = {.kind = MODULE_FILE, .fd = -1};
    struct task leader = {.pid = 100, .tid = 100, .start_ns = 1},
                thread = {.pid = 100, .tid = 101, .start_ns = 2, .leader = 1};
    struct task twin = {.pid = 200, .tid = 200, .start_ns = 3};

    *w = (struct world){0};
    m.path = strtab_add(&w->s.strings, "/usr/lib/libx.so");
    w->module = frames_add_module(&w->s.frames, &m);
    leader.comm = twin.comm = strtab_add(&w->s.strings, "python3");
    thread.comm = strtab_add(&w->s.strings, "wor;ker\n");
    tasks_add(&w->s.tasks, &leader);
    tasks_add(&w->s.tasks, &thread);
    tasks_add(&w->s.tasks, &twin);
}

static void expect(struct world *w, const struct fold_opts *o, const char *text)
{
    struct profile p;
    struct buf out = {0};
    struct err e = {0};

    assert_int_equal(fold_store(&p, &w->s, 1000, o, &e), 0);
    fold_text(&p, 0, &out);
    assert_string_equal(buf_str(&out), text);
    assert_int_equal(p.metrics.a[0].total[0], p.metrics.a[0].sum);
    for (size_t i = 1; i < p.nodes.n; i++)
        assert_true(p.nodes.a[i].parent < i);
    profile_release(&p);
    buf_release(&out);
}

static void roots_and_names(void **state)
{
    struct fold_opts o = {0};
    struct world w;
    uint32_t py, sys, st;

    world_init(&w);
    py = named(&w.s, FRAME_PYTHON, "Net.forward", "/app/net.py", 12);
    sys = named(&w.s, FRAME_KERNEL, "do_syscall_64", NULL, 0);
    st = stack(&w.s, (uint32_t[]){py, sys}, 2);
    sample(&w.s, 1, st, 2000, 1);
    sample(&w.s, 2, st, 3000, 2);
    sample(&w.s, 3, st, 4000, 4);
    sample(&w.s, 3, 0, 5000, 8);
    expect(&w, &o,
           "python3;Net.forward (net.py);do_syscall_64 5\n"
           "python3;[no stack] 8\n"
           "python3;wor_ker_;Net.forward (net.py);do_syscall_64 2\n");
    tasks_get(&w.s.tasks, 2)->is_root = 1;
    expect(&w, &o,
           "python3;Net.forward (net.py);do_syscall_64 5\n"
           "python3;[no stack] 8\n"
           "wor_ker_;Net.forward (net.py);do_syscall_64 2\n");
    tasks_get(&w.s.tasks, 2)->is_root = 0;
    o.kernel_suffix = 1;
    o.lines = 1;
    o.no_tasks = 1;
    o.to_ns = 3500;
    expect(&w, &o, "Net.forward (net.py:12);do_syscall_64_[k] 7\n");
    o = (struct fold_opts){.pids = 1, .from_ns = 2000, .to_ns = 3500};
    expect(&w, &o,
           "python3 (100);wor_ker_ (101);Net.forward (net.py);do_syscall_64 2\n"
           "python3 (200);Net.forward (net.py);do_syscall_64 4\n");
    o = (struct fold_opts){.pid = 100, .tid = 101};
    expect(&w, &o, "python3;wor_ker_;Net.forward (net.py);do_syscall_64 2\n");
    store_release(&w.s);
}

static void addresses_become_functions(void **state)
{
    struct fold_opts o = {.no_tasks = 1};
    struct world w;
    uint32_t a, b, c, d, e;

    world_init(&w);
    a = raw(&w, FRAME_NATIVE, 0x10, "outer", "inl");
    b = raw(&w, FRAME_NATIVE, 0x20, "outer", NULL);
    c = raw(&w, FRAME_NATIVE, 0x1234, NULL, NULL);
    d = raw(&w, FRAME_JIT, 0x9999, NULL, NULL);
    e = raw(&w, FRAME_JIT, 0x8888, NULL, NULL);
    sample(&w.s, 1, stack(&w.s, (uint32_t[]){a, c}, 2), 1, 1);
    sample(&w.s, 1, stack(&w.s, (uint32_t[]){b, c}, 2), 2, 1);
    sample(&w.s, 1, stack(&w.s, (uint32_t[]){b, d}, 2), 3, 1);
    sample(&w.s, 1, stack(&w.s, (uint32_t[]){a, e}, 2), 4, 1);
    expect(&w, &o, "outer;[jit] 2\nouter;[libx.so+0x1234] 2\n");
    o.inlines = 1;
    expect(&w, &o,
           "outer;[jit] 1\n"
           "outer;[libx.so+0x1234] 1\n"
           "outer;inl;[jit] 1\n"
           "outer;inl;[libx.so+0x1234] 1\n");
    store_release(&w.s);
}

/* The order is that of `LC_ALL=C sort`, also where one name is the beginning of another. */
static void lines_are_sorted(void **state)
{
    static const char *const names[] = {"operator", "operator new", "operator!", "a", "b", "operator<"};
    struct fold_opts o = {.no_tasks = 1};
    struct world w;
    uint32_t f[6];

    world_init(&w);
    for (size_t i = 0; i < 6; i++)
        f[i] = named(&w.s, FRAME_NATIVE, names[i], NULL, 0);
    for (size_t i = 0; i < 6; i++) {
        sample(&w.s, 1, stack(&w.s, (uint32_t[]){f[3], f[i]}, 2), 1, 10 + i);
        sample(&w.s, 1, stack(&w.s, (uint32_t[]){f[3], f[i], f[4]}, 3), 1, 7);
    }
    expect(&w, &o,
           "a;a 13\na;a;b 7\na;b 14\na;b;b 7\na;operator 10\na;operator new 11\na;operator new;b 7\n"
           "a;operator! 12\na;operator!;b 7\na;operator;b 7\na;operator< 15\na;operator<;b 7\n");
    store_release(&w.s);
}

static void spans_and_unknown_metrics(void **state)
{
    struct fold_opts o = {.metric = "offcpu", .no_tasks = 1};
    struct profile p;
    struct err e = {0};
    struct world w;
    uint32_t st;

    world_init(&w);
    st = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_KERNEL, "schedule", NULL, 0)}, 1);
    assert_int_equal(fold_store(&p, &w.s, 0, &o, &e), -1);
    assert_non_null(strstr(e.msg, "none"));
    *vec_push(&w.s.events) = (struct event){.ts = 5, .dur = 700, .stack = st, .kind = EVENT_OFFCPU};
    expect(&w, &o, "schedule 700\n");
    o.metric = "bogus";
    assert_int_equal(fold_store(&p, &w.s, 0, &o, &e), -1);
    assert_non_null(strstr(e.msg, "bogus"));
    assert_non_null(strstr(e.msg, "offcpu"));
    o.metric = NULL; /* nothing ran: an empty profile */
    expect(&w, &o, "");
    store_release(&w.s);
}

/* Where it waited, who woke it and where that was; sums of short waits have nobody. */
static void wakers_stand_below(void **state)
{
    struct world w;
    uint32_t main_, wait_, post, waits, posts;

    world_init(&w);
    main_ = named(&w.s, FRAME_PYTHON, "main", "a.py", 1);
    wait_ = named(&w.s, FRAME_PYTHON, "wait", "a.py", 2);
    post = named(&w.s, FRAME_PYTHON, "post", "b.py", 3);
    waits = stack(&w.s, (uint32_t[]){main_, wait_}, 2);
    posts = stack(&w.s, (uint32_t[]){main_, post}, 2);
    for (uint64_t i = 0; i < 4; i++) {
        struct wait by = {.reason = WAIT_FUTEX};
        struct event ev = {
            .ts = 2000 + i, .dur = 10 << i, .value = 1, .task = 1, .stack = waits, .kind = EVENT_OFFCPU};

        if (i < 2) {
            by.waker_task = i ? 3 : 2;
            by.waker_stack = posts;
        } else if (i == 2) {
            by.irq = 1;
            by.waker_stack = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_MARKER, "[irq]", "", 0)}, 1);
        }
        ev.attr = waits_add(&w.s.waits, &by);
        *vec_push(&w.s.events) = ev;
        ev.flags = EVENT_SHORT;
        ev.dur = 1;
        *vec_push(&w.s.events) = ev;
    }
    expect(&w, &(struct fold_opts){.metric = "waker"},
           "python3;main (a.py);wait (a.py) 4\n"
           "python3;main (a.py);wait (a.py);[woken by];[irq] 40\n"
           "python3;main (a.py);wait (a.py);[woken by];[unknown] 80\n"
           "python3;main (a.py);wait (a.py);[woken by];python3;main (a.py);post (b.py) 20\n"
           "python3;main (a.py);wait (a.py);[woken by];python3;wor_ker_;main (a.py);post (b.py) 10\n");
    expect(&w, &(struct fold_opts){.metric = "offcpu"}, "python3;main (a.py);wait (a.py) 154\n");
    store_release(&w.s);
}

static void wait_for(struct world *w, uint32_t task, uint64_t from, uint64_t to, uint32_t in, uint32_t waker,
                     uint32_t at)
{
    struct wait by = {.reason = WAIT_FUTEX, .waker_task = waker, .waker_stack = at};

    *vec_push(&w->s.events) = (struct event){.ts = from,
                                             .dur = to - from,
                                             .value = 1,
                                             .task = task,
                                             .stack = in,
                                             .attr = waits_add(&w->s.waits, &by),
                                             .kind = EVENT_OFFCPU};
}

/* The main thread waits for a feeder, which waits for a worker, which computes. What nobody saw stays with
 * the waker; all of it is the time waited. */
static void chains_tell_what_wakers_did_meanwhile(void **state)
{
    struct world w;
    uint32_t get, feed, put, slow, load;

    world_init(&w);
    get = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "get", "a.py", 1)}, 1);
    feed = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "feed", "a.py", 2)}, 1);
    put = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "put", "a.py", 3)}, 1);
    slow = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "slow", "a.py", 4)}, 1);
    load = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "load", "a.py", 5)}, 1);
    sample(&w.s, 3, slow, 1900, 1); /* before: of no wait */
    sample(&w.s, 3, slow, 2100, 1);
    sample(&w.s, 3, slow, 2200, 1);
    sample(&w.s, 3, load, 2300, 1);
    wait_for(&w, 2, 1500, 2900, feed, 3, put); /* the feeder: all of main's wait but its last 100 */
    wait_for(&w, 1, 2000, 3000, get, 2, feed); /* main */
    wait_for(&w, 1, 4000, 4050, get, 2, feed); /* nobody saw what the feeder did then */
    expect(&w, &(struct fold_opts){.metric = "waker", .tid = 100, .no_tasks = 1},
           "get (a.py);[woken by];feed (a.py) 150\n"
           "get (a.py);[woken by];feed (a.py);[which was in];feed (a.py);[woken by];[which was in];load "
           "(a.py) 300\n"
           "get (a.py);[woken by];feed (a.py);[which was in];feed (a.py);[woken by];[which was in];slow "
           "(a.py) 600\n");
    expect(&w, &(struct fold_opts){.metric = "offcpu", .tid = 100, .no_tasks = 1}, "get (a.py) 1050\n");
    store_release(&w.s);
}

/* Two that wait for each other in turn: no chain goes back to who waits. */
static void chains_have_no_circles(void **state)
{
    struct world w;
    uint32_t ping, pong;

    world_init(&w);
    ping = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "ping", "a.py", 1)}, 1);
    pong = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "pong", "a.py", 2)}, 1);
    wait_for(&w, 1, 1000, 2000, ping, 2, pong);
    wait_for(&w, 2, 500, 1900, pong, 1, ping);
    expect(&w, &(struct fold_opts){.metric = "waker", .no_tasks = 1},
           "ping (a.py);[woken by];pong (a.py) 100\n"
           "ping (a.py);[woken by];pong (a.py);[which was in];pong (a.py) 900\n"
           "pong (a.py);[woken by];ping (a.py) 500\n"
           "pong (a.py);[woken by];ping (a.py);[which was in];ping (a.py) 900\n");
    store_release(&w.s);
}

/* The feeder waits for the GIL: the chain goes on with who held it, where its nearest sample was. */
static void chains_go_on_with_the_gil_s_holder(void **state)
{
    struct wait timer = {.reason = WAIT_GIL, .irq = 1}, held = {.reason = WAIT_GIL, .waker_task = 3};
    uint32_t get, feed, want, slow;
    struct world w;

    world_init(&w);
    get = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "get", "a.py", 1)}, 1);
    feed = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "feed", "a.py", 2)}, 1);
    want = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "want", "a.py", 3)}, 1);
    slow = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "slow", "a.py", 4)}, 1);
    sample(&w.s, 3, slow, 1900, 1);
    for (int kind = 0; kind < 2; kind++)
        *vec_push(&w.s.events) = (struct event){.ts = 2000,
                                                .dur = 900,
                                                .value = 1,
                                                .task = 2,
                                                .stack = want,
                                                .attr = waits_add(&w.s.waits, kind ? &held : &timer),
                                                .kind = kind ? EVENT_GIL : EVENT_OFFCPU};
    wait_for(&w, 1, 2000, 3000, get, 2, feed);
    wait_for(&w, 1, 90000000, 90000100, get, 3, feed); /* no sample is near */
    expect(&w, &(struct fold_opts){.metric = "waker", .tid = 100, .no_tasks = 1},
           "get (a.py);[woken by];feed (a.py) 200\n"
           "get (a.py);[woken by];feed (a.py);[which was in];want (a.py);[woken by];[which was in];slow "
           "(a.py) 900\n");
    store_release(&w.s);
}

static void the_gil_s_holder_stands_below_who_waits(void **state)
{
    struct world w;
    uint32_t waits, holds;
    struct wait wait = {.reason = WAIT_GIL, .waker_task = 1}, none = {.reason = WAIT_GIL};

    world_init(&w);
    waits = stack(&w.s,
                  (uint32_t[]){named(&w.s, FRAME_PYTHON, "want", "a.py", 0),
                               named(&w.s, FRAME_GIL, "[waiting for the GIL]", NULL, 0)},
                  2);
    holds = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "hold", "a.py", 0)}, 1);
    wait.waker_stack = holds;
    *vec_push(&w.s.events) = (struct event){
        .dur = 70, .task = 3, .stack = waits, .attr = waits_add(&w.s.waits, &wait), .kind = EVENT_GIL};
    *vec_push(&w.s.events) = (struct event){
        .dur = 20, .task = 3, .stack = waits, .attr = waits_add(&w.s.waits, &none), .kind = EVENT_GIL};
    *vec_push(&w.s.events) = (struct event){.dur = 5,
                                            .task = 3,
                                            .stack = waits,
                                            .attr = waits_add(&w.s.waits, &none),
                                            .flags = EVENT_SHORT,
                                            .kind = EVENT_GIL};
    expect(&w, &(struct fold_opts){.metric = "gil"},
           "python3;want (a.py);[waiting for the GIL] 5\n"
           "python3;want (a.py);[waiting for the GIL];[held by];[unknown] 20\n"
           "python3;want (a.py);[waiting for the GIL];[held by];python3;hold (a.py) 70\n");
    store_release(&w.s);
}

static void held_and_idle(void **state)
{
    struct world w;
    uint32_t a, b;

    world_init(&w);
    a = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "a", "a.py", 0)}, 1);
    b = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_PYTHON, "b", "a.py", 0)}, 1);
    sample(&w.s, 1, a, 1000, 3);
    w.s.events.a[0].flags = EVENT_GIL_READ | EVENT_GIL_HELD;
    sample(&w.s, 1, b, 2000, 2);
    *vec_push(&w.s.events) =
        (struct event){.ts = 3000, .dur = 26, .value = 1, .task = 1, .stack = a, .kind = EVENT_OFFCPU};
    *vec_push(&w.s.events) = (struct event){.ts = 4000,
                                            .dur = 18,
                                            .value = 1,
                                            .task = 1,
                                            .stack = b,
                                            .kind = EVENT_RUNQ,
                                            .flags = EVENT_GIL_READ | EVENT_GIL_HELD};
    expect(&w, &(struct fold_opts){.gil = 1}, "python3;a (a.py) 3\n");
    /* of 10 ns: 3 + 2.6 and 2 + 1.8, 9.4 in all */
    expect(&w, &(struct fold_opts){.idle_ns = 10}, "python3;a (a.py) 6\npython3;b (a.py) 3\n");
    expect(&w, &(struct fold_opts){.idle_ns = 10, .gil = 1}, "python3;a (a.py) 3\npython3;b (a.py) 2\n");
    expect(&w, &(struct fold_opts){.metric = "runq", .gil = 1}, "python3;b (a.py) 18\n");
    store_release(&w.s);
}

static void samples_in_time_order(void **state)
{
    struct fold_opts o = {.samples = 1};
    struct profile p;
    struct err e = {0};
    struct world w;
    uint32_t st;

    world_init(&w);
    st = stack(&w.s, (uint32_t[]){named(&w.s, FRAME_NATIVE, "f", NULL, 0)}, 1);
    sample(&w.s, 2, st, 5000, 1);
    sample(&w.s, 1, st, 3000, 2);
    sample(&w.s, 2, st, 500, 3);
    assert_int_equal(fold_store(&p, &w.s, 1000, &o, &e), 0);
    assert_int_equal(p.samples.n, 3);
    assert_int_equal(p.samples.a[0].ts, 0);
    assert_int_equal(p.samples.a[0].value, 3);
    assert_int_equal(p.samples.a[1].ts, 2000);
    assert_int_equal(p.samples.a[2].node, p.samples.a[0].node);
    assert_int_not_equal(p.samples.a[1].node, p.samples.a[0].node);
    profile_release(&p);
    store_release(&w.s);
}

static void deep_recursion(void **state)
{
    struct fold_opts o = {.no_tasks = 1};
    struct profile p;
    struct buf out = {0};
    struct err e = {0};
    struct world w;
    uint32_t f, st = 0;

    world_init(&w);
    f = named(&w.s, FRAME_NATIVE, "r", NULL, 0);
    for (int i = 0; i < 20000; i++)
        st = stacks_push(&w.s.stacks, st, f);
    sample(&w.s, 1, st, 1, 1);
    assert_int_equal(fold_store(&p, &w.s, 0, &o, &e), 0);
    assert_int_equal(p.nodes.n, 20001);
    fold_text(&p, 0, &out);
    assert_int_equal(out.len, 2 * 20000 + 2);
    buf_release(&out);
    profile_release(&p);
    store_release(&w.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_and_names),
        cmocka_unit_test(addresses_become_functions),
        cmocka_unit_test(lines_are_sorted),
        cmocka_unit_test(spans_and_unknown_metrics),
        cmocka_unit_test(wakers_stand_below),
        cmocka_unit_test(chains_tell_what_wakers_did_meanwhile),
        cmocka_unit_test(chains_have_no_circles),
        cmocka_unit_test(chains_go_on_with_the_gil_s_holder),
        cmocka_unit_test(the_gil_s_holder_stands_below_who_waits),
        cmocka_unit_test(held_and_idle),
        cmocka_unit_test(samples_in_time_order),
        cmocka_unit_test(deep_recursion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
