/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/split.h"

#include "analyze/cut.h"
#include "analyze/unit_periods.h"

#include <stdlib.h>

struct job {
    struct split *x;
    const struct session *s;
    const struct units *u;
    const struct units_choice *choice;
    struct cut outside;
    VEC(struct units_row) rows; /* by scope: indices into the choice */
    uint32_t *label;            /* of each of the choice */
    uint32_t outside_label;
    struct store out;
};

static void make_rows(struct job *j)
{
    uint32_t *scope_of = mem_calloc(j->s->store.tasks.list.n + 1, sizeof(*scope_of));
    uint32_t *of_unit = mem_calloc(j->choice->chosen.n + 1, sizeof(*of_unit));
    uint32_t n = cut_scopes(j->s, j->u, j->choice, scope_of, of_unit);

    for (uint32_t i = 0; i < n; i++)
        *vec_push(&j->rows) = (struct units_row){0};
    for (uint32_t i = 0; i < j->choice->chosen.n; i++) {
        uint64_t end = j->u->list.a[j->choice->chosen.a[i]].end;

        units_row_add(&j->rows.a[0], i, end);
        if (of_unit[i])
            units_row_add(&j->rows.a[of_unit[i]], i, end);
    }
    free(scope_of);
    free(of_unit);
}

static void make_labels(struct job *j, struct strtab *strings)
{
    struct buf text = {0};

    j->label = mem_calloc(j->choice->chosen.n + 1, sizeof(*j->label));
    j->outside_label = strtab_add(strings, "[outside]");
    for (size_t i = 0; i < j->choice->chosen.n; i++) {
        buf_clear(&text);
        units_label(j->u, &j->u->list.a[j->choice->chosen.a[i]], &text);
        j->label[i] = strtab_add(strings, buf_str(&text));
    }
    buf_release(&text);
}

static void take(struct job *j, const struct cut_scope *scope, const struct event *ev, uint64_t lasts_to,
                 uint32_t label)
{
    cut_event(scope, ev, lasts_to, &j->out);
    while (j->x->units.n < j->out.events.n)
        *vec_push(&j->x->units) = label;
}

static void divide(struct job *j, const struct event *ev, uint64_t lasts_to)
{
    uint32_t scope = ev->task <= j->outside.ntasks ? j->outside.scope_of[ev->task] : 0;
    const struct units_row *row = &j->rows.a[scope];
    uint64_t end = lasts_to ? lasts_to : ev->ts + (ev->dur ? ev->dur : 1);

    for (size_t i = units_row_find(row, ev->ts); i < row->units.n; i++) {
        const struct unit *u = &j->u->list.a[j->choice->chosen.a[row->units.a[i]]];
        struct cut_range range = {u->start, u->end};
        struct cut_scope one = {{&range, 1, 1}};

        if (u->start >= end)
            break;
        take(j, &one, ev, lasts_to, j->label[row->units.a[i]]);
    }
    take(j, &j->outside.scopes.a[scope], ev, lasts_to, j->outside_label);
}

static void run(struct job *j, struct session *s)
{
    uint64_t *ends = cut_ends(s);

    make_rows(j);
    make_labels(j, &s->store.strings);
    for (size_t i = 0; i < s->store.events.n; i++)
        divide(j, &s->store.events.a[i], ends[i]);
    store_replace_events(&s->store, &j->out);
    for (size_t i = 0; i < j->rows.n; i++)
        units_row_release(&j->rows.a[i]);
    vec_release(&j->rows);
    free(j->label);
    free(ends);
}

int split_apply(struct split *x, struct session *s, const char *kind, struct err *e)
{
    struct units_choice choice;
    struct units u;
    struct job j = {.x = x, .s = s, .u = &u, .choice = &choice};
    int rc;

    *x = (struct split){0};
    if (!kind)
        return 0;
    units_collect(&u, s);
    units_find_periods(&u, s);
    rc = units_choose_kind(&choice, &u, kind, e);
    if (!rc) {
        choice.outside = 1;
        cut_init(&j.outside, s, &u, &choice);
        run(&j, s);
        cut_release(&j.outside);
    } else {
        err_wrap(e, "--split %s", kind);
    }
    units_choice_release(&choice);
    units_release(&u);
    return rc;
}

void split_release(struct split *x)
{
    vec_release(&x->units);
}
