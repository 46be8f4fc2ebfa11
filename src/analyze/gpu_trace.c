/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_trace.h"

#include "analyze/gpu_unseen.h"
#include "base/hash.h"
#include "base/map.h"

/* ---- works ---- */

/* What an event of a work is to a trace: tens of millions are looked at, of some thousand works. */
enum part { PART_NO_WORK, PART_UNKNOWN, PART_OTHER, PART_CALL, PART_RAN };

struct brief {
    uint8_t part; /* enum part */
    uint8_t driver, device;
    uint16_t rank;
};

static int is_call(const struct gpu_work *w)
{
    return w->op == GPU_RUNTIME || w->op == GPU_DRIVER;
}

static enum part part_of(const struct gpu_work *w)
{
    if (w->op == GPU_NONE || w->op >= GPU_OPS)
        return PART_UNKNOWN;
    return gpu_on_device(w) ? PART_RAN : is_call(w) ? PART_CALL : PART_OTHER;
}

/* By work id. */
static struct brief *briefs_new(const struct gpu_works *works)
{
    struct brief *all = mem_calloc(works->list.n + 1, sizeof(*all));

    for (uint32_t id = 1; id <= works->list.n; id++) {
        const struct gpu_work *w = gpu_works_get(works, id);

        all[id] = (struct brief){(uint8_t)part_of(w), w->op == GPU_DRIVER, w->device != 0, w->rank};
    }
    return all;
}

static const struct brief *brief_of(const struct gpu_trace *t, const struct brief *all,
                                    const struct event *ev)
{
    return &all[ev->attr <= t->s->gpus.list.n ? ev->attr : 0];
}

/* ---- calls by correlation ---- */

/* One that numbers its calls. */
struct numbering {
    uint64_t who;
    uint64_t low, high, n; /* of calls: numbers, how many; n with what ran */
    uint32_t *direct;      /* number - low -> event + 1, where numbers are dense; else NULL */
};

struct calls {
    const struct brief *briefs;
    struct map by_id; /* of who numbers and number -> event + 1, where they are not dense */
    int by_process;   /* everything that ran says whose it is */
    VEC(struct numbering) numberings;
    struct map by_who; /* -> index + 1 of numberings */
    size_t last;       /* the numbering that was asked for last */
};

/* Numbers are dense where there are no more than so many for each call. */
enum { DENSE = 8 };

static uint32_t leader_of(const struct store *s, uint32_t task)
{
    const struct task *t = task && task <= s->tasks.list.n ? &s->tasks.list.a[task - 1] : NULL;

    return t ? t->leader : 0;
}

static struct numbering *numbering_by(struct calls *c, uint64_t who)
{
    uint64_t *known;

    if (c->last < c->numberings.n && c->numberings.a[c->last].who == who)
        return &c->numberings.a[c->last];
    known = map_put(&c->by_who, who);
    if (!*known) {
        *vec_push(&c->numberings) = (struct numbering){.who = who, .low = UINT64_MAX};
        *known = c->numberings.n;
    }
    c->last = (size_t)*known - 1;
    return &c->numberings.a[c->last];
}

/* Each process numbers its calls for itself; ranks are processes, too. */
static struct numbering *numbering_of(struct calls *c, const struct store *s, const struct event *ev,
                                      const struct brief *w)
{
    return numbering_by(c, (uint64_t)(c->by_process ? leader_of(s, ev->task) : 0) << 16 | w->rank);
}

static uint64_t call_key(const struct numbering *x, uint64_t number)
{
    return hash_mix(number, x->who);
}

static int is_driver(const struct calls *c, const struct store *s, uint64_t event)
{
    return c->briefs[s->events.a[event].attr].driver;
}

/* The runtime's calls stand for the driver's that they make: one number. */
static void add_call(struct calls *c, const struct store *s, uint32_t event, const struct brief *w)
{
    const struct event *ev = &s->events.a[event];
    struct numbering *x = numbering_of(c, s, ev, w);
    uint64_t *known;

    if (x->direct) {
        uint32_t *at = &x->direct[ev->value - x->low];

        if (!*at || (!w->driver && is_driver(c, s, *at - 1)))
            *at = event + 1;
        return;
    }
    known = map_put(&c->by_id, call_key(x, ev->value));
    if (!*known || (!w->driver && is_driver(c, s, *known - 1)))
        *known = (uint64_t)event + 1;
}

static uint32_t find_call(struct calls *c, const struct store *s, const struct event *ev)
{
    const struct numbering *x;
    const uint64_t *known;

    if (!ev->value)
        return 0;
    x = numbering_of(c, s, ev, &c->briefs[ev->attr]);
    if (x->direct)
        return ev->value >= x->low && ev->value <= x->high ? x->direct[ev->value - x->low] : 0;
    known = map_get(&c->by_id, call_key(x, ev->value));
    return known ? (uint32_t)*known : 0;
}

static void calls_release(struct calls *c)
{
    for (size_t i = 0; i < c->numberings.n; i++)
        free(c->numberings.a[i].direct);
    vec_release(&c->numberings);
    map_release(&c->by_id);
    map_release(&c->by_who);
}

/* ---- streams ---- */

/* A stream while they are being found. */
struct where {
    uint16_t rank, device;
    uint32_t process, context, stream;
    uint32_t n;     /* how much ran there */
    uint32_t found; /* in which order */
};

/* Where a work ran last: it has one stream for each process. */
struct found {
    uint32_t process, id;
};

struct finder {
    struct index index;
    VEC(struct where) list;
    struct found *last; /* by work id */
};

struct lookup {
    const struct finder *f;
    const struct where *key;
};

static int same_place(const void *ctx, uint32_t id)
{
    const struct lookup *l = ctx;
    const struct where *a = &l->f->list.a[id - 1], *b = l->key;

    return a->rank == b->rank && a->device == b->device && a->process == b->process &&
           a->context == b->context && a->stream == b->stream;
}

/* Index + 1 of the stream. */
static uint32_t find_stream(struct finder *f, const struct where *key)
{
    struct lookup l = {f, key};
    uint64_t hash = hash_mix((uint64_t)key->rank << 48 | (uint64_t)key->device << 32 | key->process,
                             (uint64_t)key->context << 32 | key->stream);
    uint32_t id = index_find(&f->index, hash, same_place, &l);

    if (!id) {
        *vec_push(&f->list) = *key;
        id = (uint32_t)f->list.n;
        index_add(&f->index, hash, id);
    }
    return id;
}

/* Index of the stream that the event ran on. */
static uint32_t stream_of(const struct gpu_trace *t, const struct calls *c, struct finder *f,
                          const struct event *ev)
{
    uint32_t process = c->by_process ? leader_of(t->s, ev->task) : 0;
    struct found *last = &f->last[ev->attr];
    const struct gpu_work *w;

    if (last->id && last->process == process)
        return last->id - 1;
    w = gpu_work_of(t, ev);
    *last = (struct found){process, find_stream(f, &(struct where){.rank = w->rank,
                                                                   .device = w->device,
                                                                   .process = process,
                                                                   .context = w->context,
                                                                   .stream = w->stream})};
    return last->id - 1;
}

#define BY(field)                                                                                            \
    if (a->field != b->field)                                                                                \
    return a->field < b->field ? -1 : 1

static int by_place(const void *pa, const void *pb)
{
    const struct where *a = pa, *b = pb;

    BY(rank);
    BY(device);
    BY(process);
    BY(context);
    BY(stream);
    return 0;
}

/* Streams in order, devices of them; where each of those found before went to. */
static void add_streams(struct gpu_trace *t, const struct finder *f, uint32_t *to)
{
    struct where *list = mem_dup(f->list.a, f->list.n * sizeof(*list));
    uint32_t first = 0;

    for (size_t i = 0; i < f->list.n; i++)
        list[i].found = (uint32_t)i;
    if (f->list.n)
        qsort(list, f->list.n, sizeof(*list), by_place);
    for (size_t i = 0; i < f->list.n; i++) {
        const struct where *w = &list[i];
        struct gpu_device *d = i ? &t->devices.a[t->devices.n - 1] : NULL;

        if (!d || d->rank != w->rank || d->device != w->device) {
            d = vec_push(&t->devices);
            *d = (struct gpu_device){w->rank, w->device, (uint32_t)i, 0, first, 0};
        }
        *vec_push(&t->streams) =
            (struct gpu_stream){w->process, w->context, w->stream, (uint32_t)t->devices.n - 1, first, 0};
        d->nstreams++;
        d->n += w->n;
        first += w->n;
        to[w->found] = (uint32_t)i;
        t->ranks |= w->rank != list[0].rank;
    }
    free(list);
}

static int by_time(const void *pa, const void *pb, void *ctx)
{
    const struct gpu_trace *t = ctx;
    const struct event *a = gpu_event(t, pa), *b = gpu_event(t, pb);

    BY(ts);
    BY(dur);
    return 0;
}

static void count_odd(struct gpu_trace *t, const struct calls *c, const struct gpu_run *r)
{
    const struct event *ev = gpu_event(t, r), *call = gpu_launch(t, r);

    t->odd.no_device += !c->briefs[ev->attr].device;
    t->odd.no_time += !ev->dur;
    t->odd.unlaunched += !call;
    t->odd.early += call && ev->ts < call->ts;
}

/* Loaded sessions are in order already. */
static void fill_stream(struct gpu_trace *t, struct gpu_stream *x, const struct gpu_run *r, uint8_t *mixed)
{
    struct gpu_run *to = &t->ran.a[x->first + x->n];

    *mixed |= x->n && by_time(to - 1, r, t) > 0;
    *to = *r;
    x->n++;
}

static void add_runs(struct gpu_trace *t, struct calls *c, const uint32_t *ran, size_t n)
{
    struct finder f = {.last = mem_calloc(t->s->gpus.list.n + 1, sizeof(*f.last))};
    uint8_t *mixed;
    uint32_t *to;

    for (size_t i = 0; i < n; i++) {
        uint32_t stream = stream_of(t, c, &f, &t->s->events.a[ran[i]]);

        f.list.a[stream].n++;
    }
    to = mem_alloc(f.list.n * sizeof(*to));
    mixed = mem_calloc(f.list.n, 1);
    add_streams(t, &f, to);
    vec_reserve(&t->ran, n);
    t->ran.n = n;
    for (size_t i = 0; i < n; i++) {
        const struct event *ev = &t->s->events.a[ran[i]];
        uint32_t stream = to[stream_of(t, c, &f, ev)];
        struct gpu_run r = {ran[i], find_call(c, t->s, ev)};

        fill_stream(t, &t->streams.a[stream], &r, &mixed[stream]);
        count_odd(t, c, &r);
    }
    for (size_t i = 0; i < t->streams.n; i++)
        if (mixed[i])
            qsort_r(t->ran.a + t->streams.a[i].first, t->streams.a[i].n, sizeof(*t->ran.a), by_time, t);
    index_release(&f.index);
    vec_release(&f.list);
    free(f.last);
    free(mixed);
    free(to);
}

/* ---- */

static void add_number(struct calls *c, const struct store *s, const struct event *ev, const struct brief *w)
{
    struct numbering *x;

    if (!ev->value)
        return;
    x = numbering_of(c, s, ev, w);
    x->n++;
    if (w->part != PART_CALL)
        return;
    x->low = ev->value < x->low ? ev->value : x->low;
    x->high = ev->value > x->high ? ev->value : x->high;
}

/* Which events are good, and whether everything that ran has a thread. */
static void look(struct gpu_trace *t, struct calls *c, uint32_t *ran, size_t *n)
{
    int by_process = 1;

    store_each(t->s, i, 1 << EVENT_GPU) {
        const struct event *ev = &t->s->events.a[i];
        const struct brief *w = brief_of(t, c->briefs, ev);

        t->odd.no_work += w->part == PART_NO_WORK;
        t->odd.unknown += w->part == PART_UNKNOWN;
        t->calls += w->part != PART_NO_WORK && w->part != PART_RAN;
        if (w->part == PART_RAN) {
            ran[(*n)++] = (uint32_t)i;
            by_process &= ev->task != 0;
        }
        if (w->part == PART_RAN || w->part == PART_CALL)
            add_number(c, t->s, ev, w);
    }
    c->by_process = by_process;
}

/* Where it isn't told of everything whose it is, ranks alone number. */
static void join_processes(struct calls *c)
{
    struct calls ranks = {.briefs = c->briefs};

    for (size_t i = 0; i < c->numberings.n; i++) {
        const struct numbering *from = &c->numberings.a[i];
        struct numbering *to = numbering_by(&ranks, from->who & UINT16_MAX);

        to->n += from->n;
        to->low = from->low < to->low ? from->low : to->low;
        to->high = from->high > to->high ? from->high : to->high;
    }
    calls_release(c);
    *c = ranks;
}

static void add_calls(const struct gpu_trace *t, struct calls *c)
{
    /* Where numbers are dense, an array does instead of a map. */
    for (size_t i = 0; i < c->numberings.n; i++) {
        struct numbering *x = &c->numberings.a[i];

        if (x->low <= x->high && (x->high - x->low) / DENSE < x->n)
            x->direct = mem_calloc(x->high - x->low + 1, sizeof(*x->direct));
    }
    store_each(t->s, i, 1 << EVENT_GPU) {
        const struct event *ev = &t->s->events.a[i];
        const struct brief *w = brief_of(t, c->briefs, ev);

        if (w->part == PART_CALL && ev->value)
            add_call(c, t->s, (uint32_t)i, w);
    }
}

static void classify(struct gpu_trace *t)
{
    size_t n = t->s->gpus.list.n;

    t->classes = mem_calloc(n + 1, 1);
    for (uint32_t id = 1; id <= n; id++) {
        const struct gpu_work *w = gpu_works_get(&t->s->gpus, id);

        if (w->op == GPU_COPY || w->op == GPU_SET)
            t->classes[id] = GPU_MOVE;
        else if (gpu_is_communication(strtab_get(&t->s->strings, w->name)))
            t->classes[id] = GPU_COMMUNICATE;
    }
}

void gpu_trace_init(struct gpu_trace *t, const struct session *s)
{
    uint32_t *ran = mem_alloc(s->store.events.n * sizeof(*ran));
    struct brief *briefs = briefs_new(&s->store.gpus);
    struct calls c = {.briefs = briefs, .by_process = 1};
    size_t n = 0;

    *t = (struct gpu_trace){.s = &s->store, .start = s->meta.start_mono, .end = s->meta.end_mono};
    classify(t);
    look(t, &c, ran, &n);
    if (!c.by_process)
        join_processes(&c);
    add_calls(t, &c);
    add_runs(t, &c, ran, n);
    gpu_unseen_init(t);
    calls_release(&c);
    free(briefs);
    free(ran);
}

void gpu_trace_release(struct gpu_trace *t)
{
    vec_release(&t->ran);
    vec_release(&t->streams);
    for (size_t i = 0; i < t->devices.n; i++)
        gpu_ranges_release(&t->devices.a[i].unseen);
    vec_release(&t->devices);
    free(t->classes);
    t->classes = NULL;
}

void gpu_device_label(const struct gpu_device *d, struct buf *out)
{
    if (d->rank)
        buf_addf(out, "rank %u ", d->rank - 1);
    if (d->device)
        buf_addf(out, "GPU %u", d->device - 1);
    else
        buf_addstr(out, "GPU ?");
}
