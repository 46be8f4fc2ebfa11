/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time off the CPU: what threads wait for, where and who ends it; and how long they are runnable before they
 * run. The kernel's side sends spans at their end, the stacks of both ends before that.
 */
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "collect/offcpu_before.h"
#include "collect/offcpu_pending.h"
#include "collect/trace.h"
#include "collect/wait_class.h"
#include "collect/wait_kernel.h"
#include "collect/wait_name.h"
#include "model/collector.h"
#include "model/store_visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { RING_PARTS = 20 /* sums of short waits are as exact in time as that */ };
enum { WALK_PERMILLE = 20 /* of each CPU's time */ };
enum { SOCKETS_MAX = 1 << 16 /* of which it is known who waits for them */ };

enum marker {
    MARKER_SHORT_WAITS,
    MARKER_SHORT_DELAYS,
    MARKER_BUDGET,
    MARKER_SHORT_WAKE,
    MARKER_LOST,
    MARKER_BEFORE,
    MARKER_NEW,
    MARKER_IRQ,
    MARKER_INFERRED,
    MARKERS,
};

static const char *const marker_texts[MARKERS] = {
    [MARKER_SHORT_WAITS] = "[short waits]",  [MARKER_SHORT_DELAYS] = "[short delays]",
    [MARKER_BUDGET] = "[stack over budget]", [MARKER_SHORT_WAKE] = "[short wait: waker not walked]",
    [MARKER_LOST] = "[stack lost]",          [MARKER_BEFORE] = "[since before the recording]",
    [MARKER_NEW] = "[new thread]",           [MARKER_IRQ] = "[irq]",
    [MARKER_INFERRED] = "[inferred]",
};

/* Time off the CPU of one kind, and how much of it has no stack though it was long enough for one. */
struct total {
    uint64_t ns, nostack_ns;
};

struct collector {
    struct record_ctx *ctx;
    struct trace *trace;
    struct offcpu_threads threads;
    struct offcpu_before before;
    struct wait_kernel kernel;
    struct wait_namer namer;
    struct map
        walked; /* hash of where one waits, whose waker's task and kernel frames -> the waker's stack */
    struct map on_socket; /* inode -> the thread that waited for it last */
    struct buf scratch;
    uint32_t markers[MARKERS]; /* stacks of one frame; 0: not needed so far */
    struct total waits, delays;
    uint64_t over_budget, lost; /* spans without a stack */
    int running;
    char detail[300];
};

static uint32_t marker(struct collector *c, enum marker m)
{
    if (!c->markers[m])
        c->markers[m] =
            stacks_push(&c->ctx->store->stacks, 0, intern_marker(&c->trace->taker.intern, marker_texts[m]));
    return c->markers[m];
}

/* A record's kernel frames, checked against its size; NULL: none. */
static const uint64_t *kernel_frames(const struct wire_sample *s)
{
    return sizeof(*s) + s->kernel_n * sizeof(uint64_t) <= s->head.size ? (const uint64_t *)(s + 1) : NULL;
}

/* ---- stacks ---- */

static void on_blocked(void *arg, const void *record, size_t n)
{
    struct collector *c = arg;
    const struct wire_sample *s = record;
    struct offcpu_pending *pending;
    const uint64_t *frames;

    if (n < sizeof(*s))
        return;
    frames = kernel_frames(s);
    pending = offcpu_pending_get(&c->threads, s->task.tid);
    offcpu_copy(&pending->blocked, s,
                frames ? wait_kernel_inner(&c->kernel.schedule, frames, s->kernel_n) : 0);
    if (!(s->pad & WIRE_BLOCKED_BEFORE))
        return;
    pending->before = 0; /* of a wait before */
    offcpu_before_add(&c->before, s->task.tid);
}

/* Only the kernel's frames are there; why, says the marker. */
static uint32_t kernel_stack(struct collector *c, struct process *p, const uint64_t *frames, uint32_t n,
                             enum marker why)
{
    struct intern *in = &c->trace->taker.intern;

    intern_begin(in);
    for (uint32_t i = 0; i < n; i++)
        *intern_push(in) = (struct raw_frame){.kind = FRAME_KERNEL, .addr = frames[i]};
    *intern_push(in) =
        (struct raw_frame){.kind = FRAME_MARKER, .frame = intern_marker(in, marker_texts[why])};
    return intern_end(in, p);
}

static void on_waker(void *arg, const void *record, size_t n)
{
    struct collector *c = arg;
    const struct wire_sample *s = record;
    const uint64_t *frames;
    struct offcpu_waker w = {0};
    struct process *p;
    uint32_t skip;
    uint16_t flags;

    if (n < sizeof(*s) || !(frames = kernel_frames(s)))
        return;
    w.ts = s->head.ts;
    if (wait_kernel_interrupted(&c->kernel, frames, s->kernel_n)) {
        w.irq = 1;
        w.stack = marker(c, MARKER_IRQ);
    } else {
        skip = wait_kernel_inner(&c->kernel.wake, frames, s->kernel_n);
        p = trace_task(c->trace, &s->task, s->head.ts, s->image, s->flags & (WIRE_KTHREAD | WIRE_NO_MM),
                       &w.task);
        w.kernel = hash_bytes(frames + skip, (s->kernel_n - skip) * sizeof(*frames));
        w.unwalked = (s->pad & WIRE_WAKER_SHORT) != 0;
        if (s->pad) {
            w.stack = kernel_stack(c, p, frames + skip, s->kernel_n - skip,
                                   w.unwalked ? MARKER_SHORT_WAKE : MARKER_BUDGET);
        } else {
            offcpu_copy(&c->scratch, s, skip);
            w.stack = stack_take(&c->trace->taker, p, (const struct wire_sample *)c->scratch.data, &flags);
        }
    }
    offcpu_pending_get(&c->threads, (uint32_t)s->weight)->waker = w;
}

/* Where the thread was when it left its CPU. */
static uint32_t taken_stack(struct collector *c, const struct wire_span *s, struct process *p,
                            struct offcpu_pending *pending, uint16_t *flags)
{
    const struct wire_sample *at =
        pending && pending->blocked.len ? (const struct wire_sample *)pending->blocked.data : NULL;

    int gil = s->wait.reason == WAIT_GIL;

    *flags = 0;
    switch (s->stack) {
    case WIRE_STACK_BEFORE:
        return pending && offcpu_before_end(pending, flags) ? pending->before : marker(c, MARKER_BEFORE);
    case WIRE_STACK_NEW:
        return marker(c, MARKER_NEW);
    case WIRE_STACK_LATE:
        if (at && at->head.ts == s->head.ts && offcpu_before_end(pending, flags))
            return pending->before;
        c->over_budget++;
        return marker(c, MARKER_BUDGET);
    case WIRE_STACK_BUDGET:
        c->over_budget++;
        return marker(c, MARKER_BUDGET);
    case WIRE_STACK_SAME:
    case WIRE_STACK_SENT:
        if (!at || (s->stack == WIRE_STACK_SENT && at->head.ts != s->head.ts))
            break;
        if (gil) { /* the kernel's part is how one waits, for anything */
            offcpu_copy(&c->scratch, at, at->kernel_n);
            at = (const struct wire_sample *)c->scratch.data;
        }
        return stack_take(&c->trace->taker, p, at, flags);
    }
    c->lost++;
    return marker(c, MARKER_LOST);
}

static uint32_t span_stack(struct collector *c, const struct wire_span *s, struct process *p,
                           struct offcpu_pending *pending, uint16_t *flags)
{
    uint32_t stack = taken_stack(c, s, p, pending, flags);

    return s->wait.reason == WAIT_GIL ? gils_stack(&c->trace->gils, stack) : stack;
}

/* ---- spans ---- */

static void total(struct total *t, uint64_t ns, const struct wire_span *s)
{
    t->ns += ns;
    if (s && (s->stack == WIRE_STACK_BUDGET || s->stack == WIRE_STACK_ROOM))
        t->nostack_ns += ns;
}

/* Of short waits some wakers are walked: the others of that thread that end a wait at the same place are
 * taken to be where the last of them was, by the same way through the kernel if there was one. */
static uint32_t waker_stack(struct collector *c, const struct offcpu_waker *w, uint32_t waits_at)
{
    uint64_t who = (uint64_t)waits_at << 32 | w->task, key = hash_mix(w->kernel, who), any = hash_mix(0, who),
             *known;

    if (!w->unwalked) {
        *map_put(&c->walked, key) = w->stack;
        *map_put(&c->walked, any) = w->stack;
        return w->stack;
    }
    known = map_get(&c->walked, key);
    if (!known)
        known = map_get(&c->walked, any);
    return known ? (uint32_t)*known : w->stack;
}

static void note_socket(struct collector *c, const struct wire_wait *on, uint32_t task)
{
    if (!S_ISSOCK(on->mode) || !on->ino)
        return;
    if (c->on_socket.n >= SOCKETS_MAX)
        map_release(&c->on_socket);
    *map_put(&c->on_socket, on->ino) = task;
}

/* An interrupt brings what somebody has sent: of a connection to this machine, the thread that waits for what
 * comes to the other end. */
static void infer_sender(struct collector *c, const struct wire_wait *on, struct wait *w)
{
    uint64_t ino = w->irq && S_ISSOCK(on->mode) ? wait_peer_socket(&c->namer, on) : 0, *known;

    known = ino ? map_get(&c->on_socket, ino) : NULL;
    if (!known)
        return;
    w->waker_task = (uint32_t)*known;
    w->waker_stack = marker(c, MARKER_INFERRED);
}

static struct wait span_wait(struct collector *c, const struct wire_span *s, const struct process *p,
                             const struct offcpu_pending *pending, uint32_t waits_at)
{
    struct wait w = {.reason = (uint8_t)s->wait.reason};
    struct wire_wait on = s->wait;

    if (s->stack == WIRE_STACK_BEFORE && pending && pending->before)
        on.owner = pending->before_owner;
    if (s->wait.reason == WAIT_GIL)
        w.what = gils_name(&c->trace->gils, &s->task, &s->gil);
    else
        w.what = wait_name(&c->namer, p, &on);
    if (s->flags & WIRE_SPAN_IRQ) {
        w.irq = 1;
        w.waker_stack = marker(c, MARKER_IRQ);
    } else if (s->flags & WIRE_SPAN_WAKER && pending && pending->waker.ts == s->woken) {
        w.irq = pending->waker.irq;
        w.waker_task = pending->waker.task;
        w.waker_stack = waker_stack(c, &pending->waker, waits_at);
    }
    infer_sender(c, &on, &w);
    return w;
}

/* What the spans of threads say of the GIL: a wait for it, the end of one, where its holder is; who is who.
 */
static void gil_span(struct collector *c, const struct wire_span *s, const struct process *p,
                     const struct event *ev, const struct wait *w)
{
    struct event span = *ev;

    if (!p || !p->python)
        return;
    gils_note(&c->trace->gils, &s->task, ev->task);
    if (s->wait.reason == WAIT_GIL && !(s->flags & WIRE_SPAN_PREEMPTED)) {
        struct gil_part part = {.ts = s->head.ts,
                                .end = s->ran,
                                .gil = s->gil,
                                .woken = s->woken,
                                .task = ev->task,
                                .stack = ev->stack,
                                .flags = ev->flags,
                                .walked = s->stack == WIRE_STACK_SENT || s->stack == WIRE_STACK_SAME,
                                .open = (s->flags & WIRE_SPAN_OPEN) != 0,
                                .wait = *w};

        gils_part(&c->trace->gils, &s->task, &part);
        return;
    }
    span.ts = s->head.ts;
    span.dur = s->ran - s->head.ts;
    span.kind = s->flags & WIRE_SPAN_PREEMPTED ? EVENT_RUNQ : EVENT_OFFCPU;
    gils_other(&c->trace->gils, &s->task, &span);
}

/* Into the store, unless nothing is left of it: the last of our programs stops a little after the recording's
 * end. */
static void push(struct collector *c, struct event ev)
{
    uint64_t end = c->ctx->end_mono;

    if (end && ev.ts >= end)
        return;
    if (end && ev.ts + ev.dur > end)
        ev.dur = end - ev.ts;
    *vec_push(&c->ctx->store->events) = ev;
}

static void on_span(void *arg, const void *record, size_t n)
{
    struct collector *c = arg;
    const struct wire_span *s = record;
    struct offcpu_pending *pending;
    struct event ev = {.value = 1};
    struct wait wait = {0};
    struct process *p;

    if (n < sizeof(*s) || s->wait.reason >= WIRE_OFF_RUNNABLE)
        return;
    p = trace_task(c->trace, &s->task, s->head.ts, s->image, s->flags & WIRE_SPAN_KTHREAD, &ev.task);
    pending = offcpu_pending_find(&c->threads, s->task.tid);
    ev.stack = span_stack(c, s, p, pending, &ev.flags);
    ev.cpu = s->cpu;
    if (s->blocked) {
        total(&c->waits, s->blocked, s);
        ev.kind = EVENT_OFFCPU;
        ev.ts = s->head.ts;
        ev.dur = s->blocked;
        wait = span_wait(c, s, p, pending, ev.stack);
        note_socket(c, &s->wait, ev.task);
        ev.attr = waits_add(&c->ctx->store->waits, &wait);
        /* Open at the end and woken by then: what is open is the wait for a CPU. */
        ev.flags |= s->flags & WIRE_SPAN_OPEN && !s->woken ? EVENT_OPEN : 0;
        push(c, ev);
    }
    gil_span(c, s, p, &ev, &wait);
    if (s->runnable) {
        total(&c->delays, s->runnable, s);
        ev.kind = EVENT_RUNQ;
        ev.ts = s->flags & WIRE_SPAN_PREEMPTED ? s->head.ts : s->queued;
        ev.dur = s->runnable;
        ev.attr = 0;
        ev.flags |= (s->flags & WIRE_SPAN_OPEN ? EVENT_OPEN : 0) |
                    (s->flags & WIRE_SPAN_PREEMPTED ? EVENT_PREEMPTED : 0) |
                    (s->flags & WIRE_SPAN_YIELD ? EVENT_YIELD : 0);
        push(c, ev);
    }
}

static void on_short(void *arg, const void *record, size_t n)
{
    struct collector *c = arg;
    const struct wire_short *s = record;
    uint32_t task = 0;

    if (n < sizeof(*s))
        return;
    for (uint32_t i = 0; i < WIRE_OFF_REASONS; i++) {
        int runnable = i == WIRE_OFF_RUNNABLE;
        struct wait w = {.reason = (uint8_t)i};

        if (!s->n[i])
            continue;
        total(runnable ? &c->delays : &c->waits, s->ns[i], NULL);
        if (!task)
            task = who_task(&c->trace->who, &s->task, s->head.ts);
        *vec_push(&c->ctx->store->events) = (struct event){
            .ts = s->head.ts,
            .dur = s->ns[i],
            .value = s->n[i],
            .task = task,
            .stack = i == WAIT_GIL ? gils_stack(&c->trace->gils, marker(c, MARKER_SHORT_WAITS))
                                   : marker(c, runnable ? MARKER_SHORT_DELAYS : MARKER_SHORT_WAITS),
            .attr = runnable ? 0 : waits_add(&c->ctx->store->waits, &w),
            .flags = EVENT_SHORT,
            .kind = runnable ? EVENT_RUNQ : EVENT_OFFCPU};
        if (i == WAIT_GIL)
            gils_short(&c->trace->gils, &c->ctx->store->events.a[c->ctx->store->events.n - 1]);
    }
    if (s->ended)
        gils_ended(&c->trace->gils, &s->task);
    if (s->ended)
        offcpu_pending_drop(&c->threads, s->task.tid);
}

/* ---- life ---- */

static void handle(struct collector *c, int on)
{
    trace_handle(c->trace, WIRE_BLOCKED, on ? on_blocked : NULL, c);
    trace_handle(c->trace, WIRE_WAKER, on ? on_waker : NULL, c);
    trace_handle(c->trace, WIRE_SPAN, on ? on_span : NULL, c);
    trace_handle(c->trace, WIRE_SHORT, on ? on_short : NULL, c);
}

static double share(const struct total *t)
{
    return t->ns ? (double)t->nostack_ns / (double)t->ns : 0;
}

static void describe(struct collector *c)
{
    char least[32], waits[32], delays[32];
    int n = snprintf(c->detail, sizeof(c->detail), "spans from %s on, shorter ones summed",
                     units_duration(least, sizeof(least), c->ctx->min_block));

    if (!c->waits.nostack_ns && !c->delays.nostack_ns)
        return;
    snprintf(
        c->detail + n, sizeof(c->detail) - (size_t)n,
        "; without a stack, for want of time to walk it: %s of the time waited, %s of that on run queues",
        units_share(waits, sizeof(waits), share(&c->waits)),
        units_share(delays, sizeof(delays), share(&c->delays)));
}

static int offcpu_poll(struct collector *c, struct err *e)
{
    int rc = trace_poll(c->trace, e);

    offcpu_before_look(&c->before, OFFCPU_BEFORE_TURN_NS);
    gils_turn(&c->trace->gils, c->ctx->now());
    return rc;
}

static void offcpu_free(struct collector *c)
{
    if (!c)
        return;
    if (c->trace) {
        if (c->running)
            bpfside_off_stop(c->trace->bpf, NULL);
        handle(c, 0);
    }
    trace_put(c->trace);
    offcpu_before_release(&c->before);
    offcpu_threads_release(&c->threads);
    wait_kernel_release(&c->kernel);
    wait_namer_release(&c->namer);
    map_release(&c->walked);
    map_release(&c->on_socket);
    buf_release(&c->scratch);
    free(c);
}

static struct collector *offcpu_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));

    c->ctx = ctx;
    c->trace = trace_get(ctx, e);
    if (!c->trace) {
        offcpu_free(c);
        return NULL;
    }
    offcpu_before_init(&c->before, c->trace, &c->threads);
    wait_kernel_init(&c->kernel, NULL);
    wait_namer_init(&c->namer, ctx->store, c->trace->track);
    c->namer.holders.bpf = c->trace->bpf;
    handle(c, 1);
    describe(c);
    return c;
}

static int offcpu_start(struct collector *c, struct err *e)
{
    struct wire_off_config how = {.min_ns = c->ctx->min_block ? c->ctx->min_block : 1,
                                  .sums_ns = c->ctx->ring / RING_PARTS,
                                  .walk_permille = WALK_PERMILLE,
                                  .launched = (uint32_t)c->ctx->launched};

    wait_classes(&how);
    if (trace_begin(c->trace, e) < 0 || bpfside_off_start(c->trace->bpf, &how, e) < 0)
        return -1;
    c->running = 1;
    if (c->ctx->launched) /* nobody waits but at our gate */
        return 0;
    if (trace_poll(c->trace, e) < 0)
        return -1;
    offcpu_before_look(&c->before, OFFCPU_BEFORE_FIRST_NS);
    return 0;
}

static void offcpu_counters(struct collector *c)
{
    struct store *s = c->ctx->store;
    struct wire_off_stats st;
    uint64_t ns, runs;

    trace_counters(c->trace, !c->running && !trace_handles(c->trace, WIRE_SAMPLE));
    bpfside_off_stats(c->trace->bpf, &st);
    store_set_counter(s, "offcpu.switches", st.switches);
    store_set_counter(s, "offcpu.untold", st.untold);
    store_set_counter(s, "offcpu.spans", st.spans);
    store_set_counter(s, "offcpu.short", st.summed);
    store_set_counter(s, "offcpu.over_budget", c->over_budget);
    store_set_counter(s, "offcpu.nostack", c->lost);
    store_set_counter(s, "offcpu.lost", st.spans_lost);
    store_set_counter(s, "offcpu.lost_ns", st.sums_lost);
    store_set_counter(s, "offcpu.unfollowed", st.unfollowed);
    store_set_counter(s, "offcpu.not_walked", st.over_budget + st.no_room);
    store_set_counter(s, "offcpu.stacks_lost", st.stacks_lost);
    store_set_counter(s, "offcpu.walks", st.walks);
    store_set_counter(s, "offcpu.walk_ns", st.walk_ns);
    store_set_counter(s, "offcpu.gil_waits", c->trace->gils.waits);
    store_set_counter(s, "offcpu.gil_ns", c->trace->gils.ns);
    if ((!c->running || trace_costs_due(c->trace)) && !bpfside_off_cost(c->trace->bpf, &ns, &runs)) {
        store_set_counter(s, "offcpu.bpf_ns", ns + st.late_ns);
        store_set_counter(s, "offcpu.bpf_runs", runs);
    }
}

static void offcpu_ids(struct collector *c, struct store_visit *v)
{
    struct map_slot *s;

    trace_ids(c->trace, v);
    wait_namer_ids(&c->namer, v);
    map_release(&c->walked); /* its keys have ids in them */
    for (size_t i = 0; i < MARKERS; i++)
        store_visit_stack(v, &c->markers[i]);
    for (size_t i = 0; (s = map_next(&c->threads.by_tid, &i));) {
        struct offcpu_pending *p = (struct offcpu_pending *)(uintptr_t)s->val;

        store_visit_stack(v, &p->waker.stack);
        store_visit_stack(v, &p->before);
    }
}

static int offcpu_stop(struct collector *c, struct err *e)
{
    int rc;

    struct wire_off_stats st;

    bpfside_off_rest(c->trace->bpf, NULL);
    trace_poll(c->trace, NULL); /* and room for what comes now */
    c->running = 0;
    offcpu_before_look(&c->before, OFFCPU_BEFORE_LAST_NS);
    rc = bpfside_off_stop(c->trace->bpf, e);
    if (trace_poll(c->trace, rc ? NULL : e) < 0)
        rc = -1;
    gils_turn(&c->trace->gils, UINT64_MAX);
    offcpu_counters(c);
    bpfside_off_stats(c->trace->bpf, &st);
    log_debug("off-CPU: %llu switches, %llu spans, %llu summed, %llu stacks in %llu ns, %llu over budget, "
              "%llu without room",
              (unsigned long long)st.switches, (unsigned long long)st.spans, (unsigned long long)st.summed,
              (unsigned long long)st.walks, (unsigned long long)st.walk_ns,
              (unsigned long long)st.over_budget, (unsigned long long)st.no_room);
    return rc;
}

static int offcpu_fd(struct collector *c)
{
    return trace_fd(c->trace, NULL);
}

static const char *offcpu_detail(struct collector *c)
{
    describe(c);
    return c->detail;
}

static int offcpu_alive(struct collector *c)
{
    return trace_alive(c->trace);
}

const struct collector_ops collector_offcpu = {
    .name = "offcpu",
    .summary = "what threads wait for off the CPU, where, and who wakes them",
    .on_by_default = 1,
    .tiers = TIER_A,
    .open = offcpu_open,
    .start = offcpu_start,
    .fd = offcpu_fd,
    .poll = offcpu_poll,
    .stop = offcpu_stop,
    .counters = offcpu_counters,
    .detail = offcpu_detail,
    .alive = offcpu_alive,
    .ids = offcpu_ids,
    .free = offcpu_free,
};
