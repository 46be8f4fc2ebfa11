/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another profiler in the process that takes CUPTI's records without subscribing, as torch.profiler does:
 * calls are still seen, records are not. CUPTI does not tell whether it still records, and who records loses
 * what we take back: PyTorch is asked whether one of the threads that launch has a profiler on. Of others
 * nothing is taken back.
 */
#include "agent/agent.h"

#include "agent/glibc.h"

#include <dlfcn.h>

enum {
    SILENT = 2, /* flushes with calls and without records */
    OFF = 60,   /* flushes with launches, and without a profiler of PyTorch's: it may be warming up */
};

/* torch::profiler::impl::ProfilerStateBase::get(bool global), of PyTorch 1.13 on: the thread's, or the
 * process's; NULL: none. */
static void *(*_Atomic torch_state)(int global);
static atomic_int is_on; /* since the last flush */

static void find_torch(void)
{
    void *library, *found;

    if (atomic_load(&torch_state))
        return;
    library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    found = library ? dlsym(library, "_ZN5torch8profiler4impl17ProfilerStateBase3getEb") : NULL;
    if (found)
        atomic_store(&torch_state, (void *(*)(int))found);
}

void others_launch(struct agent *a)
{
    void *(*state)(int) =
        atomic_load_explicit(&a->taken, memory_order_relaxed) ? atomic_load(&torch_state) : NULL;

    if (state && (state(0) || state(1)))
        atomic_store(&is_on, 1);
}

static void take_back(struct agent *a)
{
    atomic_store(&a->taken, 0);
    a->cupti.register_callbacks(records_requested, records_completed);
    a->kinds_on = 0;
    inject_kinds(a);
    agent_state(a, GPU_RETAKEN, (uint64_t)a->kinds_on);
}

void others_look(struct agent *a)
{
    static uint64_t launches, buffers, silent, off, told, last; /* of the keeper alone; told, last: when */
    uint64_t l = atomic_load(&a->counts[GPU_N_LAUNCHES]), b = atomic_load(&a->buffers);
    int quiet = b == buffers, launched = l != launches;

    if (!silent)
        told = last;
    last = agent_clock();
    launches = l;
    buffers = b;
    if (!quiet) {
        silent = off = 0;
        atomic_store(&a->taken, 0);
        return;
    }
    silent += silent || launched;
    if (silent == SILENT) {
        atomic_store(&is_on, 1);
        atomic_store(&a->taken, 1);
        agent_state(a, GPU_TAKEN, told);
    }
    if (silent < SILENT)
        return;
    find_torch();
    if (atomic_exchange(&is_on, 0))
        off = 0;
    else if (launched && atomic_load(&torch_state))
        off++;
    if (off < OFF)
        return;
    silent = off = 0;
    take_back(a);
}
