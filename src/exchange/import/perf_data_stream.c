/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_stream.h"

#include "base/mem.h"
#include "model/zblock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one compressed record may hold: as much as perf's largest rings (-m). */
#define UNPACKED_MAX (256u << 20)

/* What of them may wait for its turn. */
#define WAITING_MAX ((size_t)2 << 30)

struct queued {
    uint64_t ts, order;
    const uint8_t *p;
    void *owned; /* p's, where the bytes would not stay */
};

struct stream {
    struct perf_file *f;
    perf_stream_sink *sink;
    void *ctx;
    struct perf_stream_stats *stats;
    VEC(struct queued) queue;
    size_t waiting;       /* bytes that the queue owns */
    uint64_t order;       /* of the next one */
    uint64_t newest;      /* time so far */
    uint64_t round_limit; /* the newest time when the round before ended */
    uint64_t delivered;   /* the newest time that was */
    int in_parts;         /* each has times of its own: rounds say nothing */
    struct zstream *unpacker;
    struct buf unpacked; /* ends in a piece of a record */
};

static int walk(struct stream *x, const uint8_t *p, size_t n, int stays, size_t *done);

/* ---- by time ---- */

static int by_time(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;

    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int is_sorted(const struct queued *q, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_time(&q[i - 1], &q[i]) > 0)
            return 0;
    return 1;
}

static void deliver(struct stream *x, const struct queued *q)
{
    struct perf_rec r;

    x->stats->out_of_order += q->ts < x->delivered;
    x->delivered = q->ts > x->delivered ? q->ts : x->delivered;
    if (!perf_rec_read(&r, q->p, UINT16_MAX, x->f->big)) /* it was read before */
        x->sink(x->ctx, &r);
    if (q->owned)
        x->waiting -= r.size;
    free(q->owned);
}

static void flush(struct stream *x, uint64_t limit)
{
    struct queued *q = x->queue.a;
    size_t n = x->queue.n, i = 0;

    if (n && !is_sorted(q, n))
        qsort(q, n, sizeof(*q), by_time);
    while (i < n && q[i].ts <= limit)
        deliver(x, &q[i++]);
    if (i)
        memmove(q, q + i, (n - i) * sizeof(*q));
    x->queue.n = n - i;
}

static void end_round(struct stream *x)
{
    x->stats->rounds++;
    if (x->in_parts)
        return;
    flush(x, x->round_limit);
    x->round_limit = x->newest;
}

/* stays: p remains valid until the end. */
static void take(struct stream *x, const struct perf_rec *r, int stays)
{
    uint64_t ts = perf_rec_time(x->f, r);
    struct queued q = {.ts = ts, .order = x->order++, .p = r->p};

    x->stats->records++;
    if (!ts) {
        x->sink(x->ctx, r);
        return;
    }
    if (!stays) {
        q.p = q.owned = mem_dup(r->p, r->size);
        x->waiting += r->size;
    }
    x->newest = ts > x->newest ? ts : x->newest;
    *vec_push(&x->queue) = q;
}

/* ---- perf's own records ---- */

static int damaged(struct stream *x, const uint8_t *p, const char *why)
{
    struct perf_stream_stats *st = x->stats;

    if (!st->damage[0])
        snprintf(st->damage, sizeof(st->damage), "%s", why);
    if (!st->cut_at && p >= x->f->p && p < x->f->p + x->f->n)
        st->cut_at = (size_t)(p - x->f->p);
    return -1;
}

/* The next piece of the compressed records: unpacks it, delivers what is whole. */
static int unpack(struct stream *x, const struct perf_rec *r)
{
    struct perf_words w = r->body;
    uint64_t n = r->type == PERF_REC_COMPRESSED2 ? perf_u64(&w) : perf_words_left(&w);
    struct err e = {""};
    size_t done;

    if (n > perf_words_left(&w))
        return damaged(x, r->p, "a compressed record is longer than itself");
    if (!x->unpacker)
        x->unpacker = zstream_new();
    if (!x->unpacker || zstream_unpack(x->unpacker, w.c.p, (size_t)n, UNPACKED_MAX, &x->unpacked, &e))
        return damaged(x, r->p, e.msg[0] ? e.msg : "no memory to unpack it");
    if (x->waiting > WAITING_MAX)
        return damaged(x, r->p, "more than 2 GiB of compressed records wait for the end of their round");
    if (!x->unpacked.len)
        return 0;
    if (walk(x, (const uint8_t *)x->unpacked.data, x->unpacked.len, 0, &done))
        return damaged(x, r->p, "what a compressed record holds makes no sense");
    memmove(x->unpacked.data, x->unpacked.data + done, x->unpacked.len - done);
    x->unpacked.len -= done;
    return 0;
}

/* Bytes that follow a record without being part of it. */
static uint64_t tail_of(struct stream *x, const struct perf_rec *r)
{
    struct perf_words w = r->body;
    uint64_t n;

    if (r->type == PERF_REC_AUXTRACE) {
        n = perf_u64(&w);
        x->stats->traced += n;
        return n;
    }
    return r->type == PERF_REC_TRACING_DATA ? ((uint64_t)perf_u32(&w) + 7) & ~7ull : 0;
}

static int own_record(struct stream *x, const struct perf_rec *r)
{
    struct perf_words w = r->body;
    uint64_t feature;

    switch (r->type) {
    case PERF_REC_HEADER_ATTR:
        return perf_file_attr(x->f, &w);
    case PERF_REC_EVENT_UPDATE:
        return perf_file_event_update(x->f, &w);
    case PERF_REC_BUILD_ID:
        return perf_file_build_id(x->f, r->p, r->size);
    case PERF_REC_FEATURE:
        feature = perf_u64(&w);
        return w.c.bad ? -1 : perf_file_feature(x->f, feature, w.c.p, perf_words_left(&w));
    case PERF_REC_FINISHED_ROUND:
        end_round(x);
        return 0;
    }
    return 0;
}

/* ---- all of them ---- */

static int is_compressed(const struct perf_rec *r)
{
    return r->type == PERF_REC_COMPRESSED || r->type == PERF_REC_COMPRESSED2;
}

/* Records from p on; *done: bytes of whole ones. -1: damage. */
static int walk(struct stream *x, const uint8_t *p, size_t n, int stays, size_t *done)
{
    struct perf_rec r;
    uint64_t tail;

    for (*done = 0; n - *done >= PERF_RECORD_HEAD; *done += r.size + (size_t)tail) {
        if (perf_rec_read(&r, p + *done, n - *done, x->f->big))
            return r.size < PERF_RECORD_HEAD ? damaged(x, p + *done, "a record there is too short to be one")
                                             : 0;
        tail = tail_of(x, &r);
        if (tail > n - *done - r.size)
            return 0;
        if (is_compressed(&r)) {
            if (!stays)
                return damaged(x, r.p, "a compressed record is compressed once more");
            if (unpack(x, &r))
                return -1;
        } else if (r.type >= PERF_REC_USER) {
            x->stats->bad += own_record(x, &r) != 0;
        } else {
            take(x, &r, stays);
        }
    }
    return 0;
}

/* All of a file's records; each has a compressed stream of its own. */
static void read_part(struct stream *x, const uint8_t *p, size_t n)
{
    size_t done;

    if (!walk(x, p, n, 1, &done) && done < n)
        (void)damaged(x, p + done, "the last record is not whole");
    else if (!x->stats->damage[0] && x->unpacked.len)
        (void)damaged(x, p + n, "the last compressed record is not whole");
    zstream_free(x->unpacker);
    x->unpacker = NULL;
    buf_clear(&x->unpacked);
}

void perf_stream_read(struct perf_file *f, const struct perf_part *parts, size_t n, perf_stream_sink *sink,
                      void *ctx, struct perf_stream_stats *stats)
{
    struct stream x = {.f = f, .sink = sink, .ctx = ctx, .stats = stats, .in_parts = n > 0};

    *stats = (struct perf_stream_stats){0};
    read_part(&x, f->p + f->data_at, f->data_end - f->data_at);
    for (size_t i = 0; i < n; i++)
        read_part(&x, parts[i].p, parts[i].n);
    flush(&x, UINT64_MAX);
    vec_release(&x.queue);
    buf_release(&x.unpacked);
}
