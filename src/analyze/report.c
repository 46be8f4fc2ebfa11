/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report.h"

#include "analyze/fold.h"
#include "analyze/gil_top.h"
#include "analyze/gpu_busy.h"
#include "analyze/gpu_kernels.h"
#include "analyze/metrics_top.h"
#include "analyze/report_devices.h"
#include "analyze/report_programs.h"
#include "analyze/report_units.h"
#include "analyze/source_lines.h"
#include "analyze/topology.h"
#include "analyze/tops.h"
#include "analyze/waits_top.h"
#include "base/log.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_STACKS = 5 };

static struct table *section(struct report *r, enum report_table which, const char *key, const char *heading)
{
    r->sections[which].key = key;
    r->sections[which].heading = heading;
    return &r->sections[which].table;
}

/* ---- wall time ---- */

static struct report_part part_of(const struct wall_part *x)
{
    return (struct report_part){x->key, x->label, x->ns, x->blocked};
}

/* "4 threads (work)", "7 threads", "4 processes (python3)": of each one thread */
static char *crew_name(const struct lead *l, const struct store *s)
{
    const struct task *tasks = s->tasks.list.a, *first = &tasks[l->threads.a[0].task - 1];
    uint32_t comm = first->comm;
    size_t n = l->threads.n;
    int processes = !task_same_process(first, &tasks[l->task - 1]);
    const char *what;

    for (size_t i = 0; i < n; i++) {
        const struct task *t = &tasks[l->threads.a[i].task - 1];

        comm = t->comm == comm ? comm : 0;
        processes &= t->pid == t->tid;
    }
    what = processes ? (n == 1 ? "process" : "processes") : n == 1 ? "thread" : "threads";
    return comm ? mem_printf("%zu %s (%s)", n, what, strtab_get(&s->strings, comm))
                : mem_printf("%zu %s", n, what);
}

static void add_crew(struct report *r, const struct lead *main, const struct session *s)
{
    struct lead crew;
    struct wall wall;

    if (lead_init_crew(&crew, main, s)) {
        wall_init(&wall, &crew, s);
        r->crew = crew_name(&crew, &s->store);
        r->crew_ns = wall.ns;
        r->crew_idle_ns = crew.idle_ns;
        for (size_t i = 0; i < wall.parts.n; i++)
            *vec_push(&r->crew_wall) = part_of(&wall.parts.a[i]);
        wall_release(&wall);
    }
    lead_release(&crew);
}

static void add_wall(struct report *r, const struct session *s)
{
    struct lead lead;
    struct wall wall;
    struct buf name = {0};

    lead_init_main(&lead, s);
    if (lead.task) {
        wall_init(&wall, &lead, s);
        lead_name(&s->store, lead.task, &name);
        r->lead = buf_detach(&name);
        r->lead_is_child = lead.from_child;
        r->wall_ns = wall.parts.n ? wall.ns : 0; /* nothing tells where it went */
        r->unseen_ns = wall.unseen;
        r->waits_measured = wall.measured;
        for (size_t i = 0; i < wall.parts.n; i++)
            *vec_push(&r->wall) = part_of(&wall.parts.a[i]);
        wall_release(&wall);
        add_crew(r, &lead, s);
    }
    lead_release(&lead);
}

/* ---- AIProf's summary ---- */

struct heavy {
    uint32_t id;
    uint64_t value;
};

static int heavier(const void *pa, const void *pb)
{
    const struct heavy *a = pa, *b = pb;

    return a->value != b->value ? (a->value > b->value ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

static char *stack_text(const struct profile *p, uint32_t node)
{
    VEC(uint32_t) path = {0};
    struct buf b = {0};

    for (; node; node = p->nodes.a[node].parent)
        *vec_push(&path) = node;
    for (size_t i = path.n; i-- > 0;) {
        if (b.len)
            buf_addch(&b, ';');
        profile_frame_label(p, p->nodes.a[path.a[i]].frame, &b);
    }
    vec_release(&path);
    return buf_detach(&b);
}

static char *frame_text(const struct profile *p, uint32_t frame)
{
    struct buf b = {0};

    profile_frame_label(p, frame, &b);
    return b.data ? buf_detach(&b) : mem_strdup("");
}

/* The samples of stacks with a CUDA: frame: whole below the outermost of them. */
static uint64_t cuda_samples(const struct profile *p)
{
    uint8_t *in = mem_calloc(p->nodes.n + 1, 1);
    uint64_t sum = 0;

    for (size_t i = 1; i < p->nodes.n; i++) {
        const struct profile_node *n = &p->nodes.a[i];

        in[i] = in[n->parent] || !strncmp(strtab_get(&p->strings, p->frames.a[n->frame].func), "CUDA:", 5);
        sum += in[i] ? p->metrics.a[0].self[i] : 0;
    }
    free(in);
    return sum;
}

static void add_folded(struct report_folded *f, const struct profile *p)
{
    const struct profile_metric *m = &p->metrics.a[0];
    uint64_t *leaf = mem_calloc(p->frames.n + 1, sizeof(*leaf));
    VEC(struct heavy) stacks = {0};
    VEC(struct heavy) leaves = {0};

    f->samples = m->sum;
    for (uint32_t i = 1; i < p->nodes.n; i++) {
        if (!m->self[i])
            continue;
        *vec_push(&stacks) = (struct heavy){i, m->self[i]};
        leaf[p->nodes.a[i].frame] += m->self[i];
    }
    for (uint32_t i = 0; i < p->frames.n; i++)
        if (leaf[i])
            *vec_push(&leaves) = (struct heavy){i, leaf[i]};
    f->stacks = stacks.n;
    f->cuda = cuda_samples(p);
    if (stacks.n)
        qsort(stacks.a, stacks.n, sizeof(*stacks.a), heavier);
    if (leaves.n)
        qsort(leaves.a, leaves.n, sizeof(*leaves.a), heavier);
    for (size_t i = 0; i < stacks.n && i < TOP_STACKS; i++)
        *vec_push(&f->top) = (struct report_stack){stack_text(p, stacks.a[i].id), stacks.a[i].value};
    for (size_t i = 0; i < leaves.n && i < TOP_STACKS; i++)
        *vec_push(&f->leaves) = (struct report_stack){frame_text(p, leaves.a[i].id), leaves.a[i].value};
    vec_release(&stacks);
    vec_release(&leaves);
    free(leaf);
}

/* ---- tables ---- */

static int add_hotspots(struct report *r, const struct session *s, const struct report_opts *o, struct err *e)
{
    struct fold_opts fold = {.metric = fold_first(&s->store)};
    struct profile p = {0}, lines = {0};
    int rc = 0, spans = !strcmp(fold.metric, "spans"); /* a trace's, without a device */

    if (spans || fold_has(&s->store, "oncpu")) {
        rc = fold_profile(&p, s, &fold, e);
        fold.lines = 1;
        rc = rc || fold_profile(&lines, s, &fold, e) ? -1 : 0;
    }
    if (!rc && p.metrics.n) {
        tops_functions(section(r, REPORT_SELF, "hotspots_self", "Functions by their own time"), &p, 0,
                       TOPS_FUNCTION, 0, o->rows);
        tops_functions(section(r, REPORT_TOTAL, "hotspots_total", "Functions by time with what they call"),
                       &p, 0, TOPS_FUNCTION, 1, o->rows);
        source_lines_table(section(r, REPORT_LINES, "python_lines", "Python lines"), s, &lines, o->rows);
        if (!spans)
            add_folded(&r->folded, &p);
    }
    profile_release(&p);
    profile_release(&lines);
    return rc;
}

static const struct table_column peer_columns[] = {
    {"a", "one", TABLE_TEXT},          {"b", "the other", TABLE_TEXT},   {"over", "over", TABLE_TEXT},
    {"bytes_ab", "sent", TABLE_BYTES}, {"bytes_ba", "got", TABLE_BYTES}, {"waited_ns", "waited", TABLE_NS},
};

enum { P_A, P_B, P_OVER, P_AB, P_BA, P_WAITED };

static int heavier_edge(const void *pa, const void *pb)
{
    const struct graph_edge *const *a = pa, *const *b = pb;
    double x = isnan((*a)->weight) ? 0 : (*a)->weight, y = isnan((*b)->weight) ? 0 : (*b)->weight;
    uint64_t m = (*a)->bytes_ab + (*a)->bytes_ba, n = (*b)->bytes_ab + (*b)->bytes_ba;
    int wa = (*a)->kind == GRAPH_EDGE_WAIT, wb = (*b)->kind == GRAPH_EDGE_WAIT;

    if (wa != wb)
        return wb - wa;
    if (wa && x != y)
        return x > y ? -1 : 1;
    return m != n ? (m > n ? -1 : 1) : ((*a)->index > (*b)->index) - ((*a)->index < (*b)->index);
}

static char *node_label(const struct graph_node *n)
{
    struct buf b = {0};

    graph_node_label(n, &b);
    return buf_detach(&b);
}

/* Edges between two processes on which data goes, and who waited for whom. */
static void add_peers(struct report *r, const struct graph *g, const struct report_opts *o)
{
    struct table *t = section(r, REPORT_PEERS, "peers", "Who talks to whom, and waits for whom");
    VEC(const struct graph_edge *) edges = {0};

    table_init(t, peer_columns, ARRAY_SIZE(peer_columns));
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];
        int flows = graph_relation(e->kind)->class == GRAPH_CLASS_FLOW && e->bytes_ab + e->bytes_ba;

        if (e->a->kind == GRAPH_PROCESS && e->b->kind == GRAPH_PROCESS &&
            (flows || e->kind == GRAPH_EDGE_WAIT))
            *vec_push(&edges) = e;
    }
    if (edges.n)
        qsort(edges.a, edges.n, sizeof(*edges.a), heavier_edge);
    for (size_t i = 0; i < edges.n; i++) {
        const struct graph_edge *e = edges.a[i];
        union table_cell *c;

        if (o->rows && i >= o->rows) {
            t->left_out++;
            continue;
        }
        c = table_add(t);
        c[P_A].text = node_label(e->a);
        c[P_B].text = node_label(e->b);
        c[P_OVER].text = mem_strdup(graph_relation(e->kind)->name);
        c[P_AB].count = e->kind == GRAPH_EDGE_WAIT ? TABLE_NONE : e->bytes_ab;
        c[P_BA].count = e->kind == GRAPH_EDGE_WAIT ? TABLE_NONE : e->bytes_ba;
        c[P_WAITED].count =
            e->kind == GRAPH_EDGE_WAIT && !isnan(e->weight) ? (uint64_t)e->weight : TABLE_NONE;
    }
    vec_release(&edges);
}

static void add_gpu(struct report *r, const struct session *s, const struct report_opts *o)
{
    struct gpu_trace x;

    gpu_trace_init(&x, s);
    if (x.ran.n) {
        report_devices(r, &x);
        gpu_devices_table(section(r, REPORT_DEVICES, "devices", "Accelerators"), &x, 0, 0);
        gpu_devices_table(section(r, REPORT_IDLE, "devices_idle", "Why accelerators were idle"), &x, 1, 0);
        gpu_kernels_table(section(r, REPORT_KERNELS, "kernels", "Kernels"), &x, UINT32_MAX, o->rows);
    }
    gpu_trace_release(&x);
}

static void add_tables(struct report *r, const struct session *s, const struct report_opts *o)
{
    struct metrics_sums sums;

    if (s->store.tasks.list.n)
        tops_tasks(section(r, REPORT_PROCESSES, "processes", "Processes"), s, 0, o->rows);
    if (fold_has(&s->store, "offcpu"))
        waits_top(section(r, REPORT_WAITS, "waits", "Waits"), s, o->rows);
    if (fold_has(&s->store, "gil"))
        gil_top(section(r, REPORT_GIL, "gil", "Python's GIL"), s, o->rows);
    add_gpu(r, s, o);
    metrics_sums_init(&sums, s);
    if (sums.list.n) {
        metrics_table_machine(section(r, REPORT_METRICS, "metrics", "The machine meanwhile"), &sums, 0);
        metrics_table_machine(section(r, REPORT_CGROUP, "cgroup", "The control group"), &sums, 1);
    }
    report_programs(r, s, &sums);
    metrics_sums_release(&sums);
    report_units(r, s, o->rows);
}

int report_make(struct report *r, const struct session *s, const struct quality *q,
                const struct report_opts *o, struct err *e)
{
    struct graph g;
    int rc = 0, has = topology_has(s);

    graph_init(&g);
    r->meta = &s->meta;
    r->quality = q;
    if (has && topology_read(s, &g, e)) {
        log_warn("report: without the topology, which is damaged: %s", e->msg);
        *e = (struct err){0};
        graph_release(&g);
        graph_init(&g);
        has = 0;
    }
    rules_run(&r->findings, s, has ? &g : NULL, o->rules);
    add_wall(r, s);
    rc = add_hotspots(r, s, o, e);
    if (!rc) {
        add_tables(r, s, o);
        r->nodes = g.nodes.n;
        r->edges = g.edges.n;
        for (size_t i = 0; i < g.nodes.n; i++)
            r->processes += g.nodes.a[i]->kind == GRAPH_PROCESS;
        if (has)
            add_peers(r, &g, o);
    }
    graph_release(&g);
    return rc;
}
