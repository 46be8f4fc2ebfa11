/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/lead_running.h"

#include "base/mem.h"

#include <stdlib.h>

/* One thread while it is looked at; turns before `turn` are others'. */
struct job {
    struct lead_running *x;
    const struct lead *l;
    const struct store *s;
    uint32_t thread;
    size_t turn;
    lead_pieces pieces;
};

static const struct lead_thread *thread_of(const struct job *j)
{
    return &j->l->threads.a[j->thread];
}

/* ---- sums of short ones ---- */

static struct lead_turn *turn_at(struct job *j, uint64_t start)
{
    struct lead_running *x = j->x;
    size_t i = x->turns.n;

    while (i > j->turn && x->turns.a[i - 1].start > start)
        i--;
    if (i > j->turn && x->turns.a[i - 1].start == start)
        return &x->turns.a[i - 1];
    vec_push(&x->turns);
    for (size_t k = x->turns.n - 1; k > i; k--)
        x->turns.a[k] = x->turns.a[k - 1];
    x->turns.a[i] = (struct lead_turn){.start = start, .thread = j->thread};
    return &x->turns.a[i];
}

static void add_turns(struct job *j)
{
    const struct lead_range *own = &thread_of(j)->shorts;

    turn_at(j, 0); /* of what is before the first sum */
    for (size_t i = own->first; i < own->end; i++) {
        const struct event *ev = &j->s->events.a[j->l->shorts.a[i]];
        const struct wait *w = waits_get(&j->s->waits, ev->attr);
        unsigned reason = ev->kind == EVENT_RUNQ ? LEAD_SHORT_QUEUE : wait_reason_of(w);
        struct lead_turn *t = turn_at(j, ev->ts);

        t->ns[reason] += ev->dur;
        t->n[reason] += ev->value;
    }
}

static void add_up_turns(struct job *j)
{
    for (size_t i = 0; i < j->pieces.n; i++)
        j->x->turns.a[j->pieces.a[i].turn].between += j->pieces.a[i].end - j->pieces.a[i].start;
    for (size_t i = j->turn; i < j->x->turns.n; i++) {
        struct lead_turn *t = &j->x->turns.a[i];
        uint64_t off = 0;

        for (unsigned k = 0; k < LEAD_SHORTS; k++)
            off += t->ns[k];
        t->running = t->between > off ? t->between - off : 0;
    }
}

/* ---- pieces ---- */

static void add_piece(lead_pieces *out, uint64_t start, uint64_t end, uint32_t turn)
{
    if (end > start)
        *vec_push(out) = (struct lead_piece){start, end, turn};
}

/* What is between the spans, cut where turns begin. */
static void add_between(struct job *j)
{
    const struct lead_thread *t = thread_of(j);
    const struct lead_span *spans = j->l->spans.a;
    uint64_t at = t->from;
    size_t turn = j->turn;

    for (size_t i = t->spans.first; i <= t->spans.end; i++) {
        uint64_t stop = i < t->spans.end && spans[i].start < t->to ? spans[i].start : t->to;

        while (turn + 1 < j->x->turns.n && j->x->turns.a[turn + 1].start < stop) {
            uint64_t cut = j->x->turns.a[++turn].start;

            add_piece(&j->pieces, at, cut, (uint32_t)turn - 1);
            at = cut > at ? cut : at;
        }
        add_piece(&j->pieces, at, stop, (uint32_t)turn);
        if (i < t->spans.end && spans[i].end > at)
            at = spans[i].end;
    }
}

/* ---- samples ---- */

/* How long it had run at each of its samples; they are by time. */
static uint64_t *ran_at(const struct job *j)
{
    const struct lead_range *own = &thread_of(j)->samples;
    uint64_t *ran = mem_calloc(own->end - own->first + 1, sizeof(*ran)), sum = 0;
    size_t k = 0;

    for (size_t i = own->first; i < own->end; i++) {
        uint64_t ts = j->s->events.a[j->l->samples.a[i]].ts;

        while (k < j->pieces.n && j->pieces.a[k].end <= ts) {
            sum += j->pieces.a[k].end - j->pieces.a[k].start;
            k++;
        }
        ran[i - own->first] =
            sum + (k < j->pieces.n && j->pieces.a[k].start < ts ? ts - j->pieces.a[k].start : 0);
    }
    return ran;
}

/* Samples of a thread come at random in its running time, a period apart on average: what is further from any
 * than this, in one gap of e^4, is nobody's: there were none when it ran, or they were lost. */
enum { PERIODS = 4 };

/* From where to where, in running time, it is a sample's. */
struct reach {
    uint64_t from, to;
};

static struct reach reach_of(const uint64_t *ran, size_t n, size_t i, uint64_t most)
{
    struct reach x = {ran[i] > most ? ran[i] - most : 0, ran[i] + most};
    uint64_t before = i ? ran[i - 1] + (ran[i] - ran[i - 1]) / 2 : 0;
    uint64_t after = i + 1 < n ? ran[i] + (ran[i + 1] - ran[i]) / 2 : UINT64_MAX;

    x.from = x.from > before ? x.from : before;
    x.to = x.to < after ? x.to : after;
    return x;
}

/* A walk along the pieces, that cuts them where it is told to. */
struct cutter {
    const lead_pieces *in;
    lead_pieces out;
    size_t next;
    uint64_t at; /* running time at the beginning of what is left of in[next] */
    uint64_t start;
};

static void cut_at(struct cutter *c, uint64_t ran)
{
    while (c->next < c->in->n && c->at < ran) {
        const struct lead_piece *p = &c->in->a[c->next];
        uint64_t start = c->start > p->start ? c->start : p->start, left = p->end - start;
        uint64_t take = ran - c->at < left ? ran - c->at : left;

        add_piece(&c->out, start, start + take, p->turn);
        c->at += take;
        c->start = start + take;
        c->next += take == left;
    }
}

/* Cuts the pieces in the middle between samples, in running time, and puts them behind the other threads'. */
static void give_to_samples(struct job *j, uint64_t period)
{
    const struct lead_range *own = &thread_of(j)->samples;
    uint64_t *ran = ran_at(j), most = period ? period * PERIODS : UINT64_MAX / 4;
    size_t before = j->x->pieces.n, n = own->end - own->first;
    struct cutter c = {.in = &j->pieces};

    for (size_t i = 0; i < n; i++) {
        struct reach r = reach_of(ran, n, i, most);
        struct lead_range *share = &j->x->of_sample[own->first + i];

        cut_at(&c, r.from);
        share->first = before + c.out.n;
        cut_at(&c, r.to);
        share->end = before + c.out.n;
    }
    cut_at(&c, UINT64_MAX);
    for (size_t i = 0; i < c.out.n; i++)
        *vec_push(&j->x->pieces) = c.out.a[i];
    vec_release(&c.out);
    free(ran);
}

void lead_running_init(struct lead_running *x, const struct lead *l, const struct session *s)
{
    *x = (struct lead_running){0};
    if (!l->task || !l->waits)
        return;
    x->of_sample = mem_calloc(l->samples.n + 1, sizeof(*x->of_sample));
    for (uint32_t i = 0; i < l->threads.n; i++) {
        struct job j = {x, l, &s->store, i, x->turns.n, {0}};

        add_turns(&j);
        add_between(&j);
        add_up_turns(&j);
        give_to_samples(&j, s->meta.frequency ? 1000000000 / s->meta.frequency : 0);
        vec_release(&j.pieces);
    }
}

void lead_running_release(struct lead_running *x)
{
    vec_release(&x->pieces);
    vec_release(&x->turns);
    free(x->of_sample);
}

/* The parts lie one after the other: what it ran, then its short waits by reason. */
struct lead_piece lead_piece_part(const struct lead_running *x, const struct lead_piece *p, unsigned part)
{
    const struct lead_turn *t = &x->turns.a[p->turn];
    uint64_t before = part == LEAD_RAN ? 0 : t->running, ns = part == LEAD_RAN ? t->running : t->ns[part];
    uint64_t all = t->running;
    double len = (double)(p->end - p->start);
    struct lead_piece out = *p;

    for (unsigned k = 0; k < LEAD_SHORTS; k++) {
        all += t->ns[k];
        before += part != LEAD_RAN && k < part ? t->ns[k] : 0;
    }
    out.start = p->start + (uint64_t)(all ? len * ((double)before / (double)all) : 0);
    out.end = p->start + (uint64_t)(all ? len * ((double)(before + ns) / (double)all) : 0);
    return out;
}
