/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gil.h"

#include "base/hash.h"
#include "base/mem.h"
#include "model/store_visit.h"

#include <stdlib.h>

enum {
    HOLDERS = 4,        /* of one wait that are told apart */
    HOLDERS_MAX = 1024, /* threads whose places are remembered, before old ones are looked for */
};

#define OLD_NS 60000000000ull

/* A switch interval may be longer than this, but what runs for so long between two waits has got the GIL. */
#define OVER_NS 1000000000ull

/* Where several have had the GIL since a thread began to sleep, and it may have been one of them: what ran no
 * longer than this in between has only looked whether it is free. */
#define LOOK_NS 100000ull

/* Who had the GIL during a wait, for how long, and where. */
struct gil_held {
    uint64_t ns;
    uint32_t task, stack;
};

/* A wait under way. */
struct gil_thread {
    struct gil_part first, last; /* its spans */
    uint64_t end;
    struct gil_held held[HOLDERS];
    struct gil_held waker; /* the last that is known */
    int active;
};

/* Where a thread had the GIL in its hands: off the CPU, running (the last two times), giving it away, taking
 * it after it had waited for it. */
struct gil_place {
    uint64_t ts, end;
    uint32_t stack;
};

struct gil_holder {
    struct gil_place off, seen[2], gave, took;
};

void gils_init(struct gils *g, struct store *s)
{
    *g = (struct gils){.store = s, .holders_max = HOLDERS_MAX};
}

static void release_all(struct map *m)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(m, &i));)
        free((void *)(uintptr_t)s->val);
    map_release(m);
}

static void part_ids(struct gil_part *p, struct store_visit *v)
{
    store_visit_stack(v, &p->stack);
    store_visit_wait_itself(v, &p->wait);
}

static void thread_ids(struct gil_thread *t, struct store_visit *v)
{
    part_ids(&t->first, v);
    part_ids(&t->last, v);
    for (size_t i = 0; i < HOLDERS; i++)
        store_visit_stack(v, &t->held[i].stack);
    store_visit_stack(v, &t->waker.stack);
}

static void holder_ids(struct gil_holder *h, struct store_visit *v)
{
    store_visit_stack(v, &h->off.stack);
    store_visit_stack(v, &h->seen[0].stack);
    store_visit_stack(v, &h->seen[1].stack);
    store_visit_stack(v, &h->gave.stack);
    store_visit_stack(v, &h->took.stack);
}

void gils_ids(struct gils *g, struct store_visit *v)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&g->threads, &i));)
        thread_ids((struct gil_thread *)(uintptr_t)s->val, v);
    for (size_t i = 0; (s = map_next(&g->holders, &i));)
        holder_ids((struct gil_holder *)(uintptr_t)s->val, v);
    store_visit_cache(v, &g->names);
    store_visit_frame(v, &g->frame);
}

void gils_release(struct gils *g)
{
    release_all(&g->threads);
    release_all(&g->holders);
    map_release(&g->tasks);
    map_release(&g->names);
}

/* ---- names ---- */

uint32_t gils_stack(struct gils *g, uint32_t stack)
{
    struct frame key = {.kind = FRAME_GIL};

    if (!g->frame) {
        key.func = strtab_add(&g->store->strings, "[waiting for the GIL]");
        g->frame = frames_add(&g->store->frames, &key);
    }
    return stacks_push(&g->store->stacks, stack, g->frame);
}

static uint64_t key_of(uint32_t tgid, uint64_t thread_id)
{
    return hash_mix(thread_id, tgid);
}

void gils_note(struct gils *g, const struct wire_task *who, uint32_t task)
{
    if (who->thread_id)
        *map_put(&g->tasks, key_of(who->tgid, who->thread_id)) = task;
}

/* The task that has the GIL; 0: nobody, or nobody knows. */
static uint32_t holder_of(const struct gils *g, const struct wire_task *who, const struct wire_gil *gil)
{
    uint64_t *task;

    if (!gil->locked || !gil->holder || gil->holder == who->thread_id)
        return 0;
    task = map_get(&g->tasks, key_of(who->tgid, gil->holder));
    return task ? (uint32_t)*task : 0;
}

static uint32_t name_of(struct gils *g, uint32_t holder)
{
    uint64_t *slot = map_get(&g->names, holder);
    const struct task *t = tasks_get(&g->store->tasks, holder);
    char *text;
    uint32_t id;

    if (slot)
        return (uint32_t)*slot;
    text = t ? mem_printf("the GIL (held by %s[%u])", strtab_get(&g->store->strings, t->comm), t->tid)
             : mem_strdup("the GIL");
    id = strtab_add(&g->store->strings, text);
    free(text);
    *map_put(&g->names, holder) = id;
    return id;
}

uint32_t gils_name(struct gils *g, const struct wire_task *who, const struct wire_gil *gil)
{
    return name_of(g, holder_of(g, who, gil));
}

/* ---- the end of a wait ---- */

static struct gil_held *longest_holder(struct gil_thread *t)
{
    struct gil_held *best = &t->held[0];

    for (int i = 1; i < HOLDERS; i++)
        if (t->held[i].ns > best->ns)
            best = &t->held[i];
    return best;
}

static struct gil_holder *holder_at(struct gils *g, uint32_t task)
{
    uint64_t *slot = map_put(&g->holders, task);

    if (!*slot)
        *slot = (uintptr_t)mem_calloc(1, sizeof(struct gil_holder));
    return (struct gil_holder *)(uintptr_t)*slot;
}

static int within(uint64_t ts, const struct gil_thread *t)
{
    return ts >= t->first.ts && ts <= t->end;
}

/* Where the holder was meanwhile: off the CPU for most of the time, else where it was seen with it, else
 * where it gave it away, or where it took it when this wait began. */
static uint32_t holder_stack(const struct gils *g, const struct gil_thread *t, uint32_t holder)
{
    uint64_t *slot = map_get(&g->holders, holder);
    const struct gil_holder *h = slot ? (const void *)(uintptr_t)*slot : NULL;

    if (!h)
        return 0;
    if (h->off.ts < t->end && h->off.end > t->first.ts) {
        uint64_t from = h->off.ts > t->first.ts ? h->off.ts : t->first.ts,
                 to = h->off.end < t->end ? h->off.end : t->end;

        if (to - from >= (t->end - t->first.ts) / 2)
            return h->off.stack;
    }
    for (int i = 0; i < 2; i++)
        if (within(h->seen[i].ts, t))
            return h->seen[i].stack;
    if (within(h->off.ts, t))
        return h->off.stack;
    if (h->gave.ts >= t->first.ts && h->gave.ts <= t->end + LOOK_NS)
        return h->gave.stack;
    return h->took.ts + LOOK_NS >= t->first.ts && h->took.ts <= t->end ? h->took.stack : 0;
}

static void finish(struct gils *g, struct gil_thread *t)
{
    struct gil_held *h = longest_holder(t);
    struct wait w = {.reason = WAIT_GIL};

    if (!t->active)
        return;
    t->active = 0;
    if (!h->stack) /* nobody woke this one: it looked just when the GIL was free */
        h->stack = holder_stack(g, t, h->task);
    w.waker_task = h->task ? h->task : t->waker.task;
    w.waker_stack = h->task ? h->stack : t->waker.stack;
    w.what = name_of(g, w.waker_task);
    *vec_push(&g->store->events) =
        (struct event){.ts = t->first.ts,
                       .dur = t->end - t->first.ts,
                       .value = 1,
                       .task = t->first.task,
                       .stack = t->first.stack,
                       .attr = waits_add(&g->store->waits, &w),
                       .flags = (uint16_t)(t->first.flags | (t->last.open ? EVENT_OPEN : 0)),
                       .kind = EVENT_GIL};
    g->waits++;
    g->ns += t->end - t->first.ts;
    if (t->first.walked && !t->last.open) {
        struct gil_holder *now = holder_at(g, t->first.task);

        now->took =
            (struct gil_place){.ts = t->end, .stack = stacks_get(&g->store->stacks, t->first.stack)->parent};
    }
}

/* ---- spans ---- */

static struct gil_thread *thread_of(struct gils *g, uint32_t tid, int make)
{
    uint64_t *slot = make ? map_put(&g->threads, tid) : map_get(&g->threads, tid);

    if (slot && !*slot)
        *slot = (uintptr_t)mem_calloc(1, sizeof(struct gil_thread));
    return slot ? (struct gil_thread *)(uintptr_t)*slot : NULL;
}

/*
 * Does the wait go on in the span p, or has the thread had the GIL in between? Each change of hands is
 * counted by CPython, and who has it at the span's beginning is known. Only where it changed hands several
 * times this doesn't tell.
 */
static int goes_on(const struct gil_thread *t, const struct wire_task *who, const struct gil_part *p)
{
    uint32_t changes = p->gil.switches - t->last.gil.switches;

    if (p->gil.holder == who->thread_id || p->ts < t->end)
        return 0;
    if (changes <= 1)
        return 1;
    return p->ts - t->end <= LOOK_NS && !t->last.wait.waker_task;
}

static struct gil_held *held_by(struct gil_thread *t, uint32_t task)
{
    struct gil_held *least = &t->held[0];

    for (int i = 0; i < HOLDERS; i++) {
        if (t->held[i].task == task)
            return &t->held[i];
        if (t->held[i].ns < least->ns)
            least = &t->held[i];
    }
    *least = (struct gil_held){.task = task};
    return least;
}

/* Now, for it is somewhere else soon. */
static void look_at_holder(const struct gils *g, const struct gil_thread *t, struct gil_held *h)
{
    uint32_t stack = holder_stack(g, t, h->task);

    h->stack = stack ? stack : h->stack;
}

/* Who gave the GIL away, and where: the thread itself, which now waits for another to take it; who woke it.
 */
static void note_giver(struct gils *g, const struct wire_task *who, const struct gil_part *p)
{
    struct gil_holder *h;

    if (p->gil.holder == who->thread_id && p->walked) {
        h = holder_at(g, p->task);
        h->gave = (struct gil_place){.ts = p->ts, .stack = stacks_get(&g->store->stacks, p->stack)->parent};
    }
    if (p->wait.waker_task) {
        h = holder_at(g, p->wait.waker_task);
        h->gave = (struct gil_place){.ts = p->woken, .stack = p->wait.waker_stack};
    }
}

void gils_part(struct gils *g, const struct wire_task *who, const struct gil_part *p)
{
    struct gil_thread *t = thread_of(g, who->tid, 1);
    uint32_t holder = holder_of(g, who, &p->gil);

    if (t->active && !goes_on(t, who, p))
        finish(g, t);
    if (!t->active)
        *t = (struct gil_thread){.first = *p, .active = 1};
    t->last = *p;
    if (!t->first.walked && p->walked) {
        t->first.stack = p->stack;
        t->first.flags = p->flags;
        t->first.walked = 1;
    }
    t->end = p->end > p->ts ? p->end : p->ts;
    note_giver(g, who, p);
    if (p->wait.waker_task) {
        t->waker.task = p->wait.waker_task;
        look_at_holder(g, t, &t->waker);
    }
    if (holder) {
        struct gil_held *h = held_by(t, holder);

        h->ns += t->end - p->ts;
        look_at_holder(g, t, h);
    }
}

void gils_other(struct gils *g, const struct wire_task *who, const struct event *span)
{
    struct gil_thread *t = thread_of(g, who->tid, 0);

    if (t && span->kind == EVENT_OFFCPU)
        finish(g, t);
    if (span->flags & EVENT_GIL_HELD && span->stack) {
        struct gil_holder *h = holder_at(g, span->task);

        h->off = (struct gil_place){span->ts, span->ts + span->dur, span->stack};
    }
}

void gils_sample(struct gils *g, const struct event *sample)
{
    struct gil_holder *h;

    if (!(sample->flags & EVENT_GIL_READ))
        return;
    g->read++;
    if (!(sample->flags & EVENT_GIL_HELD))
        return;
    g->held++;
    h = holder_at(g, sample->task);
    h->seen[1] = h->seen[0];
    h->seen[0] = (struct gil_place){.ts = sample->ts, .stack = sample->stack};
}

void gils_short(struct gils *g, const struct event *sum)
{
    struct event ev = *sum;

    ev.kind = EVENT_GIL;
    *vec_push(&g->store->events) = ev;
    g->waits += ev.value;
    g->ns += ev.dur;
}

void gils_ended(struct gils *g, const struct wire_task *who)
{
    struct gil_thread *t = thread_of(g, who->tid, 0);

    if (!t)
        return;
    finish(g, t);
    map_del(&g->threads, who->tid);
    free(t);
}

static int is_old(const struct gil_holder *h, uint64_t now)
{
    uint64_t last = h->off.end > h->gave.ts ? h->off.end : h->gave.ts;

    last = h->seen[0].ts > last ? h->seen[0].ts : last;
    return now > last && now - last > OLD_NS;
}

/* Of very many threads, those that had the GIL long ago are forgotten. */
static void forget_holders(struct gils *g, uint64_t now)
{
    struct map kept = {0};
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&g->holders, &i));) {
        if (is_old((const struct gil_holder *)(uintptr_t)s->val, now))
            free((void *)(uintptr_t)s->val);
        else
            *map_put(&kept, s->key) = s->val;
    }
    map_release(&g->holders);
    g->holders = kept;
    g->holders_max = kept.n * 2 > HOLDERS_MAX ? kept.n * 2 : HOLDERS_MAX;
}

void gils_turn(struct gils *g, uint64_t now)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&g->threads, &i));) {
        struct gil_thread *t = (struct gil_thread *)(uintptr_t)s->val;

        if (t->active && (now == UINT64_MAX || (now > t->end && now - t->end > OVER_NS)))
            finish(g, t);
    }
    if (now != UINT64_MAX && g->holders.n > g->holders_max)
        forget_holders(g, now);
}
