/* SPDX-License-Identifier: Apache-2.0 */
/* Our own thread: flushes CUPTI's buffers, pairs its clock with ours, and notices when the recording is over.
 */
#include "agent/agent.h"
#include "agent/walk.h"

#include "agent/glibc.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 50000000 /* between two looks at what is loaded */

enum {
    CLOCK_READS = 100,
    EARLIER = 16, /* the first flush, of short programs */
    ALONE = 60,   /* flushes without a recorder: what it left is read later, but does not grow for days */
};

static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER; /* never wanted by a callback */

/* CUPTI's clock between two readings of ours, the tightest of many. */
static void pair_clocks(struct agent *a)
{
    uint64_t theirs = 0, ours = 0, width = UINT64_MAX;

    for (int i = 0; i < CLOCK_READS; i++) {
        uint64_t before = agent_clock(), t = 0, after;

        if (a->cupti.timestamp(&t) != CUPTI_OK)
            return;
        after = agent_clock();
        if (after - before >= width)
            continue;
        width = after - before;
        theirs = t;
        ours = before + width / 2;
    }
    out_lock(&a->out);
    out_reserve(&a->out, 40);
    out_u8(&a->out, GPU_CLOCK);
    out_number(&a->out, theirs);
    out_number(&a->out, ours);
    out_number(&a->out, width);
    out_unlock(&a->out);
}

static void count_dropped(struct agent *a)
{
    size_t n = 0;

    if (a->cupti.dropped && a->cupti.dropped(NULL, 0, &n) == CUPTI_OK && n)
        agent_count(a, GPU_N_DROPPED, n);
}

static void flush_records(struct agent *a, int last)
{
    if (a->ask_devices && !who_devices(a)) /* before what ran on them */
        a->ask_devices = 0;
    pair_clocks(a);
    a->cupti.flush(last ? CUPTI_FLUSH_FORCED : 0);
    count_dropped(a);
}

void keeper_flush(struct agent *a, int last)
{
    uint64_t from = agent_clock();

    pthread_mutex_lock(&flushing);
    if (agent_is_on(a))
        flush_records(a, last);
    agent_counts(a, from);
    out_flush(&a->out);
    pthread_mutex_unlock(&flushing);
}

void keeper_stop(struct agent *a, enum gpu_state why)
{
    if (agent_is_on(a))
        inject_kinds_off(a);
    keeper_flush(a, 1);
    agent_state(a, why, 0);
    atomic_store(&a->on, 0);
    atomic_store(&a->log, LOG_OVER);
}

void keeper_wake(struct agent *a)
{
    if (!atomic_exchange(&a->wake, 1))
        syscall(SYS_futex, &a->wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Until the next flush is due; on the way, where somebody wants it, a look at what is loaded. */
static void wait_for_tick(struct agent *a, uint64_t due)
{
    uint64_t now, looked = 0;

    while (atomic_load(&a->log) == LOG_ON && (now = agent_clock()) < due) {
        uint64_t left = due - now;
        struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};

        if (atomic_load(&a->wake) && now - looked < LOOK_NS)
            nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
        else
            syscall(SYS_futex, &a->wake, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
        if (getpid() != a->pid || !atomic_exchange(&a->wake, 0))
            continue;
        if (agent_is_on(a))
            walk_look(a);
        looked = agent_clock();
    }
}

/* The recording is over, and the program goes on: from now on we cost it nothing, and another profiler may
 * subscribe. */
static void leave(struct agent *a)
{
    atomic_store(&a->log, LOG_OVER);
    if (a->subscriber) {
        inject_kinds_off(a);
        atomic_store(&a->on, 0);
        if (a->cupti.unsubscribe)
            a->cupti.unsubscribe(a->subscriber);
    }
    out_give_up(&a->out); /* its space is free then */
}

/* The recorder was killed: its socket is there, and nobody behind it. */
static int is_alone(const struct agent *a)
{
    int fd = a->recorder.sun_family ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1, refused;

    if (fd < 0)
        return 0;
    refused =
        connect(fd, (const struct sockaddr *)&a->recorder, sizeof(a->recorder)) && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static void *keep(void *arg)
{
    struct agent *a = arg;

    int alone = 0;

    prctl(PR_SET_NAME, "wprof-gpu");
    for (uint64_t ms = a->tick_ms / EARLIER + 1;; ms = ms * 2 < a->tick_ms ? ms * 2 : a->tick_ms) {
        wait_for_tick(a, agent_clock() + ms * 1000000);
        if (atomic_load(&a->log) != LOG_ON)
            return NULL;
        alone = is_alone(a) ? alone + 1 : 0;
        if (alone == ALONE)
            keeper_stop(a, GPU_STOPPED);
        if (alone == ALONE || out_is_gone(&a->out)) {
            leave(a);
            return NULL;
        }
        keeper_flush(a, 0);
        if (agent_is_on(a)) {
            walk_look(a);
            others_look(a);
        }
    }
}

void keeper_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    flushing = fresh;
}

int keeper_start(struct agent *a)
{
    sigset_t all, before;
    pthread_t thread;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the target's signals are its own threads' */
    rc = pthread_create(&thread, NULL, keep, a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc)
        pthread_detach(thread);
    return rc ? -1 : 0;
}
