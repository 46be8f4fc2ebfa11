/* SPDX-License-Identifier: Apache-2.0 */
/* Row 64: memory that only grows. */
#include "analyze/rules/check.h"

#include <stdlib.h>

#define MINUTE 60e9
#define MB     1e6

enum {
    WINDOWS = 20,      /* a long run is looked at in so many parts, */
    WINDOWS_LEAST = 3, /* a short one in fewer, which are no shorter than the looks are apart */
};
#define WINDOW_NS  1000000000ull
#define LATE_NS    100000000ull     /* a look comes so much too early or late */
#define SURE_NS    60000000000ull   /* of less it can't be told from a working set that is being filled */
#define SOON_NS    3600000000000ull /* full within so long is bad */
#define LEAST_PART 0.1              /* of what there was: less growth than that is no matter */

struct reading {
    uint64_t ts, bytes;
    uint32_t task;
};

/* All of a metric, by task and time; those of one task. */
typedef VEC(struct reading) readings;

struct series {
    const struct reading *a;
    size_t n;
};

/* A process's resident memory over time. */
struct growth {
    uint32_t task;
    uint64_t from, to, first, last; /* what was resident at both ends */
    size_t grew, windows;
};

static int in_order(const void *pa, const void *pb)
{
    const struct reading *a = pa, *b = pb;

    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    return (a->ts > b->ts) - (a->ts < b->ts);
}

static void readings_of(readings *out, const struct rule_data *d, enum metric_id id)
{
    uint32_t name = strtab_find(&d->s->store.strings, metrics_get(id)->name);

    vec_clear(out);
    for (size_t i = 0; name && i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind == EVENT_METRIC && ev->metric == name)
            *vec_push(out) = (struct reading){ev->ts, ev->value, ev->task};
    }
    if (out->n)
        qsort(out->a, out->n, sizeof(*out->a), in_order);
}

/* Those of the task of the reading at *at, which goes on to the next task's. */
static struct series series_at(const readings *r, size_t *at)
{
    struct series x = {&r->a[*at], 0};

    while (*at < r->n && r->a[*at].task == x.a->task) {
        x.n++;
        (*at)++;
    }
    return x;
}

static struct series series_of(const readings *r, uint32_t task)
{
    for (size_t at = 0; at < r->n;) {
        struct series x = series_at(r, &at);

        if (x.a->task == task)
            return x;
    }
    return (struct series){0};
}

/* The last value that was read at that moment or before; 0: none. */
static uint64_t level(const struct series *x, uint64_t ts)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < x->n && x->a[i].ts <= ts; i++)
        bytes = x->a[i].bytes;
    return bytes;
}

static int has_ended(const struct rule_data *d, uint32_t task)
{
    return d->s->store.tasks.list.a[task - 1].last_ns != 0;
}

/* After its start, which is a part of its time and what it imports first. */
static void look(struct growth *g, const struct rule_run *r, const struct rule_data *d,
                 const struct series *in)
{
    size_t n = in->n > 1 && has_ended(d, g->task) && in->a[in->n - 1].bytes < in->a[in->n - 2].bytes
                   ? in->n - 1 /* it was ending, and let go of everything */
                   : in->n;
    uint64_t begin = in->a[0].ts, end = in->a[n - 1].ts, before, imported;

    g->from = begin + (uint64_t)(rule_threshold(r, "warm-up") * (double)(end - begin));
    if (d->lead.task && d->lead.process[g->task]) {
        imported = imports_over(d);
        g->from = imported > g->from ? imported : g->from;
    }
    for (size_t i = 0; i < in->n; i++) /* what is known of that moment was read a little later */
        if (in->a[i].ts >= g->from) {
            g->from = in->a[i].ts < g->from + WINDOW_NS ? in->a[i].ts : g->from;
            break;
        }
    g->to = end > g->from ? end : g->from;
    g->windows = (g->to - g->from + LATE_NS) / WINDOW_NS;
    g->windows = g->windows < WINDOWS ? g->windows : WINDOWS;
    before = g->first = level(in, g->from);
    for (size_t i = 0; i < g->windows; i++) {
        uint64_t now = level(in, g->from + (g->to - g->from) / g->windows * (i + 1) + LATE_NS);

        g->grew += now > before;
        before = now;
    }
    g->last = level(in, g->to);
}

static double per_minute(const struct growth *g)
{
    return g->to > g->from && g->last > g->first
               ? (double)(g->last - g->first) * MINUTE / (double)(g->to - g->from)
               : 0;
}

static int is_growth(const struct growth *g, const struct rule_run *r)
{
    return g->windows >= WINDOWS_LEAST && g->first &&
           (double)g->grew >= rule_threshold(r, "windows") * (double)g->windows &&
           (double)(g->last - g->first) >= LEAST_PART * (double)g->first &&
           per_minute(g) > rule_threshold(r, "rate") * MB;
}

/* ---- until when there is room ---- */

/* Of the tightest limit: bytes that are left, UINT64_MAX: not measured; *what: whose. */
static uint64_t room(const struct rule_data *d, uint64_t at, const char **what)
{
    uint64_t left = UINT64_MAX, n;
    struct series x;
    readings in = {0};

    *what = NULL;
    readings_of(&in, d, METRIC_ID_MEMORY_AVAILABLE);
    x = series_of(&in, metrics_sums_machine(&d->sums));
    if ((n = level(&x, at))) {
        left = n;
        *what = "the machine's memory";
    }
    readings_of(&in, d, METRIC_ID_CGROUP_MEMORY);
    for (size_t i = 0; i < d->sums.list.n; i++) {
        const struct metrics_sum *m = &d->sums.list.a[i];
        uint64_t used;

        if (m->id != METRIC_ID_CGROUP_MEMORY_MAX || !(m->last > 0))
            continue;
        x = series_of(&in, m->task);
        used = level(&x, at);
        n = used && (double)used < m->last ? (uint64_t)m->last - used : 0;
        if (used && n < left) {
            left = n;
            *what = "the control group's limit";
        }
    }
    vec_release(&in);
    return left;
}

/* ---- what takes the pages ---- */

static uint8_t *faults(const struct rule_data *d)
{
    static const struct place_match ways[] = {
        {"asm_exc_page_fault", NULL, NULL}, {"exc_page_fault", NULL, NULL},
        {"do_user_addr_fault", NULL, NULL}, {"handle_mm_fault", NULL, NULL},
        {"do_page_fault", NULL, NULL},      {"do_mem_abort", NULL, NULL}};
    const char *event = d->s->meta.event ? d->s->meta.event : "";
    uint8_t *stacks = places_match(&d->places, ways, ARRAY_SIZE(ways));

    if (!strcmp(event, "page-faults") || !strcmp(event, "faults") || !strcmp(event, "minor-faults"))
        memset(stacks, 1, d->s->store.stacks.nodes.n + 1);
    return stacks;
}

/* The process's samples in page faults while it grew. */
static uint64_t find_faults(struct place_time *t, const struct rule_data *d, const struct growth *g,
                            const uint8_t *stacks)
{
    const struct store *s = &d->s->store;
    uint64_t n = 0;

    place_time_init(t, s);
    t->waits = 1; /* libc's copying stands for who asked for it */
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind != EVENT_SAMPLE || ev->stack > s->stacks.nodes.n || !stacks[ev->stack] ||
            ev->ts < g->from || ev->task > s->tasks.list.n || !ev->task ||
            !task_same_process(&s->tasks.list.a[ev->task - 1], &s->tasks.list.a[g->task - 1]))
            continue;
        t->of[ev->stack] += ev->value;
        t->sum += ev->value;
        n += ev->value;
    }
    return n;
}

static int is_python(const struct meta *m)
{
    for (size_t i = 0; i < m->languages.n; i++)
        if (!strcmp(m->languages.a[i], "python"))
            return 1;
    return 0;
}

static char *advice(const struct rule_data *d, const struct finding *x)
{
    return mem_printf(
        "Look for what %s keeps and nobody lets go: a cache without a limit, a list that is appended to%s; "
        "%s; wprof record -e page-faults samples who takes new pages.",
        x->line ? x->line : "it",
        is_python(&d->s->meta) ? ", tensors with their graph (use loss.item())" : "",
        is_python(&d->s->meta) ? "two snapshots of tracemalloc, compared, tell what stays"
                               : "heaptrack or valgrind's massif tell what stays");
}

static void tell(struct finding *x, const struct rule_data *d, const struct growth *g, size_t others)
{
    double rate = per_minute(g);
    struct words w = {0};
    const char *what;
    uint64_t left = room(d, g->to, &what), soon = (uint64_t)((double)left / rate * MINUTE);
    char a[32], b[32], c[32];
    struct buf text = {0};

    buf_addf(&text, "%s to %s in %s (%s a minute), in %zu of %zu parts of that time.",
             units_size(a, sizeof(a), g->first), units_size(b, sizeof(b), g->last),
             words_ns(&w, g->to - g->from), units_size(c, sizeof(c), (uint64_t)rate), g->grew, g->windows);
    if (what)
        buf_addf(&text, " At that rate %s is full in %s.", what, words_ns(&w, soon));
    if (others)
        buf_addf(&text, " %s of the others %s so, too.", words_plural(&w, others, "process"),
                 others == 1 ? "grows" : "grow");
    x->evidence = buf_detach(&text);
    if (g->to - g->from < SURE_NS) {
        x->severity = FINDING_LOW;
        x->certainty = FINDING_GUESS;
        x->why = mem_printf("in %s a leak can't be told from data that is still being read",
                            words_ns(&w, g->to - g->from));
        return;
    }
    x->severity = what && soon < SOON_NS ? FINDING_HIGH : FINDING_MEDIUM;
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("whether what it keeps is still needed is not known");
}

static void found(struct rule_run *r, const struct rule_data *d, const struct growth *g, size_t others)
{
    struct finding *x = rule_found(r);
    uint8_t *stacks = faults(d);
    struct buf name = {0}, more = {0};
    struct words w = {0};
    struct lead_time lt;
    struct place_time t;
    uint64_t n = find_faults(&t, d, g, stacks), self;
    uint32_t node = n ? places_top(&d->places, &t, &self) : 0;

    lead_time_init(&lt, d);
    if (d->lead.task && d->lead.process[g->task])
        lead_time_samples(&lt, d, stacks, g->from);
    if (lt.ns)
        finding_of_lead(x, &lt, d);
    free(x->process);
    lead_name(&d->s->store, g->task, &name);
    x->process = buf_detach(&name);
    finding_at(x, d, &t, node);
    x->title = mem_printf("The memory of %s only grows%s%s", x->process, node ? ", in " : "",
                          node ? places_func(&d->places, node) : "");
    tell(x, d, g, others);
    if (node) {
        buf_addf(&more, "%s %s of %s of page faults meanwhile are in %s.", x->evidence,
                 words_share(&w, (double)self / (double)t.sum), words_plural(&w, n, "sample"), x->line);
        free(x->evidence);
        x->evidence = buf_detach(&more);
    }
    x->advice = advice(d, x);
    lead_time_release(&lt);
    place_time_release(&t);
    free(stacks);
}

void check_memory_growth(struct rule_run *r, const struct rule_data *d)
{
    struct growth worst = {0};
    readings in = {0};
    size_t n = 0;

    readings_of(&in, d, METRIC_ID_MEMORY_RSS);
    for (size_t at = 0; at < in.n;) {
        struct series x = series_at(&in, &at);
        struct growth g = {.task = x.a->task};

        if (!g.task || g.task > d->s->store.tasks.list.n || metrics_sums_is_machine(&d->sums, g.task) ||
            x.a[x.n - 1].ts - x.a->ts < WINDOWS_LEAST * WINDOW_NS)
            continue;
        look(&g, r, d, &x);
        if (!is_growth(&g, r))
            continue;
        n++;
        if (per_minute(&g) > per_minute(&worst))
            worst = g;
    }
    if (!in.n)
        rule_not_checked(r, "needs the processes' resident memory, which the metrics of this session lack");
    else if (n)
        found(r, d, &worst, n - 1);
    vec_release(&in);
}
