/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libcuda.so.1, with a few functions of the runtime and of NVTX: one device whose streams run what
 * they are given one after the other, each kernel for as long as its name says ("a@2000": 2000 us). cuInit()
 * loads what CUDA_INJECTION64_PATH names, as the driver does. FAKE_CUPTI_TRUTH names a file that gets a line
 * for all that ran: kind, name, stream, start and end (CLOCK_MONOTONIC ns), correlation id.
 * FAKE_CUDA_VERSION: 12 by default.
 */
#include "cupti.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FN(name, ...)                                                                                        \
    int name(__VA_ARGS__);                                                                                   \
    __attribute__((visibility("default"))) int name(__VA_ARGS__)

enum { STREAMS = 16, NODES = 64 };

struct function {
    char name[256];
    uint64_t ns;
};

struct node {
    uint64_t id; /* first: the stub reads it there */
    struct function *function;
};

struct graph {
    uint32_t id;
    size_t n;
    struct node nodes[NODES];
};

static struct {
    pthread_mutex_t lock;
    uint64_t busy[STREAMS]; /* until then */
    uint64_t next_node, next_address;
    uint32_t next_graph, next_mark;
    int nvtx_asked;
} d = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_address = 0x7000000000ull};

static __thread uint32_t nested; /* the correlation id of the call of the runtime that we are in */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The stub, once it is loaded; the injected library or the program does that. */
static const struct fake_cupti *cupti(void)
{
    static const struct fake_cupti *found;
    char name[32];

    for (int n = 11; n <= 13 && !found; n++) {
        void *library;

        snprintf(name, sizeof(name), "libcupti.so.%d", n);
        library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        if (library)
            found = dlsym(library, FAKE_CUPTI_SYMBOL);
    }
    return found;
}

static uint32_t enter(int domain, const char *name)
{
    return cupti() ? cupti()->enter(domain, name, domain == 1 ? nested : 0) : 0;
}

static void leave(int domain, const char *name, uint32_t id, uint64_t start)
{
    if (cupti())
        cupti()->leave(domain, name, id, start, 0);
}

static void truth(const struct fake_ran *r)
{
    const char *path = getenv("FAKE_CUPTI_TRUTH");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return;
    dprintf(fd, "%d %s %u %llu %llu %u\n", r->kind, r->name ? r->name : "-", r->stream,
            (unsigned long long)r->start, (unsigned long long)r->end, r->correlation);
    close(fd);
}

/* Puts it behind what its stream has. */
static void run(struct fake_ran *r, uint64_t ns)
{
    uint64_t *busy = &d.busy[r->stream % STREAMS], t = now();

    pthread_mutex_lock(&d.lock);
    r->start = *busy > t ? *busy : t + 5000;
    r->end = *busy = r->start + ns;
    pthread_mutex_unlock(&d.lock);
    truth(r);
    if (cupti())
        cupti()->ran(r);
}

static void wait_until(uint64_t t)
{
    struct timespec at = {(time_t)(t / 1000000000), (long)(t % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
        ;
}

/* ---- the driver ---- */

FN(cuInit, unsigned flags)
{
    static int done;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*inject)(void) = NULL;
    void *library;

    (void)flags;
    if (done++ || !path)
        return 0;
    library = dlopen(path, RTLD_LAZY); /* what fails, fails in silence */
    if (library)
        *(void **)&inject = dlsym(library, "InitializeInjection");
    if (inject)
        inject();
    return 0;
}

FN(cuDriverGetVersion, int *version)
{
    const char *v = getenv("FAKE_CUDA_VERSION");

    *version = (v ? atoi(v) : 12) * 1000;
    return 0;
}

FN(cuModuleGetFunction, struct function **f, void *module, const char *name)
{
    const char *at = strchr(name, '@');

    (void)module;
    *f = calloc(1, sizeof(**f));
    snprintf((*f)->name, sizeof((*f)->name), "%.*s", (int)(at ? at - name : (long)strlen(name)), name);
    (*f)->ns = at ? strtoull(at + 1, NULL, 10) * 1000 : 1000;
    return 0;
}

FN(cuLaunchKernel, struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
   unsigned bz, unsigned shared, uintptr_t stream, void **parameters, void **extra)
{
    struct fake_ran r = {
        .name = f->name, .kind = 10, .stream = (uint32_t)stream, .grid = {gx, gy, gz}, .block = {bx, by, bz}};
    uint64_t start = now();

    (void)shared;
    (void)parameters;
    (void)extra;
    r.correlation = enter(1, "cuLaunchKernel");
    run(&r, f->ns);
    leave(1, "cuLaunchKernel", r.correlation, start);
    return 0;
}

FN(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, uintptr_t stream)
{
    struct fake_ran r = {
        .kind = 1, .stream = (uint32_t)stream, .bytes = bytes, .copy = 1, .from = 2, .to = 3};
    uint64_t start = now();

    (void)to;
    (void)from;
    r.correlation = enter(1, "cuMemcpyHtoDAsync_v2");
    run(&r, bytes / 10); /* 10 GB/s */
    leave(1, "cuMemcpyHtoDAsync_v2", r.correlation, start);
    return 0;
}

FN(cuMemsetD8Async, uint64_t to, unsigned char value, size_t bytes, uintptr_t stream)
{
    struct fake_ran r = {.kind = 2, .stream = (uint32_t)stream, .bytes = bytes};
    uint64_t start = now();

    (void)to;
    (void)value;
    r.correlation = enter(1, "cuMemsetD8Async");
    run(&r, bytes / 100);
    leave(1, "cuMemsetD8Async", r.correlation, start);
    return 0;
}

FN(cuStreamSynchronize, uintptr_t stream)
{
    uint64_t start = now();
    uint32_t id = enter(1, "cuStreamSynchronize");

    wait_until(d.busy[stream % STREAMS]);
    if (cupti())
        cupti()->sync(id, (uint32_t)stream, start, now(), 0);
    leave(1, "cuStreamSynchronize", id, start);
    return 0;
}

FN(cuStreamQuery, uintptr_t stream)
{
    uint64_t start = now();
    uint32_t id = enter(1, "cuStreamQuery");
    int result = d.busy[stream % STREAMS] > start ? 600 : 0; /* CUDA_ERROR_NOT_READY */

    if (cupti())
        cupti()->sync(id, (uint32_t)stream, start, now(), result);
    leave(1, "cuStreamQuery", id, start);
    return result;
}

FN(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    uint64_t start = now();
    uint32_t id = enter(1, "cuMemAlloc_v2");

    *address = __atomic_fetch_add(&d.next_address, bytes, __ATOMIC_RELAXED);
    if (cupti())
        cupti()->memory(id, 1, *address, bytes);
    leave(1, "cuMemAlloc_v2", id, start);
    return 0;
}

FN(cuMemFree_v2, uint64_t address)
{
    uint64_t start = now();
    uint32_t id = enter(1, "cuMemFree_v2");

    if (cupti())
        cupti()->memory(id, 2, address, 0);
    leave(1, "cuMemFree_v2", id, start);
    return 0;
}

/* ---- graphs ---- */

FN(cuGraphCreate, struct graph **g, unsigned flags)
{
    (void)flags;
    *g = calloc(1, sizeof(**g));
    return 0;
}

FN(cuGraphAddKernelNode, struct graph *g, struct function *f)
{
    struct node *n = &g->nodes[g->n++];

    *n = (struct node){++d.next_node, f};
    if (cupti())
        cupti()->node(13, n, NULL);
    return 0;
}

FN(cuGraphInstantiate, struct graph **exec, struct graph *g)
{
    *exec = calloc(1, sizeof(**exec));
    (*exec)->id = ++d.next_graph;
    for (size_t i = 0; i < g->n; i++) {
        struct node *n = &(*exec)->nodes[(*exec)->n++];

        *n = (struct node){++d.next_node, g->nodes[i].function};
        if (cupti())
            cupti()->node(20, n, &g->nodes[i]);
    }
    return 0;
}

FN(cuGraphLaunch, struct graph *exec, uintptr_t stream)
{
    struct fake_ran whole = {.stream = (uint32_t)stream, .graph = exec->id};
    uint64_t start = now();
    uint32_t id = enter(1, "cuGraphLaunch");

    whole.correlation = id;
    for (size_t i = 0; i < exec->n; i++) {
        struct fake_ran r = {.name = exec->nodes[i].function->name,
                             .kind = 10,
                             .stream = (uint32_t)stream,
                             .correlation = id,
                             .node = exec->nodes[i].id,
                             .graph = exec->id,
                             .grid = {1, 1, 1},
                             .block = {32, 1, 1}};

        run(&r, exec->nodes[i].function->ns);
        whole.start = whole.start ? whole.start : r.start;
        whole.end = r.end;
    }
    if (cupti())
        cupti()->graph_ran(&whole);
    leave(1, "cuGraphLaunch", id, start);
    return 0;
}

/* ---- the runtime ---- */

FN(cudaLaunchKernel, struct function *f, unsigned grid, unsigned block, uintptr_t stream)
{
    uint64_t start = now();
    uint32_t id = enter(2, "cudaLaunchKernel");

    nested = id;
    cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, NULL, NULL);
    nested = 0;
    leave(2, "cudaLaunchKernel", id, start);
    return 0;
}

FN(cudaGetDevice, int *device)
{
    uint64_t start = now();
    uint32_t id = enter(2, "cudaGetDevice");

    *device = 0;
    leave(2, "cudaGetDevice", id, start);
    return 0;
}

/* ---- NVTX ---- */

/* As nvtx3/nvtxDetail/nvtxTypes.h has it: whoever is loaded puts functions into the slots of the module
 * "core". */
enum { NVTX_MARK_A = 2, NVTX_PUSH_A = 9, NVTX_POP = 11, NVTX_SLOTS = 16 };

static void (*nvtx_slots[NVTX_SLOTS])(void);

static int nvtx_module(int module, void (***table[])(void), unsigned *n)
{
    static void (**slots[NVTX_SLOTS])(void);

    for (int i = 0; i < NVTX_SLOTS; i++)
        slots[i] = &nvtx_slots[i];
    *table = slots;
    *n = NVTX_SLOTS;
    return module == 1;
}

static const void *nvtx_table(uint32_t table)
{
    static const struct {
        size_t size;
        int (*module)(int module, void (***table[])(void), unsigned *n);
    } callbacks = {sizeof(callbacks), nvtx_module};

    return table == 1 ? &callbacks : NULL;
}

static void *nvtx(int number)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    int (*inject)(const void *(*)(uint32_t)) = NULL;
    void *library;

    if (!d.nvtx_asked++ && path) {
        library = dlopen(path, RTLD_LAZY);
        if (library)
            *(void **)&inject = dlsym(library, "InitializeInjectionNvtx2");
        if (inject)
            inject(nvtx_table);
    }
    return (void *)nvtx_slots[number];
}

FN(nvtxRangePushA, const char *text)
{
    int (*push)(const char *) = (int (*)(const char *))nvtx(NVTX_PUSH_A);

    return push ? push(text) : -2;
}

FN(nvtxRangePop, void)
{
    int (*pop)(void) = (int (*)(void))nvtx(NVTX_POP);

    return pop ? pop() : -2;
}

FN(nvtxMarkA, const char *text)
{
    void (*mark)(const char *) = (void (*)(const char *))nvtx(NVTX_MARK_A);

    if (mark)
        mark(text);
    return 0;
}

/* ---- devices: those of CUDA_VISIBLE_DEVICES, "3,1"; one without it ---- */

FN(cuDeviceGetCount, int *n)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");

    *n = 1;
    for (; list && *list; list++)
        *n += *list == ',';
    return 0;
}

FN(cuDeviceGet, int *device, int number)
{
    *device = number;
    return 0;
}

/* The machine's number, in each byte. */
FN(cuDeviceGetUuid_v2, char *uuid, int device)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");

    for (; list && device; list++)
        device -= *list == ',';
    memset(uuid, list ? atoi(list) : 0, 16);
    return 0;
}

/* ---- another profiler: torch.profiler's way ---- */

static void theirs_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 1 << 20;
    *records = 0;
    *buffer = calloc(1, *size);
}

static void theirs_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    (void)valid;
    free(buffer);
}

/* on: takes the buffers. off: hands over what there is, and disables the kinds for all. */
FN(fake_profiler, int on)
{
    static const int kinds[] = {10, 1, 2, 4, 5};
    int (*take)(void *, void *), (*disable)(int), (*flush)(uint32_t);
    void *library = NULL;
    char name[32];

    for (int n = 11; n <= 13 && !library; n++) {
        snprintf(name, sizeof(name), "libcupti.so.%d", n);
        library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    }
    if (!library)
        return -1;
    *(void **)&take = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&disable = dlsym(library, "cuptiActivityDisable");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    if (on)
        return take((void *)theirs_requested, (void *)theirs_completed);
    flush(1);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        disable(kinds[i]);
    return 0;
}
