/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_blame.h"

#include "analyze/gpu_place.h"
#include "analyze/gpu_slots.h"
#include "analyze/waits_top.h"
#include "base/hash.h"
#include "base/map.h"

#include <math.h>

static const struct table_column columns[] = {
    {"share", "of idle", TABLE_SHARE},
    {"ns", "time", TABLE_NS},
    {"gaps", "gaps", TABLE_COUNT, 6},
    {"thread", "thread", TABLE_TEXT, 5},
    {"tid", "tid", TABLE_ID, 7},
    {"state", "was", TABLE_TEXT},
    {"where", "in", TABLE_TEXT},
    {"caller", "called by", TABLE_TEXT, 2},
    {"by", "until", TABLE_TEXT, 3},
    {"by_where", NULL, TABLE_TEXT},
    {"meanwhile", "which was in", TABLE_TEXT, 4},
    {"meanwhile_share", "", TABLE_SHARE, 8},
    {"stack", NULL, TABLE_TEXT},
};

enum { SHARE, NS, GAPS, THREAD, TID, STATE, WHERE, CALLER, BY, BY_WHERE, MEANWHILE, MEANWHILE_SHARE, STACK };

/* Beyond what a thread does: how what ran next came to be. */
enum { STATE_ASKING = GPU_HOST_STATES, STATE_STARTING, STATE_IN_TIME, STATE_UNKNOWN, STATES };

static const char *const states[STATES] = {
    [GPU_HOST_RAN] = "on CPU",   [GPU_HOST_QUEUED] = "queued",    [GPU_HOST_BLOCKED] = "off CPU",
    [GPU_HOST_GIL] = "GIL",      [GPU_HOST_CALLED] = "in a call", [GPU_HOST_UNSEEN] = "unseen",
    [STATE_ASKING] = "asking",   [STATE_STARTING] = "starting",   [STATE_IN_TIME] = "asked in time",
    [STATE_UNKNOWN] = "unknown",
};

/* What a row is told by. Strings and ids of the store. */
struct key {
    uint32_t task, state, reason;
    uint32_t where, caller;
    uint32_t by, by_where; /* the other thread's name */
};

struct row {
    struct key key;
    uint64_t ns, gaps, last_gap;
    uint32_t stack;
    uint64_t stack_ns;  /* of the piece that the stack is of: the longest */
    uint32_t meanwhile; /* index + 1 into places */
    uint32_t task;      /* the first that it is joined of; 0: key's alone */
    uint32_t ranks;     /* how many it is joined of */
    int several;        /* of several threads */
    int named_apart;    /* whose names differ */
};

/* Where who ended the waits of a row, or who woke that one in turn, was meanwhile. */
struct place {
    uint32_t row, thread, where;
    uint64_t ns;
};

/* A sampled thread's time on the CPU in gaps, and its samples then. */
struct sampled {
    uint32_t task;
    uint64_t ns, gaps, last_gap, samples, done, taken;
};

struct sample {
    uint32_t of, event; /* of: index into sampled */
    uint64_t gap;
};

struct blame {
    const struct gpu_trace *x;
    const struct gpu_host *host;
    VEC(struct row) rows;
    struct index row_index;
    VEC(struct place) places;
    struct index place_index;
    struct map ended;  /* event that ended a wait in gaps -> ns there */
    struct map row_of; /* that event -> row */
    VEC(struct sampled) sampled;
    struct map sampled_of; /* task -> index + 1 */
    VEC(struct sample) samples;
    uint64_t idle, gap; /* all of it; number of the gap in work, from 1 */
    uint32_t task;      /* that is looked at */
};

/* ---- rows ---- */

static int same_key(const void *ctx, uint32_t id)
{
    const struct blame *b = ((const void *const *)ctx)[0];
    const struct key *k = ((const void *const *)ctx)[1], *a = &b->rows.a[id - 1].key;

    return a->task == k->task && a->state == k->state && a->reason == k->reason && a->where == k->where &&
           a->caller == k->caller && a->by == k->by && a->by_where == k->by_where;
}

static struct row *row_of(struct blame *b, const struct key *key)
{
    const void *ctx[] = {b, key};
    uint64_t hash =
        hash_mix(hash_mix((uint64_t)key->task << 32 | key->where, (uint64_t)key->state << 32 | key->caller),
                 hash_mix((uint64_t)key->reason << 32 | key->by, key->by_where));
    uint32_t id = index_find(&b->row_index, hash, same_key, ctx);

    if (!id) {
        *vec_push(&b->rows) = (struct row){.key = *key};
        id = (uint32_t)b->rows.n;
        index_add(&b->row_index, hash, id);
    }
    return &b->rows.a[id - 1];
}

static struct row *add(struct blame *b, const struct key *key, uint32_t stack, uint64_t ns)
{
    struct row *r = row_of(b, key);

    r->ns += ns;
    r->gaps += r->last_gap != b->gap;
    r->last_gap = b->gap;
    if (ns > r->stack_ns) {
        r->stack = stack;
        r->stack_ns = ns;
    }
    return r;
}

static uint32_t name_of(const struct store *s, uint32_t task)
{
    return task && task <= s->tasks.list.n ? s->tasks.list.a[task - 1].comm : 0;
}

/* ---- what the thread did ---- */

static void add_ran(struct blame *b, uint64_t from, uint64_t to)
{
    const struct wake_lane *lane = &b->host->samples;
    uint64_t *at = map_put(&b->sampled_of, b->task);
    struct sampled *m;

    if (!*at) {
        *vec_push(&b->sampled) = (struct sampled){.task = b->task};
        *at = b->sampled.n;
    }
    m = &b->sampled.a[*at - 1];
    m->ns += to - from;
    m->gaps += m->last_gap != b->gap;
    m->last_gap = b->gap;
    for (uint32_t i = wake_lane_find(lane, b->x->s, b->task, from); i < lane->first[b->task + 1]; i++) {
        const struct event *ev = &b->x->s->events.a[lane->order[i]];

        if (ev->ts >= to)
            break;
        m->samples += ev->value;
        *vec_push(&b->samples) = (struct sample){(uint32_t)*at - 1, lane->order[i], b->gap};
    }
}

/* A wait of the thread: who ended it, or held what it waited for. */
static void add_wait(struct blame *b, struct key *key, const struct event *ev, uint64_t ns)
{
    const struct store *s = b->x->s;
    const struct wait *w = waits_get(&s->waits, ev->attr);
    uint32_t event = (uint32_t)(ev - s->events.a);

    if (w && key->state == GPU_HOST_BLOCKED)
        key->reason = w->reason;
    if (w && w->waker_task && !w->irq) {
        key->by = name_of(s, w->waker_task);
        key->by_where = key->state == GPU_HOST_GIL ? gpu_place_of(s, w->waker_stack).where : 0;
    }
    *map_put(&b->row_of, event) = (uint64_t)(add(b, key, ev->stack, ns) - b->rows.a);
    if (key->state == GPU_HOST_BLOCKED && key->by)
        *map_put(&b->ended, event) += ns;
}

static void add_piece(void *arg, enum gpu_host_state state, const struct event *ev, uint64_t from,
                      uint64_t to)
{
    struct blame *b = arg;
    struct key key = {.task = b->task, .state = state};
    struct gpu_place_of place;
    uint32_t name, stack = 0;

    if (state == GPU_HOST_RAN) {
        add_ran(b, from, to);
        return;
    }
    if (state == GPU_HOST_CALLED) {
        name = gpu_work_of(b->x, ev)->name;
        key.where = name;
        key.caller = gpu_place_of(b->x->s, gpu_place_outside(b->x->s, ev->stack, name)).where;
    } else if (ev) {
        stack = gpu_host_stack(b->host, ev);
        place = gpu_place_of(b->x->s, stack);
        key.where = place.where;
        key.caller = place.caller;
    }
    if (state == GPU_HOST_BLOCKED || state == GPU_HOST_GIL)
        add_wait(b, &key, ev, to - from);
    else
        add(b, &key, state == GPU_HOST_CALLED ? ev->stack : stack, to - from);
}

/* ---- gaps ---- */

static void add_call(struct blame *b, unsigned state, const struct event *call, uint64_t from, uint64_t to)
{
    uint32_t name = gpu_work_of(b->x, call)->name;
    struct gpu_place_of place = gpu_place_of(b->x->s, gpu_place_outside(b->x->s, call->stack, name));

    if (from < to)
        add(b,
            &(struct key){.task = b->task,
                          .state = state,
                          .where = name,
                          .caller = place.caller ? place.caller : place.where},
            call->stack, to - from);
}

static void add_gap(struct blame *b, const struct gpu_run *next, const struct gpu_gap *gap)
{
    const struct event *call = gpu_launch(b->x, next);
    uint64_t asked, returned;

    b->gap++;
    b->idle += gap->end - gap->start;
    b->task = call ? call->task : gpu_event(b->x, next)->task;
    if (!call) {
        add(b, &(struct key){.task = b->task, .state = STATE_UNKNOWN}, 0, gap->end - gap->start);
        return;
    }
    if (call->ts <= gap->start) {
        add_call(b, STATE_IN_TIME, call, gap->start, gap->end);
        return;
    }
    asked = call->ts < gap->end ? call->ts : gap->end;
    returned = call->ts + call->dur < gap->end ? call->ts + call->dur : gap->end;
    gpu_host_during(b->host, b->task, gap->start, asked, add_piece, b);
    add_call(b, STATE_ASKING, call, asked, returned);
    add_call(b, STATE_STARTING, call, returned > asked ? returned : asked, gap->end);
}

static void add_device(struct blame *b, const struct gpu_device *d, enum gpu_idle why)
{
    struct gpu_slot *a = gpu_slots(b->x, d->first, d->n);
    uint64_t busy_to = 0;
    struct gpu_gap gap;

    for (uint32_t at = 0; gpu_gap_next(b->x, a, d->n, &at, &busy_to, &gap);)
        if (why == GPU_IDLE_CAUSES || gap.why == why)
            add_gap(b, &b->x->ran.a[a[gap.next].run], &gap);
    free(a);
}

/* ---- afterwards ---- */

/* A thread's time on the CPU in gaps is that of the samples taken then. What is rounded away goes on to the
 * next one. */
static void share_out(struct blame *b)
{
    const struct store *s = b->x->s;

    for (size_t i = 0; i < b->samples.n; i++) {
        struct sampled *m = &b->sampled.a[b->samples.a[i].of];
        const struct event *ev = &s->events.a[b->samples.a[i].event];
        struct gpu_place_of place = gpu_place_of(s, ev->stack);
        uint64_t until;

        m->taken += ev->value;
        until = (uint64_t)((unsigned __int128)m->ns * m->taken / (m->samples ? m->samples : 1));
        b->gap = b->samples.a[i].gap;
        add(b,
            &(struct key){
                .task = m->task, .state = GPU_HOST_RAN, .where = place.where, .caller = place.caller},
            ev->stack, until - m->done);
        m->done = until;
    }
    for (size_t i = 0; i < b->sampled.n; i++) {
        struct sampled *m = &b->sampled.a[i];

        if (m->done < m->ns)
            add(b, &(struct key){.task = m->task, .state = GPU_HOST_RAN}, 0, m->ns - m->done)->gaps = m->gaps;
    }
}

static int same_place(const void *ctx, uint32_t id)
{
    const struct blame *b = ((const void *const *)ctx)[0];
    const struct place *k = ((const void *const *)ctx)[1], *a = &b->places.a[id - 1];

    return a->row == k->row && a->thread == k->thread && a->where == k->where;
}

struct followed {
    struct blame *b;
    uint32_t row;
    uint64_t ns, dur; /* how much of the wait lies in gaps */
};

static void add_step(void *arg, const struct wake_step *steps, unsigned n, uint64_t ns)
{
    struct followed *f = arg;
    struct blame *b = f->b;
    struct place key = {.row = f->row,
                        .thread = name_of(b->x->s, steps[n - 1].task),
                        .where = gpu_place_of(b->x->s, steps[n - 1].stack).where};
    const void *ctx[] = {b, &key};
    uint64_t hash = hash_mix((uint64_t)key.row << 32 | key.thread, key.where);
    uint32_t id = index_find(&b->place_index, hash, same_place, ctx);
    struct row *r = &b->rows.a[f->row];

    if (!id) {
        *vec_push(&b->places) = key;
        id = (uint32_t)b->places.n;
        index_add(&b->place_index, hash, id);
    }
    b->places.a[id - 1].ns += (uint64_t)((unsigned __int128)ns * f->ns / f->dur);
    if (key.where && (!r->meanwhile || b->places.a[id - 1].ns > b->places.a[r->meanwhile - 1].ns))
        r->meanwhile = id;
}

static void follow(struct blame *b)
{
    struct wake_chain chain;
    struct map_slot *m;

    if (!b->ended.n)
        return;
    wake_chain_init(&chain, b->x->s);
    for (size_t i = 0; (m = map_next(&b->ended, &i));) {
        const struct event *ev = &b->x->s->events.a[m->key];
        struct followed f = {b, (uint32_t)*map_get(&b->row_of, m->key), m->val, ev->dur};

        wake_chain_follow(&chain, ev, add_step, &f);
    }
    wake_chain_release(&chain);
}

/* ---- ranks that did the same ---- */

static const struct task *task_of(const struct store *s, uint32_t id)
{
    return id && id <= s->tasks.list.n ? &s->tasks.list.a[id - 1] : NULL;
}

/* The first seen of the threads that are each other's counterparts in their ranks: processes' main threads,
 * others by their names. Itself where it is no rank's. */
static uint32_t counterpart(struct map *firsts, const struct store *s, uint32_t id)
{
    const struct task *t = task_of(s, id);
    const struct origin *o = t ? origins_get(&s->origins, t->origin) : NULL;
    uint64_t *first;

    if (!o || !o->rank)
        return id;
    first = map_put(firsts, t->pid == t->tid ? 2 : (uint64_t)t->comm << 1 | 1);
    if (!*first)
        *first = id;
    return (uint32_t)*first;
}

static void join_meanwhile(struct blame *b, struct row *to, const struct row *r)
{
    struct place *have = to->meanwhile ? &b->places.a[to->meanwhile - 1] : NULL;
    const struct place *more = r->meanwhile ? &b->places.a[r->meanwhile - 1] : NULL;

    if (have && more && have->thread == more->thread && have->where == more->where)
        have->ns += more->ns;
    else if (more && (!have || more->ns > have->ns))
        to->meanwhile = r->meanwhile;
}

static void join_row(struct blame *b, struct row *to, const struct row *r)
{
    to->ns += r->ns;
    to->gaps += r->gaps;
    to->task = to->task ? to->task : r->key.task;
    to->several |= to->task != r->key.task;
    to->named_apart |= name_of(b->x->s, to->task) != name_of(b->x->s, r->key.task);
    join_meanwhile(b, to, r);
    if (r->stack_ns > to->stack_ns) {
        to->stack = r->stack;
        to->stack_ns = r->stack_ns;
    }
}

/* Of many ranks each does the same: a row for each thread of each would say it as often. */
static void join_ranks(struct blame *b)
{
    struct blame joined = {.x = b->x};
    struct map firsts = {0}, seen = {0};

    for (size_t i = 0; i < b->rows.n; i++) {
        const struct row *r = &b->rows.a[i];
        const struct task *t = task_of(b->x->s, r->key.task);
        struct key key = r->key;
        struct row *to;
        uint64_t *counted;

        key.task = counterpart(&firsts, b->x->s, key.task);
        to = row_of(&joined, &key);
        join_row(b, to, r);
        counted = map_put(&seen, (uint64_t)(to - joined.rows.a + 1) << 32 | (t ? t->origin : 0));
        to->ranks += t && t->origin && !*counted;
        *counted = 1;
    }
    vec_release(&b->rows);
    index_release(&b->row_index);
    b->rows = joined.rows;
    b->row_index = joined.row_index;
    map_release(&firsts);
    map_release(&seen);
}

/* ---- the table ---- */

static int longest_first(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->key.task != b->key.task)
        return a->key.task < b->key.task ? -1 : 1;
    if (a->key.state != b->key.state)
        return a->key.state < b->key.state ? -1 : 1;
    return a->key.where < b->key.where ? -1 : a->key.where > b->key.where;
}

static char *text(const struct blame *b, uint32_t id)
{
    return id ? mem_strdup(strtab_get(&b->x->s->strings, id)) : NULL;
}

static char *state_text(const struct key *k)
{
    if (k->state == GPU_HOST_BLOCKED && k->reason)
        return mem_printf("%s: %s", states[k->state], waits_reason(k->reason));
    return mem_strdup(states[k->state]);
}

/* "pt_data_worker: slow_transform" where it is another thread than the one that ended the wait. */
static char *meanwhile_text(const struct blame *b, const struct row *r)
{
    const struct place *p = &b->places.a[r->meanwhile - 1];
    const char *where = strtab_get(&b->x->s->strings, p->where);

    if (p->thread == r->key.by)
        return mem_strdup(where);
    return mem_printf("%s: %s", strtab_get(&b->x->s->strings, p->thread), where);
}

static void fill_thread(union table_cell *c, const struct store *s, const struct row *r)
{
    const struct task *task = task_of(s, r->task ? r->task : r->key.task);

    if (r->ranks > 1) {
        c[THREAD].text = mem_printf("%s [%u ranks]",
                                    r->named_apart ? "main" : strtab_get(&s->strings, task->comm), r->ranks);
        return;
    }
    c[THREAD].text = task ? origins_task_name(s, task, "") : NULL;
    c[TID].count = !task || r->several ? 0 : task->ns_tid ? task->ns_tid : task->tid;
}

static void fill(union table_cell *c, const struct blame *b, const struct row *r)
{
    const struct store *s = b->x->s;
    struct buf stack = {0};

    c[SHARE].share = b->idle ? (double)r->ns / (double)b->idle : NAN;
    c[NS].count = r->ns;
    c[GAPS].count = r->gaps;
    fill_thread(c, s, r);
    c[STATE].text = state_text(&r->key);
    c[WHERE].text = text(b, r->key.where);
    c[CALLER].text = text(b, r->key.caller);
    c[BY].text = text(b, r->key.by);
    c[BY_WHERE].text = text(b, r->key.by_where);
    c[MEANWHILE_SHARE].share = NAN;
    if (r->meanwhile) {
        c[MEANWHILE].text = meanwhile_text(b, r);
        c[MEANWHILE_SHARE].share = r->ns ? (double)b->places.a[r->meanwhile - 1].ns / (double)r->ns : NAN;
    } else if (r->key.by_where) {
        c[MEANWHILE].text = text(b, r->key.by_where);
    }
    gpu_place_spell(s, r->stack, &stack);
    c[STACK].text = stack.len ? buf_detach(&stack) : NULL;
    buf_release(&stack);
}

static void blame_devices(struct table *t, const struct gpu_trace *x, const struct gpu_host *host,
                          const struct gpu_device *d, size_t nd, enum gpu_idle why, int by_rank, size_t limit)
{
    struct blame b = {.x = x, .host = host};
    size_t n;

    table_init(t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < nd; i++)
        add_device(&b, &d[i], why);
    share_out(&b);
    follow(&b);
    if (!by_rank)
        join_ranks(&b);
    if (b.rows.n)
        qsort(b.rows.a, b.rows.n, sizeof(*b.rows.a), longest_first);
    n = table_limit(t, b.rows.n, limit);
    for (size_t i = 0; i < n; i++)
        fill(table_add(t), &b, &b.rows.a[i]);
    vec_release(&b.rows);
    vec_release(&b.places);
    vec_release(&b.sampled);
    vec_release(&b.samples);
    index_release(&b.row_index);
    index_release(&b.place_index);
    map_release(&b.ended);
    map_release(&b.row_of);
    map_release(&b.sampled_of);
}

static void blame_all(struct table *t, const struct gpu_trace *x, int by_rank, size_t limit)
{
    struct gpu_host host;

    gpu_host_init(&host, x->s);
    blame_devices(t, x, &host, x->devices.a, x->devices.n, GPU_IDLE_CAUSES, by_rank, limit);
    gpu_host_release(&host);
}

void gpu_blame_table(struct table *t, const struct gpu_trace *x, size_t limit)
{
    blame_all(t, x, 1, limit);
}

void gpu_blame_joined_table(struct table *t, const struct gpu_trace *x, size_t limit)
{
    blame_all(t, x, 0, limit);
}

void gpu_blame_device_table(struct table *t, const struct gpu_trace *x, const struct gpu_host *host,
                            const struct gpu_device *d, enum gpu_idle why, size_t limit)
{
    blame_devices(t, x, host, d, 1, why, 1, limit);
}
