/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_figures.h"
#include "analyze/ranks.h"
#include "model/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 60 }; /* bytes of a name in a sentence: those of kernels are long */
enum { FEW = 10 };  /* what is less than that part of the longest is not worth a word */

static const struct table_column rank_columns[] = {
    {"rank", "rank", TABLE_ID},
    {"host", "host", TABLE_TEXT},
    {"process", "process", TABLE_TEXT, 4},
    {"pid", "pid", TABLE_ID, 3},
    {"wall_ns", "wall", TABLE_NS},
    {"cpu_ns", "CPU", TABLE_NS, 2},
    {"offcpu_ns", "off CPU", TABLE_NS},
    {"runq_ns", "queued", TABLE_NS},
    {"waited_ns", "waited", TABLE_NS},
    {"gpu_busy_ns", "GPU busy", TABLE_NS, 1},
    {"steps", "steps", TABLE_COUNT, 5},
    {"last", "last", TABLE_COUNT},
    {"last_share", NULL, TABLE_SHARE},
    {"others_waited_ns", "others", TABLE_NS},
    {"note", "", TABLE_TEXT},
    {"clock", "clock", TABLE_TEXT},
    {"offset_ns", NULL, TABLE_REAL},
    {"error_ns", "+-", TABLE_NS},
};

enum {
    R_RANK,
    R_HOST,
    R_PROCESS,
    R_PID,
    R_WALL,
    R_CPU,
    R_OFFCPU,
    R_RUNQ,
    R_WAITED,
    R_GPU,
    R_STEPS,
    R_LAST,
    R_LAST_SHARE,
    R_OTHERS,
    R_NOTE,
    R_CLOCK,
    R_OFFSET,
    R_ERROR,
};

static const struct table_column step_columns[] = {
    {"step", "step", TABLE_TEXT},
    {"ranks", "ranks", TABLE_COUNT, 3},
    {"start_ns", "from", TABLE_NS},
    {"ns", "time", TABLE_NS},
    {"own_mean_ns", "own, mean", TABLE_NS},
    {"own_max_ns", "own, most", TABLE_NS, 2},
    {"imbalance", "imbalance", TABLE_SHARE, 1},
    {"last", "came last", TABLE_TEXT},
    {"others_waited_ns", "others waited", TABLE_NS},
    {"did", "what it did then", TABLE_TEXT},
};

/* Names come last: those of kernels are long. */
static const struct table_column did_columns[] = {
    {"rank", "rank", TABLE_ID}, {"host", "host", TABLE_TEXT},    {"state", "was", TABLE_TEXT},
    {"ns", "for", TABLE_NS},    {"share", "of it", TABLE_SHARE}, {"where", "in", TABLE_TEXT},
};

static const struct origin *origin_of(const struct ranks *r, size_t rank)
{
    return origins_get(&r->s->store.origins, r->waits.list.a[rank].origin);
}

static char *text(const struct ranks *r, uint32_t id)
{
    return id ? mem_strdup(strtab_get(&r->s->store.strings, id)) : NULL;
}

static uint64_t gpu_busy(const struct ranks *r, const struct origin *o)
{
    uint64_t busy = 0;
    int any = 0;

    for (size_t i = 0; i < r->gpu.devices.n && o->rank; i++) {
        const struct gpu_device *d = &r->gpu.devices.a[i];
        struct gpu_figures f;

        if (d->rank != o->rank)
            continue;
        gpu_figures(&f, &r->gpu, d->first, d->n);
        busy += f.busy;
        any = 1;
    }
    return any ? busy : TABLE_NONE;
}

/* Where nobody measured it, what its samples stand for. */
static uint64_t cpu_of(const struct rank *k, const struct origin *o)
{
    if (k->cpu)
        return k->cpu;
    return k->all_samples && o->frequency ? k->all_samples * 1000000000u / o->frequency : TABLE_NONE;
}

static uint64_t waited(const struct rank *k)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < k->waits.n; i++)
        sum += k->waits.a[i].end - k->waits.a[i].start;
    return sum;
}

static void fill_rank(const struct ranks *r, size_t i, uint64_t steps, union table_cell *c)
{
    const struct rank *k = &r->waits.list.a[i];
    const struct origin *o = origin_of(r, i);
    const struct task *t = k->task ? &r->s->store.tasks.list.a[k->task - 1] : NULL;

    c[R_RANK].count = o->rank ? o->rank - 1u : TABLE_NONE;
    c[R_HOST].text = text(r, o->host);
    if (t) {
        c[R_PROCESS].text = text(r, t->comm);
        c[R_PID].count = t->ns_pid ? t->ns_pid : t->pid;
    }
    c[R_WALL].count = o->end_ns > o->start_ns ? o->end_ns - o->start_ns : TABLE_NONE;
    c[R_CPU].count = cpu_of(k, o);
    c[R_OFFCPU].count = k->offcpu;
    c[R_RUNQ].count = k->runq;
    c[R_WAITED].count = waited(k);
    c[R_GPU].count = gpu_busy(r, o);
    c[R_STEPS].count = steps;
    c[R_LAST].count = r->last[i];
    c[R_LAST_SHARE].share = r->steps.n ? (double)r->last[i] / (double)r->steps.n : NAN;
    c[R_OTHERS].count = r->others[i];
    if (ranks_is_straggler(r, i))
        c[R_NOTE].text = mem_strdup("straggler");
    c[R_CLOCK].text = mem_strdup(origins_clock_name(o->clock));
    c[R_OFFSET].share = (double)o->offset_ns;
    c[R_ERROR].count = o->error_ns; /* not known: TABLE_NONE */
}

void ranks_table(struct table *t, const struct ranks *r)
{
    uint64_t *steps = mem_calloc(r->waits.list.n + 1, sizeof(*steps));

    table_init(t, rank_columns, ARRAY_SIZE(rank_columns));
    for (size_t i = 0; i < r->visits.n && r->kind; i++)
        steps[r->visits.a[i].rank]++;
    for (size_t i = 0; i < r->waits.list.n; i++)
        fill_rank(r, i, steps[i], table_add(t));
    free(steps);
}

char *ranks_state(uint32_t state)
{
    static const char *const names[] = {"on CPU", "queued", "on GPU"};

    return state < RANKS_BLOCKED ? mem_strdup(names[state])
                                 : mem_printf("blocked: %s", waits_reason(state - RANKS_BLOCKED));
}

void ranks_did_text(const struct ranks *r, const struct ranks_did *d, struct buf *out)
{
    const char *where = strtab_get(&r->s->store.strings, d->where);
    char *state = ranks_state(d->state);
    size_t n = strlen(where);

    for (n = n > NAME ? NAME : n; where[n] && (where[n] & 0xc0) == 0x80;) /* inside of a character */
        n--;
    buf_addf(out, "%s%s%.*s%s", state, d->where ? " in " : "", (int)n, where, where[n] ? "..." : "");
    free(state);
}

/* The two longest: a thread that is queued much of the time is so in the middle of something. */
static char *did_text(const struct ranks *r, const struct ranks_step *x)
{
    struct ranks_did did[2];
    size_t n = ranks_did_most(r, x, did, ARRAY_SIZE(did));
    struct buf out = {0};

    for (size_t i = 0; i < n && did[i].ns > did[0].ns / FEW; i++) {
        buf_addstr(&out, i ? ", " : "");
        ranks_did_text(r, &did[i], &out);
    }
    return out.len ? buf_detach(&out) : NULL;
}

static void fill_step(const struct ranks *r, const struct ranks_step *x, union table_cell *c)
{
    uint64_t start = UINT64_MAX, longest = 0;
    struct buf label = {0}, last = {0};

    for (size_t i = x->first; i < x->first + x->n; i++) {
        const struct ranks_visit *v = &r->visits.a[i];

        start = v->start < start ? v->start : start;
        longest = v->end - v->start > longest ? v->end - v->start : longest;
    }
    if (x->unit == UINT32_MAX)
        buf_addstr(&label, "[all]");
    else
        units_label(&r->units, &r->units.list.a[x->unit], &label);
    c[0].text = buf_detach(&label);
    c[1].count = x->n;
    c[2].count = start > r->s->meta.start_mono ? start - r->s->meta.start_mono : 0;
    c[3].count = longest;
    c[4].count = x->own_mean;
    c[5].count = x->own_most;
    c[6].share = x->own_mean ? (double)x->own_most / (double)x->own_mean - 1 : NAN;
    c[8].count = x->waited;
    if (x->last != UINT32_MAX) {
        ranks_name(r, x->last, &last);
        c[7].text = buf_detach(&last);
        c[9].text = did_text(r, x);
    }
}

static int by_waited(const void *pa, const void *pb)
{
    const struct ranks_step *a = *(const struct ranks_step *const *)pa,
                            *b = *(const struct ranks_step *const *)pb;

    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    return a < b ? -1 : a > b;
}

void ranks_steps_table(struct table *t, const struct ranks *r, size_t limit)
{
    const struct ranks_step **order = mem_alloc((r->steps.n + 1) * sizeof(*order));
    size_t n;

    table_init(t, step_columns, ARRAY_SIZE(step_columns));
    n = table_limit(t, r->steps.n, limit);
    for (size_t i = 0; i < r->steps.n; i++)
        order[i] = &r->steps.a[i];
    if (n < r->steps.n)
        qsort(order, r->steps.n, sizeof(struct ranks_step *), by_waited);
    for (size_t i = 0; i < n; i++)
        fill_step(r, order[i], table_add(t));
    free(order);
}

void ranks_did_table(struct table *t, const struct ranks *r, size_t limit)
{
    table_init(t, did_columns, ARRAY_SIZE(did_columns));
    for (size_t i = 0, end; i < r->did.n; i = end) {
        const struct origin *o = origin_of(r, r->did.a[i].rank);
        uint64_t sum = 0;

        for (end = i; end < r->did.n && r->did.a[end].rank == r->did.a[i].rank; end++)
            sum += r->did.a[end].state != RANKS_GPU ? r->did.a[end].ns : 0;
        for (size_t k = i; k < end; k++) {
            union table_cell *c;

            if (limit && k - i >= limit) {
                t->left_out++;
                continue;
            }
            c = table_add(t);
            c[0].count = o->rank ? o->rank - 1u : TABLE_NONE;
            c[1].text = text(r, o->host);
            c[2].text = ranks_state(r->did.a[k].state);
            c[3].count = r->did.a[k].ns;
            c[5].text = text(r, r->did.a[k].where);
            c[4].share = sum ? (double)r->did.a[k].ns / (double)sum : NAN;
        }
    }
}
