/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of a long training on two GPUs, as the agent records it: make_gpu DIR KERNELS. Steps of 500
 * launches each by one thread a GPU, a launch from one of some thousand stacks; streams for computing,
 * communication, which overlaps, and copies; after each step the
 * thread waits, and the GPU idles.
 */
#include "model/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 2, OF_A_STEP = 500, NAMES = 400, GRIDS = 8, STACKS = 2000, FLUSH = 1 << 20 };

#define KERNEL_NS 8000
#define LAUNCH_NS 4000
#define GAP_NS    1500000 /* between steps */

struct gpu {
    uint32_t task;
    uint64_t host, device, copied; /* until when each is busy */
    uint64_t step, in_step;
};

struct making {
    struct store s;
    struct meta m;
    struct session_writer *w;
    uint32_t kernels[GPUS][NAMES][GRIDS], collective[GPUS], copy[GPUS], launch, transfer;
    uint32_t stacks[STACKS];
    struct gpu gpus[GPUS];
    uint64_t correlation, random;
};

static void must(int rc, const struct err *e)
{
    if (!rc)
        return;
    fprintf(stderr, "make_gpu: %s\n", e->msg);
    exit(1);
}

static uint64_t any(struct making *k, uint64_t n)
{
    k->random = k->random * 6364136223846793005u + 1442695040888963407u;
    return (k->random >> 33) % n;
}

static uint32_t work(struct making *k, const char *name, struct gpu_work w)
{
    w.name = strtab_add(&k->s.strings, name);
    return gpu_works_add(&k->s.gpus, &w);
}

static void make_works(struct making *k)
{
    k->launch = work(k, "cudaLaunchKernel", (struct gpu_work){.op = GPU_RUNTIME});
    k->transfer = work(k, "cudaMemcpyAsync", (struct gpu_work){.op = GPU_RUNTIME});
    for (unsigned g = 0; g < GPUS; g++) {
        struct gpu_work w = {.device = (uint16_t)(g + 1), .context = 1, .op = GPU_KERNEL, .stream = 13};

        k->collective[g] =
            work(k, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", w);
        w.op = GPU_COPY;
        w.stream = 14;
        w.from = GPU_PINNED;
        w.to = GPU_DEVICE;
        w.bytes = 1 << 20;
        k->copy[g] = work(k, "Memcpy HtoD (Pinned -> Device)", w);
        for (unsigned i = 0; i < NAMES * GRIDS; i++) {
            char name[160];

            snprintf(name, sizeof(name),
                     "void at::native::vectorized_elementwise_kernel<4, at::native::functor_%u<float>>(int, "
                     "float*)",
                     i / GRIDS);
            w = (struct gpu_work){.device = (uint16_t)(g + 1), .context = 1, .op = GPU_KERNEL, .stream = 7};
            w.grid[0] = 1u << i % GRIDS;
            w.block[0] = 128;
            k->kernels[g][i / GRIDS][i % GRIDS] = work(k, name, w);
        }
    }
}

/* Of Python functions: each stack a way through twelve layers. */
static void make_stacks(struct making *k)
{
    for (unsigned i = 0; i < STACKS; i++) {
        uint32_t stack = 0;

        for (unsigned depth = 0, way = i; depth < 12; depth++, way /= 2) {
            struct frame f = {.kind = FRAME_PYTHON, .line = depth * 10 + way % 64 + 1};
            char name[64];

            snprintf(name, sizeof(name), depth == 11 ? "call_%u" : "layer_%u_%u", depth == 11 ? i : depth,
                     way % 64);
            f.func = strtab_add(&k->s.strings, name);
            f.file = strtab_add(&k->s.strings, "/srv/train/model.py");
            stack = stacks_push(&k->s.stacks, stack, frames_add(&k->s.frames, &f));
        }
        k->stacks[i] = stack;
    }
}

static void make_tasks(struct making *k)
{
    for (unsigned g = 0; g < GPUS; g++)
        k->gpus[g].task =
            tasks_add(&k->s.tasks, &(struct task){.pid = 4000 + g,
                                                  .tid = 4000 + g,
                                                  .start_ns = 1,
                                                  .comm = strtab_add(&k->s.strings, "python3")});
}

static struct event *put(struct making *k, enum event_kind kind, uint32_t task, uint64_t ts, uint64_t dur)
{
    struct event *ev = vec_push(&k->s.events);

    *ev = (struct event){.ts = ts, .dur = dur, .value = 1, .task = task, .kind = (uint16_t)kind};
    return ev;
}

/* A call, and what it asks for as soon as its stream is free. */
struct asked {
    uint32_t call, what, stack;
    uint64_t ns;
};

static void ask(struct making *k, struct gpu *g, struct asked a, uint64_t *busy)
{
    struct event *ev = put(k, EVENT_GPU, g->task, g->host, LAUNCH_NS - 1000);

    ev->value = ++k->correlation;
    ev->attr = a.call;
    ev->stack = a.stack;
    g->host += LAUNCH_NS;
    *busy = *busy > g->host ? *busy : g->host;
    ev = put(k, EVENT_GPU, g->task, *busy, a.ns);
    ev->value = k->correlation;
    ev->attr = a.what;
    ev->stack = a.stack;
    *busy += a.ns + 300;
}

static void end_step(struct making *k, struct gpu *g, uint64_t began)
{
    struct event *ev;
    uint64_t idle = GAP_NS / 2 + any(k, GAP_NS);
    char name[32];

    g->host = g->device > g->host ? g->device : g->host;
    ev = put(k, EVENT_OFFCPU, g->task, g->host, idle);
    ev->stack = k->stacks[g->step % 7];
    g->host += idle;
    snprintf(name, sizeof(name), "step %llu", (unsigned long long)g->step++);
    ev = put(k, EVENT_MARKER, g->task, began, g->host - began);
    ev->metric = strtab_add(&k->s.strings, name);
}

/* Gives how many ran. */
static uint64_t step(struct making *k, unsigned which)
{
    struct gpu *g = &k->gpus[which];
    uint64_t began = g->host;

    for (unsigned i = 0; i < OF_A_STEP; i++) {
        uint64_t place = any(k, STACKS);
        struct asked a = {.call = k->launch, .stack = k->stacks[place]};

        if (i % 100 == 50) {
            a = (struct asked){k->transfer, k->copy[which], k->stacks[i], 90000};
            ask(k, g, a, &g->copied);
        } else if (i % 50 == 49) {
            a = (struct asked){k->launch, k->collective[which], k->stacks[i], 120000};
            ask(k, g, a, &g->copied);
        } else {
            a.what = k->kernels[which][place % NAMES][any(k, GRIDS)];
            a.ns = KERNEL_NS / 2 + any(k, KERNEL_NS);
            ask(k, g, a, &g->device);
        }
    }
    end_step(k, g, began);
    return OF_A_STEP;
}

int main(int argc, char **argv)
{
    static struct making k;
    struct session_create how = {
        .dir = argc > 1 ? argv[1] : NULL, .force = 1, .uid = (uid_t)-1, .gid = (gid_t)-1};
    uint64_t wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, done = 0;
    struct err e = {0};

    if (argc != 3 || !wanted)
        return 2;
    k.m = (struct meta){
        .session_id = mem_strdup("20260102-030405-bench1"), .schema_version = 1, .kind = mem_strdup("fused")};
    k.m.workload = mem_strdup("train");
    k.m.start_mono = 1000000000;
    make_works(&k);
    make_stacks(&k);
    make_tasks(&k);
    for (unsigned g = 0; g < GPUS; g++)
        k.gpus[g].host = k.m.start_mono + 1000;
    k.w = session_create(&how, &k.s, &k.m, &e);
    must(!k.w, &e);
    for (unsigned g = 0; done < wanted; g = (g + 1) % GPUS) {
        done += step(&k, g);
        if (k.s.events.n > FLUSH)
            must(session_flush(k.w, &e), &e);
    }
    for (unsigned g = 0; g < GPUS; g++)
        k.m.end_mono = k.gpus[g].host > k.m.end_mono ? k.gpus[g].host : k.m.end_mono;
    k.m.duration_s = (double)(k.m.end_mono - k.m.start_mono) / 1e9;
    must(session_seal(k.w, &k.m, &e), &e);
    session_writer_free(k.w);
    meta_release(&k.m);
    store_release(&k.s);
    return 0;
}
