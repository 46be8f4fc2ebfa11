/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recorder.h"

#include "base/log.h"
#include "platform/clock.h"
#include "record/about.h"
#include "record/recording.h"
#include "record/signals.h"
#include "record/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ns, for collectors without a descriptor, targets without a pidfd */
#define POLL_EVERY 100000000ull

/* epoll data above every collector's index */
enum { WATCH_SIGNALS = 1 << 20, WATCH_TARGET, WATCH_MARKS, WATCH_FRONT };

struct recorder {
    const struct recorder_opts *o;
    struct signals signals;
    struct subject subject;
    struct recording rec;
    struct window window;
    int epoll;
    int polled;     /* something has to be looked at by time */
    int unrecorded; /* the command runs, and nothing is recorded */
};

static void over(struct recorder *r, const char *reason)
{
    window_over(&r->window, reason);
}

static int has_front(const struct recorder *r)
{
    return r->subject.half.fd >= 0;
}

/* What the window says, once the command runs. */
static void act(struct recorder *r, enum window_act what)
{
    struct err e = {0};

    if (what != WINDOW_BEGIN)
        return;
    if (!recording_begin(&r->rec, r->epoll, &r->polled, &e)) {
        window_began(&r->window, r->rec.begin);
        return;
    }
    over(r, "nothing to record with");
    log_error("%s", e.msg);
}

static void on_mark(void *arg, const struct mark *m)
{
    struct recorder *r = arg;

    act(r, window_mark(&r->window, m, clock_monotonic()));
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

static int prepare(struct recorder *r, struct err *e)
{
    const int ours[] = {r->o->window.start_on, r->o->window.stop_on};

    occupy_standard_fds();
    if (identity_of_caller(&r->subject.who, e) ||
        recording_init(&r->rec, r->o, &r->subject.who, on_mark, r, e) ||
        signals_take_also(&r->signals, ours, ARRAY_SIZE(ours), e))
        return -1;
    return subject_prepare(&r->subject, r->o, &r->signals.before, &r->rec, e);
}

static int watch(struct recorder *r, int fd, uint64_t what, struct err *e)
{
    /* A process that has ended stays readable: once is enough, others may live on. */
    uint32_t edge = what == WATCH_TARGET ? EPOLLET : 0;
    struct epoll_event ev = {.events = EPOLLIN | edge, .data.u64 = what};

    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) ? err_sys(e, errno, "epoll") : 0;
}

static int watch_all(struct recorder *r, struct err *e)
{
    const struct targets *targets = &r->subject.targets;

    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll < 0)
        return err_sys(e, errno, "epoll");
    if (watch(r, r->signals.fd, WATCH_SIGNALS, e) ||
        (has_front(r) && watch(r, r->subject.half.fd, WATCH_FRONT, e)))
        return -1;
    for (size_t i = 0; i < targets->list.n; i++) {
        if (targets->list.a[i].fd < 0)
            r->polled = 1;
        else if (watch(r, targets->list.a[i].fd, WATCH_TARGET, e))
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

/* Everything that may fail before the command runs. -1: it is not to be started. */
static int get_ready(struct recorder *r, struct err *e)
{
    struct err why = {0};

    if (prepare(r, e) || watch_all(r, e))
        return -1;
    if (recording_open(&r->rec, &why))
        return go_unrecorded(r, &why, e);
    if (recording_open_marks(&r->rec, &why) || watch(r, marks_fd(r->rec.marks), WATCH_MARKS, &why))
        recording_no_marks(&r->rec, &why);
    return 0;
}

/* Starts counting, unless that comes later. -1: nothing can be recorded. */
static int begin_now(struct recorder *r, struct err *e)
{
    if (window_init(&r->window, &r->o->window, clock_monotonic()) != WINDOW_BEGIN)
        return 0;
    if (recording_begin(&r->rec, r->epoll, &r->polled, e))
        return -1;
    window_began(&r->window, r->rec.begin);
    return 0;
}

/* Lets the command go. 0, or the code to exit with. */
static int start(struct recorder *r, struct err *e)
{
    struct child *command = &r->subject.command;
    struct err why = {0};
    int code = SPAWN_FAILED;

    if (!r->unrecorded && begin_now(r, &why)) {
        recording_discard(&r->rec);
        if (go_unrecorded(r, &why, e))
            return code;
    }
    if (r->unrecorded)
        over(r, "not recorded");
    if (has_front(r)) {
        if (!half_ready(&r->subject.half))
            return 0;
    } else {
        if (!command->launched || !spawn_open_gate(&command->spawn, e))
            return 0;
        command->launched = 0;
        code = command->spawn.failure;
    }
    recording_discard(&r->rec);
    return code;
}

/* ---- what happens ---- */

/* Before the command is waited for, collectors may have a last look. */
static int reap(struct recorder *r)
{
    if (has_front(r))
        return 0;
    if (child_ending(&r->subject.command))
        collectors_ended(&r->rec.collectors);
    return child_reap(&r->subject.command);
}

/* Takes what is pending. */
static void handle_signals(struct recorder *r)
{
    enum signal_kind kind;
    int signo;

    for (;;) {
        int running = child_running(&r->subject.command) && !has_front(r);
        pid_t command = running ? r->subject.command.spawn.pid : 0;

        kind = signals_next(&r->signals, command, &signo);
        if (kind == SIGNAL_NONE)
            return;
        if (kind == SIGNAL_CHILD)
            reap(r);
        else if (window_takes(&r->window, signo))
            act(r, window_signal(&r->window, signo, clock_monotonic()));
        else if (kind == SIGNAL_FORWARD && running)
            kill(command, signo);
        else if (kind == SIGNAL_INTERRUPT || !running)
            over(r, "interrupted");
    }
}

static void handle_front(struct recorder *r)
{
    struct child *command = &r->subject.command;
    struct half *half = &r->subject.half;
    struct link_status s = {0};

    switch (half_next(half, &s)) {
    case HALF_NOTHING:
        break;
    case HALF_SIGNAL:
        act(r, window_signal(&r->window, half->signo, clock_monotonic()));
        break;
    case HALF_ENDING:
        collectors_ended(&r->rec.collectors);
        half_seen(half);
        break;
    case HALF_ENDED:
        command->status = s.status;
        command->usage = s.usage;
        command->ended = 1;
        break;
    case HALF_INTERRUPT:
    case HALF_GONE:
        over(r, "interrupted");
        break;
    }
}

static void look_at_targets(struct recorder *r)
{
    if (r->subject.targets.list.n && !targets_alive(&r->subject.targets))
        over(r, "targets ended");
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* For epoll_wait: it looks again after an hour at the latest. */
static int wait_ms(uint64_t until)
{
    uint64_t t = clock_monotonic();

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
        if (ev[i].data.u64 == WATCH_SIGNALS)
            handle_signals(r);
        else if (ev[i].data.u64 == WATCH_TARGET)
            look_at_targets(r);
        else if (ev[i].data.u64 == WATCH_FRONT)
            handle_front(r);
        else if (ev[i].data.u64 == WATCH_MARKS)
            marks_poll(r->rec.marks);
        else
            collectors_poll(&r->rec.collectors, (size_t)ev[i].data.u64);
    }
    if (r->subject.command.ended)
        over(r, "command ended");
}

/* When something is due at the latest. */
static uint64_t next_time(const struct recorder *r)
{
    uint64_t until = earlier(window_next(&r->window), subject_next_look(&r->subject));

    if (r->rec.begin)
        until = earlier(until, r->rec.next);
    return r->polled ? earlier(until, clock_monotonic() + POLL_EVERY) : until;
}

/* Every second or so, while it records. */
static void turn(struct recorder *r)
{
    const char *ends;

    if (!collectors_running(&r->rec.collectors))
        over(r, "collectors failed");
    if (window_is_over(&r->window))
        return;
    ends = recording_turn(&r->rec, clock_monotonic(), child_running(&r->subject.command));
    if (ends)
        over(r, ends);
}

/* From the gate's opening until the window is over: the collectors are ready, and count while it is open. */
static void record(struct recorder *r)
{
    while (!window_is_over(&r->window)) {
        wait_for_events(r, next_time(r));
        if (r->polled) {
            collectors_poll_all(&r->rec.collectors);
            look_at_targets(r);
        }
        if (!subject_look(&r->subject, &r->rec, clock_monotonic()))
            over(r, "control group empty");
        act(r, window_time(&r->window, clock_monotonic()));
        if (r->rec.begin)
            turn(r);
    }
}

/* ---- the end ---- */

/* Its end may come before its begin. */
static void say_nothing_came(struct recorder *r)
{
    char what[128];

    if (r->rec.begin || r->window.begun)
        return;
    window_awaits(&r->window, what, sizeof(what));
    about_note(&r->rec.meta, "it ended before %s: nothing was recorded", what);
    log_warn("it ended before %s: nothing was recorded", what);
}

/* The command may outlive its recording: nothing of that is kept while we wait. */
static int wait_for_command(struct recorder *r)
{
    struct child *command = &r->subject.command;

    if (has_front(r)) /* the front end does */
        return 0;
    while (!reap(r) && !command->ended) {
        struct epoll_event ev;

        if (epoll_wait(r->epoll, &ev, 1, wait_ms(child_time(command, clock_monotonic()))) < 0 &&
            errno != EINTR)
            break;
        handle_signals(r);
    }
    command->spawn.pid = 0; /* waited for */
    return child_exit_code(command);
}

/* Nothing of ours ends the command but what was asked for: not a full disk. */
static int is_to_end(const struct recorder *r)
{
    return r->o->kill && (window_closed(&r->window) || !strcmp(r->window.reason, "max-size"));
}

/* -1: it was cut short by a failure of ours. */
static int run(struct recorder *r)
{
    struct child *command = &r->subject.command;
    struct recording *rec = &r->rec;
    struct err e = {0};
    uint64_t ended;

    if (rec->sink.w && session_write_meta(rec->sink.w, &rec->meta, &e))
        log_debug("%s", e.msg); /* with the start's times, for who reads it live */
    live_begin(&rec->live, r->o->quiet || r->subject.half.output_shown, command->launched);
    record(r);
    ended = clock_monotonic();
    if (!r->unrecorded)
        say_nothing_came(r);
    recording_stop(rec, r->window.reason, command->ended ? &command->usage : NULL, child_running(command));
    if (is_to_end(r))
        child_end(command, clock_monotonic());
    if (recording_seal(rec, ended, command->ended ? child_exit_code(command) : -1))
        return -1;
    return rec->begin && !command->launched && !strcmp(r->window.reason, "collectors failed") ? -1 : 0;
}

static void release(struct recorder *r)
{
    recording_release(&r->rec);
    subject_release(&r->subject);
    if (r->epoll >= 0)
        close(r->epoll);
    if (r->signals.fd >= 0)
        signals_give_back(&r->signals);
}

int recorder_run(const struct recorder_opts *o, struct err *e)
{
    struct recorder r = {.o = o, .epoll = -1, .signals = {.fd = -1}};
    const struct child *command = &r.subject.command;
    int code;

    subject_init(&r.subject);
    if (get_ready(&r, e)) {
        code = command->spawn.failure ? command->spawn.failure : SPAWN_FAILED;
    } else {
        code = start(&r, e);
        if (!code) {
            int failed = run(&r);

            recording_release(&r.rec);
            code = command->launched ? wait_for_command(&r) : failed ? SPAWN_FAILED : 0;
            if (failed && !command->launched)
                err_set(e, "the recording is not complete");
        }
    }
    release(&r);
    return code;
}
