/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"
#include "remotes.h"
#include "topo_limits.h"
#include "topo_lines.h"
#include "topology.h"

#include "base/log.h"
#include "base/units.h"
#include "model/graph_json.h"
#include "model/graph_ops.h"
#include "platform/clock.h"
#include "record/signals.h"
#include "topo/reduce.h"
#include "topo/topo.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct topo_values {
    struct opt_list pids, remotes;
    uint64_t duration, interval, hops, timeout, top, min_bytes, min_messages;
    const char *root, *seed, *without, *around, *match, *format, *output;
    const char *layout, *gexf, *limits;
    uint64_t numa_switches, numa_cpu, numa_busy;
    uint64_t max_nodes;
    int sources, schema;
};

static const struct opt options[] = {
    OPT_LIST('p', "pid", struct topo_values, pids, "PID", "what is around this process; may be given again"),
    OPT_DURATION('d', "duration", struct topo_values, duration, "TIME", "0", NULL,
                 "look again and again for so long, and put all together"),
    OPT_DURATION(
        'i', "interval", struct topo_values, interval, "TIME", "0", NULL,
        "between two looks: of --duration (1s without it), or, with --format ndjson, until it is stopped"),
    OPT_STRING(0, "root", struct topo_values, root, "DIR",
               "DIR/proc, DIR/sys and DIR/dev stand for this machine's"),
    OPT_LIST(0, "remote", struct topo_values, remotes, "[NAME=]FILE",
             "with another host's topology (its --format json, or a session); may be given again"),
    OPT_STRING(0, "seed", struct topo_values, seed, "LIST",
               "start from what these sources find; all: no limit (default: witty, with --pid: static, with "
               "--root: all)"),
    OPT_STRING(0, "without-source", struct topo_values, without, "LIST", "leave these sources out"),
    OPT_STRING(0, "around", struct topo_values, around, "ID", "only what is around this node"),
    OPT_UINT(0, "hops", struct topo_values, hops, "N", "3", NULL,
             "how far from --pid, --seed and --around, in edges"),
    OPT_STRING(0, "match", struct topo_values, match, "PATTERN",
               "only nodes whose id or name fits, and edges between them"),
    OPT_CHOICE('f', "format", struct topo_values, format, "FORMAT", "text",
               "text|json|ndjson|html|" PICTURE_FORMATS_BUT_TEXT, "what to print"),
    OPT_STRING('o', "output", struct topo_values, output, "FILE", "to FILE instead of stdout"),
    OPT_PICTURE(struct topo_values),
    OPT_DURATION(0, "timeout", struct topo_values, timeout, "TIME", "5s", NULL,
                 "a source that takes longer is left out"),
    OPT_UINT(0, "top", struct topo_values, top, "N", "10", NULL, "processes that the source top-cpu takes"),
    OPT_LIMITS(struct topo_values, "segments with data"),
    OPT_UINT(0, "numa-switches", struct topo_values, numa_switches, "PERCENT", "10", NULL,
             "threads are joined to NUMA nodes that have so much of their process's switches"),
    OPT_UINT(0, "numa-cpu", struct topo_values, numa_cpu, "PERCENT", "10", NULL,
             "and those that have more than so much of its CPU time"),
    OPT_UINT(0, "numa-busy", struct topo_values, numa_busy, "PERCENT", "1", NULL,
             "NUMA nodes are found of processes that use so much of a CPU, and of --pid"),
    OPT_FLAG(0, "sources", struct topo_values, sources, "list the sources"),
    OPT_FLAG(0, "schema", struct topo_values, schema, "print the JSON schema of --format json"),
};

struct pids {
    VEC(int) list;
};

static int read_pids(const struct topo_values *v, struct pids *out, struct err *e)
{
    for (size_t i = 0; i < v->pids.n; i++) {
        char *copy = mem_strdup(v->pids.a[i]), *rest = copy, *one;
        uint64_t pid = 0;
        int rc = 0;

        while (!rc && (one = strsep(&rest, ","))) {
            rc = units_parse_uint(one, &pid, NULL) || !pid || pid > INT32_MAX
                     ? err_set(e, "--pid: '%s' is no pid", one)
                     : 0;
            if (!rc)
                *vec_push(&out->list) = (int)pid;
        }
        free(copy);
        if (rc)
            return -1;
    }
    return 0;
}

static void list_sources(void)
{
    struct buf out = {0};

    buf_addf(&out, "%-14s %-8s %-20s %s\n", "SOURCE", "DEFAULT", "WITTY'S SEED", "WHAT IT FINDS");
    for (size_t i = 0; i < ntopo_sources; i++) {
        const struct topo_source *s = topo_sources[i];

        buf_addf(&out, "%-14s %-8s %-20s %s\n", s->name, s->on_by_default ? "yes" : "no",
                 *s->witty ? s->witty : "-", s->summary);
    }
    product_print(&out);
    buf_release(&out);
}

/* What was not seen, as a warning; the rest is in the product. */
static void warn(const struct graph *g)
{
    for (size_t i = 0; i < g->coverage.n; i++) {
        const struct graph_coverage *c = &g->coverage.a[i];

        if (!strcmp(c->state, "failed") || !strcmp(c->state, "timed out"))
            log_warn("topology: %s %s%s%s", c->source, c->state, *c->detail ? ": " : "", c->detail);
        else if (!strcmp(c->source, "static") && c->vanished)
            log_warn("topology: %s", c->detail);
        else if (!strcmp(c->source, "process") && c->denied)
            log_info("topology: %llu process%s may not be looked into by this user: their sockets and pipes "
                     "are missing",
                     (unsigned long long)c->denied, c->denied == 1 ? "" : "es");
    }
}

/* Replaces g by the part asked for. */
static int narrow(struct graph *g, const struct topo_values *v, struct err *e)
{
    struct graph_nodes seeds = {0};
    struct graph out;

    if (v->match) {
        graph_init(&out);
        graph_match(&out, g, v->match);
        graph_release(g);
        *g = out;
    }
    if (v->around) {
        const struct graph_node *n = graph_named_node(g, v->around, e);

        if (!n)
            return err_wrap(e, "--around");
        *vec_push(&seeds.list) = n;
        graph_init(&out);
        graph_around(&out, g, &seeds, (unsigned)v->hops);
        graph_release(g);
        *g = out;
        vec_release(&seeds.list);
    }
    return 0;
}

static int emit(const struct topo_values *v, const struct buf *out, struct err *e)
{
    if (v->output && strcmp(v->output, "-") != 0)
        return product_write(v->output, out, e);
    if (!strcmp(v->format, "text"))
        product_print(out);
    else if (fwrite(out->data, 1, out->len, stdout) != out->len)
        return err_sys(e, errno, "stdout");
    return fflush(stdout) ? err_sys(e, errno, "stdout") : 0;
}

static int are_lines(const struct topo_values *v)
{
    return !strcmp(v->format, "ndjson");
}

static int are_printed(const struct topo_values *v)
{
    return are_lines(v) && (!v->output || !strcmp(v->output, "-"));
}

static int is_json(const struct topo_values *v)
{
    return !strcmp(v->format, "json") || are_lines(v);
}

static int is_repeated(const struct topo_values *v)
{
    return v->duration || v->interval;
}

/* The product of one graph. */
static int produce(const struct graph *g, const struct topo_values *v, struct buf *out, struct err *e)
{
    struct topology_opts t = {v->format, v->layout, v->gexf, NULL, (size_t)v->max_nodes};

    if (!is_json(v))
        return topology_product(g, &t, out, e);
    graph_json_write(g, are_lines(v) ? 0 : 2, out);
    buf_addch(out, '\n');
    return 0;
}

/* Something that asks us to end. */
static int is_interrupted(struct signals *s)
{
    enum signal_kind kind;
    int signo;

    while ((kind = signals_next(s, 0, &signo)) != SIGNAL_NONE)
        if (kind != SIGNAL_CHILD)
            return 1;
    return 0;
}

struct looks {
    const struct topo_values *values;
    struct topo_opts opts;
    struct graph all; /* of all looks together */
    struct buf out;
    struct topo_lines lines;
    size_t n;
};

/* Waits until `ns` of CLOCK_MONOTONIC; 1: interrupted, -1 with `e`: nobody reads. */
static int wait_until(struct looks *l, struct signals *s, uint64_t ns, struct err *e)
{
    for (;;) {
        struct pollfd p[] = {{.fd = s->fd, .events = POLLIN}, {.fd = -1, .events = POLLOUT}};
        uint64_t now;

        if (is_interrupted(s))
            return 1;
        if (topo_lines_flush(&l->lines, e))
            return -1;
        now = clock_monotonic();
        if (now >= ns)
            return 0;
        if (topo_lines_wait(&l->lines))
            p[1].fd = l->lines.fd;
        poll(p, 2, (int)((ns - now) / 1000000) + 1);
    }
}

/* What has been left out until now is told in the next line. */
static int put_line(struct looks *l, struct graph *g, struct err *e)
{
    char detail[96];

    if (l->lines.dropped) {
        snprintf(detail, sizeof(detail), "%llu looks left out until now: whoever reads is slower",
                 (unsigned long long)l->lines.dropped);
        graph_cover(g, &(struct graph_coverage){.source = "snapshots",
                                                .state = "partial",
                                                .detail = detail,
                                                .vanished = l->lines.dropped});
    }
    if (produce(g, l->values, &l->out, e))
        return -1;
    return are_printed(l->values) ? topo_lines_put(&l->lines, &l->out, e) : 0;
}

/* Nothing could be looked at: there is no /proc, say. */
static int is_nothing(const struct graph *g)
{
    for (size_t i = 0; i < g->coverage.n; i++)
        if (g->coverage.a[i].seen)
            return 0;
    return !g->nodes.n;
}

/* 1: there is nothing more to look at, as when all the pids are gone: what was seen before is not lost by it.
 */
static int look(struct looks *l, struct err *e)
{
    struct graph g;
    int rc;

    graph_init(&g);
    rc = topo_snapshot(&g, &l->opts, e);
    if (l->n++ == 0)
        warn(&g);
    if (!rc && is_nothing(&g))
        rc = err_set(e, "nothing could be looked at (%s)",
                     l->opts.root ? "is there a proc in --root?" : "is /proc mounted?");
    if (!rc)
        rc = narrow(&g, l->values, e);
    if (rc && l->n > 1) {
        log_warn("topology: ended early: %s", e->msg);
        rc = 1;
    }
    if (!rc && are_lines(l->values))
        rc = put_line(l, &g, e);
    if (!rc)
        graph_merge(&l->all, &g, GRAPH_LATER, NULL);
    graph_release(&g);
    return rc;
}

/* With a reader that reads nothing, when all looks are taken; and how often it is asked. */
#define PATIENCE_NS 10000000000u
#define TURN_NS     100000000u
#define INTERVAL_NS 1000000000u

/* The last line is finished, but whoever has asked us to end need not ask twice. */
static int end_lines(struct looks *l, struct signals *s, int stop, struct err *e)
{
    uint64_t since = clock_monotonic(), patience = stop ? TURN_NS : PATIENCE_NS;

    if (l->lines.dropped)
        log_warn("topology: %llu of %zu looks were left out: whoever reads is slower",
                 (unsigned long long)l->lines.dropped, l->n);
    while (topo_lines_wait(&l->lines)) {
        size_t before = l->lines.written;
        int rc = wait_until(l, s, clock_monotonic() + TURN_NS, e);

        if (rc < 0)
            return -1;
        if (l->lines.written != before)
            since = clock_monotonic();
        else if (rc || clock_monotonic() - since > patience)
            return err_set(e, "stdout: whoever reads has stopped: the last line is cut off");
    }
    return 0;
}

static int look_for(struct looks *l, struct err *e)
{
    const struct topo_values *v = l->values;
    uint64_t next = clock_monotonic(), end = v->duration ? next + v->duration : UINT64_MAX;
    struct signals signals;
    int rc, stop = 0;

    if (signals_take(&signals, e))
        return -1;
    rc = look(l, e);
    while (!rc && !stop && next < end) {
        uint64_t now = clock_monotonic();

        next += v->interval ? v->interval : INTERVAL_NS;
        if (next < now) /* a look takes longer than that: those in between are not made up for */
            next = now;
        if (next > end)
            next = end;
        stop = wait_until(l, &signals, next, e);
        if (!stop)
            rc = look(l, e);
    }
    if (stop < 0)
        rc = -1;
    if (rc >= 0 && end_lines(l, &signals, stop, e))
        rc = -1;
    signals_give_back(&signals);
    return rc < 0 ? -1 : 0;
}

/* Where witty-profiler starts; a machine that was packed into a folder is looked at whole. */
static const char *default_seed(const struct topo_values *v, const struct pids *pids)
{
    return pids->list.n || v->root ? NULL : TOPO_SEED_WITTY;
}

static int run(const struct topo_values *v, const struct pids *pids, const struct remotes *remotes,
               struct err *e)
{
    struct looks l = {.values = v};
    int rc;

    topo_opts_init(&l.opts);
    l.opts.own = getpid();
    l.opts.root = v->root;
    l.opts.seed = v->seed ? v->seed : default_seed(v, pids);
    l.opts.without = v->without;
    l.opts.pids = pids->list.a;
    l.opts.npids = pids->list.n;
    l.opts.remote = remotes->list.a;
    l.opts.nremote = remotes->list.n;
    l.opts.hops = (unsigned)v->hops;
    l.opts.limits.timeout_ns = v->timeout;
    l.opts.limits.top_cpu = (unsigned)v->top;
    l.opts.limits.min_bytes = v->min_bytes;
    l.opts.limits.min_messages = v->min_messages;
    limits_fill(v->limits, &l.opts.limits.min_bytes, &l.opts.limits.min_messages);
    l.opts.limits.numa_switches = (double)v->numa_switches / 100;
    l.opts.limits.numa_cpu = (double)v->numa_cpu / 100;
    l.opts.limits.numa_busy = (double)v->numa_busy / 100;
    graph_init(&l.all);
    l.lines.fd = STDOUT_FILENO;
    rc = is_repeated(v) ? look_for(&l, e) : look(&l, e);
    if (!rc && !is_repeated(v))
        rc = topo_lines_end(&l.lines, e);
    if (!rc && !are_lines(v))
        rc = produce(&l.all, v, &l.out, e);
    if (!rc && l.out.len)
        rc = emit(v, &l.out, e);
    graph_release(&l.all);
    buf_release(&l.out);
    topo_lines_release(&l.lines);
    return rc;
}

/* What would say nothing, or not what was asked for. */
static int check_values(const struct topo_values *v, struct err *e)
{
    if (v->interval && !v->duration && !are_lines(v))
        return err_set(
            e, "--interval: for how long? (--duration TIME; --format ndjson goes on until it is stopped)");
    if (v->interval && !v->duration && v->output && strcmp(v->output, "-"))
        return err_set(e, "--interval: lines that go on until they are stopped go to stdout, not to %s",
                       v->output);
    if (!v->timeout)
        return err_set(e, "--timeout: 0 is too short");
    if (v->around && !*v->around)
        return err_set(e, "--around: the id is missing");
    if (!v->layout || !strcmp(v->layout, "default"))
        return 0;
    if (!strcmp(v->format, "json") || !strcmp(v->format, "ndjson") || !strcmp(v->format, "text") ||
        !strcmp(v->format, "mermaid"))
        return err_set(e,
                       "--format %s has no places for its nodes: --layout is for svg, png, pdf, dot, drawio, "
                       "gexf and html",
                       v->format);
    return 0;
}

static int topo_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct topo_values *v = values;
    struct topo_opts check = {.seed = v->seed, .without = v->without};
    struct remotes remotes = {0};
    struct pids pids = {0};
    struct err e = {0};
    int rc;

    if (argc)
        return command_usage(
            &cmd_topo, "takes no operand, '%s' was given (a session's topology: wprof render)", argv[0]);
    if (v->schema) {
        fputs(graph_json_schema(NULL), stdout);
        return EXIT_OK;
    }
    if (v->sources) {
        list_sources();
        return EXIT_OK;
    }
    if (topo_check(&check, &e) || read_pids(v, &pids, &e)) {
        vec_release(&pids.list);
        return command_usage(&cmd_topo, "%s", e.msg);
    }
    if (check_values(v, &e)) {
        vec_release(&pids.list);
        return command_usage(&cmd_topo, "%s", e.msg);
    }
    rc = remotes_read(&remotes, &v->remotes, &e);
    if (!rc)
        rc = run(v, &pids, &remotes, &e);
    remotes_release(&remotes);
    vec_release(&pids.list);
    if (rc)
        log_error("topology: %s", e.msg);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_topo = {
    .name = "topo",
    .summary = "show who talks to whom on this machine, over what, on which hardware",
    .operands = "",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct topo_values),
    .examples = "wprof topo\n"
                "wprof topo --pid 4711 --hops 2\n"
                "wprof topo --format svg -o topology.svg\n"
                "wprof topo --format html -o topology.html\n"
                "wprof topo --format json | jq '.edges[] | select(.kind == \"tcp\")'\n"
                "ssh node2 wprof topo --format json | wprof topo --remote - --format svg -o topology.svg\n"
                "wprof topo --duration 10s --interval 1s --format ndjson | mongoimport -c topology",
    .run = topo_run,
};
