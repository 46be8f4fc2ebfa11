/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_describe.h"

#include "base/mem.h"
#include "exchange/import/perf_data_names.h"

#include <stdlib.h>

static void set_text(char **to, const char *value)
{
    if (!value || !*value)
        return;
    free(*to);
    *to = mem_strdup(value);
}

void perf_describe_time(const struct perf_file *f, const struct event *samples, size_t n, double written,
                        struct meta *m)
{
    const struct perf_about *a = &f->about;
    uint64_t first = UINT64_MAX, last = 0;
    double length;

    for (size_t i = 0; i < n; i++) {
        first = samples[i].ts < first ? samples[i].ts : first;
        last = samples[i].ts > last ? samples[i].ts : last;
    }
    if (!last)
        return;
    length = (double)(last - first) / 1e9;
    if (a->wall_told)
        m->start_ts = (double)a->wall_ns / 1e9 + ((double)first - (double)a->clock_ns) / 1e9;
    else if (written > 0)
        m->start_ts = written - length;
    else
        return;
    m->end_ts = m->start_ts + length;
    if (!a->wall_told)
        *vec_push(&m->notes) = mem_strdup("when it was is taken from the file's time of change");
}

void perf_describe(const struct perf_file *f, const struct perf_stream_stats *stats, struct meta *m,
                   struct import_stats *st)
{
    const struct perf_about *a = &f->about;

    set_text(&m->host, a->host);
    set_text(&m->kernel, a->release);
    set_text(&m->machine, a->arch);
    set_text(&m->cpu_model, a->cpu);
    m->ncpus = a->ncpus ? a->ncpus : m->ncpus;
    if (a->version)
        *vec_push(&m->notes) = mem_printf("perf's version: %s", a->version);
    if (a->command)
        *vec_push(&m->notes) = mem_printf("perf was called as: %s", a->command);
    if (f->unfinished)
        perf_note(m, mem_strdup("perf did not end it: build ids and names that it writes last are missing"));
    if (stats->damage[0])
        perf_note(m, mem_printf("%s (at byte %zu of %zu): what stands before is here", stats->damage,
                                stats->cut_at, f->n));
    if (stats->traced)
        perf_note(
            m,
            mem_printf("%llu bytes of a hardware trace (Intel PT, CoreSight ...) are left out: they are not "
                       "decoded",
                       (unsigned long long)stats->traced));
    import_count(st, IMPORT_LOST, "part of its header|parts of its header", f->bad + stats->bad);
    import_count(st, IMPORT_NOTED, "record out of order|records out of order", stats->out_of_order);
}

void perf_describe_stacks(const struct perf_stack *stack, struct import_stats *st)
{
    const struct perf_stack_stats *n = &stack->stats;

    import_count(st, IMPORT_NOTED, "stack walked here|stacks walked here", n->walked);
    import_count(st, IMPORT_NOTED, "of these not to its beginning|of these not to their beginning", n->ended);
    import_count(st, IMPORT_LEFT,
                 "copied stack of other than 64-bit x86 code|copied stacks of other than 64-bit x86 code",
                 n->unwalked);
    import_count(st, IMPORT_LEFT, "user's stack in a record of its own|users' stacks in records of their own",
                 n->deferred);
    import_count(st, IMPORT_LEFT, "sample's branches|samples' branches", n->branches);
    import_count(st, IMPORT_LOST, "process's inherited mappings|processes' inherited mappings",
                 stack->maps->uninherited);
}
