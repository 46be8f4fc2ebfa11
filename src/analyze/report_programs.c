/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report_programs.h"

#include "analyze/lead.h"
#include "analyze/places.h"
#include "analyze/programs.h"

/* Those that are shown, and of fewer samples a share is none. */
enum { SHOWN = 8, LEAST_SAMPLES = 20 };
#define LEAST_SHARE 0.1 /* of a program's samples: a function with less is not where it is */

/* The function with most of a program's own time. */
static void place(struct report_program *out, const struct program *x, const struct session *s,
                  const struct places *places)
{
    const struct store *st = &s->store;
    struct place_time t;
    struct buf label = {0};
    uint64_t self;
    uint32_t node;

    place_time_init(&t, st);
    for (size_t i = 0; i < st->events.n; i++) {
        const struct event *ev = &st->events.a[i];

        if (ev->kind != EVENT_SAMPLE || ev->stack > st->stacks.nodes.n ||
            programs_comm(st, ev->task) != x->comm)
            continue;
        t.of[ev->stack] += ev->value;
        t.sum += ev->value;
    }
    node = places_top(places, &t, &self);
    if (node && !places_is_start(places, node) && (double)self >= LEAST_SHARE * (double)t.sum) {
        places_label(places, node, places_line(places, &t, node), &label);
        out->where = buf_detach(&label);
        out->where_share = (double)self / (double)t.sum;
    }
    place_time_release(&t);
}

/* The main thread's program used less than half of the CPU time: its time does not tell where that went. */
static int is_others(const struct programs *p, const struct session *s)
{
    uint64_t own = 0;
    struct lead lead;

    lead_init(&lead, s);
    for (size_t i = 0; lead.task && i < p->list.n; i++)
        if (p->list.a[i].comm == programs_comm(&s->store, lead.task))
            own += p->list.a[i].cpu_ns;
    lead_release(&lead);
    return own < p->cpu_ns / 2;
}

void report_programs(struct report *r, const struct session *s, const struct metrics_sums *sums)
{
    uint64_t wall = s->meta.end_mono > s->meta.start_mono ? s->meta.end_mono - s->meta.start_mono : 0;
    struct programs p;
    struct places places;

    programs_init(&p, s, sums);
    r->whole_machine = programs_of_machine(&s->meta);
    if (p.cpu_ns && (r->whole_machine || (p.list.n > 1 && is_others(&p, s)))) {
        r->cpus_ns = r->whole_machine && p.cpu_ns < wall * s->meta.ncpus ? wall * s->meta.ncpus : p.cpu_ns;
        r->cpus_used_ns = p.cpu_ns;
        places_init(&places, &s->store);
        for (size_t i = 0; i < p.list.n && p.list.a[i].cpu_ns; i++) {
            const struct program *x = &p.list.a[i];
            struct report_program *out = vec_push(&r->programs);

            *out = (struct report_program){.name = mem_strdup(strtab_get(&s->store.strings, x->comm)),
                                           .processes = x->processes,
                                           .cpu_ns = x->cpu_ns,
                                           .delay_ns = x->delay_ns};
            if (i < SHOWN && x->samples >= LEAST_SAMPLES)
                place(out, x, s, &places);
        }
        places_release(&places);
    }
    programs_release(&p);
}
