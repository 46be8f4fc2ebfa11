/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sink.h"

#include "base/log.h"
#include "model/store_compact.h"

#include <errno.h>
#include <string.h>

int sink_open(struct sink *s, const struct session_create *how, uint64_t ring, struct store *store,
              const struct meta *m, struct err *e)
{
    struct session_create x = *how;

    *s = (struct sink){.store = store, .ring.length = ring};
    if (ring) /* bounds the log itself */
        x.max_size = 0;
    s->w = session_create(&x, store, m, e);
    return s->w ? 0 : -1;
}

/* The writer's errors end with the system's text (err_sys). */
static int is_no_space(const struct err *e)
{
    return strstr(e->msg, strerror(ENOSPC)) || strstr(e->msg, strerror(EDQUOT));
}

void sink_begin(struct sink *s, uint64_t now)
{
    if (s->ring.length)
        ring_note(&s->ring, s->store, now);
}

static void count(struct sink *s)
{
    for (size_t i = s->counted; i < s->store->events.n; i++)
        s->samples += s->store->events.a[i].kind == EVENT_SAMPLE;
    if (s->ring.length)
        ring_take(&s->ring, s->store, s->counted);
    else
        tally_add(&s->tally, s->store, s->counted);
    s->counted = s->store->events.n;
}

/* What only older events needed leaves the store, too. */
static int renew_log(struct sink *s, struct err *e)
{
    struct store small = {0};

    if (!s->each)
        return session_renew(s->w, s->store, e);
    store_visit_begin(&s->visit, &small, s->store, s->each, s->each_arg);
    if (session_renew(s->w, &small, e)) {
        store_visit_drop(&s->visit, &small);
        return -1;
    }
    store_visit_move(&s->visit, &small, s->store, s->each, s->each_arg);
    return 0;
}

/* A log without what has fallen out of the ring; meta.json says where it begins, should nobody seal it. */
static int renew(struct sink *s, struct meta *m, uint64_t now, struct err *e)
{
    uint64_t from = ring_cut(&s->ring, s->store, now);
    int rc = renew_log(s, e);

    ring_keep(&s->ring, s->store);
    if (rc || !from)
        return rc;
    m->start_ts += (double)(from - m->start_mono) / 1e9;
    m->start_mono = from;
    return session_write_meta(s->w, m, e);
}

enum sink_state sink_flush(struct sink *s, struct meta *m, uint64_t now, struct err *e)
{
    int rc;

    if (!s->w)
        return SINK_OK;
    count(s);
    if (s->broken)
        return SINK_OK;
    rc = session_flush(s->w, e);
    s->counted = s->store->events.n;
    if (s->ring.length && rc >= 0) {
        ring_note(&s->ring, s->store, now);
        if (ring_is_due(&s->ring, now))
            rc = renew(s, m, now, e);
    }
    if (rc >= 0)
        return rc ? SINK_FULL : SINK_OK;
    s->broken = 1;
    return is_no_space(e) ? SINK_NO_SPACE : SINK_FAILED;
}

/* The window's events and what they need, and its figures. Those that could not be written are in the ring
 * too. */
static void seal_ring(struct sink *s, struct meta *m)
{
    uint64_t from;

    vec_clear(&s->store->events);
    from = ring_cut(&s->ring, s->store, m->end_mono);
    ring_settle(&s->ring, s->store, m, from);
    store_keep_used(s->store);
    session_only(s->w);
    s->samples = 0;
    for (size_t i = 0; i < s->store->events.n; i++)
        s->samples += s->store->events.a[i].kind == EVENT_SAMPLE;
}

int sink_seal(struct sink *s, struct meta *m, sink_derive derive, void *arg, struct err *e)
{
    struct err why = {0};
    int sums;

    if (!s->w)
        return 0;
    session_last_words(s->w);
    if (s->broken && session_flush(s->w, &why) < 0) /* without names: those come at the end */
        log_debug("%s", why.msg);
    if (s->ring.length) {
        seal_ring(s, m);
        sums = 0;
    } else {
        sums = session_reload(s->w, &why);
    }
    if (sums)
        tally_swap(&s->tally, s->store);
    if (derive && derive(arg, s->w, m, s->store, &why))
        log_warn("the session has no derived files: %s", why.msg);
    if (sums < 0) /* else the writer knows that they are sums, and makes meta.json's figures of them */
        tally_swap(&s->tally, s->store);
    return session_seal(s->w, m, e);
}

void sink_discard(struct sink *s)
{
    session_discard(s->w);
    s->w = NULL;
}

void sink_release(struct sink *s)
{
    session_writer_free(s->w);
    tally_release(&s->tally);
    ring_release(&s->ring);
    s->w = NULL;
}
