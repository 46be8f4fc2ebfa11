/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recorder.h"

#include "base/log.h"
#include "record/about.h"
#include "record/cgroup_watch.h"
#include "record/child.h"
#include "record/collectors.h"
#include "record/cost.h"
#include "record/half.h"
#include "record/jit_env.h"
#include "record/jvm.h"
#include "record/live.h"
#include "record/marks.h"
#include "record/signals.h"
#include "record/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND     1000000000ull
#define POLL_EVERY (SECOND / 10) /* collectors without a descriptor, targets without a pidfd */

/* epoll data above every collector's index */
enum { WATCH_SIGNALS = 1 << 20, WATCH_TARGET, WATCH_MARKS, WATCH_FRONT };

struct recorder {
    const struct recorder_opts *o;
    struct identity who;
    struct signals signals;
    struct child command;
    struct half half; /* of `record --sudo`: the command is its front end's, who waits for it */
    struct targets targets;
    struct cgroup_watch group;
    uint64_t group_next; /* CLOCK_MONOTONIC ns of the next look at it */
    size_t ntargets;     /* at the start: a control group may get more */
    struct jit_env jit_env;
    struct store store;
    struct meta meta;
    struct record_ctx ctx;
    struct collectors collectors;
    struct sink sink;
    struct cost cost;
    struct live live;
    struct marks *marks; /* NULL: none are taken */
    char *dir;           /* of the session */
    int epoll;
    int polled; /* something has to be looked at by time */
    struct window window;
    int unrecorded; /* the command runs, and nothing is recorded */
    uint64_t begin; /* recording began: CLOCK_MONOTONIC ns; 0: not yet */
    uint64_t next;  /* the next flush is due */
};

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Before it is waited for, collectors may have a last look. */
static int reap(struct recorder *r)
{
    if (r->half.fd >= 0)
        return 0;
    if (child_ending(&r->command))
        collectors_ended(&r->collectors);
    return child_reap(&r->command);
}

static void over(struct recorder *r, const char *reason)
{
    window_over(&r->window, reason);
}

static void act(struct recorder *r, enum window_act what);

/* Takes what is pending. */
static void handle_signals(struct recorder *r)
{
    enum signal_kind kind;
    int signo;

    for (;;) {
        int running = child_running(&r->command) && r->half.fd < 0;

        kind = signals_next(&r->signals, running ? r->command.spawn.pid : 0, &signo);
        if (kind == SIGNAL_NONE)
            return;
        if (kind == SIGNAL_CHILD)
            reap(r);
        else if (window_takes(&r->window, signo))
            act(r, window_signal(&r->window, signo, now()));
        else if (kind == SIGNAL_FORWARD && running)
            kill(r->command.spawn.pid, signo);
        else if (kind == SIGNAL_INTERRUPT || !running)
            over(r, "interrupted");
    }
}

static void on_mark(void *arg, const struct mark *m)
{
    struct recorder *r = arg;

    act(r, window_mark(&r->window, m, now()));
}

/* ---- getting ready ---- */

/* With stderr closed, the log's file would get its number and what we say would end up in there. CLOEXEC: for
 * the command it stays closed. */
static void occupy_standard_fds(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static void name_session(struct recorder *r)
{
    r->dir = r->o->dir ? mem_strdup(r->o->dir) : session_default_dir(r->meta.workload, r->meta.session_id);
}

static uid_t owner(const struct recorder *r)
{
    return r->who.switched ? r->who.uid : (uid_t)-1;
}

static gid_t owner_group(const struct recorder *r)
{
    return r->who.switched ? r->who.gid : (gid_t)-1;
}

static int prepare_command(struct recorder *r, struct err *e)
{
    struct spawn_how how = {.argv = r->o->argv, .who = &r->who, .signals = &r->signals.before};
    char **env = spawn_env(&r->who);
    struct err why = {0};

    about_fill(&r->meta, r->o->argv, env, NULL, r->who.user);
    jit_env_fill(&r->jit_env, env, r->o->jit_names, r->o->jvm);
    how.more = r->jit_env.list.a;
    spawn_free_env(env);
    name_session(r);
    how.marks = marks_prepare(r->marks, r->dir, owner(r), owner_group(r), &why);
    if (!how.marks)
        log_warn("the command can't send marks: %s", why.msg);
    if (spawn_behind_gate(&r->command.spawn, &how, e))
        return -1;
    r->command.launched = 1;
    *vec_push(&r->ctx.targets) = r->command.spawn.pid;
    r->meta.pid = r->command.spawn.pid;
    return 0;
}

/* The same of a command that the front end starts. */
static int prepare_half(struct recorder *r, struct err *e)
{
    const char *marks;
    struct err why = {0};
    char **env;

    if (half_meet(&r->half, r->o->front, &r->who, e))
        return -1;
    env = targets_env(r->half.front);
    about_fill(&r->meta, r->half.argv, env, NULL, r->who.user);
    targets_free_argv(env);
    name_session(r);
    marks = marks_prepare(r->marks, r->dir, owner(r), owner_group(r), &why);
    if (!marks)
        log_warn("the command can't send marks: %s", why.msg);
    if (half_command(&r->half, marks, e))
        return -1;
    r->command.launched = 1;
    *vec_push(&r->ctx.targets) = r->half.command;
    r->meta.pid = r->half.command;
    return 0;
}

static void about_target(struct recorder *r, pid_t pid, const char *workload)
{
    char **argv = targets_argv(pid), **env = targets_env(pid);

    r->meta.pid = pid;
    about_fill(&r->meta, argv, env, workload, r->who.user);
    targets_free_argv(argv);
    targets_free_argv(env);
}

static int prepare_targets(struct recorder *r, struct err *e)
{
    if (targets_take(&r->targets, r->o->pids, r->o->npids, e))
        return -1;
    for (size_t i = 0; i < r->targets.list.n; i++)
        *vec_push(&r->ctx.targets) = r->targets.list.a[i].pid;
    about_target(r, r->ctx.targets.a[0], NULL);
    return 0;
}

static int prepare_group(struct recorder *r, struct err *e)
{
    struct pid_list in = {0};
    int rc = cgroup_watch_begin(&r->group, r->o->cgroup, r->o->container, &in, e);

    for (size_t i = 0; !rc && i < in.list.n; i++)
        *vec_push(&r->ctx.targets) = in.list.a[i];
    if (!rc) {
        about_target(r, r->ctx.targets.a[0], r->group.group.name);
        about_note(&r->meta, "recorded: the %s %s%s%s%s", r->o->cgroup ? "control group" : "container",
                   r->o->cgroup ? r->group.group.dir : r->group.group.name, r->group.group.path ? " (" : "",
                   r->group.group.path ? r->group.group.path : "", r->group.group.path ? ")" : "");
    }
    vec_release(&in.list);
    return rc;
}

static int prepare(struct recorder *r, struct err *e)
{
    static char *const none[] = {NULL};
    const int ours[] = {r->o->window.start_on, r->o->window.stop_on};

    r->ctx.store = &r->store;
    r->ctx.meta = &r->meta;
    r->ctx.event = r->o->event;
    r->ctx.frequency = r->o->frequency;
    r->ctx.min_block = r->o->min_block;
    r->ctx.whole_machine = r->o->whole_machine;
    r->ctx.grows = r->o->cgroup || r->o->container;
    r->ctx.launched = r->o->argv || r->o->front;
    r->ctx.ring = r->o->ring;
    r->ctx.now = now;
    occupy_standard_fds();
    if (collectors_choose(&r->collectors, r->o->collectors, r->o->ncollectors, r->o->collect, r->o->without,
                          e) ||
        identity_of_caller(&r->who, e) || signals_take_also(&r->signals, ours, ARRAY_SIZE(ours), e))
        return -1;
    r->meta.frequency = r->o->frequency;
    r->marks = marks_new(&r->ctx);
    marks_on_mark(r->marks, on_mark, r);
    if (r->o->front)
        return prepare_half(r, e);
    if (r->o->argv)
        return prepare_command(r, e);
    if (r->o->npids || r->o->cgroup || r->o->container) {
        if (r->o->npids ? prepare_targets(r, e) : prepare_group(r, e))
            return -1;
    } else {
        about_fill(&r->meta, none, none, "machine", r->who.user);
    }
    name_session(r);
    return 0;
}

static int watch(struct recorder *r, int fd, uint64_t what, struct err *e)
{
    /* A process that has ended stays readable: once is enough, others may live on. */
    uint32_t edge = what == WATCH_TARGET ? EPOLLET : 0;
    struct epoll_event ev = {.events = EPOLLIN | edge, .data.u64 = what};

    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) ? err_sys(e, errno, "epoll") : 0;
}

static int open_session(struct recorder *r, struct err *e)
{
    struct session_create how = {.dir = r->dir,
                                 .force = r->o->force,
                                 .uid = owner(r),
                                 .gid = owner_group(r),
                                 .max_size = r->o->max_size,
                                 .keep_room = 1};
    struct err why = {0};

    if (sink_open(&r->sink, &how, r->o->ring, &r->store, &r->meta, e))
        return -1;
    if (marks_open(r->marks, session_dirfd(r->sink.w), owner(r), owner_group(r), &why) ||
        watch(r, marks_fd(r->marks), WATCH_MARKS, &why)) {
        log_warn("no marks are taken: %s", why.msg);
        about_note(&r->meta, "no marks were taken: %s", why.msg);
    }
    return 0;
}

static int watch_all(struct recorder *r, struct err *e)
{
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll < 0)
        return err_sys(e, errno, "epoll");
    if (watch(r, r->signals.fd, WATCH_SIGNALS, e) ||
        (r->half.fd >= 0 && watch(r, r->half.fd, WATCH_FRONT, e)))
        return -1;
    for (size_t i = 0; i < r->targets.list.n; i++) {
        if (r->targets.list.a[i].fd < 0)
            r->polled = 1;
        else if (watch(r, r->targets.list.a[i].fd, WATCH_TARGET, e))
            return -1;
    }
    return 0;
}

/* Nothing can be recorded, for `why`. 0: the command is to run all the same. */
static int go_unrecorded(struct recorder *r, const struct err *why, struct err *e)
{
    if (!r->o->argv || !r->o->keep_going) {
        *e = *why;
        return r->o->argv ? err_wrap(e, "%s was not started", r->o->argv[0]) : -1;
    }
    log_warn("%s", why->msg);
    log_warn("%s runs unrecorded (--keep-going)", r->o->argv[0]);
    r->unrecorded = 1;
    return 0;
}

static void visit_ids(void *arg, struct store_visit *v)
{
    struct recorder *r = arg;

    collectors_ids(&r->collectors, v);
    marks_ids(r->marks, v);
}

/* Everything that may fail before the command runs. -1: it is not to be started. */
static int get_ready(struct recorder *r, struct err *e)
{
    struct err why = {0};
    int have;

    if (prepare(r, e) || watch_all(r, e))
        return -1;
    if (r->o->choose_tier && r->o->choose_tier(&r->ctx, r->o->tier, &why))
        return go_unrecorded(r, &why, e);
    have = collectors_open(&r->collectors, &r->ctx, &why) > 0;
    collectors_describe(&r->collectors, &r->meta);
    about_kinds(&r->meta);
    if (have)
        have = !open_session(r, &why);
    if (have && collectors_can_move(&r->collectors)) {
        r->sink.each = visit_ids;
        r->sink.each_arg = r;
    }
    if (have)
        return 0;
    return go_unrecorded(r, &why, e);
}

/* ---- recording ---- */

/* Collectors count from here. */
static int begin(struct recorder *r, struct err *e)
{
    if (!collectors_start(&r->collectors, e))
        return -1;
    if (collectors_watch(&r->collectors, r->epoll, NULL))
        r->polled = 1; /* also when a descriptor could not be watched */
    collectors_counters(&r->collectors);
    r->begin = r->ctx.start_mono = now();
    r->next = r->begin + ring_turn(&r->sink.ring);
    about_start(&r->meta, r->begin);
    if (r->o->jvm)
        jvm_write_early_maps(r->ctx.targets.a, r->ctx.targets.n);
    sink_begin(&r->sink, r->begin);
    window_began(&r->window, r->begin);
    r->ntargets = r->ctx.targets.n;
    cost_begin(&r->cost, &r->store, r->ctx.targets.a, r->ntargets);
    return 0;
}

/* What the window says, once the command runs. */
static void act(struct recorder *r, enum window_act what)
{
    struct err e = {0};

    if (what != WINDOW_BEGIN || !begin(r, &e))
        return;
    over(r, "nothing to record with");
    log_error("%s", e.msg);
}

static void flush(struct recorder *r)
{
    struct err e = {0};
    uint64_t t = now(); /* the figures are as of here */

    collectors_counters(&r->collectors);
    marks_counters(r->marks);
    cost_now(&r->cost, &r->store);
    switch (sink_flush(&r->sink, &r->meta, t, &e)) {
    case SINK_OK:
        return;
    case SINK_FULL:
        over(r, "max-size");
        return;
    case SINK_NO_SPACE:
        over(r, "disk full");
        break;
    case SINK_FAILED:
        over(r, "write failed");
        break;
    }
    live_clear(&r->live);
    log_error("%s: recording ends here; what was written before stays readable%s", e.msg,
              child_running(&r->command) ? ", and the command goes on" : "");
    about_note(&r->meta, "recording ended early: %s", e.msg);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* 1 when the recording is to end. */
static int handle_front(struct recorder *r)
{
    struct link_status s = {0};

    switch (half_next(&r->half, &s)) {
    case HALF_ENDING:
        collectors_ended(&r->collectors);
        half_seen(&r->half);
        return 0;
    case HALF_ENDED:
        r->command.status = s.status;
        r->command.usage = s.usage;
        r->command.ended = 1;
        return 0;
    case HALF_SIGNAL:
        act(r, window_signal(&r->window, r->half.signo, now()));
        return 0;
    case HALF_NOTHING:
        return 0;
    default:
        return 1;
    }
}

/* For epoll_wait: it looks again after an hour at the latest. */
static int wait_ms(uint64_t until)
{
    uint64_t t = now();

    return until <= t ? 0 : (int)earlier((until - t + 999999) / 1000000, 3600000);
}

/* Until `until` or something happened: an error is left for the next round, that is what epoll_wait is for.
 */
static void wait_for_events(struct recorder *r, uint64_t until)
{
    struct epoll_event ev[16];
    int n, ms = wait_ms(until);

    n = epoll_wait(r->epoll, ev, ARRAY_SIZE(ev), ms);
    for (int i = 0; i < n; i++) {
        if (ev[i].data.u64 == WATCH_SIGNALS) {
            handle_signals(r);
        } else if (ev[i].data.u64 == WATCH_TARGET) {
            if (!targets_alive(&r->targets))
                over(r, "targets ended");
        } else if (ev[i].data.u64 == WATCH_FRONT) {
            if (handle_front(r))
                over(r, "interrupted");
        } else if (ev[i].data.u64 == WATCH_MARKS) {
            marks_poll(r->marks);
        } else {
            collectors_poll(&r->collectors, (size_t)ev[i].data.u64);
        }
    }
    if (r->command.ended)
        over(r, "command ended");
}

/* Once a second: who has entered it. */
static void look_at_group(struct recorder *r, uint64_t t)
{
    struct pid_list in = {0};

    if (!r->group.on || t < r->group_next)
        return;
    r->group_next = t + SECOND;
    if (!cgroup_watch_look(&r->group, &in))
        over(r, "control group empty");
    for (size_t i = 0; i < in.list.n; i++)
        *vec_push(&r->ctx.targets) = in.list.a[i];
    vec_release(&in.list);
}

/* Every second or so, while it records. */
static void turn(struct recorder *r, uint64_t t)
{
    if (!collectors_running(&r->collectors))
        over(r, "collectors failed");
    if (t < r->next || window_is_over(&r->window))
        return;
    collectors_poll_all(&r->collectors);
    marks_poll(r->marks);
    flush(r);
    live_draw(&r->live, t - r->begin, r->sink.samples, r->sink.w ? session_bytes(r->sink.w) : 0);
    r->next = t + ring_turn(&r->sink.ring);
}

/* From the gate's opening until the window is over: the collectors are ready, and count while it is open. */
static void record(struct recorder *r)
{
    while (!window_is_over(&r->window)) {
        uint64_t until = earlier(window_next(&r->window), r->begin ? r->next : UINT64_MAX);

        if (r->group.on)
            until = earlier(until, r->group_next);
        wait_for_events(r, earlier(until, r->polled ? now() + POLL_EVERY : UINT64_MAX));
        if (r->polled) {
            collectors_poll_all(&r->collectors);
            if (r->targets.list.n && !targets_alive(&r->targets))
                over(r, "targets ended");
        }
        look_at_group(r, now());
        act(r, window_time(&r->window, now()));
        if (r->begin)
            turn(r, now());
    }
}

/* Its end may come before its begin. */
static void say_nothing_came(struct recorder *r)
{
    char what[128];

    if (r->begin || r->window.begun)
        return;
    window_awaits(&r->window, what, sizeof(what));
    about_note(&r->meta, "it ended before %s: nothing was recorded", what);
    log_warn("it ended before %s: nothing was recorded", what);
}

/* ---- the end ---- */

static void stop(struct recorder *r)
{
    uint64_t end = now();

    cost_end(&r->cost);
    collectors_stop(&r->collectors);
    marks_stop(r->marks, end);
    /* What accounts tell of the whole run says nothing of a ring's window. */
    cost_report(&r->cost, &r->store, r->ctx.targets.a, r->o->ring ? 0 : r->ntargets,
                r->command.ended && !r->o->ring ? &r->command.usage : NULL);
    flush(r);
    if (!r->begin)
        about_start(&r->meta, end);
    if (r->sink.w)
        about_end(&r->meta, end, r->window.reason);
    if (r->o->jvm && r->sink.w)
        jvm_write_maps(&r->store, &r->meta);
}

struct sealing {
    struct recorder *r;
    uint64_t since; /* the command's end */
};

/* The caller's products, and how long all of it took: only the last write of meta.json is yet to come. */
static int derive(void *arg, struct session_writer *w, struct meta *m, struct store *s, struct err *e)
{
    struct sealing *k = arg;
    const struct recorder_hooks *hooks = &k->r->o->hooks;
    int rc = hooks->derive ? hooks->derive(hooks->arg, w, m, s, e) : 0;

    store_set_counter(s, "own.seal_ns", now() - k->since);
    return rc;
}

static int seal(struct recorder *r, uint64_t since)
{
    struct sealing sealing = {r, since};
    struct recorder_report report = {.meta = &r->meta, .store = &r->store, .samples = r->sink.samples};
    struct err e = {0};
    int rc;

    if (!r->sink.w)
        return 0;
    if (r->command.ended)
        r->meta.exit_code = child_exit_code(&r->command);
    collectors_describe(&r->collectors, &r->meta);
    about_kinds(&r->meta);
    about_languages(&r->meta, &r->store);
    live_clear(&r->live);
    rc = sink_seal(&r->sink, &r->meta, derive, &sealing, &e);
    if (session_is_gone(r->sink.w)) {
        log_error("%s was removed while it was recorded: nothing is left of it", session_path(r->sink.w));
        return -1;
    }
    if (rc)
        log_error("the session could not be sealed: %s (%s opens as it was last written)", e.msg,
                  session_path(r->sink.w));
    report.path = session_path(r->sink.w);
    report.bytes = session_bytes(r->sink.w);
    report.seal_ns = now() - since;
    if (r->o->hooks.done)
        r->o->hooks.done(r->o->hooks.arg, &report);
    return rc || r->sink.broken ? -1 : 0;
}

/* The command may outlive its recording: nothing of that is kept while we wait. */
static int wait_for_command(struct recorder *r)
{
    if (r->half.fd >= 0) /* the front end does */
        return 0;
    while (!reap(r) && !r->command.ended) {
        struct epoll_event ev;

        if (epoll_wait(r->epoll, &ev, 1, wait_ms(child_time(&r->command, now()))) < 0 && errno != EINTR)
            break;
        handle_signals(r);
    }
    r->command.spawn.pid = 0; /* waited for */
    return child_exit_code(&r->command);
}

static void release_recording(struct recorder *r)
{
    marks_free(r->marks);
    r->marks = NULL;
    collectors_release(&r->collectors);
    if (r->o->release_tier)
        r->o->release_tier(&r->ctx);
    sink_release(&r->sink);
    store_release(&r->store);
    meta_release(&r->meta);
}

static void release(struct recorder *r)
{
    release_recording(r);
    spawn_cancel(&r->command.spawn);
    targets_release(&r->targets);
    cgroup_watch_release(&r->group);
    vec_release(&r->ctx.targets);
    if (r->epoll >= 0)
        close(r->epoll);
    if (r->signals.fd >= 0)
        signals_give_back(&r->signals);
    half_release(&r->half);
    identity_release(&r->who);
    jit_env_release(&r->jit_env);
    free(r->dir);
}

/* Nothing was recorded. */
static void discard(struct recorder *r)
{
    marks_free(r->marks);
    r->marks = NULL;
    sink_discard(&r->sink);
}

/* Starts counting (unless that comes later) and lets the command go. 0, or the code to exit with. */
static int start(struct recorder *r, struct err *e)
{
    struct err why = {0};

    if (!r->unrecorded && window_init(&r->window, &r->o->window, now()) == WINDOW_BEGIN && begin(r, &why)) {
        discard(r);
        if (go_unrecorded(r, &why, e))
            return SPAWN_FAILED;
    }
    if (r->unrecorded)
        over(r, "not recorded");
    if (r->half.fd >= 0) {
        if (!half_ready(&r->half))
            return 0;
        discard(r);
        return SPAWN_FAILED;
    }
    if (r->command.launched && spawn_open_gate(&r->command.spawn, e)) {
        r->command.launched = 0;
        discard(r);
        return r->command.spawn.failure;
    }
    return 0;
}

/* Nothing of ours ends the command but what was asked for: not a full disk. */
static int is_to_end(const struct recorder *r)
{
    return r->o->kill && (window_closed(&r->window) || !strcmp(r->window.reason, "max-size"));
}

/* -1: it was cut short by a failure of ours. */
static int run(struct recorder *r)
{
    struct err e = {0};
    uint64_t ended;

    if (r->sink.w &&
        session_write_meta(r->sink.w, &r->meta, &e)) /* with the start's times, for who reads it live */
        log_debug("%s", e.msg);
    live_begin(&r->live, r->o->quiet || r->half.output_shown, r->command.launched);
    record(r);
    ended = now();
    if (!r->unrecorded)
        say_nothing_came(r);
    stop(r);
    if (is_to_end(r))
        child_end(&r->command, now());
    return seal(r, ended) ||
                   (r->begin && !r->command.launched && !strcmp(r->window.reason, "collectors failed"))
               ? -1
               : 0;
}

int recorder_run(const struct recorder_opts *o, struct err *e)
{
    struct recorder r = {.o = o, .epoll = -1, .signals = {.fd = -1}, .half = {.fd = -1}};
    int code;

    r.command.spawn.gate = r.command.spawn.report = -1;
    if (get_ready(&r, e)) {
        code = r.command.spawn.failure ? r.command.spawn.failure : SPAWN_FAILED;
    } else {
        code = start(&r, e);
        if (!code) {
            int failed = run(&r);

            release_recording(&r);
            code = r.command.launched ? wait_for_command(&r) : failed ? SPAWN_FAILED : 0;
            if (failed && !r.command.launched)
                err_set(e, "the recording is not complete");
        }
    }
    release(&r);
    return code;
}
