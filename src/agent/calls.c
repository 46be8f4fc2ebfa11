/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's callbacks at calls that launch, copy, allocate or wait: which thread it was, and where. */
#include "agent/agent.h"
#include "agent/walk.h"

#include <errno.h>
#include <string.h>

enum { CALLS = 2048, MISSES = 128 }; /* numbers are dense from 1 on, in each domain */

/* Their names, by domain and number; CUPTI's own, constant, or cut into `cut`. */
static struct {
    const char *_Atomic names[2][CALLS];
    char cut[2][CALLS][48];
} known;

/* By the beginnings of their names, which stay from version to version where numbers are many. */
static const char *const wanted[] = {
    "cudaLaunchKernel",
    "__cudaLaunchKernel", /* what nvcc makes of <<<>>> since CUDA 13 */
    "cudaLaunchCooperative",
    "cudaGraphLaunch",
    "cudaMemcpy",
    "cudaMemset",
    "cudaMalloc",
    "cudaFree",
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "cuLaunch",
    "cuGraphLaunch",
    "cuMemcpy",
    "cuMemset",
    "cuMemAlloc",
    "cuMemFree",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventSynchronize",
};

/* Frequent, short, and of no interest: they leave no record. */
static const char *const quiet[] = {
    "cudaGetDevice",       "cudaSetDevice",         "cudaGetLastError",
    "cudaPeekAtLastError", "cudaStreamIsCapturing", "cudaEventCreate",
    "cudaEventDestroy",    "cuKernelGetAttribute",  "cuDevicePrimaryCtxGetState",
    "cuCtxGetCurrent",     "cuPointerGetAttribute",
};

static int begins_with_any(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(name, list[i], strlen(list[i])))
            return 1;
    return 0;
}

/* "_v7000": an underscore, a v, four or five digits. */
static size_t without_version(const char *name, size_t n)
{
    size_t digits = 0;

    while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9')
        digits++;
    if (digits < 4 || n < digits + 2 || name[n - digits - 1] != 'v' || name[n - digits - 2] != '_')
        return n;
    return n - digits - 2;
}

static size_t without_end(const char *name, size_t n, const char *end)
{
    size_t len = strlen(end);

    return n > len && !memcmp(name + n - len, end, len) ? n - len : n;
}

/* "__cudaLaunchKernel_ptsz_v13000" as programs have it, "cudaLaunchKernel": without the version, the mark of
 * those for a default stream of each thread, and what begins with underscores. */
static const char *short_name(const char *name, char out[48])
{
    size_t whole = strlen(name), n = without_version(name, whole);

    n = without_end(name, without_end(name, n, "_ptsz"), "_ptds");
    if (!strncmp(name, "__cuda", 6)) {
        name += 2;
        whole -= 2;
        n -= 2;
    }
    if (n == whole || n >= 48)
        return name;
    memcpy(out, name, n);
    out[n] = '\0';
    return out;
}

const char *calls_name(struct agent *a, uint32_t domain, uint32_t cbid)
{
    const char *name = NULL;

    (void)a;
    if (cbid < CALLS && (domain == CUPTI_DRIVER || domain == CUPTI_RUNTIME))
        name = atomic_load(&known.names[domain - 1][cbid]);
    return name;
}

static void choose_one(struct agent *a, uint32_t domain, uint32_t cbid, const char *name)
{
    int (*records)(uint32_t, uint8_t) =
        domain == CUPTI_DRIVER ? a->cupti.enable_driver : a->cupti.enable_runtime;

    atomic_store(&known.names[domain - 1][cbid], short_name(name, known.cut[domain - 1][cbid]));
    if (begins_with_any(name, wanted, sizeof(wanted) / sizeof(*wanted)) && a->cupti.enable_callback)
        a->cupti.enable_callback(1, a->subscriber, domain, cbid);
    else if (begins_with_any(name, quiet, sizeof(quiet) / sizeof(*quiet)) && records)
        records(cbid, 0);
}

void calls_choose(struct agent *a)
{
    for (uint32_t domain = CUPTI_DRIVER; domain <= CUPTI_RUNTIME && a->cupti.callback_name; domain++) {
        int misses = 0;

        for (uint32_t cbid = 1; cbid < CALLS && misses < MISSES; cbid++) {
            const char *name = NULL;

            if (a->cupti.callback_name(domain, cbid, &name) != CUPTI_OK || !name) {
                misses++;
                continue;
            }
            misses = 0;
            choose_one(a, domain, cbid, name);
        }
    }
    if (a->cupti.enable_callback && a->cupti.node_id) {
        a->cupti.enable_callback(1, a->subscriber, CUPTI_RESOURCE, CUPTI_NODE_CREATED);
        a->cupti.enable_callback(1, a->subscriber, CUPTI_RESOURCE, CUPTI_NODE_CLONED);
    }
}

/* ---- what is called ---- */

static __thread struct thread {
    struct walk_thread walk;
    int inside; /* in a call of the runtime, which calls the driver */
    uint32_t correlation, stack, generation;
} self;

/* The lock is held; given up here. */
static void put_launch(struct agent *a, uint32_t correlation, uint32_t stack)
{
    out_reserve(&a->out, 40);
    out_u8(&a->out, GPU_LAUNCH);
    out_correlation(&a->out, correlation);
    out_number(&a->out, (uint64_t)agent_tid());
    out_number(&a->out, stack);
    out_unlock(&a->out);
}

static void entered(struct agent *a, uint32_t domain, uint32_t correlation)
{
    struct thread *t = &self;

    if (domain == CUPTI_DRIVER && t->inside) {
        if (correlation == t->correlation)
            return;
        out_lock(&a->out);
        put_launch(a, correlation, t->generation == a->generation ? t->stack : 0);
        return;
    }
    agent_count(a, GPU_N_LAUNCHES, 1);
    others_launch(a);
    t->stack = walk_here(a, &t->walk);
    t->generation = a->generation;
    t->correlation = correlation;
    t->inside = domain == CUPTI_RUNTIME;
    put_launch(a, correlation, t->stack);
}

static void node(struct agent *a, uint32_t cbid, const struct cupti_graph *g)
{
    uint64_t id = 0, original = 0;
    uint32_t stack = 0;

    if (!g || a->cupti.node_id(g->node, &id) != CUPTI_OK)
        return;
    if (cbid == CUPTI_NODE_CLONED) {
        if (a->cupti.node_id(g->original_node, &original) != CUPTI_OK)
            return;
        out_lock(&a->out);
    } else {
        agent_count(a, GPU_N_LAUNCHES, 1);
        stack = walk_here(a, &self.walk);
    }
    out_reserve(&a->out, 40);
    out_u8(&a->out, GPU_NODE);
    out_number(&a->out, (uint32_t)id);
    out_number(&a->out, (uint32_t)original);
    out_number(&a->out, stack);
    out_unlock(&a->out);
}

void calls_seen(void *arg, uint32_t domain, uint32_t cbid, const void *data)
{
    const struct cupti_call *call = data;
    struct agent *a = arg;
    int before = errno;

    if (!agent_is_on(a) || !data)
        return;
    if (domain == CUPTI_RESOURCE)
        node(a, cbid, ((const struct cupti_resource *)data)->graph);
    else if (!call->site)
        entered(a, domain, call->correlation);
    else if (domain == CUPTI_RUNTIME)
        self.inside = 0;
    errno = before;
}
