/* SPDX-License-Identifier: Apache-2.0 */
/* Row 20: steps that take far longer than the others. */
#include "analyze/rules/check.h"

#include "analyze/unit_tables.h"

#include <math.h>
#include <stdlib.h>

struct step {
    const struct unit *unit;
    uint64_t ns;
};

typedef VEC(struct step) steps;

static int by_time(const void *pa, const void *pb)
{
    const struct step *a = pa, *b = pb;

    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Mean and standard deviation of all but the longest tenth, which is what is to be judged by them. */
static void typical(const steps *s, double *mean, double *sigma)
{
    size_t n = s->n - s->n / 10 - 1;
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)s->a[i].ns;
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)s->a[i].ns - *mean) * ((double)s->a[i].ns - *mean);
    *sigma = sqrt(squares / (double)n);
}

/* What a thread of the lead did in [start, end): running, queued, by reason. ns each. */
enum { PARTS = LEAD_WAIT + WAIT_OTHER + 1 };

static void parts_of(uint64_t *ns, const struct rule_data *d, const struct unit *u)
{
    uint64_t off = 0, start = u->start, end = u->end;
    uint32_t thread = u->task <= d->s->store.tasks.list.n ? d->lead.thread_of[u->task] : 0;
    size_t last;

    thread = thread ? thread - 1 : 0; /* of those that another thread marks the first's */
    last = d->lead.threads.a[thread].spans.end;
    for (size_t i = lead_first(&d->lead, thread, start); i < last && d->lead.spans.a[i].start < end; i++) {
        const struct lead_span *x = &d->lead.spans.a[i];
        const struct wait *w = lead_wait(d, x);
        uint64_t from = x->start > start ? x->start : start, to = x->end < end ? x->end : end;
        unsigned reason = wait_reason_of(w);

        ns[x->kind == LEAD_QUEUE ? LEAD_QUEUE : LEAD_WAIT + reason] += to - from;
        off += to - from;
    }
    ns[LEAD_RUN] += end - start > off ? end - start - off : 0;
}

static const char *part_name(unsigned part)
{
    return part == LEAD_RUN     ? "on the CPU"
           : part == LEAD_QUEUE ? "without a CPU"
                                : waits_reason(part - LEAD_WAIT);
}

/* So many times as much of the CPU, and at least that part of the time without one. */
#define COMPUTE_TIMES 2
#define COMPUTE_SHARE 0.05

static double more_times(const uint64_t *slow, size_t nslow, const uint64_t *rest, size_t nrest)
{
    double typical = (double)rest[LEAD_RUN] / (double)nrest;

    return typical > 0 ? (double)slow[LEAD_RUN] / (double)nslow / typical : HUGE_VAL;
}

/* Which part grew most, per step, from the typical steps to the slow ones. */
static void compare(struct buf *out, const struct rule_data *d, const steps *s, size_t nslow)
{
    uint64_t slow[PARTS] = {0}, rest[PARTS] = {0};
    struct words w = {0};
    double most = 0;
    unsigned part = 0;

    /* Other threads' requests are not the main thread's doing. */
    if (!d->lead.task || !d->lead.spans.n || s->a[s->n - 1].unit->task > d->s->store.tasks.list.n ||
        !d->lead.thread_of[s->a[s->n - 1].unit->task])
        return;
    for (size_t i = 0; i < s->n; i++)
        parts_of(i >= s->n - nslow ? slow : rest, d, s->a[i].unit);
    for (unsigned i = 0; i < PARTS; i++) {
        double more = (double)slow[i] / (double)nslow - (double)rest[i] / (double)(s->n - nslow);

        /* Who computes twice as much waits for CPUs the longer, where others use them. */
        if (i == LEAD_QUEUE && part == LEAD_RUN &&
            more_times(slow, nslow, rest, s->n - nslow) >= COMPUTE_TIMES && most > COMPUTE_SHARE * more)
            continue;
        if (more > most) {
            most = more;
            part = i;
        }
    }
    if (most > 0)
        buf_addf(out, " What grew most is %s's time %s%s: %s a %s instead of %s.", lead_noun_in(d),
                 part >= LEAD_WAIT ? "blocked, " : "", part_name(part), words_ns(&w, slow[part] / nslow),
                 strtab_get(&d->units.strings, d->step_kind), words_ns(&w, rest[part] / (s->n - nslow)));
}

static void tell(struct finding *x, const struct rule_data *d, const steps *s, size_t nslow, double mean,
                 double sigma)
{
    struct buf text = {0}, name = {0};
    struct words w = {0};
    const struct step *worst = &s->a[s->n - 1];
    const char *kind = strtab_get(&d->units.strings, d->step_kind);

    for (size_t i = s->n - nslow; i < s->n; i++)
        finding_claim(x, s->a[i].unit->start, s->a[i].unit->end, s->a[i].ns - (uint64_t)mean);
    x->least_ns = d->wall_ns / 100; /* what other findings explain needs no second one */
    x->weight = RULE_WEIGHT_LAST;
    units_label(&d->units, worst->unit, &name);
    x->title =
        mem_printf("%zu of %zu %s%s take far longer than the others", nslow, s->n, kind, unit_plural(kind));
    buf_addf(&text, "The others take %s on average (standard deviation %s); the longest, %s, took %s.",
             words_ns(&w, (uint64_t)mean), words_ns(&w, (uint64_t)sigma), buf_str(&name),
             words_ns(&w, worst->ns));
    compare(&text, d, s, nslow);
    x->evidence = buf_detach(&text);
    x->advice =
        mem_printf("Look at one of them: wprof show --waits --only '%s:%s', wprof render --view timeline.",
                   kind, strtab_get(&d->units.strings, worst->unit->id));
    x->from = worst->unit->start > d->start ? worst->unit->start - d->start : 0;
    x->to = x->from + worst->ns;
    buf_release(&name);
}

void check_step_outlier(struct rule_run *r, const struct rule_data *d)
{
    steps s = {0};
    double mean, sigma;
    size_t slow = 0;

    for (size_t i = 0; i < d->units.list.n; i++) {
        const struct unit *u = &d->units.list.a[i];

        if (u->kind == d->step_kind && !u->open && u->end > u->start)
            *vec_push(&s) = (struct step){u, u->end - u->start};
    }
    if ((double)s.n < rule_threshold(r, "steps")) {
        rule_not_checked(r, "needs marks: %zu whole %s%s are too few to tell an outlier", s.n,
                         strtab_get(&d->units.strings, d->step_kind), s.n == 1 ? "" : "s");
    } else {
        qsort(s.a, s.n, sizeof(*s.a), by_time);
        typical(&s, &mean, &sigma);
        while (slow < s.n && (double)s.a[s.n - 1 - slow].ns > mean + rule_threshold(r, "sigma") * sigma &&
               (double)s.a[s.n - 1 - slow].ns > 1.5 * mean)
            slow++;
        if (slow)
            tell(rule_found(r), d, &s, slow, mean, sigma);
    }
    vec_release(&s);
}
