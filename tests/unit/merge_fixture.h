/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of a job's ranks on several hosts, made by hand: where each one's clock stands is known. */
#ifndef WPROF_TESTS_MERGE_FIXTURE_H
#define WPROF_TESTS_MERGE_FIXTURE_H

#include "exchange/merge/merge.h"
#include "model/session.h"
#include "model/store_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

enum { MERGE_STEPS = 20, MERGE_SLOW = 2, MERGE_PID = 4000 };

/* ns that a host's clock is ahead of the first one's. */
static const int64_t merge_ahead[] = {0, 7200000000000, -3600123456789, 55555};

static inline uint32_t merge_fixture_frame(struct store *s, const char *name, uint32_t module, uint64_t addr)
{
    uint32_t id =
        frames_add(&s->frames, &(struct frame){.kind = FRAME_NATIVE, .module = module, .addr = addr});

    frames_set_names(&s->frames, id, &(struct frame_name){.func = strtab_add(&s->strings, name)}, 1);
    return id;
}

static inline struct event *merge_fixture_event(struct store *s, enum event_kind kind, uint32_t task,
                                                uint64_t ts, uint64_t dur)
{
    struct event *ev = vec_push(&s->events);

    *ev = (struct event){.kind = (uint16_t)kind, .task = task, .ts = ts, .dur = dur, .value = 1};
    return ev;
}

static inline void merge_fixture_mark(struct store *s, uint32_t task, const char *kind, int n, uint64_t ts,
                                      uint64_t dur)
{
    char *text = mem_printf("%s %d", kind, n);

    merge_fixture_event(s, EVENT_MARKER, task, ts, dur)->metric = strtab_add(&s->strings, text);
    free(text);
}

/* A rank of a job whose ranks meet after each step of 100 ms. All work for 20 ms in compute(); MERGE_SLOW
 * works for 80 ms more, in slow_transform(). They leave the barrier 10 us after the last has come, up to 5 us
 * apart. */
static inline void merge_fixture_rank(struct session *s, unsigned rank, unsigned host, int marks)
{
    struct store *st = &s->store;
    struct module lib = {.kind = MODULE_FILE,
                         .build_id_len = 4,
                         .build_id = "abcd",
                         .dev = host,
                         .ino = 7,
                         .fd = -1},
                  plain = {.kind = MODULE_FILE, .dev = 1, .ino = 9, .fd = -1};
    uint64_t start = 1000000 * MS + (uint64_t)merge_ahead[host];
    uint32_t main_fn, task, compute, slow, wait, unlike;
    char name[32];

    *s = (struct session){.path = (char *)"s", .sealed = 1};
    s->meta = (struct meta){.schema_version = 1, .pid = MERGE_PID, .frequency = 1000, .start_mono = start};
    s->meta.end_mono = start + MERGE_STEPS * 100 * MS;
    s->meta.session_id = mem_printf("20260101-000000-%06u", rank);
    s->meta.host = mem_printf("node%u", host);
    s->meta.clock_id = mem_printf("boot%u", host);
    s->meta.realtime_offset = 1700000000000000000ull - (uint64_t)merge_ahead[host];
    *vec_push(&s->meta.env) = mem_printf("RANK=%u", rank);
    lib.path = strtab_add(&st->strings, "/lib/job.so");
    plain.path = strtab_add(&st->strings, "/job");
    lib.task = 0;
    main_fn = stacks_push(&st->stacks, 0,
                          merge_fixture_frame(st, "main", frames_add_module(&st->frames, &lib), 16));
    compute = stacks_push(&st->stacks, main_fn, merge_fixture_frame(st, "compute", 1, 32));
    slow = stacks_push(&st->stacks, main_fn, merge_fixture_frame(st, "slow_transform", 1, 48));
    wait = stacks_push(&st->stacks, main_fn, merge_fixture_frame(st, "meet", 1, 64));
    snprintf(name, sizeof(name), "only_on_%u", host);
    unlike = stacks_push(&st->stacks, main_fn,
                         merge_fixture_frame(st, name, frames_add_module(&st->frames, &plain), 16));
    task = tasks_add(&st->tasks, &(struct task){.pid = MERGE_PID,
                                                .tid = MERGE_PID,
                                                .ns_pid = MERGE_PID,
                                                .ns_tid = MERGE_PID,
                                                .start_ns = 5 + rank,
                                                .cpu_ns = 3,
                                                .comm = strtab_add(&st->strings, "job")});
    for (int i = 0; i < MERGE_STEPS; i++) {
        uint64_t at = start + (uint64_t)i * 100 * MS, own = rank == MERGE_SLOW ? 99 * MS : 20 * MS;
        uint64_t leave = at + 99 * MS + 10000 + (uint64_t)((rank * 7 + (unsigned)i) % 6) * 1000;
        struct wait w = {.reason = WAIT_FUTEX};

        merge_fixture_mark(st, task, "step", i, at, 100 * MS);
        if (marks)
            merge_fixture_mark(st, task, "barrier", i, at + own, leave - at - own);
        for (uint64_t ms = 0; ms < own / MS; ms++)
            merge_fixture_event(st, EVENT_SAMPLE, task, at + ms * MS, 0)->stack = ms < 20 ? compute : slow;
        merge_fixture_event(st, EVENT_SAMPLE, task, at, 0)->stack = unlike;
        if (leave > at + own) {
            struct event *ev = merge_fixture_event(st, EVENT_OFFCPU, task, at + own, leave - at - own);

            ev->stack = wait;
            ev->attr = waits_add(&st->waits, &w);
        }
    }
    merge_fixture_event(st, EVENT_METRIC, 0, start + MS, MS)->metric = strtab_add(&st->strings, "cpu.user");
    store_set_counter(st, "cpu.taken", 100);
    store_set_counter(st, "own.rss_max", 1000 + rank);
    store_events_sort(st->events.a, st->events.n, 1);
}

static inline void merge_fixture_release(struct session *s)
{
    meta_release(&s->meta);
    store_release(&s->store);
}

/* All of them into m, whose store then has the events in order. */
static inline void merge_fixture_merge_by(struct merge *m, struct session *s, size_t n,
                                          const struct merge_opts *opts)
{
    struct err e;

    merge_init(m, opts);
    for (size_t i = 0; i < n; i++) {
        char path[8];

        snprintf(path, sizeof(path), "%zu", i);
        merge_know(m, path, &s[i].meta);
    }
    assert_int_equal(merge_plan(m, &e), 0);
    for (size_t i = 0; i < n && merge_wants_evidence(m); i++)
        assert_int_equal(merge_look(m, i, &s[atoi(m->parts.a[i].path)], &e), 0);
    merge_clocks(m);
    merge_about(m);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(merge_add(m, i, &s[atoi(m->parts.a[i].path)], &e), 0);
    merge_finish(m);
    store_events_sort(m->store.events.a, m->store.events.n, 1);
}

static inline void merge_fixture_merge(struct merge *m, struct session *s, size_t n, enum clocks_how how)
{
    merge_fixture_merge_by(m, s, n, &(struct merge_opts){.how = how});
}

#endif
