/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with a GPU, made by hand. */
#ifndef WPROF_TESTS_GPU_FIXTURE_H
#define WPROF_TESTS_GPU_FIXTURE_H

#include "model/session.h"
#include "model/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct gpu_fixture {
    struct session s;
    uint64_t correlation;
};

static inline void gpu_fixture_init(struct gpu_fixture *f, uint64_t start, uint64_t end)
{
    *f = (struct gpu_fixture){.s = {.path = (char *)"s"}};
    f->s.meta =
        (struct meta){.start_mono = start, .end_mono = end, .duration_s = (double)(end - start) / 1e9};
}

static inline void gpu_fixture_release(struct gpu_fixture *f)
{
    store_release(&f->s.store);
}

/* leader 0: a process. */
static inline uint32_t gpu_fixture_task(struct gpu_fixture *f, const char *name, uint32_t leader)
{
    struct store *s = &f->s.store;
    uint32_t tid = 100 + (uint32_t)s->tasks.list.n;

    return tasks_add(&s->tasks, &(struct task){.pid = leader ? tasks_get(&s->tasks, leader)->pid : tid,
                                               .tid = tid,
                                               .start_ns = 1,
                                               .leader = leader,
                                               .comm = strtab_add(&s->strings, name)});
}

/* A stack of Python functions, "main;step", root first. */
static inline uint32_t gpu_fixture_stack(struct gpu_fixture *f, const char *path)
{
    struct store *s = &f->s.store;
    uint32_t stack = 0;

    for (size_t n; *path; path += n + (path[n] == ';')) {
        n = strcspn(path, ";");
        stack = stacks_push(&s->stacks, stack,
                            frames_add(&s->frames, &(struct frame){.kind = FRAME_PYTHON,
                                                                   .func = strtab_addn(&s->strings, path, n),
                                                                   .file = strtab_add(&s->strings, "t.py")}));
    }
    return stack;
}

static inline struct event *gpu_fixture_event(struct gpu_fixture *f, enum event_kind kind, uint32_t task,
                                              uint64_t from, uint64_t to)
{
    struct event *ev = vec_push(&f->s.store.events);

    *ev = (struct event){
        .ts = from, .dur = to - from, .value = 1, .task = task, .kind = (uint16_t)kind, .flags = EVENT_ROOT};
    return ev;
}

static inline struct event *gpu_fixture_gpu(struct gpu_fixture *f, const char *name, struct gpu_work w,
                                            uint32_t task, uint64_t from, uint64_t to)
{
    struct event *ev = gpu_fixture_event(f, EVENT_GPU, task, from, to);

    w.name = strtab_add(&f->s.store.strings, name);
    ev->attr = gpu_works_add(&f->s.store.gpus, &w);
    ev->value = 0;
    return ev;
}

/* A call at `called` that takes `took`, and what it starts. */
static inline struct event *gpu_fixture_launch(struct gpu_fixture *f, const char *name, struct gpu_work w,
                                               uint32_t task, uint64_t called, uint64_t took, uint64_t from,
                                               uint64_t to)
{
    struct event *ev;

    f->correlation++;
    ev = gpu_fixture_gpu(f, "cudaLaunchKernel", (struct gpu_work){.op = GPU_RUNTIME, .rank = w.rank}, task,
                         called, called + took);
    ev->value = f->correlation;
    ev = gpu_fixture_gpu(f, name, w, task, from, to);
    ev->value = f->correlation;
    return ev;
}

static inline union table_cell *gpu_cell(struct table *t, size_t row, const char *key)
{
    assert_true(row < table_rows(t));
    for (size_t c = 0; c < t->ncolumns; c++)
        if (!strcmp(t->columns[c].key, key))
            return &t->cells.a[row * t->ncolumns + c];
    fail_msg("no column %s", key);
    return NULL;
}

#endif
