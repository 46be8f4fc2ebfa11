/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/symbolize.h"

#include "analyze/language.h"
#include "analyze/symbolize_job.h"
#include "base/log.h"
#include "platform/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 2 /* tables are read once each: more threads would wait for the largest one */

struct jobs {
    VEC(struct job) list;
    struct map of_module; /* module id -> index in list + 1 */
    atomic_size_t next;
};

void job_set(struct job *j, size_t i, const struct frame_name *names, size_t n)
{
    j->results[i] = (struct job_result){.first = (uint32_t)j->names.n, .n = (uint32_t)n};
    for (size_t k = 0; k < n; k++)
        *vec_push(&j->names) = names[k];
}

uint32_t job_symbol(struct job *j, const char *raw)
{
    j->languages |= 1u << language_of_symbol(raw);
    return strtab_add(&j->strings, demangle_cached(&j->demangled, raw));
}

static int wants_name(const struct frame *f)
{
    return (f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL || f->kind == FRAME_JIT) && !f->names_n &&
           !f->func;
}

static int is_kernel(const struct module *m)
{
    return m->kind == MODULE_KERNEL || m->kind == MODULE_KMOD;
}

/* The job of a module; all of the kernel's modules share the first one's, since kallsyms is read whole. */
static struct job *job_of(struct jobs *jobs, struct store *s, const struct symbolize_opts *o, uint32_t module)
{
    const struct module *m = frames_module(&s->frames, module);
    uint64_t *index;

    if (!m || m->kind == MODULE_NONE || m->kind == MODULE_OTHER)
        return NULL;
    index = map_put(&jobs->of_module, is_kernel(m) ? 0 : module);
    if (!*index) {
        *vec_push(&jobs->list) = (struct job){.opts = o,
                                              .module = m,
                                              .path = strtab_get(&s->strings, m->path),
                                              .task = tasks_get(&s->tasks, m->task)};
        *index = jobs->list.n;
    }
    return &jobs->list.a[*index - 1];
}

static int by_addr(const void *a, const void *b)
{
    const struct job_frame *x = a, *y = b;

    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void job_prepare(struct job *j)
{
    qsort(j->frames.a, j->frames.n, sizeof(*j->frames.a), by_addr);
    j->addrs = mem_alloc(j->frames.n * sizeof(*j->addrs));
    for (size_t i = 0; i < j->frames.n; i++)
        if (!j->n || j->addrs[j->n - 1] != j->frames.a[i].addr)
            j->addrs[j->n++] = j->frames.a[i].addr;
    j->results = mem_calloc(j->n, sizeof(*j->results));
}

static void job_run(struct job *j)
{
    switch (j->module->kind) {
    case MODULE_FILE:
    case MODULE_VDSO:
        symbolize_file(j);
        break;
    case MODULE_KERNEL:
    case MODULE_KMOD:
        symbolize_kernel(j);
        break;
    case MODULE_JIT:
        symbolize_jit(j);
        break;
    }
}

static void job_release(struct job *j)
{
    vec_release(&j->frames);
    vec_release(&j->names);
    free(j->addrs);
    free(j->results);
    strtab_release(&j->strings);
    demangle_cache_release(&j->demangled);
}

static void *work(void *arg)
{
    struct jobs *jobs = arg;
    size_t i;

    while ((i = atomic_fetch_add(&jobs->next, 1)) < jobs->list.n)
        job_run(&jobs->list.a[i]);
    return NULL;
}

/* This thread works too, so that it goes on where no other can be started. */
static void run_all(struct jobs *jobs)
{
    pthread_t others[WORKERS - 1];
    size_t started = 0;

    while (started < WORKERS - 1 && started + 1 < jobs->list.n &&
           !pthread_create(&others[started], NULL, work, jobs))
        started++;
    work(jobs);
    while (started)
        pthread_join(others[--started], NULL);
}

static void collect(struct jobs *jobs, struct store *s, const struct symbolize_opts *o,
                    struct symbolize_stats *stats)
{
    for (uint32_t id = 1; id <= s->frames.list.n; id++) {
        const struct frame *f = frames_get(&s->frames, id);
        struct job *j;

        if (!wants_name(f))
            continue;
        stats->frames++;
        j = job_of(jobs, s, o, f->module);
        if (j)
            *vec_push(&j->frames) = (struct job_frame){f->addr - (f->flags & FRAME_RETURN ? 1 : 0), id};
    }
    for (size_t i = 0; i < jobs->list.n; i++)
        job_prepare(&jobs->list.a[i]);
    stats->modules = jobs->list.n;
}

/* Puts a job's names into the store. */
static void job_deliver(struct job *j, struct store *s, struct symbolize_stats *stats)
{
    for (size_t k = 0; k < j->names.n; k++) {
        struct frame_name *name = &j->names.a[k];

        name->func = strtab_add(&s->strings, strtab_get(&j->strings, name->func));
        name->file = strtab_add(&s->strings, strtab_get(&j->strings, name->file));
    }
    for (size_t k = 0, i = 0; k < j->frames.n; k++) {
        const struct job_result *r;

        while (j->addrs[i] != j->frames.a[k].addr)
            i++;
        r = &j->results[i];
        if (!r->n || r->place) /* stripped: most such code is */
            j->languages |= j->module->kind == MODULE_FILE ? 1u << LANGUAGE_C : 0;
        if (!r->n)
            continue;
        frames_set_names(&s->frames, j->frames.a[k].frame, j->names.a + r->first, r->n);
        stats->named += !r->place;
        stats->inlined += r->n - 1;
    }
    if (!is_kernel(j->module))
        stats->languages |= j->languages;
    stats->modules_without_symbols += j->no_symbols != 0;
}

/* One line for all: on another machine than the recording one, every file may differ. */
static void say_not_recorded(const struct jobs *jobs)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < jobs->list.n; i++) {
        if (!jobs->list.a[i].not_recorded)
            continue;
        if (!first)
            first = jobs->list.a[i].path;
        n++;
    }
    if (n == 1)
        log_warn("%s is not the file that was recorded (another build id): its functions stay unnamed",
                 first);
    else if (n)
        log_warn("%s and %zu more are not the files that were recorded (other build ids): their functions "
                 "stay unnamed",
                 first, n - 1);
}

int symbolize_store(struct store *s, const struct symbolize_opts *o, struct symbolize_stats *stats,
                    struct err *e)
{
    static const struct symbolize_opts defaults = {0};
    struct symbolize_stats none;
    struct jobs jobs = {0};
    uint64_t start = clock_monotonic();

    if (!stats)
        stats = &none;
    *stats = (struct symbolize_stats){0};
    collect(&jobs, s, o ? o : &defaults, stats);
    run_all(&jobs);
    say_not_recorded(&jobs);
    for (size_t i = 0; i < jobs.list.n; i++) {
        job_deliver(&jobs.list.a[i], s, stats);
        job_release(&jobs.list.a[i]);
    }
    stats->unnamed = stats->frames - stats->named;
    stats->ns = clock_monotonic() - start;
    vec_release(&jobs.list);
    map_release(&jobs.of_module);
    return 0;
}
