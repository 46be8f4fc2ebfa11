/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/rules/check.h"

#include <stdio.h>
#include <stdlib.h>

enum { STACK_SHOWN = 12 };

static char *room(struct words *w)
{
    return w->text[w->n++ % ARRAY_SIZE(w->text)];
}

const char *words_ns(struct words *w, uint64_t ns)
{
    return units_duration(room(w), sizeof(w->text[0]), ns);
}

const char *words_share(struct words *w, double share)
{
    return units_share(room(w), sizeof(w->text[0]), share);
}

const char *words_count(struct words *w, uint64_t n)
{
    return units_count(room(w), sizeof(w->text[0]), n);
}

const char *words_plural(struct words *w, uint64_t n, const char *one)
{
    char *text = room(w), count[32];
    size_t len = strlen(one);
    int es = len && (one[len - 1] == 's' || (len > 1 && one[len - 1] == 'h')); /* process, batch */

    snprintf(text, sizeof(w->text[0]), "%s %s%s", units_count(count, sizeof(count), n), one,
             n == 1 ? ""
             : es   ? "es"
                    : "s");
    return text;
}

/* ---- time of the main thread, or of those who work while it waits ---- */

const char *lead_noun(const struct rule_data *d)
{
    return d->lead.crew ? "A worker" : "The main thread";
}

const char *lead_noun_in(const struct rule_data *d)
{
    return d->lead.crew ? "a worker" : "the main thread";
}

/* Behind those of accelerators. */
uint32_t lead_lane(const struct rule_data *d, uint32_t thread)
{
    return d->lead.crew ? (uint32_t)d->gpu->devices.n + 1 + d->lead.threads.a[thread].lane : 0;
}

const struct event *lead_event(const struct rule_data *d, const struct lead_span *x)
{
    return &d->s->store.events.a[x->event];
}

const struct wait *lead_wait(const struct rule_data *d, const struct lead_span *x)
{
    return x->kind == LEAD_WAIT ? waits_get(&d->s->store.waits, lead_event(d, x)->attr) : NULL;
}

void lead_time_init(struct lead_time *t, const struct rule_data *d)
{
    *t = (struct lead_time){0};
    place_time_init(&t->where, &d->s->store);
}

void lead_time_release(struct lead_time *t)
{
    vec_release(&t->claims);
    place_time_release(&t->where);
}

static void add_where(struct lead_time *t, const struct rule_data *d, uint32_t stack, uint64_t ns)
{
    if (stack > d->s->store.stacks.nodes.n)
        return;
    t->where.of[stack] += ns;
    t->where.sum += ns;
}

void lead_time_wait(struct lead_time *t, const struct rule_data *d, size_t i)
{
    const struct lead_span *x = &d->lead.spans.a[i];
    uint64_t ns = x->end - x->start;

    *vec_push(&t->claims) = (struct finding_claim){x->start, x->end, ns, lead_lane(d, x->thread)};
    t->ns += ns;
    t->wait_ns += ns;
    t->waits++;
    t->longest = ns > t->longest ? ns : t->longest;
    add_where(t, d, lead_event(d, x)->stack, ns);
}

static uint64_t claim(struct lead_time *t, uint64_t start, uint64_t end, uint32_t lane)
{
    if (end > start)
        *vec_push(&t->claims) = (struct finding_claim){start, end, end - start, lane};
    return end - start;
}

static uint64_t claim_part(struct lead_time *t, const struct rule_data *d, size_t piece, unsigned part)
{
    const struct lead_running *r = &d->running;
    struct lead_piece p = lead_piece_part(r, &r->pieces.a[piece], part);

    return claim(t, p.start, p.end, lead_lane(d, r->turns.a[p.turn].thread));
}

/* The running time that is the sample's; where no waits are known, the sampling period before it. */
void lead_time_sample(struct lead_time *t, const struct rule_data *d, size_t i)
{
    const struct event *ev = &d->s->store.events.a[d->lead.samples.a[i]];
    const struct lead_running *r = &d->running;
    const struct lead_range *own = r->of_sample ? &r->of_sample[i] : NULL;
    uint64_t ns = own ? 0 : d->period_ns * ev->value;

    if (ev->ts && ns)
        claim(t, ev->ts > ns ? ev->ts - ns : 0, ev->ts, lead_lane(d, d->lead.thread_of[ev->task] - 1));
    for (size_t k = own ? own->first : 0; own && k < own->end; k++)
        ns += claim_part(t, d, k, LEAD_RAN);
    t->ns += ns;
    t->sample_ns += ns;
    t->samples += ev->value;
    add_where(t, d, ev->stack, ns || own ? ns : ev->value);
}

void lead_time_short(struct lead_time *t, const struct rule_data *d, unsigned reason)
{
    const struct lead_running *r = &d->running;
    uint64_t ns = 0;

    for (size_t k = 0; k < r->turns.n; k++)
        t->short_n += r->turns.a[k].n[reason];
    for (size_t k = 0; k < r->pieces.n; k++)
        ns += claim_part(t, d, k, reason);
    t->short_ns += ns;
    t->wait_ns += ns;
    t->ns += ns;
}

void lead_time_samples(struct lead_time *t, const struct rule_data *d, const uint8_t *stacks, uint64_t from)
{
    for (size_t i = 0; i < d->lead.samples.n; i++) {
        const struct event *ev = &d->s->store.events.a[d->lead.samples.a[i]];

        if (ev->ts >= from && ev->stack <= d->s->store.stacks.nodes.n && stacks[ev->stack])
            lead_time_sample(t, d, i);
    }
}

void lead_time_stacks(struct lead_time *t, const struct rule_data *d, const uint8_t *stacks)
{
    for (size_t i = 0; i < d->lead.spans.n; i++) {
        uint32_t stack = lead_event(d, &d->lead.spans.a[i])->stack;

        if (stack <= d->s->store.stacks.nodes.n && stacks[stack] && d->lead.spans.a[i].kind != LEAD_IDLE)
            lead_time_wait(t, d, i);
    }
    lead_time_samples(t, d, stacks, 0);
}

const char *lead_time_waits(struct words *w, const struct lead_time *t)
{
    char *text = room(w), listed[16], more[16];

    units_count(listed, sizeof(listed), t->waits);
    units_count(more, sizeof(more), t->short_n);
    if (!t->short_n)
        return words_plural(w, t->waits, "wait");
    snprintf(text, sizeof(w->text[0]), "%s wait%s and %s shorter ones", listed, t->waits == 1 ? "" : "s",
             more);
    return text;
}

const char lead_writes_advice[] =
    "Write and sync less often and more at a time, or in another thread; a faster disk.";

int lead_time_mostly_in(const struct lead_time *t, const struct rule_data *d, const struct place_match *m,
                        size_t n)
{
    uint8_t *stacks = places_match(&d->places, m, n);
    uint64_t ns = 0;

    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
        ns += stacks[i] ? t->where.of[i] : 0;
    free(stacks);
    return ns > t->where.sum / 2;
}

int lead_time_writes(const struct lead_time *t, const struct rule_data *d)
{
    static const struct place_match ways[] = {
        {"fsync", NULL, NULL},           {"fdatasync", NULL, NULL},
        {"__x64_sys_fsync", NULL, NULL}, {"__x64_sys_fdatasync", NULL, NULL},
        {"__do_sys_fsync", NULL, NULL},  {"vfs_fsync_range", NULL, NULL},
        {"do_fsync", NULL, NULL},        {"__x64_sys_msync", NULL, NULL},
        {"vfs_write", NULL, NULL},       {"sync_file_range", NULL, NULL}};

    return lead_time_mostly_in(t, d, ways, ARRAY_SIZE(ways));
}

double lead_time_share(const struct lead_time *t, const struct rule_data *d)
{
    return d->wall_ns ? (double)t->ns / ((double)d->wall_ns * d->lead.lanes) : 0;
}

void finding_of_lead(struct finding *x, const struct lead_time *t, const struct rule_data *d)
{
    struct buf name = {0};

    x->timed |= t->claims.n != 0;
    for (size_t i = 0; i < t->claims.n; i++)
        *vec_push(&x->claims) = t->claims.a[i];
    x->lanes = d->lead.crew ? d->lead.lanes : 0;
    lead_name(&d->s->store, d->lead.task, &name);
    x->process = buf_detach(&name);
}

void lead_tell(struct findings *f, const struct rule_data *d)
{
    struct words w = {0};

    for (size_t i = 0; d->lead.crew && i < f->list.n; i++) {
        struct finding *x = &f->list.a[i];
        char *was = x->evidence;

        if (!x->lanes || !x->claims.n || x->claims.a[0].lane <= d->gpu->devices.n)
            continue;
        x->evidence =
            mem_printf("%s Times are sums over %s", was, words_plural(&w, d->lead.threads.n, "thread"));
        free(was);
        was = x->evidence;
        x->evidence =
            d->lead.lanes > 1
                ? mem_printf("%s, of which %u at a time had something to do: the cost is their average.", was,
                             d->lead.lanes)
                : mem_printf("%s.", was);
        free(was);
    }
}

void finding_at(struct finding *x, const struct rule_data *d, const struct place_time *t, uint32_t node)
{
    struct buf line = {0};

    if (!node)
        return;
    places_label(&d->places, node, places_line(&d->places, t, node), &line);
    x->line = buf_detach(&line);
    x->stack = places_stack(&d->places, node, STACK_SHOWN);
}

double cpus_used(const struct rule_data *d)
{
    uint64_t ns = store_counter(&d->s->store, "target.cpu_ns", 0), tasks = 0;

    for (size_t i = 0; i < d->s->store.tasks.list.n; i++)
        tasks += d->s->store.tasks.list.a[i].cpu_ns;
    ns = ns ? ns : tasks;
    return d->wall_ns ? (double)ns / (double)d->wall_ns : 0;
}

double cpus_busy(const struct rule_data *d)
{
    static const enum metric_id parts[] = {METRIC_ID_CPU_USER, METRIC_ID_CPU_SYSTEM, METRIC_ID_CPU_IRQ};
    double used = cpus_used(d), busy = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        uint64_t ns = metrics_sums_total(&d->sums, 0, parts[i]);

        busy += ns != METRICS_NONE && d->wall_ns ? (double)ns / (double)d->wall_ns : 0;
    }
    return busy > used ? busy : used;
}
