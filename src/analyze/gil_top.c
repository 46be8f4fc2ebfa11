/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gil_top.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>

static const struct table_column columns[] = {
    {"thread", "thread", TABLE_TEXT},         {"tid", "tid", TABLE_ID},
    {"waited_ns", "waited", TABLE_NS},        {"waited_share", "of all", TABLE_SHARE, 3},
    {"times", "times", TABLE_COUNT, 2},       {"held_share", "held", TABLE_SHARE},
    {"others_ns", "others waited", TABLE_NS}, {"holder", "mostly for", TABLE_TEXT},
    {"holder_tid", "tid", TABLE_ID},          {"holder_share", "", TABLE_SHARE, 1},
};

enum { THREAD, TID, WAITED, WAITED_SHARE, TIMES, HELD_SHARE, OTHERS, HOLDER, HOLDER_TID, HOLDER_SHARE };

struct row {
    uint32_t task, holder; /* 0: not known */
    uint64_t waited, times, held, others, for_holder;
};

struct sums {
    const struct session *s;
    VEC(struct row) rows; /* of tasks seen */
    struct map row_of;    /* task -> index + 1 */
    struct map pairs;     /* task << 32 | holder -> ns */
    uint64_t period;      /* ns a sample stands for */
};

static struct row *row_of(struct sums *x, uint32_t task)
{
    uint64_t *at = map_put(&x->row_of, task);

    if (!*at) {
        *vec_push(&x->rows) = (struct row){.task = task};
        *at = x->rows.n;
    }
    return &x->rows.a[*at - 1];
}

static void add_wait(struct sums *x, const struct event *ev)
{
    const struct wait *w = waits_get(&x->s->store.waits, ev->attr);
    struct row *r = row_of(x, ev->task);

    r->waited += ev->dur;
    r->times += ev->value;
    if (!w || !w->waker_task)
        return;
    *map_put(&x->pairs, (uint64_t)ev->task << 32 | w->waker_task) += ev->dur;
    row_of(x, w->waker_task)->others += ev->dur;
}

static void collect(struct sums *x)
{
    const struct store *s = &x->s->store;
    struct map_slot *slot;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind == EVENT_GIL)
            add_wait(x, ev);
        else if (ev->flags & EVENT_GIL_HELD && ev->kind == EVENT_SAMPLE)
            row_of(x, ev->task)->held += ev->value * x->period;
        else if (ev->flags & EVENT_GIL_HELD && (ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ))
            row_of(x, ev->task)->held += ev->dur;
    }
    for (size_t i = 0; (slot = map_next(&x->pairs, &i));) {
        struct row *r = row_of(x, (uint32_t)(slot->key >> 32));
        uint32_t holder = (uint32_t)slot->key;

        if (slot->val > r->for_holder || (slot->val == r->for_holder && holder < r->holder)) {
            r->for_holder = slot->val;
            r->holder = holder;
        }
    }
}

static int longer(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    if (a->held != b->held)
        return a->held > b->held ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static void fill_task(const struct store *s, uint32_t id, union table_cell *name, union table_cell *tid)
{
    const struct task *k = id && id <= s->tasks.list.n ? &s->tasks.list.a[id - 1] : NULL;

    if (!k)
        return;
    name->text = origins_task_name(s, k, "");
    tid->count = k->ns_tid ? k->ns_tid : k->tid;
}

static double share(uint64_t part, double whole)
{
    return whole > 0 ? (double)part / whole : 0;
}

static void fill(union table_cell *c, const struct sums *x, const struct row *r)
{
    double all = x->s->meta.duration_s * 1e9;

    fill_task(&x->s->store, r->task, &c[THREAD], &c[TID]);
    c[WAITED].count = r->waited;
    c[WAITED_SHARE].share = share(r->waited, all);
    c[TIMES].count = r->times;
    c[HELD_SHARE].share = share(r->held, all);
    c[OTHERS].count = r->others;
    fill_task(&x->s->store, r->holder, &c[HOLDER], &c[HOLDER_TID]);
    c[HOLDER_SHARE].share = share(r->for_holder, (double)r->waited);
}

void gil_top(struct table *t, const struct session *s, size_t limit)
{
    struct sums x = {.s = s, .period = s->meta.frequency ? 1000000000u / s->meta.frequency : 0};

    table_init(t, columns, ARRAY_SIZE(columns));
    collect(&x);
    if (x.rows.n)
        qsort(x.rows.a, x.rows.n, sizeof(*x.rows.a), longer);
    for (size_t i = 0; i < x.rows.n; i++) {
        if (limit && table_rows(t) >= limit)
            t->left_out++;
        else
            fill(table_add(t), &x, &x.rows.a[i]);
    }
    vec_release(&x.rows);
    map_release(&x.row_of);
    map_release(&x.pairs);
}
