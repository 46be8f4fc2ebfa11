/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology.h"

#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "collect/trace.h"
#include "model/collector.h"
#include "model/graph_json.h"
#include "model/graph_ops.h"
#include "platform/clock.h"
#include "record/topology_delta.h"
#include "record/topology_look.h"
#include "record/topology_when.h"
#include "topo/own.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SECOND 1000000000ull

#define LINES_MAX (256ull << 20)

enum { TIMES_TOLD = 8 }; /* of looks, in the coverage */

enum { LAST_MS = 2000, PENDING_MS = 50, MAP_FULL = BPFSIDE_FLOWS_MAX / 2 };

struct collector {
    struct record_ctx *ctx;
    struct topology_opts opts;
    struct trace *trace; /* NULL: not in tier A */
    int counts;          /* flows are counted by the kernel's side */
    int alone;           /* no other collector turns the trace */
    struct err why;      /* flows are not counted */
    struct topology_look look;
    pid_t look_pid; /* also when it has ended */
    struct delta delta;
    struct flows flows; /* those that the kernel's side has given up already */
    struct graph all;   /* all looks; after the end the recording's topology */
    int timer_fd, epoll_fd, lines_fd;
    struct when when;              /* without an interval */
    uint64_t taken_ns[TIMES_TOLD]; /* when looks were asked for, since the beginning */
    uint64_t asked, looks, lines, dropped, failed, bytes;
    uint64_t cut;                       /* processes that one look was not asked for, at most */
    uint64_t begin, boot_begin, offset; /* CLOCK_MONOTONIC, CLOCK_BOOTTIME; CLOCK_REALTIME less the first */
    struct flows_told told;
    int over;
    int ended; /* the command is gone: nothing of it is left to look at */
    char detail[256];
};

static void topology_free(struct collector *c)
{
    topology_look_end(&c->look);
    delta_release(&c->delta);
    flows_release(&c->flows);
    when_release(&c->when);
    if (c->ctx->graph == &c->all)
        c->ctx->graph = NULL;
    graph_release(&c->all);
    if (c->timer_fd >= 0)
        close(c->timer_fd);
    if (c->epoll_fd >= 0)
        close(c->epoll_fd);
    if (c->lines_fd >= 0)
        close(c->lines_fd);
    trace_put(c->trace);
    free(c);
}

static struct collector *topology_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));
    struct epoll_event ev = {.events = EPOLLIN};
    struct err e_look = {0};

    c->ctx = ctx;
    c->opts = ctx->topology ? *ctx->topology : (struct topology_opts){.hops = 3};
    c->lines_fd = c->look.fd = -1;
    graph_init(&c->all);
    c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (c->timer_fd < 0 || c->epoll_fd < 0 || epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev)) {
        err_sys(e, errno, "timerfd, epoll");
        topology_free(c);
        return NULL;
    }
    if (topology_look_begin(&c->look, &e_look) ||
        epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->look.fd, &ev)) /* goes on without looks */
        log_debug("topology: no looks: %s", e_look.msg);
    c->look_pid = c->look.pid;
    if (ctx->tier == TIER_A && !(c->trace = trace_get(ctx, &c->why))) /* makes us large: after the fork */
        log_debug("topology: %s", c->why.msg);
    return c;
}

/* ---- looks ---- */

static uint64_t offset_now(void)
{
    uint64_t mono = clock_monotonic();

    return clock_ns(CLOCK_REALTIME) - mono;
}

static int arm(struct collector *c)
{
    const uint64_t ns = c->opts.interval ? c->opts.interval : WHEN_TICK_NS;
    const struct timespec every = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    const struct itimerspec at = {every, every};

    return timerfd_settime(c->timer_fd, 0, &at, NULL);
}

static void ask(struct collector *c)
{
    struct topology_pids pids = {0};
    struct err e = {0};
    size_t cut;

    if (c->look.fd < 0)
        return;
    if (c->look.busy) { /* it takes longer than the interval: that one is left out */
        c->dropped++;
        return;
    }
    if (!c->ctx->whole_machine) {
        for (size_t i = 0; i < c->ctx->targets.n; i++)
            *vec_push(&pids.list) = c->ctx->targets.a[i];
        cut = topology_living(c->ctx->store, TOPOLOGY_LOOK_PIDS, &pids);
        c->cut = cut > c->cut ? cut : c->cut;
    }
    if (topology_look_ask(&c->look, &(struct topology_look_how){pids.list.a, pids.list.n, c->opts.hops},
                          &e)) {
        c->failed++;
        log_debug("topology: %s", e.msg);
    }
    if (c->asked < TIMES_TOLD)
        c->taken_ns[c->asked] = c->ctx->now() - c->begin;
    c->asked++;
    when_asked(&c->when, c->ctx->now());
    vec_release(&pids.list);
}

/* What has been counted until now. */
static void take_flows(struct collector *c, struct flows *out)
{
    struct bpfside_flows now = {0};
    struct err e = {0};

    flows_copy(out, &c->flows);
    if (bpfside_flows_take(c->trace->bpf, 0, &now, &e))
        log_debug("topology: %s", e.msg);
    flows_add(out, &now);
    vec_release(&now.list);
}

/* The kernel's side has room for so many: half of it stays free. */
static void make_room(struct collector *c)
{
    struct bpfside_flows now = {0};
    struct err e = {0};

    if (!c->counts || bpfside_flows_made(c->trace->bpf) < MAP_FULL)
        return;
    if (bpfside_flows_take(c->trace->bpf, 1, &now, &e))
        log_debug("topology: %s", e.msg);
    flows_add(&c->flows, &now);
    vec_release(&now.list);
}

/* What is joined to others in between, nobody has seen. */
static void cover_looks(const struct collector *c, struct graph *g)
{
    struct buf d = {0};

    for (uint64_t i = 0; i < c->asked && i < TIMES_TOLD; i++)
        buf_addf(&d, "%s%.1f", i ? ", " : "at ", (double)c->taken_ns[i] / 1e9);
    if (c->asked)
        buf_addf(&d, "%s s after the beginning", c->asked > TIMES_TOLD ? " ..." : "");
    else
        buf_addstr(&d, "none: what is joined by memory, pipes and the like is not seen");
    if (c->when.held)
        buf_addf(&d,
                 "; %" PRIu64 " time%s none when processes had come: looks had taken their share of CPU time",
                 c->when.held, c->when.held == 1 ? "" : "s");
    if (c->cut)
        buf_addf(&d, "; %" PRIu64 " processes without a parent were not looked for: a look asks for %d",
                 c->cut, TOPOLOGY_LOOK_PIDS);
    graph_cover(g, &(struct graph_coverage){.source = "looks",
                                            .state = c->cut || c->when.held || !c->asked ? "partial" : "ok",
                                            .detail = buf_str(&d),
                                            .seen = c->looks,
                                            .denied = c->cut});
    buf_release(&d);
}

static void cover(struct collector *c, struct graph *g, size_t processes, size_t flows)
{
    struct wire_lost lost = {0};
    struct buf d = {0};

    if (c->trace)
        bpfside_lost(c->trace->bpf, &lost);
    graph_cover(g, &(struct graph_coverage){.source = "recording", .state = "ok", .seen = processes});
    cover_looks(c, g);
    if (c->counts)
        buf_addf(&d, "%" PRIu64 " connections", c->told.connections);
    else
        buf_addf(&d, "by what TCP counts from look to look%s%s", c->why.msg[0] ? ": " : "", c->why.msg);
    if (c->counts && bpfside_flows_by_exits(c->trace->bpf))
        buf_addstr(&d, ", counted where functions return: this kernel has no tracepoints for them, and what "
                       "sendfile(2) sends is not seen");
    if (c->told.small)
        buf_addf(&d, "; %" PRIu64 " below the limits", c->told.small);
    if (c->told.alone)
        buf_addf(&d, "; %" PRIu64 " with an end elsewhere", c->told.alone);
    if (lost.flow_messages || c->flows.left_messages)
        buf_addf(&d, "; no room for %" PRIu64 " messages with %" PRIu64 " bytes",
                 (uint64_t)lost.flow_messages + c->flows.left_messages,
                 (uint64_t)lost.flow_bytes + c->flows.left_bytes);
    graph_cover(g, &(struct graph_coverage){
                       .source = "flows",
                       .state = !c->counts || lost.flow_messages || c->flows.left_messages ? "partial" : "ok",
                       .detail = buf_str(&d),
                       .seen = flows});
    buf_release(&d);
}

struct ours {
    int a[3];
};

/* The recorder, who looks for it, and with --sudo whoever started both. */
static struct ours our_pids(const struct collector *c)
{
    return (struct ours){{getpid(), c->look_pid, c->ctx->front}};
}

static void leave_us_out(const struct collector *c, const struct ours *ours, struct graph *g)
{
    topo_leave_out(g, &(struct topo_own){ours->a, ARRAY_SIZE(ours->a), c->ctx->targets.a, c->ctx->targets.n});
}

/* What is near the targets. */
static void narrow(struct collector *c, struct graph *g)
{
    const struct store *s = c->ctx->store;
    struct graph_nodes seeds = {0};
    struct graph out;

    if (c->ctx->whole_machine || !c->opts.hops)
        return;
    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];

        if (t->leader == i + 1 && t->pid == t->tid && t->ns_pid)
            *vec_push(&seeds.list) = topology_process(g, t->ns_pid, -1, t->start_ns);
    }
    graph_init(&out);
    if (seeds.list.n) {
        graph_around(&out, g, &seeds, c->opts.hops);
        graph_release(g);
        *g = out;
    }
    vec_release(&seeds.list);
}

/* Adds processes and flows to what looks have found. */
static void complete(struct collector *c, struct graph *g)
{
    const struct ours ours = our_pids(c);
    struct flows_limits limits = {.min_bytes = c->opts.min_bytes,
                                  .min_messages = c->opts.min_messages,
                                  .launched = c->ctx->launched ? (uint32_t)c->ctx->targets.a[0] : 0,
                                  .offset = c->offset,
                                  .ours = ours.a,
                                  .nours = ARRAY_SIZE(ours.a)};
    struct flows flows = {0};
    size_t processes;

    uint64_t now = clock_ns(CLOCK_REALTIME);

    g->time_ns = 0; /* what is told from here on was seen earlier */
    g->source = "recording";
    processes =
        topology_processes(g, c->ctx->store,
                           &(struct topology_how){.offset = c->offset,
                                                  .now = now,
                                                  .only_since = c->ctx->whole_machine ? c->boot_begin : 0,
                                                  .launched = c->ctx->launched ? c->ctx->targets.a[0] : 0,
                                                  .launcher = c->ctx->front ? c->ctx->front : getpid(),
                                                  .looks_name = !c->trace});
    if (c->counts) {
        c->told = (struct flows_told){0};
        take_flows(c, &flows);
        flows_tell(g, &flows, &limits, &c->told);
    }
    cover(c, g, processes, flows.all.list.n);
    leave_us_out(c, &ours, g);
    narrow(c, g);
    g->time_ns = now;
    flows_release(&flows);
}

static int open_lines(struct collector *c)
{
    struct stat st;

    if (c->lines_fd < 0 && c->ctx->session_dir > 0) {
        c->lines_fd = openat(c->ctx->session_dir, TOPOLOGY_LINES,
                             O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (c->lines_fd >= 0 && !fstat(c->ctx->session_dir, &st) && fchown(c->lines_fd, st.st_uid, st.st_gid))
            log_debug("topology: %s: %s", TOPOLOGY_LINES, strerror(errno));
    }
    return c->lines_fd;
}

/* One line, whole or not at all. */
static void write_line(struct collector *c, struct graph *g)
{
    struct buf out = {0};
    struct err e = {0};

    complete(c, g);
    graph_json_write(g, 0, &out);
    buf_addch(&out, '\n');
    if (open_lines(c) < 0 || c->bytes + out.len > LINES_MAX ||
        io_write_all(c->lines_fd, out.data, out.len, &e)) {
        if (c->lines_fd >= 0 && ftruncate(c->lines_fd, (off_t)c->bytes))
            log_debug("topology: %s", strerror(errno));
        c->dropped++;
    } else {
        c->lines++;
        c->bytes += out.len;
    }
    buf_release(&out);
}

/* What the command's processes are joined to was made after the beginning: it counts from the first look on.
 */
static void add_delta(struct collector *c, const struct graph *g)
{
    const struct tasks *tasks = &c->ctx->store->tasks;
    uint8_t *fresh = mem_calloc(g->nodes.n + 1, 1);
    struct map pids = {0};

    for (size_t i = 0; c->ctx->launched && i < tasks->list.n; i++)
        *map_put(&pids, tasks->list.a[i].ns_pid) = 1;
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (e->kind != GRAPH_EDGE_OWN || e->a->kind != GRAPH_PROCESS ||
            !map_get(&pids, (uint64_t)graph_attr_int(&e->a->attrs, "pid", 0)))
            continue;
        fresh[e->a->index] = 1;
        fresh[e->b->index] |= e->b->kind == GRAPH_SOCKET;
    }
    delta_add(&c->delta, &c->all, g, fresh);
    map_release(&pids);
    free(fresh);
}

static int take(struct collector *c)
{
    struct err e = {0};
    struct graph g;
    int rc;

    graph_init(&g);
    rc = topology_look_take(&c->look, &g, &e);
    if (rc > 0) {
        c->looks++;
        when_took(&c->when, c->look.cpu_ns);
        graph_merge(&c->all, &g, GRAPH_LATER, NULL);
        if (!c->counts)
            add_delta(c, &g);
        if (c->opts.interval)
            write_line(c, &g);
    } else if (rc < 0) { /* the recording goes on without it */
        c->failed++;
        log_debug("topology: %s", e.msg);
        topology_look_end(&c->look);
    }
    graph_release(&g);
    return rc;
}

/* ---- the collector ---- */

static int start_flows(struct collector *c, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN};
    int fd;

    if (!c->trace)
        return 0;
    if (trace_begin(c->trace, e))
        return -1;
    c->counts = !bpfside_flows_start(c->trace->bpf, c->opts.pipe_bytes, &c->why);
    c->alone = !trace_handles(c->trace, WIRE_SAMPLE) && !trace_handles(c->trace, WIRE_SPAN);
    if (!c->alone)
        return 0;
    fd = trace_fd(c->trace, e);
    if (fd < 0 || epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
        return err_sys(e, errno, "epoll");
    return 0;
}

static int topology_start(struct collector *c, struct err *e)
{
    if (start_flows(c, e))
        return -1;
    c->begin = c->ctx->now();
    c->boot_begin = clock_ns(CLOCK_BOOTTIME);
    c->offset = offset_now();
    when_begin(&c->when, c->begin, c->boot_begin);
    if (!c->ctx->launched)
        ask(c); /* how it is at the beginning */
    return arm(c) ? err_sys(e, errno, "timerfd") : 0;
}

static int topology_fd(struct collector *c)
{
    return c->epoll_fd;
}

static int topology_poll(struct collector *c, struct err *e)
{
    uint64_t times;

    if (c->alone && trace_poll(c->trace, e))
        return -1;
    if (c->look.busy)
        take(c);
    if (read(c->timer_fd, &times, sizeof(times)) != sizeof(times))
        return 0;
    if (c->opts.interval) {
        c->dropped += times - 1;
        ask(c);
    } else if (!c->look.busy && when_due(&c->when, &c->ctx->store->tasks, c->ctx->now())) {
        ask(c);
    }
    return 0;
}

static void topology_counters(struct collector *c)
{
    struct store *s = c->ctx->store;
    struct wire_lost lost = {0};
    uint64_t ns = 0, runs = 0;

    if (c->alone)
        trace_counters(c->trace, c->over);
    make_room(c);
    store_set_counter(s, "topology.looks", c->looks);
    store_set_counter(s, "topology.looks_ns", c->look.cpu_ns);
    store_set_counter(s, "topology.snapshots", c->lines);
    store_set_counter(s, "topology.snapshots_dropped", c->dropped);
    store_set_counter(s, "topology.looks_failed", c->failed);
    store_set_counter(s, "topology.looks_cut", c->cut);
    if (!c->counts)
        return;
    bpfside_lost(c->trace->bpf, &lost);
    store_set_counter(s, "topology.messages_lost", lost.flow_messages + c->flows.left_messages);
    if ((c->over || trace_costs_due(c->trace)) && !bpfside_flows_cost(c->trace->bpf, &ns, &runs)) {
        store_set_counter(s, "topology.bpf_ns", ns);
        store_set_counter(s, "topology.bpf_runs", runs);
    }
}

/* Those that are still there are seen as they are at the end. */
static void last_look(struct collector *c)
{
    if (c->look.busy && topology_look_wait(&c->look, PENDING_MS))
        take(c);
    if (c->ended || c->look.busy || c->look.fd < 0 || c->counts || !c->opts.interval)
        return; /* the target runs on meanwhile, which others take for time that was recorded */
    ask(c);
    for (uint64_t end = clock_monotonic() + LAST_MS * 1000000ull; c->look.busy;) {
        uint64_t now = clock_monotonic();

        if (now >= end || !topology_look_wait(&c->look, (int)((end - now) / 1000000) + 1))
            break;
        take(c);
    }
    if (c->look.busy)
        c->dropped++;
}

static int topology_stop(struct collector *c, struct err *e)
{
    int rc = 0;

    c->over = 1;
    last_look(c);
    if (c->trace) {
        rc = trace_poll(c->trace, e);
        if (c->alone)
            track_apply(c->trace->track, UINT64_MAX);
        bpfside_flows_stop(c->trace->bpf);
    }
    if (!c->counts)
        delta_tell(&c->delta, &c->all);
    complete(c, &c->all);
    topology_counters(c);
    topology_look_end(&c->look);
    c->ctx->graph = &c->all;
    return rc;
}

static void topology_ended(struct collector *c)
{
    c->ended = 1;
}

static const char *topology_detail(struct collector *c)
{
    if (c->trace && !c->counts && c->why.msg[0])
        snprintf(c->detail, sizeof(c->detail), "flows by what TCP counts: %.200s", c->why.msg);
    else if (c->dropped)
        snprintf(c->detail, sizeof(c->detail), "%" PRIu64 " snapshot%s dropped", c->dropped,
                 c->dropped == 1 ? "" : "s");
    return c->detail;
}

static void topology_ids(struct collector *c, struct store_visit *v)
{
    if (c->trace)
        trace_ids(c->trace, v); /* of our own we hold none */
}

const struct collector_ops collector_topology = {
    .name = "topology",
    .summary = "who talks to whom: processes, sockets, bytes and messages, what they run on",
    .on_by_default = 1,
    .open = topology_open,
    .start = topology_start,
    .fd = topology_fd,
    .poll = topology_poll,
    .stop = topology_stop,
    .ended = topology_ended,
    .counters = topology_counters,
    .detail = topology_detail,
    .ids = topology_ids,
    .free = topology_free,
};
