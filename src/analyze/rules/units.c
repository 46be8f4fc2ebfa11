/* SPDX-License-Identifier: Apache-2.0 */
/* Row 62: what slow steps and requests spend their time in, and typical ones do not. */
#include "analyze/rules/check.h"

#include "analyze/unit_tables.h"

#include <stdlib.h>

#define SLOW  1.5  /* times the median, as in steps.h */
#define LEAST 0.02 /* of the wall time, beside what others count, that want of CPUs costs */

enum {
    CAUSES = 3,       /* findings at most */
    STACK_SHOWN = 12, /* frames */
    LEAST_SERVED = 8, /* requests, to make a program a server */
    FEW = 3,          /* slow ones, of which nothing is sure */
};

static void choose_kind(struct units_choice *c, const struct rule_data *d)
{
    *c = (struct units_choice){.kind = d->step_kind};
    for (size_t i = 0; i < d->units.list.n; i++)
        if (d->units.list.a[i].kind == d->step_kind)
            *vec_push(&c->chosen) = i;
}

/* ---- how units lie to each other ---- */

struct overlaps {
    size_t n;      /* units of the kind that a thread is known of */
    size_t apart;  /* begun by another thread of the process than the one before, */
    size_t within; /* or by the same one, before that was over */
};

static void overlaps(struct overlaps *o, const struct rule_data *d)
{
    const struct tasks *tasks = &d->s->store.tasks;
    const struct unit *before = NULL;

    *o = (struct overlaps){0};
    for (size_t i = 0; i < d->units.list.n; i++) {
        const struct unit *u = &d->units.list.a[i];

        if (u->kind != d->step_kind || !u->task)
            continue;
        if (before && task_same_process(&tasks->list.a[u->task - 1], &tasks->list.a[before->task - 1])) {
            o->apart += u->task != before->task;
            o->within += u->task == before->task && u->start < before->end;
        }
        before = u;
        o->n++;
    }
}

/* Many of them, not one by chance. */
static int are_many(size_t some, const struct overlaps *o)
{
    return some && some * 10 >= o->n;
}

/* Requests come from outside: several threads of a process have some, or some go on at a time. Steps follow
 * each other, whatever the threads. */
static int are_served(const struct rule_data *d)
{
    struct overlaps o;

    if (!d->step_kind || !strcmp(strtab_get(&d->units.strings, d->step_kind), "step"))
        return 0;
    overlaps(&o, d);
    return o.n >= LEAST_SERVED && are_many(o.apart + o.within, &o);
}

/* ---- what it costs ---- */

struct claiming {
    struct finding *x;
    unsigned cause;
    uint64_t from, to; /* the piece that may grow */
};

static void flush(struct claiming *c)
{
    if (c->to > c->from)
        finding_claim(c->x, c->from, c->to, c->to - c->from);
    c->from = c->to = 0;
}

static void claim_piece(void *arg, const struct unit_piece *p)
{
    struct claiming *c = arg;

    if (p->cause != c->cause)
        return;
    if (p->from != c->to) {
        flush(c);
        c->from = p->from;
    }
    c->to = p->to;
}

/* The wall time in which any slow one, not only of the slowest, was held up so. */
static void claim(struct finding *x, const struct rule_data *d, const struct unit_slow *slow, unsigned cause)
{
    struct claiming c = {x, cause, 0, 0};
    struct unit_time time;

    unit_time_init(&time, d->s, &d->units);
    for (size_t i = 0; i < d->units.list.n; i++) {
        const struct unit *u = &d->units.list.a[i];

        if (u->kind != d->step_kind || u->open ||
            (double)(u->end - u->start) < SLOW * (double)slow->figures.median)
            continue;
        unit_time_walk(&time, i, claim_piece, &c);
        flush(&c);
    }
    unit_time_release(&time);
}

/* ---- what it says ---- */

/* The longest unit's place in the list of all. */
static const struct unit *longest(const struct unit_slow *slow, const struct units *u)
{
    const struct unit *most = NULL;

    for (size_t i = 0; i < slow->side[COMPARISON_NEW].units.n; i++) {
        const struct unit *x = &u->list.a[slow->side[COMPARISON_NEW].units.a[i]];

        if (!most || x->end - x->start > most->end - most->start)
            most = x;
    }
    return most;
}

/* The thread that the cause is of, where that is in another process than the unit, whose thread waits for it:
 * a data loader's worker. */
static uint32_t elsewhere(const struct rule_data *d, const struct unit_slow *slow, unsigned cause)
{
    uint32_t task = unit_slow_task(slow, cause), of = longest(slow, &d->units)->task;
    const struct tasks *tasks = &d->s->store.tasks;

    return task && of && !task_same_process(&tasks->list.a[task - 1], &tasks->list.a[of - 1]) ? task : 0;
}

static char *gil_advice(const char *func, const char *process)
{
    if (process)
        return mem_printf(
            "Make %s cheaper, or do it in native code that gives the GIL up: what another thread "
            "of %s has ready is not handed over before.",
            func, process);
    return mem_printf("Run %s in a process of its own, in native code that gives the GIL up, or with a "
                      "free-threaded Python; or make it cheaper.",
                      func);
}

static char *advice(unsigned cause, const char *func, const char *process, const char *kind,
                    const char *longest)
{
    if (cause == UNIT_GIL)
        return gil_advice(*func ? func : "what holds it", process);
    if (cause == UNIT_NO_CPU)
        return mem_strdup(
            "Fewer threads at a time, or CPUs of its own (cpusets, taskset); see what else runs on this "
            "machine.");
    if (cause == UNIT_RAN || cause == UNIT_OTHER)
        return mem_printf("Make %s cheaper for them, or do it ahead; look at one: wprof show --only '%s:%s'.",
                          *func ? func : "that", kind, longest);
    return mem_printf("Look at one of them: wprof show --waits --only '%s:%s', wprof render --view timeline.",
                      kind, longest);
}

static void where(struct finding *x, const struct rule_data *d, const struct unit_slow *slow, unsigned cause)
{
    uint32_t line, node = unit_slow_place(slow, &d->places, cause, &line), task = unit_slow_task(slow, cause);
    struct buf label = {0}, name = {0};

    if (node) {
        places_label(&d->places, node, line, &label);
        x->line = buf_detach(&label);
        x->stack = places_stack(&d->places, node, STACK_SHOWN);
    }
    if (task) {
        lead_name(&d->s->store, task, &name);
        x->process = buf_detach(&name);
    }
}

static void tell(struct finding *x, const struct rule_data *d, const struct unit_slow *slow, unsigned cause)
{
    const char *kind = strtab_get(&d->units.strings, d->step_kind);
    const struct unit *most = longest(slow, &d->units);
    size_t n = slow->side[COMPARISON_NEW].units.n;
    uint32_t line, node = unit_slow_place(slow, &d->places, cause, &line);
    uint32_t other = elsewhere(d, slow, cause);
    struct buf does = {0}, text = {0}, process = {0};
    struct words w = {0};
    struct overlaps o;
    int alike;

    unit_slow_does(slow, &d->places, cause, &does);
    if (other) {
        lead_name(&d->s->store, other, &process);
        buf_addf(&does, ", in %s", buf_str(&process));
    }
    x->title = mem_printf("Slow %s%s %s", kind, unit_plural(kind), buf_str(&does));
    unit_slow_words(slow, &d->places, kind, cause, &text);
    if (cause == UNIT_RAN && unit_slow_queue_follows(slow))
        buf_addf(&text, " So they wait for a CPU longer, too, as others use them: %s more each.",
                 words_ns(&w, (uint64_t)unit_slow_more(slow, UNIT_NO_CPU)));
    x->evidence = buf_detach(&text);
    x->advice = advice(cause, node ? places_func(&d->places, node) : "", other ? buf_str(&process) : NULL,
                       kind, strtab_get(&d->units.strings, most->id));
    overlaps(&o, d);
    alike = are_many(o.within, &o) && !d->units.joins.n;
    x->why = mem_printf(
        "its cost is the time in which any of the %s that took half as long again as the median was held up "
        "so%s",
        words_plural(&w, slow->figures.slow, kind),
        alike ? "; some go on at a time in one thread, or their marks name none: what it did for one "
                "counts for all that waited meanwhile"
              : "");
    x->from = most->start > d->start ? most->start - d->start : 0;
    x->to = x->from + (most->end - most->start);
    x->certainty = n < FEW || alike || cause == UNIT_OTHER ? FINDING_LIKELY : FINDING_MEASURED;
    /* Another process that holds it up, a loader, is better told as that, where that is known. */
    x->weight =
        !other && (cause == UNIT_GIL || cause == UNIT_OTHER) ? RULE_WEIGHT_UNITS : RULE_WEIGHT_GENERAL;
    /* What few feel costs little of the run, but a machine that others use is no finding of each request. */
    x->least_ns = cause == UNIT_NO_CPU || other ? (uint64_t)(LEAST * (double)d->wall_ns) : 1;
    where(x, d, slow, cause);
    claim(x, d, slow, cause);
    buf_release(&process);
    buf_release(&does);
}

/* Much of what slow ones take more, and typical ones have next to none of it. */
static int stands_out(const struct unit_slow *slow, unsigned cause, double least)
{
    double each = unit_slow_each(slow, COMPARISON_NEW, slow->side[COMPARISON_NEW].cause[cause]);
    double more = unit_slow_more(slow, cause), all = unit_slow_all(slow);

    return cause != UNIT_UNSEEN && all > 0 && unit_slow_blame(slow, cause) >= least * all &&
           each >= 2 * (each - more);
}

void check_slow_units(struct rule_run *r, const struct rule_data *d)
{
    const char *kind = strtab_get(&d->units.strings, d->step_kind);
    struct units_choice choice;
    struct unit_slow slow;
    unsigned found = 0;

    choose_kind(&choice, d);
    unit_slow_init(&slow, d->s, &d->units, &choice);
    if ((double)slow.figures.n < rule_threshold(r, "units"))
        rule_not_checked(r, "needs marks: %zu whole %s%s are too few to tell slow ones from typical ones",
                         slow.figures.n, kind, slow.figures.n == 1 ? "" : unit_plural(kind));
    else if (!slow.slow)
        rule_note(r, "none of %zu %s%s took half as long again as the median", slow.figures.n, kind,
                  unit_plural(kind));
    else
        for (size_t i = 0; i < slow.ncauses && found < CAUSES; i++)
            if (stands_out(&slow, slow.order[i], rule_threshold(r, "more"))) {
                tell(rule_found(r), d, &slow, slow.order[i]);
                found++;
            }
    if (slow.slow && !found)
        rule_note(r, "slow %s%s take more of the same as typical ones", kind, unit_plural(kind));
    unit_slow_release(&slow);
    units_choice_release(&choice);
}

/* ---- idle servers ---- */

/* Sorted, disjoint. */
struct busy {
    VEC(struct finding_claim) list;
};

static void clip(struct finding *x, const struct busy *busy)
{
    VEC(struct finding_claim) kept = {0};

    for (size_t i = 0; i < x->claims.n; i++) {
        const struct finding_claim *c = &x->claims.a[i];
        size_t low = 0, high = busy->list.n;

        while (low < high) {
            size_t mid = low + (high - low) / 2;

            if (busy->list.a[mid].end <= c->start)
                low = mid + 1;
            else
                high = mid;
        }
        for (; low < busy->list.n && busy->list.a[low].start < c->end; low++) {
            uint64_t from = busy->list.a[low].start > c->start ? busy->list.a[low].start : c->start;
            uint64_t to = busy->list.a[low].end < c->end ? busy->list.a[low].end : c->end;
            double part = (double)(to - from) / (double)(c->end - c->start);

            *vec_push(&kept) = (struct finding_claim){from, to, (uint64_t)(part * (double)c->ns), c->lane};
        }
    }
    vec_swap(&x->claims, &kept);
    vec_release(&kept);
}

void units_clip(struct findings *f, const struct rule_data *d)
{
    struct busy busy = {0};

    if (!are_served(d))
        return;
    for (size_t i = 0; i < d->units.list.n; i++) {
        const struct unit *u = &d->units.list.a[i];
        struct finding_claim *last = busy.list.n ? &busy.list.a[busy.list.n - 1] : NULL;

        if (u->kind != d->step_kind)
            continue;
        if (last && u->start <= last->end)
            last->end = u->end > last->end ? u->end : last->end;
        else
            *vec_push(&busy.list) = (struct finding_claim){u->start, u->end, 0, 0};
    }
    for (size_t i = 0; i < f->list.n; i++)
        clip(&f->list.a[i], &busy);
    vec_release(&busy.list);
}
