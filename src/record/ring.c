/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ring.h"

#include "base/units.h"
#include "record/about.h"

#include <string.h>

#define SECOND 1000000000ull

static void note_release(struct ring_note *n)
{
    free(n->counters);
    vec_release(&n->tasks);
}

void ring_release(struct ring *r)
{
    for (size_t i = 0; i < r->notes.n; i++)
        note_release(&r->notes.a[i]);
    vec_release(&r->notes);
    vec_release(&r->events);
}

uint64_t ring_turn(const struct ring *r)
{
    uint64_t turn = r->length / RING_TURNS;

    if (!r->length)
        return SECOND;
    return turn < SECOND / 10 ? SECOND / 10 : turn > 5 * SECOND ? 5 * SECOND : turn;
}

void ring_take(struct ring *r, const struct store *s, size_t from)
{
    vec_reserve(&r->events, r->events.n + s->events.n);
    for (size_t i = from; i < s->events.n; i++)
        *vec_push(&r->events) = s->events.a[i];
}

/* The youngest note that is old enough to begin the window with; the first one until there is such a one. */
static size_t base_at(const struct ring *r, uint64_t now)
{
    size_t i = 0;

    while (i + 1 < r->notes.n && r->notes.a[i + 1].ts + r->length <= now)
        i++;
    return i;
}

static void drop_notes(struct ring *r, size_t n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        note_release(&r->notes.a[i]);
    memmove(r->notes.a, r->notes.a + n, (r->notes.n - n) * sizeof(*r->notes.a));
    r->notes.n -= n;
}

void ring_note(struct ring *r, const struct store *s, uint64_t now)
{
    struct ring_note n = {.ts = now, .ncounters = s->counters.n};

    size_t base;

    n.counters = mem_calloc(n.ncounters + 1, sizeof(*n.counters));
    for (size_t i = 0; i < n.ncounters; i++)
        n.counters[i] = s->counters.a[i].value;
    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];

        if (!t->last_ns || t->last_ns > now)
            *vec_push(&n.tasks) = (struct ring_task){(uint32_t)i + 1, t->cpu_ns};
    }
    if (!r->begin)
        r->begin = now;
    *vec_push(&r->notes) = n;
    base = base_at(r, now);
    drop_notes(r, base ? base - 1 : 0); /* the end may have been before the last turn */
}

/* 0: the recording's own begin. What came just before its first note is of it, too. */
static uint64_t window_begin(const struct ring *r, uint64_t now)
{
    uint64_t ts = r->notes.n ? r->notes.a[base_at(r, now)].ts : 0;

    return ts == r->begin ? 0 : ts;
}

int ring_is_due(const struct ring *r, uint64_t now)
{
    uint64_t oldest = UINT64_MAX, from = window_begin(r, now);

    if (r->events.n >= RING_EVENTS_MAX)
        return 1;
    for (size_t i = 0; i < r->events.n; i++)
        if (r->events.a[i].ts + r->events.a[i].dur < oldest)
            oldest = r->events.a[i].ts + r->events.a[i].dur;
    return oldest < from && from - oldest > r->length;
}

/* 0: it lies outside. Sums of short spans lie where they begin: they are sent every turn. */
static int clip(struct event *e, uint64_t from)
{
    uint64_t end = e->ts + e->dur;

    if (e->ts >= from)
        return 1;
    if (e->flags & EVENT_SHORT || end <= from)
        return 0;
    e->dur = end - from;
    e->ts = from;
    return 1;
}

static int youngest_first(const void *pa, const void *pb)
{
    const struct event *a = pa, *b = pb;
    uint64_t x = a->ts + a->dur, y = b->ts + b->dur;

    return x > y ? -1 : x < y;
}

/* More than there is room for: the window gets shorter. Half of the room, or it would be full again at once.
 */
static uint64_t shorten(struct ring *r, uint64_t from)
{
    size_t keep = RING_EVENTS_MAX / 2, at = 0;
    uint64_t first;

    qsort(r->events.a, r->events.n, sizeof(*r->events.a), youngest_first);
    first = r->events.a[keep].ts + r->events.a[keep].dur;
    while (at + 1 < r->notes.n && r->notes.a[at].ts < first)
        at++; /* figures are known only there */
    if (!r->notes.n || r->notes.a[at].ts <= from)
        return from;
    drop_notes(r, at);
    return r->notes.a[0].ts;
}

uint64_t ring_cut(struct ring *r, struct store *s, uint64_t now)
{
    uint64_t from = window_begin(r, now), before = from;
    size_t kept = 0;

    if (r->events.n >= RING_EVENTS_MAX)
        from = shorten(r, from);
    from = from < r->cut ? r->cut : from; /* the end may have been before the last turn */
    r->cut = from;
    for (size_t i = 0; i < r->events.n; i++) {
        struct event e = r->events.a[i];

        if (clip(&e, from)) {
            r->events.a[kept++] = e;
        } else {
            r->outside++;
            r->early += e.ts >= before;
        }
    }
    r->events.n = kept;
    ring_keep(r, s);
    return from;
}

void ring_keep(struct ring *r, struct store *s)
{
    vec_swap(&r->events, &s->events);
}

/* ---- figures ---- */

/* States, not sums: they stay what they are at the end. */
static int is_state(const char *counter)
{
    static const char *const states[] = {"own.rss_max", "own.seal_ns", "cpu.tables", "cpu.table_rows"};

    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (!strcmp(states[i], counter))
            return 1;
    return 0;
}

static uint64_t since(uint64_t now, const uint64_t *before, size_t n, size_t i)
{
    uint64_t was = i < n ? before[i] : 0;

    return now > was ? now - was : 0;
}

/* Samples come a little later than they were taken: those of the window are known one by one. */
static void count_taken(struct store *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->events.n; i++)
        n += s->events.a[i].kind == EVENT_SAMPLE ? s->events.a[i].value : 0;
    if (store_counter(s, "cpu.taken", UINT64_MAX) != UINT64_MAX)
        store_set_counter(s, "cpu.taken", n);
}

/* A task's CPU time until the note. */
static uint64_t ran_before(const struct ring_note *n, const struct task *t, uint32_t id)
{
    size_t from = 0, to = n->tasks.n;

    if (t->last_ns && t->last_ns <= n->ts)
        return t->cpu_ns;
    while (from < to) {
        size_t mid = (from + to) / 2;

        if (n->tasks.a[mid].id == id)
            return n->tasks.a[mid].cpu_ns;
        if (n->tasks.a[mid].id < id)
            from = mid + 1;
        else
            to = mid;
    }
    return 0;
}

static void say(const struct ring *r, struct meta *m, uint64_t from)
{
    char window[32], whole[32], count[32], early[32];

    about_note(m, "the last %s of %s (--ring): %s older events are outside the ring%s%s%s",
               units_duration(window, sizeof(window), m->end_mono - (from ? from : r->begin)),
               units_duration(whole, sizeof(whole), m->end_mono - r->begin),
               units_count(count, sizeof(count), r->outside), r->early ? ", " : "",
               r->early ? units_count(early, sizeof(early), r->early) : "",
               r->early ? " of them though recent, since it has room for no more" : "");
}

void ring_settle(struct ring *r, struct store *s, struct meta *m, uint64_t from)
{
    size_t base = r->notes.n ? base_at(r, m->end_mono) : 0;
    const struct ring_note *n;

    if (!r->notes.n) /* it never began */
        return;
    while (base + 1 < r->notes.n && r->notes.a[base].ts < from)
        base++;
    n = &r->notes.a[base];
    for (size_t i = 0; from && i < s->counters.n; i++)
        if (!is_state(strtab_get(&s->strings, s->counters.a[i].name)))
            s->counters.a[i].value = since(s->counters.a[i].value, n->counters, n->ncounters, i);
    for (size_t i = 0; from && i < s->tasks.list.n; i++) {
        struct task *t = &s->tasks.list.a[i];

        t->cpu_ns -= ran_before(n, t, (uint32_t)i + 1);
        tasks_touch(&s->tasks, (uint32_t)i + 1);
    }
    if (from)
        count_taken(s);
    store_set_counter(s, "ring.outside", r->outside);
    store_set_counter(s, "ring.recorded_ns", m->end_mono - r->begin);
    say(r, m, from);
    if (!from)
        return;
    m->start_ts += (double)(from - m->start_mono) / 1e9;
    m->start_mono = from;
    m->duration_s = (double)(m->end_mono - from) / 1e9;
}
