/* SPDX-License-Identifier: Apache-2.0 */
/* A small session for tests of the timeline and its exports: a trainer waits for its loader worker. */
#ifndef WPROF_TESTS_TIMELINE_FIXTURE_H
#define WPROF_TESTS_TIMELINE_FIXTURE_H

#include "analyze/timeline.h"

#include <string.h>

#define FIXTURE_START 1000000000u
#define MS            1000000u

struct world {
    struct session s;
    uint32_t main, worker, machine; /* task ids; the machine has none */
    uint32_t wait_stack, run_stack, load_stack;
};

static inline uint32_t world_frame(struct world *w, unsigned kind, const char *func, const char *file)
{
    struct frame f = {.kind = (uint8_t)kind,
                      .func = strtab_add(&w->s.store.strings, func),
                      .file = strtab_add(&w->s.store.strings, file)};

    return frames_add(&w->s.store.frames, &f);
}

static inline uint32_t world_stack(struct world *w, const uint32_t *frames, size_t n)
{
    uint32_t id = 0;

    for (size_t i = 0; i < n; i++)
        id = stacks_push(&w->s.store.stacks, id, frames[i]);
    return id;
}

static inline uint32_t world_task(struct world *w, uint32_t pid, uint32_t tid, const char *comm,
                                  uint32_t leader)
{
    struct task t = {.pid = pid,
                     .tid = tid,
                     .start_ns = tid,
                     .leader = leader,
                     .comm = strtab_add(&w->s.store.strings, comm),
                     .first_ns = FIXTURE_START};

    return tasks_add(&w->s.store.tasks, &t);
}

/* Times in ms of the session. */
static inline struct event *world_event(struct world *w, unsigned kind, uint32_t task, double at, double dur)
{
    struct event *ev = vec_push(&w->s.store.events);

    *ev = (struct event){.ts = FIXTURE_START + (uint64_t)(at * MS),
                         .dur = (uint64_t)(dur * MS),
                         .value = 1,
                         .task = task,
                         .kind = (uint16_t)kind};
    return ev;
}

static inline void world_wait(struct world *w, uint32_t task, double at, double dur, unsigned reason,
                              const char *what, uint32_t waker)
{
    struct wait wait = {.reason = (uint8_t)reason,
                        .what = what ? strtab_add(&w->s.store.strings, what) : 0,
                        .waker_task = waker,
                        .waker_stack = waker ? w->load_stack : 0};
    uint32_t id = waits_add(&w->s.store.waits, &wait);
    struct event *ev = world_event(w, EVENT_OFFCPU, task, at, dur);

    ev->attr = id;
    ev->stack = w->wait_stack;
}

static inline void world_init(struct world *w)
{
    uint32_t main, wait, futex, conv, load;

    *w = (struct world){0};
    w->s.meta.start_mono = FIXTURE_START;
    w->s.meta.end_mono = FIXTURE_START + 100 * MS;
    main = world_frame(w, FRAME_PYTHON, "main", "/srv/train.py");
    wait = world_frame(w, FRAME_PYTHON, "Queue.get", "/usr/lib/queue.py");
    futex = world_frame(w, FRAME_KERNEL, "futex_wait", NULL);
    conv = world_frame(w, FRAME_NATIVE, "conv2d", NULL);
    load = world_frame(w, FRAME_PYTHON, "slow_transform", "/srv/train.py");
    w->wait_stack = world_stack(w, (uint32_t[]){main, wait, futex}, 3);
    w->run_stack = world_stack(w, (uint32_t[]){main, conv}, 2);
    w->load_stack = world_stack(w, (uint32_t[]){load}, 1);
    w->main = world_task(w, 100, 100, "python3", 0);
    w->worker = world_task(w, 100, 101, "loader", w->main);
}

/* main runs 0-20, waits 20-50 for the worker, is runnable 50-55, runs to the end. The worker: preempted
 * 0-5. */
static inline void world_run(struct world *w)
{
    world_wait(w, w->main, 20, 30, WAIT_FUTEX, "futex 0x7f00", w->worker);
    world_event(w, EVENT_RUNQ, w->main, 50, 5);
    world_event(w, EVENT_RUNQ, w->worker, 0, 5)->flags = EVENT_PREEMPTED;
    world_event(w, EVENT_SAMPLE, w->main, 12, 0)->stack = w->run_stack;
    world_event(w, EVENT_SAMPLE, w->worker, 30, 0)->stack = w->load_stack;
}

static inline uint32_t world_string(struct world *w, const char *text)
{
    return strtab_add(&w->s.store.strings, text);
}

/* A request from 5 to 60, a step at 40, two values of the machine's and one of the process's. */
static inline void world_measure(struct world *w)
{
    uint32_t load = world_string(w, "load"), rss = world_string(w, "rss");
    struct event *ev;

    world_event(w, EVENT_MARKER, w->main, 5, 55)->metric = world_string(w, "request 7");
    world_event(w, EVENT_MARKER, w->main, 40, 0)->metric = world_string(w, "step 12");
    for (unsigned i = 0; i < 3; i++) {
        ev = world_event(w, EVENT_METRIC, i < 2 ? 0 : w->main, 10 + 20.0 * i, 0);
        ev->metric = i < 2 ? load : rss;
        ev->value = 5 + i;
    }
}

static inline void world_release(struct world *w)
{
    meta_release(&w->s.meta);
    store_release(&w->s.store);
}

#endif
