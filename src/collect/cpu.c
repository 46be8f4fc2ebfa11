/* SPDX-License-Identifier: Apache-2.0 */
/* On-CPU samples with whole stacks: one timer or counter per CPU, read and unwound by a BPF program. */
#include "base/mem.h"
#include "collect/sampler.h"
#include "collect/tick.h"
#include "collect/trace.h"
#include "model/collector.h"
#include "model/store_visit.h"

#include <stdio.h>
#include <stdlib.h>

struct collector {
    struct record_ctx *ctx;
    struct trace *trace;
    struct sampler sampler;
    int sampling;
    uint64_t taken, before_exec;
    uint64_t tick_ns; /* of one bare tick, 0: not measured */
    uint32_t metric;
    char detail[400];
};

/* The command begins as a copy of ours: until its first exec it is our program that runs. */
static int is_before_exec(const struct record_ctx *ctx, const struct wire_sample *s)
{
    return ctx->launched && !ctx->whole_machine && !s->image;
}

static void on_sample(void *arg, const void *record, size_t n)
{
    struct collector *c = arg;
    const struct wire_sample *s = record;
    struct event *ev;
    struct process *p;
    uint32_t task, stack;
    uint16_t flags;

    if (n < sizeof(*s))
        return;
    if (is_before_exec(c->ctx, s)) {
        c->before_exec++;
        return;
    }
    p = trace_task(c->trace, &s->task, s->head.ts, s->image, s->flags & (WIRE_KTHREAD | WIRE_NO_MM), &task);
    stack = stack_take(&c->trace->taker, p, s, &flags);
    c->taken++;
    ev = vec_push(&c->ctx->store->events);
    *ev = (struct event){.ts = s->head.ts,
                         .value = 1,
                         .task = task,
                         .stack = stack,
                         .metric = c->metric,
                         .cpu = s->cpu,
                         .flags = flags,
                         .kind = EVENT_SAMPLE};
    if (p && p->python) {
        gils_note(&c->trace->gils, &s->task, task);
        gils_sample(&c->trace->gils, ev);
    }
}

static int cpu_poll(struct collector *c, struct err *e)
{
    return trace_poll(c->trace, e);
}

static void cpu_free(struct collector *c)
{
    if (!c)
        return;
    if (c->trace) {
        bpfside_sample_stop(c->trace->bpf);
        trace_handle(c->trace, WIRE_SAMPLE, NULL, NULL);
    }
    sampler_close(&c->sampler);
    trace_put(c->trace);
    free(c);
}

static struct collector *cpu_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));

    c->ctx = ctx;
    if (sampler_open(&c->sampler, ctx->event, ctx->frequency, ctx->targets.a, ctx->grows ? 0 : ctx->targets.n,
                     e) < 0 ||
        !(c->trace = trace_get(ctx, e))) {
        cpu_free(c);
        return NULL;
    }
    trace_handle(c->trace, WIRE_SAMPLE, on_sample, c);
    if (c->sampler.event.time)
        c->tick_ns = tick_cost_ns();
    c->metric = strtab_add(&ctx->store->strings, c->sampler.event.name);
    free(ctx->meta->event);
    ctx->meta->event = mem_strdup(c->sampler.event.name);
    snprintf(c->detail, sizeof(c->detail), "%s%s%s", c->sampler.event.name, c->sampler.why[0] ? ": " : "",
             c->sampler.why);
    return c;
}

static int cpu_start(struct collector *c, struct err *e)
{
    if (trace_begin(c->trace, e) < 0)
        return -1;
    for (size_t i = 0; i < c->sampler.fds.n; i++)
        if (bpfside_sample(c->trace->bpf, c->sampler.fds.a[i], e) < 0)
            return -1;
    vec_clear(&c->sampler.fds); /* the links own them now */
    c->sampling = 1;
    return 0;
}

static void cpu_counters(struct collector *c)
{
    struct store *s = c->ctx->store;
    struct wire_lost lost;

    trace_counters(c->trace, !c->sampling);
    bpfside_lost(c->trace->bpf, &lost);
    store_set_counter(s, "cpu.expected", sampler_expected(&c->sampler, store_counter(s, "target.cpu_ns", 0)));
    store_set_counter(s, "cpu.taken", c->taken);
    store_set_counter(s, "cpu.before_exec", c->before_exec);
    if (c->tick_ns)
        store_set_counter(s, "cpu.tick_ns", c->tick_ns * c->taken);
    store_set_counter(s, "cpu.lost", lost.samples);
    store_set_counter(s, "cpu.nostack", c->trace->taker.nostack);
    store_set_counter(s, "cpu.gil_read", c->trace->gils.read);
    store_set_counter(s, "cpu.gil_held", c->trace->gils.held);
}

static void cpu_ids(struct collector *c, struct store_visit *v)
{
    trace_ids(c->trace, v);
    store_visit_string(v, &c->metric);
}

static int cpu_stop(struct collector *c, struct err *e)
{
    int rc;

    bpfside_sample_stop(c->trace->bpf);
    c->sampling = 0;
    rc = cpu_poll(c, e);
    track_apply(c->trace->track, UINT64_MAX);
    cpu_counters(c);
    return rc;
}

static int cpu_fd(struct collector *c)
{
    return trace_fd(c->trace, NULL);
}

static const char *cpu_detail(struct collector *c)
{
    return c->detail;
}

static int cpu_alive(struct collector *c)
{
    return trace_alive(c->trace);
}

const struct collector_ops collector_cpu = {
    .name = "cpu",
    .summary = "stacks of what runs on a CPU, by samples",
    .on_by_default = 1,
    .tiers = TIER_A,
    .open = cpu_open,
    .start = cpu_start,
    .fd = cpu_fd,
    .poll = cpu_poll,
    .stop = cpu_stop,
    .counters = cpu_counters,
    .detail = cpu_detail,
    .alive = cpu_alive,
    .ids = cpu_ids,
    .free = cpu_free,
};
