/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_attach.h"

#include "base/log.h"
#include "model/store_visit.h"
#include "platform/bpf.h"
#include "platform/proctask.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_AT = 64 }; /* processes whose mappings are looked at, at most */

/* Those that a program calls by name; a library that lacks one has others. */
static const char *const driver[] = {
    "cuLaunchKernel",      "cuLaunchKernelEx",     "cuLaunchCooperativeKernel", "cuGraphLaunch",
    "cuMemcpyAsync",       "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",      "cuMemcpyDtoDAsync_v2",
    "cuMemcpyHtoD_v2",     "cuMemcpyDtoH_v2",      "cuMemsetD8Async",           "cuMemsetD32Async",
    "cuStreamSynchronize", "cuEventSynchronize",   "cuCtxSynchronize",
};

static const char *const runtime[] = {
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cudaGraphLaunch",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaDeviceSynchronize",
};

/* What is one function to who writes programs: those for a default stream of each thread, and what nvcc makes
 * of <<<>>> since CUDA 13. None of them goes through another. */
static const struct {
    const char *before, *after;
} variants[] = {{"", ""}, {"", "_ptsz"}, {"__", ""}, {"__", "_ptsz"}};

_Static_assert(ARRAY_SIZE(driver) + ARRAY_SIZE(runtime) <= WIRE_GPU_CALLS, "each has a place of its own");

/* The place of a function, shared by all files that have it. */
static size_t place_of(struct gpu_attach *a, const char *name)
{
    size_t i = 0;

    while (i < a->ncalls && strcmp(a->calls[i].name, name))
        i++;
    if (i == a->ncalls)
        a->calls[a->ncalls++].name = name;
    return i;
}

static void attach_all(struct gpu_attach *a, const char *path, const char *const *names, size_t n)
{
    size_t done = 0;
    struct err e = {0};

    for (size_t i = 0; i < n * ARRAY_SIZE(variants); i++) {
        const char *name = names[i / ARRAY_SIZE(variants)];
        size_t v = i % ARRAY_SIZE(variants);
        struct err why = {0};
        char symbol[64];

        snprintf(symbol, sizeof(symbol), "%s%s%s", variants[v].before, name, variants[v].after);
        if (!bpfside_gpu_attach(a->trace->bpf, path, symbol, (uint32_t)place_of(a, name), &why))
            done++;
        else
            e = why;
    }
    log_debug("GPU: %s: %zu functions", path, done);
    if (!done)
        a->why = e;
}

/* Once each file, whichever process has it mapped first. */
static void take_file(struct gpu_attach *a, pid_t pid, const char *name)
{
    int is_driver = strstr(name, "/libcuda.so") != NULL;
    char *path = mem_printf("/proc/%d/root%s", (int)pid, name);
    struct stat st;

    if (stat(path, &st)) {
        free(path);
        return;
    }
    for (size_t i = 0; i < a->files.n; i++)
        if (a->files.a[i].dev == st.st_dev && a->files.a[i].ino == st.st_ino) {
            free(path);
            return;
        }
    *vec_push(&a->files) = (struct gpu_attach_file){st.st_dev, st.st_ino};
    if (is_driver)
        attach_all(a, path, driver, ARRAY_SIZE(driver));
    else
        attach_all(a, path, runtime, ARRAY_SIZE(runtime));
    free(path);
}

/* A line of maps ends with the path, which begins with the first slash. */
static void look_at_maps(struct gpu_attach *a, pid_t pid)
{
    struct buf maps = {0};
    char *save = NULL;

    if (!proctask_read(pid, 0, "maps", &maps) && maps.data)
        for (char *line = strtok_r(maps.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
            const char *path = strchr(line, '/');

            if (path && (strstr(path, "/libcuda.so") || strstr(path, "/libcudart.so")))
                take_file(a, pid, path);
        }
    buf_release(&maps);
}

static void look_for_libraries(struct gpu_attach *a)
{
    struct pid_list all = {0};

    for (size_t i = 0; i < a->ctx->targets.n; i++)
        *vec_push(&all.list) = a->ctx->targets.a[i];
    for (size_t i = 0; i < all.list.n && i < LOOK_AT; i++) {
        look_at_maps(a, all.list.a[i]);
        proctask_children(all.list.a[i], &all);
    }
    vec_release(&all.list);
}

static int is_runtime(const char *call)
{
    return !strncmp(call, "cuda", 4);
}

static uint32_t work_of(struct gpu_attach *a, struct gpu_attach_call *c)
{
    struct gpu_work key;

    memset(&key, 0, sizeof(key)); /* compared by its bytes */
    key.name = strtab_add(&a->ctx->store->strings, c->name);
    key.op = is_runtime(c->name) ? GPU_RUNTIME : GPU_DRIVER;
    return c->work = gpu_works_add(&a->ctx->store->gpus, &key);
}

/* A call with its stack, for itself and for those before it that had none. */
static void on_call(void *arg, const void *record, size_t n)
{
    struct gpu_attach *a = arg;
    const struct wire_sample *s = record;
    struct gpu_attach_call *c;
    uint32_t task, stack;
    struct process *p;
    struct event *ev;
    uint16_t flags;

    if (n < sizeof(*s) || s->pad >= a->ncalls)
        return;
    c = &a->calls[s->pad];
    p = trace_task(a->trace, &s->task, s->head.ts, s->image, 0, &task);
    stack = stack_take(&a->trace->taker, p, s, &flags);
    a->stacks++;
    ev = vec_push(&a->ctx->store->events);
    *ev = (struct event){
        .ts = s->head.ts, .task = task, .stack = stack, .cpu = s->cpu, .flags = flags, .kind = EVENT_GPU};
    ev->attr = c->work ? c->work : work_of(a, c);
}

int gpu_attach_open(struct gpu_attach *a, struct record_ctx *ctx, struct err *e)
{
    a->ctx = ctx;
    a->trace = trace_get(ctx, e);
    if (!a->trace)
        return -1;
    if (bpfside_gpu_ready(a->trace->bpf, e)) {
        trace_put(a->trace);
        a->trace = NULL;
        return -1;
    }
    metrics_out_init(&a->out, ctx->store);
    trace_handle(a->trace, WIRE_GPU_CALL, on_call, a);
    return 0;
}

static int kind_of(const char *call)
{
    if (strstr(call, "Launch"))
        return GPU_ATTACH_LAUNCH;
    return strstr(call, "Synchronize") ? GPU_ATTACH_WAIT : GPU_ATTACH_COPY;
}

static const enum metric_id metrics[GPU_ATTACH_KINDS] = {METRIC_ID_GPU_LAUNCHES, METRIC_ID_GPU_COPIES,
                                                         METRIC_ID_GPU_WAITS};

static void count(struct gpu_attach *a)
{
    uint64_t sums[2][GPU_ATTACH_KINDS] = {0}, ts = a->ctx->now();

    for (size_t i = 0; i < a->ncalls; i++) {
        struct wire_gpu_calls sum;

        bpfside_gpu_calls(a->trace->bpf, (uint32_t)i, &sum);
        a->calls[i].last = sum.calls;
        sums[is_runtime(a->calls[i].name)][kind_of(a->calls[i].name)] += sum.calls;
    }
    for (int i = 0; a->ncalls && i < GPU_ATTACH_KINDS; i++) { /* the runtime's calls call the driver's */
        uint64_t sum = sums[0][i] > sums[1][i] ? sums[0][i] : sums[1][i];

        metrics_count(&a->out, &a->rates[i], (struct metrics_key){.id = metrics[i]}, ts, sum);
    }
}

int gpu_attach_start(struct gpu_attach *a, struct err *e)
{
    if (trace_begin(a->trace, e))
        return -1;
    look_for_libraries(a);
    count(a);
    return 0;
}

int gpu_attach_poll(struct gpu_attach *a, struct err *e)
{
    a->turns++;
    if (!(a->turns & (a->turns - 1))) /* after 1, 2, 4 ... seconds */
        look_for_libraries(a);
    count(a);
    return trace_poll(a->trace, e);
}

int gpu_attach_stop(struct gpu_attach *a, struct err *e)
{
    int rc;

    bpfside_gpu_stop(a->trace->bpf);
    count(a);
    for (int i = 0; i < GPU_ATTACH_KINDS; i++)
        metrics_end(&a->out, &a->rates[i], (struct metrics_key){.id = metrics[i]});
    rc = trace_poll(a->trace, e);
    track_apply(a->trace->track, UINT64_MAX);
    return rc;
}

void gpu_attach_counters(struct gpu_attach *a)
{
    char name[80];

    for (size_t i = 0; i < a->ncalls; i++) {
        if (!a->calls[i].last)
            continue;
        snprintf(name, sizeof(name), "gpu.calls.%s", a->calls[i].name);
        store_set_counter(a->ctx->store, name, a->calls[i].last);
    }
    store_set_counter(a->ctx->store, "gpu.stacks", a->stacks);
}

uint64_t gpu_attach_total(const struct gpu_attach *a)
{
    uint64_t n = 0;

    for (size_t i = 0; i < a->ncalls; i++)
        n += a->calls[i].last;
    return n;
}

void gpu_attach_ids(struct gpu_attach *a, struct store_visit *v)
{
    trace_ids(a->trace, v);
    metrics_out_ids(&a->out, v);
    for (size_t i = 0; v->moved && i < a->ncalls; i++)
        a->calls[i].work = 0;
}

void gpu_attach_close(struct gpu_attach *a)
{
    if (a->trace) {
        bpfside_gpu_stop(a->trace->bpf);
        trace_handle(a->trace, WIRE_GPU_CALL, NULL, NULL);
        trace_put(a->trace);
    }
    a->trace = NULL;
    vec_release(&a->files);
}
