/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_trace.h"

#include "base/hash.h"
#include "base/map.h"

/* ---- calls by correlation ---- */

/* One that numbers its calls. */
struct numbering {
    uint64_t who;
    uint64_t low, high, n; /* of calls: numbers, how many; n with what ran */
    uint32_t *direct;      /* number - low -> event + 1, where numbers are dense; else NULL */
};

struct calls {
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

/* Each process numbers its calls for itself; ranks are processes, too. */
static struct numbering *numbering_of(struct calls *c, const struct store *s, const struct event *ev,
                                      const struct gpu_work *w)
{
    uint64_t who = (uint64_t)(c->by_process ? leader_of(s, ev->task) : 0) << 16 | w->rank, *known;

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

static uint64_t call_key(const struct numbering *x, uint64_t number)
{
    return hash_mix(number, x->who);
}

static int is_call(const struct gpu_work *w)
{
    return w->op == GPU_RUNTIME || w->op == GPU_DRIVER;
}

static int is_driver(const struct store *s, uint64_t event)
{
    return gpu_works_get(&s->gpus, s->events.a[event].attr)->op == GPU_DRIVER;
}

/* The runtime's calls stand for the driver's that they make: one number. */
static void add_call(struct calls *c, const struct store *s, uint32_t event)
{
    const struct event *ev = &s->events.a[event];
    const struct gpu_work *w = gpu_works_get(&s->gpus, ev->attr);
    struct numbering *x;
    uint64_t *known;

    if (!w || !is_call(w) || !ev->value)
        return;
    x = numbering_of(c, s, ev, w);
    if (x->direct) {
        uint32_t *at = &x->direct[ev->value - x->low];

        if (!*at || (w->op == GPU_RUNTIME && is_driver(s, *at - 1)))
            *at = event + 1;
        return;
    }
    known = map_put(&c->by_id, call_key(x, ev->value));
    if (!*known || (w->op == GPU_RUNTIME && is_driver(s, *known - 1)))
        *known = (uint64_t)event + 1;
}

static uint32_t find_call(struct calls *c, const struct store *s, const struct event *ev)
{
    const struct numbering *x;
    const uint64_t *known;

    if (!ev->value)
        return 0;
    x = numbering_of(c, s, ev, gpu_works_get(&s->gpus, ev->attr));
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

struct finder {
    struct index index;
    VEC(struct where) list;
    uint32_t last;
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

/* Index + 1 of the stream; what runs next mostly ran on the one before. */
static uint32_t find_stream(struct finder *f, const struct where *key)
{
    struct lookup l = {f, key};
    uint64_t hash;

    if (f->last && same_place(&l, f->last))
        return f->last;
    hash = hash_mix((uint64_t)key->rank << 48 | (uint64_t)key->device << 32 | key->process,
                    (uint64_t)key->context << 32 | key->stream);
    f->last = index_find(&f->index, hash, same_place, &l);
    if (!f->last) {
        *vec_push(&f->list) = *key;
        f->last = (uint32_t)f->list.n;
        index_add(&f->index, hash, f->last);
    }
    return f->last;
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
static void add_streams(struct gpu_trace *t, struct finder *f, uint32_t *to)
{
    uint32_t first = 0;

    for (size_t i = 0; i < f->list.n; i++)
        f->list.a[i].found = (uint32_t)i;
    if (f->list.n)
        qsort(f->list.a, f->list.n, sizeof(*f->list.a), by_place);
    for (size_t i = 0; i < f->list.n; i++) {
        const struct where *w = &f->list.a[i];
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
        t->ranks |= w->rank != f->list.a[0].rank;
    }
}

static int by_time(const void *pa, const void *pb, void *ctx)
{
    const struct gpu_trace *t = ctx;
    const struct event *a = gpu_event(t, pa), *b = gpu_event(t, pb);

    BY(ts);
    BY(dur);
    return 0;
}

/* Loaded sessions are in order already. */
static void sort_stream(const struct gpu_trace *t, const struct gpu_stream *x)
{
    struct gpu_run *a = t->ran.a + x->first;

    for (uint32_t i = 1; i < x->n; i++) {
        if (by_time(&a[i - 1], &a[i], (void *)t) > 0) {
            qsort_r(a, x->n, sizeof(*a), by_time, (void *)t);
            return;
        }
    }
}

static void count_odd(struct gpu_trace *t, const struct gpu_run *r)
{
    const struct event *ev = gpu_event(t, r), *call = gpu_launch(t, r);

    t->odd.no_device += !gpu_work_of(t, ev)->device;
    t->odd.no_time += !ev->dur;
    t->odd.unlaunched += !call;
    t->odd.early += call && ev->ts < call->ts;
}

static void add_runs(struct gpu_trace *t, struct calls *c, const uint32_t *ran, size_t n)
{
    uint32_t *stream_of = mem_alloc(n * sizeof(*stream_of)), *to;
    struct finder f = {0};

    for (size_t i = 0; i < n; i++) {
        const struct event *ev = &t->s->events.a[ran[i]];
        const struct gpu_work *w = gpu_work_of(t, ev);
        uint32_t id =
            find_stream(&f, &(struct where){.rank = w->rank,
                                            .device = w->device,
                                            .process = c->by_process ? leader_of(t->s, ev->task) : 0,
                                            .context = w->context,
                                            .stream = w->stream});

        f.list.a[id - 1].n++;
        stream_of[i] = id - 1;
    }
    to = mem_alloc(f.list.n * sizeof(*to));
    add_streams(t, &f, to);
    vec_reserve(&t->ran, n);
    t->ran.n = n;
    for (size_t i = 0; i < n; i++) {
        struct gpu_stream *x = &t->streams.a[to[stream_of[i]]];
        struct gpu_run *r = &t->ran.a[x->first + x->n++];

        *r = (struct gpu_run){ran[i], find_call(c, t->s, &t->s->events.a[ran[i]])};
        count_odd(t, r);
    }
    for (size_t i = 0; i < t->streams.n; i++)
        sort_stream(t, &t->streams.a[i]);
    index_release(&f.index);
    vec_release(&f.list);
    free(stream_of);
    free(to);
}

/* ---- */

/* Which events are good, and whether everything that ran has a thread. */
static void look(struct gpu_trace *t, struct calls *c, uint32_t *ran, size_t *n)
{
    c->by_process = 1;
    for (size_t i = 0; i < t->s->events.n; i++) {
        const struct event *ev = &t->s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_work_of(t, ev) : NULL;

        if (ev->kind != EVENT_GPU)
            continue;
        t->odd.no_work += !w;
        t->odd.unknown += w && (w->op == GPU_NONE || w->op >= GPU_OPS);
        if (w && gpu_on_device(w)) {
            ran[(*n)++] = (uint32_t)i;
            c->by_process &= ev->task != 0;
        } else {
            t->calls += w != NULL;
        }
    }
}

static const struct gpu_work *gpu_of(const struct gpu_trace *t, size_t event)
{
    return t->s->events.a[event].kind == EVENT_GPU ? gpu_work_of(t, &t->s->events.a[event]) : NULL;
}

/* Where numbers are dense, an array does instead of a map. */
static void look_at_numbers(const struct gpu_trace *t, struct calls *c)
{
    for (size_t i = 0; i < t->s->events.n; i++) {
        const struct event *ev = &t->s->events.a[i];
        const struct gpu_work *w = gpu_of(t, i);
        struct numbering *x;

        if (!w || !ev->value || (!is_call(w) && !gpu_on_device(w)))
            continue;
        x = numbering_of(c, t->s, ev, w);
        x->n++;
        if (!is_call(w))
            continue;
        x->low = ev->value < x->low ? ev->value : x->low;
        x->high = ev->value > x->high ? ev->value : x->high;
    }
    for (size_t i = 0; i < c->numberings.n; i++) {
        struct numbering *x = &c->numberings.a[i];

        if (x->low <= x->high && (x->high - x->low) / DENSE < x->n)
            x->direct = mem_calloc(x->high - x->low + 1, sizeof(*x->direct));
    }
}

static void add_calls(const struct gpu_trace *t, struct calls *c)
{
    look_at_numbers(t, c);
    for (size_t i = 0; i < t->s->events.n; i++)
        if (t->s->events.a[i].kind == EVENT_GPU)
            add_call(c, t->s, (uint32_t)i);
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
    struct calls c = {0};
    size_t n = 0;

    *t = (struct gpu_trace){.s = &s->store, .start = s->meta.start_mono, .end = s->meta.end_mono};
    classify(t);
    look(t, &c, ran, &n);
    add_calls(t, &c);
    add_runs(t, &c, ran, n);
    calls_release(&c);
    free(ran);
}

void gpu_trace_release(struct gpu_trace *t)
{
    vec_release(&t->ran);
    vec_release(&t->streams);
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
