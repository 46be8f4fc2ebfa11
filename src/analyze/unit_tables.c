/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/unit_tables.h"

#include "analyze/lead.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kinds ---- */

static const struct table_column kind_columns[] = {
    {"kind", "kind", TABLE_TEXT},  {"count", "count", TABLE_COUNT}, {"open", NULL, TABLE_COUNT},
    {"mean_ns", "mean", TABLE_NS}, {"p50_ns", "p50", TABLE_NS},     {"p95_ns", "p95", TABLE_NS},
    {"p99_ns", "p99", TABLE_NS},   {"max_ns", "longest", TABLE_NS}, {"slow", "slow", TABLE_COUNT},
    {"ns", NULL, TABLE_NS},
};

enum { K_KIND, K_COUNT, K_OPEN, K_MEAN, K_P50, K_P95, K_P99, K_MAX, K_SLOW, K_SUM };

struct kind {
    uint32_t name;
    uint64_t n;
};

struct kinds {
    VEC(struct kind) list;
};

static int most_first(const void *pa, const void *pb)
{
    const struct kind *a = pa, *b = pb;

    return a->n != b->n ? (a->n > b->n ? -1 : 1) : (a->name > b->name) - (a->name < b->name);
}

static void kinds_init(struct kinds *k, const struct units *u)
{
    const struct map_slot *slot;
    struct map n = {0};

    *k = (struct kinds){0};
    for (size_t i = 0; i < u->list.n; i++)
        ++*map_put(&n, u->list.a[i].kind);
    for (size_t i = 0; (slot = map_next(&n, &i));)
        *vec_push(&k->list) = (struct kind){(uint32_t)slot->key, slot->val};
    if (k->list.n)
        qsort(k->list.a, k->list.n, sizeof(*k->list.a), most_first);
    map_release(&n);
}

void unit_kinds_table(struct table *t, const struct units *u, size_t limit)
{
    struct kinds k;
    size_t n;

    table_init(t, kind_columns, ARRAY_SIZE(kind_columns));
    kinds_init(&k, u);
    n = table_limit(t, k.list.n, limit);
    for (size_t i = 0; i < n; i++) {
        const char *name = strtab_get(&u->strings, k.list.a[i].name);
        union table_cell *c = table_add(t);
        struct units_choice choice;
        struct unit_figures f;

        units_choose_kind(&choice, u, name, NULL);
        unit_figures(&f, u, &choice);
        c[K_KIND].text = mem_strdup(name);
        c[K_COUNT].count = f.n;
        c[K_OPEN].count = f.open;
        c[K_MEAN].count = f.n ? f.mean : TABLE_NONE;
        c[K_P50].count = f.n ? f.median : TABLE_NONE;
        c[K_P95].count = f.n ? f.p95 : TABLE_NONE;
        c[K_P99].count = f.n ? f.p99 : TABLE_NONE;
        c[K_MAX].count = f.n ? f.max : TABLE_NONE;
        c[K_SLOW].count = f.slow;
        c[K_SUM].count = f.sum;
        units_choice_release(&choice);
    }
    vec_release(&k.list);
}

/* ---- causes ---- */

static const struct table_column cause_columns[] = {
    {"key", NULL, TABLE_TEXT},
    {"cause", "what", TABLE_TEXT},
    {"slow_ns", "a slow one", TABLE_NS},
    {"typical_ns", "a typical one", TABLE_NS},
    {"more_share", "of what is more", TABLE_SHARE, 1},
    {"thread", "thread", TABLE_TEXT, 2},
    {"where", "where", TABLE_TEXT},
};

enum { C_KEY, C_CAUSE, C_SLOW, C_TYPICAL, C_MORE, C_THREAD, C_WHERE };

static union table_cell *add_row(struct table *t, const struct unit_slow *x, const char *key,
                                 const char *name, uint64_t typical, uint64_t slow)
{
    union table_cell *c = table_add(t);

    c[C_KEY].text = mem_strdup(key);
    c[C_CAUSE].text = mem_strdup(name);
    c[C_SLOW].count = (uint64_t)unit_slow_each(x, COMPARISON_NEW, slow);
    c[C_TYPICAL].count = (uint64_t)unit_slow_each(x, COMPARISON_BASE, typical);
    c[C_MORE].share = NAN;
    return c;
}

static void add_cause(struct table *t, const struct unit_slow *x, const struct places *p, unsigned cause)
{
    union table_cell *c =
        add_row(t, x, unit_cause_key(cause), unit_cause_name(cause), x->side[COMPARISON_BASE].cause[cause],
                x->side[COMPARISON_NEW].cause[cause]);
    uint32_t line, node = unit_slow_place(x, p, cause, &line), task = unit_slow_task(x, cause);
    double all = unit_slow_all(x);
    struct buf label = {0}, who = {0};

    c[C_MORE].share = all > 0 ? unit_slow_more(x, cause) / all : NAN;
    if (node)
        places_label(p, node, line, &label);
    if (task)
        lead_name(p->s, task, &who);
    c[C_WHERE].text = label.len ? buf_detach(&label) : NULL;
    c[C_THREAD].text = who.len ? buf_detach(&who) : NULL;
    buf_release(&label);
    buf_release(&who);
}

void unit_causes_table(struct table *t, const struct unit_slow *x, const struct places *p)
{
    const struct unit_side *typical = &x->side[COMPARISON_BASE], *slow = &x->side[COMPARISON_NEW];

    table_init(t, cause_columns, ARRAY_SIZE(cause_columns));
    if (!x->slow)
        return;
    add_row(t, x, "all", "all of it", typical->ns, slow->ns)[C_MORE].share = 1;
    for (size_t i = 0; i < x->ncauses; i++)
        add_cause(t, x, p, x->order[i]);
    if (typical->queued || slow->queued)
        add_row(t, x, "queued", "part: before a thread took it up", typical->queued, slow->queued);
    if (x->gpu)
        add_row(t, x, "gpu-idle", "part: while the GPU was idle", typical->gpu_idle, slow->gpu_idle);
}

/* ---- stacks ---- */

static const struct table_column stack_columns[] = {{"slow_ns", "a slow one", TABLE_NS},
                                                    {"typical_ns", "a typical one", TABLE_NS},
                                                    {"stack", "stack", TABLE_TEXT}};

struct growth {
    uint32_t node;
    double more;
};

static int most_growth(const void *pa, const void *pb)
{
    const struct growth *a = pa, *b = pb;

    if (a->more != b->more)
        return a->more > b->more ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static void path(const struct profile *p, uint32_t node, struct buf *out)
{
    if (p->nodes.a[node].parent)
        path(p, p->nodes.a[node].parent, out);
    if (out->len)
        buf_addch(out, ';');
    profile_frame_label(p, p->nodes.a[node].frame, out);
}

void unit_stacks_table(struct table *t, const struct comparison *c, size_t limit)
{
    VEC(struct growth) list = {0};
    double each[COMPARISON_SIDES];
    size_t n;

    table_init(t, stack_columns, ARRAY_SIZE(stack_columns));
    for (uint32_t i = 1; i < c->tree.nodes.n; i++) {
        for (int side = 0; side < COMPARISON_SIDES; side++)
            each[side] = (double)c->tree.metrics.a[side].self[i] / c->side[side].per;
        if (each[COMPARISON_BASE] > 0 || each[COMPARISON_NEW] > 0)
            *vec_push(&list) = (struct growth){i, each[COMPARISON_NEW] - each[COMPARISON_BASE]};
    }
    if (list.n)
        qsort(list.a, list.n, sizeof(*list.a), most_growth);
    n = table_limit(t, list.n, limit);
    for (size_t i = 0; i < n; i++) {
        union table_cell *cell = table_add(t);
        uint32_t node = list.a[i].node;
        struct buf text = {0};

        path(&c->tree, node, &text);
        cell[0].count =
            (uint64_t)((double)c->tree.metrics.a[COMPARISON_NEW].self[node] / c->side[COMPARISON_NEW].per);
        cell[1].count =
            (uint64_t)((double)c->tree.metrics.a[COMPARISON_BASE].self[node] / c->side[COMPARISON_BASE].per);
        cell[2].text = buf_detach(&text);
    }
    vec_release(&list);
}

/* ---- words ---- */

const char *unit_plural(const char *kind)
{
    size_t n = strlen(kind);

    return n && (kind[n - 1] == 's' || (n > 1 && kind[n - 1] == 'h')) ? "es" : "s"; /* process, batch */
}

void unit_slow_does(const struct unit_slow *x, const struct places *p, unsigned cause, struct buf *out)
{
    uint32_t line, node = unit_slow_place(x, p, cause, &line);
    const char *in = "in";

    switch (cause) {
    case UNIT_RAN:
        buf_addstr(out, "spend it on the CPU");
        break;
    case UNIT_OTHER:
        buf_addstr(out, "wait for another thread");
        break;
    case UNIT_GIL:
        buf_addstr(out, "wait for Python's GIL");
        in = "held in";
        break;
    case UNIT_NO_CPU:
        buf_addstr(out, "get no CPU");
        break;
    case UNIT_CALLED:
        buf_addstr(out, "are in a call");
        break;
    case UNIT_UNSEEN:
        buf_addstr(out, "do what nothing tells");
        break;
    default:
        buf_addf(out, "are %s", unit_cause_name(cause));
        break;
    }
    if (node)
        buf_addf(out, ", %s %s", in, places_func(p, node));
}

static const char *each_words(char *out, size_t n, const struct unit_slow *x, int side, uint64_t sum)
{
    return units_duration(out, n, (uint64_t)unit_slow_each(x, side, sum));
}

static void add_part(const struct unit_slow *x, const char *what, uint64_t typical, uint64_t slow,
                     struct buf *out)
{
    char a[32], b[32];

    buf_addf(out, " %s: %s of a slow one, %s of a typical one.", what,
             each_words(a, sizeof(a), x, COMPARISON_NEW, slow),
             each_words(b, sizeof(b), x, COMPARISON_BASE, typical));
}

void unit_slow_words(const struct unit_slow *x, const struct places *p, const char *kind, unsigned cause,
                     struct buf *out)
{
    const struct unit_side *typical = &x->side[COMPARISON_BASE], *slow = &x->side[COMPARISON_NEW];
    char a[32], b[32], share[32];
    double all = unit_slow_all(x);
    uint32_t line, node = unit_slow_place(x, p, cause, &line);

    buf_addf(out, "The slowest %zu of %zu %s%s take %s on average, typical ones %s", slow->units.n,
             x->figures.n, kind, unit_plural(kind), each_words(a, sizeof(a), x, COMPARISON_NEW, slow->ns),
             each_words(b, sizeof(b), x, COMPARISON_BASE, typical->ns));
    buf_addf(out, " (p50 %s,", units_duration(a, sizeof(a), x->figures.median));
    buf_addf(out, " p95 %s, p99 %s).", units_duration(a, sizeof(a), x->figures.p95),
             units_duration(b, sizeof(b), x->figures.p99));
    if (all > 0 && x->ncauses) {
        buf_addf(out, " %s of what they take more: %s",
                 units_share(share, sizeof(share), unit_slow_more(x, cause) / all), unit_cause_name(cause));
        if (node) {
            buf_addstr(out, cause == UNIT_GIL ? ", held in " : ", in ");
            places_label(p, node, line, out);
        }
        buf_addf(out, ", %s each instead of %s.",
                 each_words(a, sizeof(a), x, COMPARISON_NEW, slow->cause[cause]),
                 each_words(b, sizeof(b), x, COMPARISON_BASE, typical->cause[cause]));
    }
    if (typical->queued || slow->queued)
        add_part(x, "Before a thread took it up", typical->queued, slow->queued, out);
    if (x->gpu)
        add_part(x, "While the GPU was idle", typical->gpu_idle, slow->gpu_idle, out);
}
