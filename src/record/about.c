/* SPDX-License-Identifier: Apache-2.0 */
#include "record/about.h"

#include "base/buf.h"
#include "model/redact.h"
#include "platform/clock.h"
#include "platform/machine.h"
#include "record/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void fill_machine(struct meta *m)
{
    struct machine x;

    machine_read(&x);
    m->host = x.host;
    m->machine = x.arch;
    m->kernel = x.kernel;
    m->os = x.os;
    m->cpu_model = x.cpu_model;
    m->clock_id = x.clock;
    m->ncpus = x.ncpus;
}

void about_fill(struct meta *m, char *const *argv, char *const *env, const char *workload, const char *user)
{
    const char *listed[64];
    struct redacted command = {0};
    size_t n = redact_env(env, listed, ARRAY_SIZE(listed));

    fill_machine(m);
    m->session_id = mem_calloc(24, 1);
    session_new_id(m->session_id, (double)clock_ns(CLOCK_REALTIME) / 1e9);
    m->schema_version = 1;
    m->state = mem_strdup("recording");
    m->workload = workload ? mem_strdup(workload) : workload_name(argv);
    m->user = mem_strdup(user);
    m->cwd = getcwd(NULL, 0);
    m->exit_code = -1;
    redact_command(&command, argv);
    for (size_t i = 0; i < command.args.n; i++)
        *vec_push(&m->command) = mem_strdup(command.args.a[i]);
    redacted_release(&command);
    for (size_t i = 0; i < n; i++)
        *vec_push(&m->env) = mem_strdup(listed[i]);
}

void about_start(struct meta *m, uint64_t mono)
{
    /* Read close together; the pair is good to about a microsecond. */
    m->realtime_offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    m->start_mono = mono;
    m->start_ts = (double)(mono + m->realtime_offset) / 1e9;
}

void about_end(struct meta *m, uint64_t mono, const char *reason)
{
    m->end_mono = mono;
    m->end_ts = (double)(mono + m->realtime_offset) / 1e9;
    m->duration_s = (double)(mono - m->start_mono) / 1e9;
    free(m->end_reason);
    m->end_reason = mem_strdup(reason);
}

void about_languages(struct meta *m, const struct store *s)
{
    for (size_t i = 0; i < s->frames.list.n; i++)
        if (s->frames.list.a[i].kind == FRAME_PYTHON) {
            meta_add_language(m, "python");
            break;
        }
}

/* AIProf's word for what a collector yields. */
static const char *kind_of(const char *collector)
{
    static const struct {
        const char *collector, *kind;
    } kinds[] = {{"cpu", "cpu-oncpu"}, {"offcpu", "cpu-offcpu"}, {"gpu", "cupti"}};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!strcmp(kinds[i].collector, collector))
            return kinds[i].kind;
    }
    return collector;
}

void about_kinds(struct meta *m)
{
    for (size_t i = 0; i < m->kinds.n; i++)
        free(m->kinds.a[i]);
    vec_clear(&m->kinds);
    for (size_t i = 0; i < m->collectors.n; i++) {
        if (!strcmp(m->collectors.a[i].state, "on"))
            *vec_push(&m->kinds) = mem_strdup(kind_of(m->collectors.a[i].name));
    }
    free(m->kind);
    m->kind = mem_strdup(m->kinds.n == 1 ? m->kinds.a[0] : "fused");
}

void about_note(struct meta *m, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    *vec_push(&m->notes) = buf_detach(&b);
}
