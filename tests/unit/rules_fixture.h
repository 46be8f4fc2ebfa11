/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions made by hand, ten seconds of four CPUs, for the rules of the report. */
#ifndef RULES_FIXTURE_H
#define RULES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyze/rule.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS    1000000ull
#define SEC   1000000000ull
#define START (100 * SEC)

/* Function and file of a frame; lists of them end with {NULL}. */
struct at {
    const char *func, *file;
};

struct rules_case {
    struct session s;
    struct graph g;
    int has_graph;
    struct rule_settings set;
    struct findings f;
    uint32_t lead;
};

static inline uint32_t case_str(struct rules_case *x, const char *s)
{
    return strtab_add(&x->s.store.strings, s);
}

static inline void case_collector(struct rules_case *x, const char *name)
{
    *vec_push(&x->s.meta.collectors) = (struct meta_collector){mem_strdup(name), mem_strdup("on"), NULL};
}

/* A process where tid is pid; its parent is a task. */
static inline uint32_t case_task(struct rules_case *x, uint32_t pid, uint32_t tid, uint32_t parent,
                                 const char *name)
{
    struct task t = {.pid = pid, .tid = tid, .ns_pid = pid, .ns_tid = tid, .start_ns = tid, .parent = parent};
    uint32_t id;

    t.comm = case_str(x, name);
    t.first_ns = START;
    id = tasks_add(&x->s.store.tasks, &t);
    for (uint32_t i = 1; i <= x->s.store.tasks.list.n; i++)
        if (x->s.store.tasks.list.a[i - 1].tid == pid)
            tasks_get(&x->s.store.tasks, id)->leader = i;
    return id;
}

static inline void case_init(struct rules_case *x)
{
    *x = (struct rules_case){0};
    x->s.meta = (struct meta){.session_id = mem_strdup("test"),
                              .kind = mem_strdup("fused"),
                              .pid = 10,
                              .start_mono = START,
                              .end_mono = START + 10 * SEC,
                              .frequency = 100,
                              .ncpus = 4,
                              .duration_s = 10};
    meta_add_language(&x->s.meta, "python");
    case_collector(x, "cpu");
    case_collector(x, "offcpu");
    case_collector(x, "metrics");
    graph_init(&x->g);
    x->has_graph = 1;
    x->lead = case_task(x, 10, 10, 0, "python3");
}

static inline void case_release(struct rules_case *x)
{
    findings_release(&x->f);
    rule_settings_release(&x->set);
    graph_release(&x->g);
    session_release(&x->s);
}

static inline uint32_t case_stack_of(struct rules_case *x, const struct at *frames, uint8_t kind,
                                     const char *module)
{
    uint32_t stack = 0;

    for (; frames->func; frames++) {
        struct frame f = {.kind = kind, .func = case_str(x, frames->func)};

        f.file = frames->file ? case_str(x, frames->file) : 0;
        f.line = frames->file ? 7 : 0;
        if (module) {
            struct module m = {.kind = MODULE_FILE, .fd = -1};

            m.path = case_str(x, module);
            f.module = frames_add_module(&x->s.store.frames, &m);
        }
        stack = stacks_push(&x->s.store.stacks, stack, frames_add(&x->s.store.frames, &f));
    }
    return stack;
}

#define PY(...)     case_stack_of(x, (const struct at[]){__VA_ARGS__, {NULL, NULL}}, FRAME_PYTHON, NULL)
#define NATIVE(...) case_stack_of(x, (const struct at[]){__VA_ARGS__, {NULL, NULL}}, FRAME_NATIVE, NULL)
#define KERNEL(...) case_stack_of(x, (const struct at[]){__VA_ARGS__, {NULL, NULL}}, FRAME_KERNEL, NULL)

/* Samples one after the other, every 10 ms from `from` ms on. */
static inline void case_samples(struct rules_case *x, uint32_t task, uint32_t stack, uint64_t from,
                                unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        *vec_push(&x->s.store.events) = (struct event){.kind = EVENT_SAMPLE,
                                                       .ts = START + from * MS + i * 10 * MS,
                                                       .value = 1,
                                                       .task = task,
                                                       .stack = stack};
}

struct waiting {
    uint8_t kind, reason; /* kind 0: EVENT_OFFCPU */
    uint32_t waker, waker_stack;
    const char *what;
    uint8_t irq;
};

static inline void case_wait(struct rules_case *x, uint32_t task, uint32_t stack, uint64_t from, uint64_t ms,
                             struct waiting how)
{
    struct wait w = {
        .reason = how.reason, .waker_task = how.waker, .waker_stack = how.waker_stack, .irq = how.irq};
    struct event ev = {.kind = how.kind ? how.kind : EVENT_OFFCPU,
                       .ts = START + from * MS,
                       .dur = ms * MS,
                       .value = 1,
                       .task = task,
                       .stack = stack};

    w.what = how.what ? case_str(x, how.what) : 0;
    if (ev.kind != EVENT_RUNQ)
        ev.attr = waits_add(&x->s.store.waits, &w);
    *vec_push(&x->s.store.events) = ev;
}

/* Waits that were too short to be listed: their sum. */
static inline void case_short(struct rules_case *x, uint32_t task, uint8_t reason, uint64_t ms, uint64_t n)
{
    struct wait w = {.reason = reason};

    *vec_push(&x->s.store.events) = (struct event){.kind = EVENT_OFFCPU,
                                                   .ts = START,
                                                   .dur = ms * MS,
                                                   .value = n,
                                                   .task = task,
                                                   .attr = waits_add(&x->s.store.waits, &w),
                                                   .flags = EVENT_SHORT};
}

/* A counter's increase in the second that begins at `at`, or a gauge's value. */
static inline void case_metric(struct rules_case *x, enum metric_id id, uint32_t task, unsigned at,
                               uint64_t value)
{
    const struct metric *m = metrics_get(id);

    *vec_push(&x->s.store.events) = (struct event){.kind = EVENT_METRIC,
                                                   .ts = START + at * SEC,
                                                   .dur = m->kind == METRIC_COUNTER ? SEC : 0,
                                                   .value = value,
                                                   .task = task,
                                                   .metric = case_str(x, m->name),
                                                   .cpu = METRIC_ANY_CPU};
}

static inline void case_mark(struct rules_case *x, const char *text, uint64_t from, uint64_t ms)
{
    *vec_push(&x->s.store.events) = (struct event){.kind = EVENT_MARKER,
                                                   .ts = START + from * MS,
                                                   .dur = ms * MS,
                                                   .task = x->lead,
                                                   .metric = case_str(x, text)};
}

static inline void case_env(struct rules_case *x, const char *text)
{
    *vec_push(&x->s.meta.env) = mem_strdup(text);
}

/* Appends what a rule said to the file that $WPROF_RULES_SAID names: that each has both is tested by it. */
static inline void case_said(const struct check *c)
{
    const char *path = getenv("WPROF_RULES_SAID");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "%s: %s\n", c->id, check_state_name(c->state));
    fclose(f);
}

/* Evaluates one rule anew; gives its check. */
static inline const struct check *case_run(struct rules_case *x, const char *id)
{
    struct err e = {0};

    findings_release(&x->f);
    x->f = (struct findings){0};
    vec_clear(&x->set.only);
    if (rule_only(&x->set, id, &e))
        fail_msg("%s", e.msg);
    rules_run(&x->f, &x->s, x->has_graph ? &x->g : NULL, &x->set);
    for (size_t i = 0; i < x->f.checks.n; i++) {
        if (!strcmp(x->f.checks.a[i].id, id)) {
            case_said(&x->f.checks.a[i]);
            return &x->f.checks.a[i];
        }
    }
    fail_msg("no check of %s", id);
    return NULL;
}

/* All rules. */
static inline void case_all(struct rules_case *x)
{
    findings_release(&x->f);
    x->f = (struct findings){0};
    vec_clear(&x->set.only);
    rules_run(&x->f, &x->s, x->has_graph ? &x->g : NULL, &x->set);
}

static inline void case_is(struct rules_case *x, const char *id, unsigned state)
{
    const struct check *c = case_run(x, id);

    if (c->state != state)
        fail_msg("%s is %s%s%s, not %s", id, check_state_name(c->state), c->detail ? ": " : "",
                 c->detail ? c->detail : "", check_state_name(state));
    for (size_t i = 0; i < x->f.list.n; i++) { /* every finding says all that one has to */
        const struct finding *f = &x->f.list.a[i];

        assert_non_null(f->title);
        assert_non_null(f->evidence);
        assert_non_null(f->advice);
        assert_true(f->cost_ns <= x->f.wall_ns);
    }
}

/* The one finding there is. */
static inline const struct finding *case_found(struct rules_case *x, const char *id)
{
    case_is(x, id, CHECK_FOUND);
    assert_true(x->f.list.n > 0);
    return &x->f.list.a[0];
}

/* A test has a case of its own as its state. */
static inline int case_setup(void **state)
{
    static struct rules_case the_case;

    case_init(&the_case);
    *state = &the_case;
    return 0;
}

static inline int case_teardown(void **state)
{
    case_release(*state);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, case_setup, case_teardown)

#endif
