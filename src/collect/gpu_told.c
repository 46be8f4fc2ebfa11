/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_told.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum gpu_count what;
} counters[] = {
    {"gpu.records", GPU_N_RECORDS},    {"gpu.unknown_records", GPU_N_UNKNOWN},
    {"gpu.dropped", GPU_N_DROPPED},    {"gpu.bad_times", GPU_N_TIMES},
    {"gpu.launches", GPU_N_LAUNCHES},  {"gpu.stacks", GPU_N_STACKS},
    {"gpu.over_budget", GPU_N_BUDGET}, {"gpu.stacks_cut", GPU_N_CUT},
    {"gpu.no_python", GPU_N_NOPYTHON}, {"gpu.foreign_buffers", GPU_N_FOREIGN},
    {"gpu.resets", GPU_N_RESETS},
};

static uint64_t sum_count(const struct gpu_logs *g, enum gpu_count what)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < g->files.n; i++)
        sum += g->files.a[i]->log.counts[what];
    return sum;
}

/* Of a field of struct gpu_log. */
#define SUM(g, field)                                                                                        \
    (__extension__({                                                                                         \
        uint64_t sum_ = 0;                                                                                   \
        for (size_t i_ = 0; i_ < (g)->files.n; i_++)                                                         \
            sum_ += (g)->files.a[i_]->field;                                                                 \
        sum_;                                                                                                \
    }))

/* It armed, or marked by NVTX, and neither said that it ended nor that it stopped. */
static int was_cut(const struct gpu_log *l)
{
    return (l->states.seen[GPU_ARMED] || l->marked) && !l->states.seen[GPU_ENDED];
}

static uint64_t cut(const struct gpu_logs *g)
{
    uint64_t n = 0;

    for (size_t i = 0; i < g->files.n; i++)
        n += (uint64_t)was_cut(&g->files.a[i]->log);
    return n;
}

void gpu_told_counters(const struct gpu_logs *g, struct store *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
        store_set_counter(s, counters[i].name, sum_count(g, counters[i].what));
    store_set_counter(s, "gpu.processes", g->files.n);
    store_set_counter(s, "gpu.events", SUM(g, log.events));
    store_set_counter(s, "gpu.on_device", SUM(g, log.on_device));
    store_set_counter(s, "gpu.unasked", SUM(g, log.unasked));
    store_set_counter(s, "gpu.outside", SUM(g, log.outside));
    store_set_counter(s, "gpu.gaps", SUM(g, log.states.seen[GPU_TAKEN]));
    store_set_counter(s, "gpu.cut", cut(g));
    store_set_counter(s, "gpu.damaged", SUM(g, log.damaged));
    store_set_counter(s, "gpu.unread_bytes", SUM(g, unread));
    store_set_counter(s, "gpu.strange_files", g->strange);
}

static void note(struct record_ctx *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note(struct record_ctx *ctx, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;

    buf_addstr(&b, "GPU: ");
    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    log_warn("%s", buf_str(&b));
    *vec_push(&ctx->meta->notes) = buf_detach(&b);
}

/* What an error of CUPTI's means, and what helps: of cupti_result.h those that a program's machine brings. */
static const char *refusal(uint64_t error)
{
    static const struct {
        uint64_t error;
        const char *text;
    } known[] = {
        {15, " (it can't connect to the driver)"},
        {23, " (another profiler is active)"},
        {33, " (the GPU is virtualized)"},
        {35, " (profiling is the administrator's alone: the driver's module option "
             "NVreg_RestrictProfilingToAdminUsers=0 allows it)"},
        {40, " (the GPU is virtualized, and its host does not allow profiling)"},
        {41, " (confidential computing is on)"},
        {42, " (a GPU made for mining)"},
        {43, " (a part of a GPU, MIG)"},
        {45, " (the GPU is that of Windows, WSL)"},
        {999, " (it can't connect to the driver: is there one, as new as CUPTI is?)"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].error == error)
            return known[i].text;
    return "";
}

/* What keeps an agent from recording. */
static void note_refusal(struct record_ctx *ctx, const struct gpu_log *l)
{
    const struct gpu_log_states *s = &l->states;

    if (s->seen[GPU_OTHER])
        note(ctx,
             "no kernels of process %u: another profiler has subscribed to CUPTI there (its error 39), and "
             "only one can; "
             "record without it (nsys, ncu, cuda-gdb, a profiling option of the program)",
             l->pid);
    if (s->seen[GPU_REFUSED])
        note(ctx, "no kernels of process %u: CUPTI refuses, its error %llu%s", l->pid,
             (unsigned long long)s->number[GPU_REFUSED], refusal(s->number[GPU_REFUSED]));
    if (s->seen[GPU_NO_CUPTI])
        note(ctx,
             s->number[GPU_NO_CUPTI] ? "no kernels of process %u: its libcupti lacks functions that are "
                                       "needed (CUDA 11 or newer has them)"
                                     : "no kernels of process %u: no libcupti.so.11, .12 or .13 was found; "
                                       "have it in LD_LIBRARY_PATH (a "
                                       "toolkit's extras/CUPTI/lib64, or the package nvidia-cuda-cupti)",
             l->pid);
    if (s->seen[GPU_KIND_REFUSED])
        note(ctx, "CUPTI refuses %u kinds of records of process %u, the last one number %llu",
             s->seen[GPU_KIND_REFUSED], l->pid, (unsigned long long)s->number[GPU_KIND_REFUSED]);
}

static void note_one(struct record_ctx *ctx, const struct gpu_log *l)
{
    const struct gpu_log_states *s = &l->states;

    note_refusal(ctx, l);
    if (s->seen[GPU_TAKEN])
        note(ctx,
             "another profiler (torch.profiler?) took the records of process %u, %u times: what ran "
             "meanwhile is missing, "
             "the gaps are marked",
             l->pid, s->seen[GPU_TAKEN]);
    if (s->seen[GPU_TAKEN] > s->seen[GPU_RETAKEN])
        note(ctx,
             "process %u: the other profiler kept the records until the end: it may have gone on, and would "
             "have lost what is taken back (torch.profiler tells when it has ended, and is waited for for a "
             "minute of launches)",
             l->pid);
    if (s->seen[GPU_NO_PYTHON])
        note(ctx,
             "process %u runs a CPython %llu.%llu whose frames can't be read: launches have native stacks "
             "alone",
             l->pid, (unsigned long long)s->number[GPU_NO_PYTHON] >> 8,
             (unsigned long long)s->number[GPU_NO_PYTHON] & 255);
}

static void note_sums(const struct gpu_logs *g, struct record_ctx *ctx)
{
    uint64_t dropped = sum_count(g, GPU_N_DROPPED), bad = sum_count(g, GPU_N_TIMES);
    uint64_t damaged = SUM(g, log.damaged);

    if (dropped)
        note(ctx, "CUPTI dropped %llu records for want of buffers", (unsigned long long)dropped);
    if (bad)
        note(ctx, "%llu records with impossible times (zero, or an end before the start) are left out",
             (unsigned long long)bad);
    if (damaged)
        note(ctx, "%llu blocks of the agents' logs make no sense and are left out",
             (unsigned long long)damaged);
}

/* Why there is no agent: the words differ, since so does what helps. */
static const char *why_none(const struct record_ctx *ctx, enum gpu_seen seen)
{
    if (!ctx->launched)
        return "what runs already can't be told to load the agent: no kernel times";
    if (ctx->gpu_env == GPU_ENV_TAKEN)
        return "CUDA_INJECTION64_PATH was set already, and is left alone: no kernel times";
    if (ctx->gpu_env == GPU_ENV_NO_AGENT)
        return "libwprof-cuda.so is not beside wprof nor in ../lib/wprof: no kernel times";
    switch (seen) {
    case GPU_SEEN_OURS:
        return "libwprof-cuda.so was loaded, but could not write into the session's directory: no kernel "
               "times "
               "(does the program change its user before CUDA begins, or has it no descriptor left?)";
    case GPU_SEEN_DEVICE:
        return "CUDA was initialised, but the driver did not load libwprof-cuda.so (may the command's user "
               "read it? is its "
               "C library older than 2.17?)";
    case GPU_SEEN_LIBRARY:
        return "libcuda was loaded, but CUDA was never initialised, or the driver did not load "
               "libwprof-cuda.so: no kernel times (does the program clear its environment?)";
    default:
        return ctx->end_mono ? "CUDA was never initialised" : "CUDA was not initialised so far";
    }
}

void gpu_told_notes(const struct gpu_logs *g, struct record_ctx *ctx, enum gpu_seen seen)
{
    for (size_t i = 0; i < g->files.n; i++)
        note_one(ctx, &g->files.a[i]->log);
    note_sums(g, ctx);
    if (g->files.n && ctx->gpu_env == GPU_ENV_NVTX_TAKEN)
        note(ctx, "NVTX_INJECTION64_PATH was set already, and is left alone: NVTX ranges are missing");
    if (!g->files.n && !ctx->gpu_calls &&
        (seen || ctx->gpu_env == GPU_ENV_TAKEN || ctx->gpu_env == GPU_ENV_NO_AGENT))
        note(ctx, "%s", why_none(ctx, seen));
    if (ctx->launched && cut(g))
        *vec_push(&ctx->meta->notes) = mem_printf(
            "GPU: %llu processes did not end in an orderly way (_exit, a signal, or they still run): what "
            "they did in their last second may be missing",
            (unsigned long long)cut(g));
}

/* Of a process that has but marked by NVTX. */
static int has_begun(const struct gpu_log *l)
{
    static const enum gpu_state at_cuda[] = {GPU_ARMED, GPU_NO_CUPTI, GPU_OTHER, GPU_REFUSED,
                                             GPU_KIND_REFUSED};

    for (size_t i = 0; i < ARRAY_SIZE(at_cuda); i++)
        if (l->states.seen[at_cuda[i]])
            return 1;
    return 0;
}

static size_t begun(const struct gpu_logs *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->files.n; i++)
        n += (size_t)has_begun(&g->files.a[i]->log);
    return n;
}

const char *gpu_told_figures(const struct gpu_logs *g, char *out, size_t n)
{
    size_t marked = g->files.n;

    if (!begun(g)) {
        snprintf(out, n, "CUDA was never initialised in the %zu process%s that mark%s by NVTX", marked,
                 marked == 1 ? "" : "es", marked == 1 ? "s" : "");
        return out;
    }
    snprintf(out, n, "%llu kernels, copies and sets of %zu process%s, %llu of %llu launches with a stack",
             (unsigned long long)SUM(g, log.on_device), begun(g), begun(g) == 1 ? "" : "es",
             (unsigned long long)sum_count(g, GPU_N_STACKS),
             (unsigned long long)sum_count(g, GPU_N_LAUNCHES));
    return out;
}

const char *gpu_told_detail(const struct gpu_logs *g, const struct record_ctx *ctx, enum gpu_seen seen,
                            char *out, size_t n)
{
    if (g->files.n)
        return gpu_told_figures(g, out, n);
    snprintf(out, n, "%s", why_none(ctx, seen));
    return out;
}
