/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording.h"

#include "base/log.h"
#include "platform/clock.h"
#include "record/about.h"
#include "record/jvm.h"
#include "record/recorder.h"

#include <stdlib.h>

/* ---- getting ready ---- */

int recording_init(struct recording *rec, const struct recorder_opts *o, const struct identity *who,
                   marks_seen on_mark, void *arg, struct err *e)
{
    rec->o = o;
    rec->uid = who->switched ? who->uid : (uid_t)-1;
    rec->gid = who->switched ? who->gid : (gid_t)-1;
    rec->maker = who->switched && o->as_caller ? who : NULL;
    rec->ctx.store = &rec->store;
    rec->ctx.meta = &rec->meta;
    rec->ctx.event = o->event;
    rec->ctx.frequency = rec->meta.frequency = o->frequency;
    rec->ctx.min_block = o->min_block;
    rec->ctx.whole_machine = o->whole_machine;
    rec->ctx.grows = o->cgroup || o->container;
    rec->ctx.launched = o->argv || o->front;
    rec->ctx.ring = o->ring;
    rec->ctx.topology = o->topology;
    rec->ctx.now = clock_monotonic;
    rec->marks = marks_new(&rec->ctx);
    marks_on_mark(rec->marks, on_mark, arg);
    if (collectors_choose(&rec->collectors, o->collectors, o->ncollectors, o->collect, o->without, e))
        return -1;
    rec->ctx.gpu_calls =
        !rec->ctx.launched && !rec->ctx.whole_machine && collectors_wanted(&rec->collectors, "gpu");
    return 0;
}

void recording_target(struct recording *rec, pid_t pid)
{
    if (!rec->ctx.targets.n)
        rec->meta.pid = pid;
    *vec_push(&rec->ctx.targets) = pid;
}

void recording_name(struct recording *rec)
{
    rec->dir =
        rec->o->dir ? mem_strdup(rec->o->dir) : session_default_dir(rec->meta.workload, rec->meta.session_id);
}

const char *recording_prepare_marks(struct recording *rec)
{
    struct err why = {0};
    const char *where = marks_prepare(rec->marks, rec->dir, rec->uid, rec->gid, &why);

    if (!where)
        log_warn("the command can't send marks: %s", why.msg);
    return where;
}

static int open_session(struct recording *rec, struct err *e)
{
    struct session_create how = {.dir = rec->dir,
                                 .force = rec->o->force,
                                 .uid = rec->uid,
                                 .gid = rec->gid,
                                 .max_size = rec->o->max_size,
                                 .keep_room = 1};
    struct identity_files was = {0};
    int rc;

    if (rec->maker && identity_enter_files(rec->maker, &was, e))
        return -1;
    rc = sink_open(&rec->sink, &how, rec->o->ring, &rec->store, &rec->meta, e);
    identity_leave_files(&was);
    return rc;
}

static void visit_ids(void *arg, struct store_visit *v)
{
    struct recording *rec = arg;

    collectors_ids(&rec->collectors, v);
    marks_ids(rec->marks, v);
}

/* The collectors' names and states, as of now. */
static void describe(struct recording *rec)
{
    collectors_describe(&rec->collectors, &rec->meta);
    about_kinds(&rec->meta);
}

int recording_open(struct recording *rec, struct err *e)
{
    int have;

    if (rec->o->choose_tier && rec->o->choose_tier(&rec->ctx, rec->o->tier, e))
        return -1;
    have = collectors_open(&rec->collectors, &rec->ctx, e) > 0;
    describe(rec);
    if (!have || open_session(rec, e))
        return -1;
    rec->ctx.session_dir = session_dirfd(rec->sink.w);
    if (!collectors_ready(&rec->collectors, e))
        return -1;
    if (collectors_can_move(&rec->collectors)) {
        rec->sink.each = visit_ids;
        rec->sink.each_arg = rec;
    }
    return 0;
}

int recording_open_marks(struct recording *rec, struct err *e)
{
    return marks_open(rec->marks, session_dirfd(rec->sink.w), rec->uid, rec->gid, e);
}

void recording_no_marks(struct recording *rec, const struct err *why)
{
    log_warn("no marks are taken: %s", why->msg);
    about_note(&rec->meta, "no marks were taken: %s", why->msg);
}

/* ---- while it runs ---- */

int recording_begin(struct recording *rec, int epoll, int *polled, struct err *e)
{
    if (!collectors_start(&rec->collectors, e))
        return -1;
    if (collectors_watch(&rec->collectors, epoll, NULL))
        *polled = 1; /* also when a descriptor could not be watched */
    collectors_counters(&rec->collectors);
    rec->begin = rec->ctx.start_mono = clock_monotonic();
    rec->next = rec->begin + ring_turn(&rec->sink.ring);
    about_start(&rec->meta, rec->begin);
    if (rec->o->jvm)
        jvm_write_early_maps(rec->ctx.targets.a, rec->ctx.targets.n);
    sink_begin(&rec->sink, rec->begin);
    rec->ntargets = rec->ctx.targets.n;
    cost_begin(&rec->cost, &rec->store, rec->ctx.targets.a, rec->ntargets);
    return 0;
}

/* recording_turn(), whatever the time. */
static const char *flush(struct recording *rec, uint64_t t, int running)
{
    struct err e = {0};
    enum sink_state state;

    collectors_counters(&rec->collectors);
    marks_counters(rec->marks);
    cost_now(&rec->cost, &rec->store);
    state = sink_flush(&rec->sink, &rec->meta, t, &e);
    if (state == SINK_OK)
        return NULL;
    if (state == SINK_FULL)
        return "max-size";
    live_clear(&rec->live);
    log_error("%s: recording ends here; what was written before stays readable%s", e.msg,
              running ? ", and the command goes on" : "");
    about_note(&rec->meta, "recording ended early: %s", e.msg);
    return state == SINK_NO_SPACE ? "disk full" : "write failed";
}

const char *recording_turn(struct recording *rec, uint64_t now, int running)
{
    const char *over;

    if (now < rec->next)
        return NULL;
    collectors_poll_all(&rec->collectors);
    marks_poll(rec->marks);
    over = flush(rec, clock_monotonic(), running);
    live_draw(&rec->live, now - rec->begin, rec->sink.samples, rec->sink.w ? session_bytes(rec->sink.w) : 0);
    rec->next = now + ring_turn(&rec->sink.ring);
    return over;
}

/* ---- the end ---- */

void recording_stop(struct recording *rec, const char *reason, const struct rusage *ended, int running)
{
    const int ring = rec->o->ring > 0;
    uint64_t end = clock_monotonic();

    cost_end(&rec->cost);
    rec->ctx.end_mono = end;
    collectors_stop(&rec->collectors);
    marks_stop(rec->marks, end);
    /* What accounts tell of the whole run says nothing of a ring's window. */
    cost_report(&rec->cost, &rec->store, rec->ctx.targets.a, ring ? 0 : rec->ntargets, ring ? NULL : ended);
    flush(rec, end, running); /* whatever it says: this is the end */
    if (!rec->begin)
        about_start(&rec->meta, end);
    if (rec->sink.w)
        about_end(&rec->meta, end, reason);
    if (rec->o->jvm && rec->sink.w)
        jvm_write_maps(&rec->store, &rec->meta);
}

struct sealing {
    struct recording *rec;
    uint64_t since;
};

/* The caller's products, and how long all of it took: only the last write of meta.json is yet to come. */
static int derive(void *arg, struct session_writer *w, struct meta *m, struct store *s, struct err *e)
{
    struct sealing *k = arg;
    const struct recorder_hooks *hooks = &k->rec->o->hooks;
    int rc;

    if (hooks->graph && k->rec->ctx.graph)
        hooks->graph(hooks->arg, k->rec->ctx.graph);
    rc = hooks->derive ? hooks->derive(hooks->arg, w, m, s, e) : 0;
    store_set_counter(s, "own.seal_ns", clock_monotonic() - k->since);
    return rc;
}

static void tell(const struct recording *rec, uint64_t since)
{
    const struct recorder_hooks *hooks = &rec->o->hooks;
    const struct recorder_report report = {.path = session_path(rec->sink.w),
                                           .meta = &rec->meta,
                                           .store = rec->sink.store,
                                           .samples = rec->sink.samples,
                                           .bytes = session_bytes(rec->sink.w),
                                           .seal_ns = clock_monotonic() - since};

    if (hooks->done)
        hooks->done(hooks->arg, &report);
}

int recording_seal(struct recording *rec, uint64_t since, int exit_code)
{
    struct sealing sealing = {rec, since};
    struct err e = {0};
    int rc;

    if (!rec->sink.w)
        return 0;
    rec->meta.exit_code = exit_code;
    describe(rec);
    about_languages(&rec->meta, &rec->store);
    live_clear(&rec->live);
    rc = sink_seal(&rec->sink, &rec->meta, derive, &sealing, &e);
    if (session_is_gone(rec->sink.w)) {
        log_error("%s was removed while it was recorded: nothing is left of it", session_path(rec->sink.w));
        return -1;
    }
    if (rc)
        log_error("the session could not be sealed: %s (%s opens as it was last written)", e.msg,
                  session_path(rec->sink.w));
    tell(rec, since);
    return rc || rec->sink.broken ? -1 : 0;
}

static void drop_marks(struct recording *rec)
{
    marks_free(rec->marks);
    rec->marks = NULL;
}

void recording_discard(struct recording *rec)
{
    struct identity_files was = {0};

    drop_marks(rec);
    /* Its path is looked up again, and may lead elsewhere by now. */
    if (!rec->maker || !identity_enter_files(rec->maker, &was, NULL))
        sink_discard(&rec->sink);
    identity_leave_files(&was);
}

void recording_release(struct recording *rec)
{
    drop_marks(rec);
    collectors_release(&rec->collectors);
    if (rec->o && rec->o->release_tier)
        rec->o->release_tier(&rec->ctx);
    sink_release(&rec->sink);
    store_release(&rec->store);
    meta_release(&rec->meta);
    vec_release(&rec->ctx.targets);
    free(rec->dir);
    rec->dir = NULL;
}
