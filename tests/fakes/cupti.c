/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libcupti.so.N, built with -DCUPTI_MAJOR=11, 12 or 13: that version's records, numbers of calls
 * and version number. What happened it is told by tests/fakes/cuda.c. Its clock is seven seconds ahead of
 * CLOCK_MONOTONIC. FAKE_CUPTI, words separated by commas:
 *     subscribed   cuptiSubscribe: 39, as where another profiler has
 *     broken       999 from all that enables
 *     drop         each third record is dropped, and counted
 *     zero         each third kernel's times are 0
 *     inverted     each third kernel ends before it starts
 *     strange      records of unknown kinds between
 *     threads      as many buffers at once as if each of that many threads had one
 */
#include "cupti.h"

#include "cupti_records.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { SECONDS_AHEAD = 7, THREADS = 40, CALLS_AT = CUPTI_MAJOR * 20, MOST = 1 << 20, KINDS = 64 };

static const char *const calls[2][24] = {
    {"cuInit", "cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async", "cuStreamSynchronize",
     "cuMemAlloc_v2", "cuMemFree_v2", "cuGraphLaunch", "cuCtxGetCurrent", "cuStreamQuery"},
    /* since CUDA 13 programs call another function than before */
    {CUPTI_MAJOR < 13 ? "cudaLaunchKernel_v7000" : "__cudaLaunchKernel_ptsz_v13000", "cudaGetDevice_v3020",
     "cudaDeviceSynchronize_v3020", "cudaGraphLaunch_v10000"},
};

struct pending {
    uint64_t done; /* CLOCK_MONOTONIC ns: from then on it may be handed over */
    size_t n;
    uint8_t bytes[KERNEL_SIZE];
};

static struct {
    pthread_mutex_t lock;
    void (*requested)(uint8_t **, size_t *, size_t *);
    void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);
    void (*callback)(void *, uint32_t, uint32_t, const void *);
    void *arg;
    uint8_t enabled[KINDS];
    uint8_t seen[4][512];  /* callbacks that are on */
    uint8_t quiet[4][512]; /* calls that leave no record */
    struct pending *list;
    size_t n;
    uint64_t records, kernels, dropped;
    uint32_t correlation;
    int system_ids;
} s = {.lock = PTHREAD_MUTEX_INITIALIZER, .correlation = 100};

static int fault(const char *what)
{
    const char *v = getenv("FAKE_CUPTI"), *at = v ? strstr(v, what) : NULL;

    return at != NULL;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t theirs(uint64_t mono)
{
    return mono ? mono + SECONDS_AHEAD * 1000000000ull : 0;
}

static uint32_t thread_id(void)
{
    return s.system_ids ? (uint32_t)syscall(SYS_gettid) : (uint32_t)(uintptr_t)pthread_self();
}

static void put(uint8_t *r, size_t at, uint64_t v, size_t size)
{
    memcpy(r + at, &v, size);
}

/* ---- records ---- */

static void add(const uint8_t *bytes, size_t n, uint64_t done)
{
    int kind;

    memcpy(&kind, bytes, sizeof(kind));
    pthread_mutex_lock(&s.lock);
    if (!s.list)
        s.list = malloc(MOST * sizeof(*s.list));
    if ((kind < KINDS && kind != STRANGE_KIND && !s.enabled[kind]) || !s.requested) {
        pthread_mutex_unlock(&s.lock);
        return;
    }
    if (s.n == MOST || (fault("drop") && ++s.records % 3 == 0)) {
        s.dropped++;
    } else {
        s.list[s.n] = (struct pending){.done = done, .n = n};
        memcpy(s.list[s.n++].bytes, bytes, n);
    }
    pthread_mutex_unlock(&s.lock);
}

static void add_strange(uint64_t done)
{
    uint8_t r[STRANGE_SIZE] = {STRANGE_KIND};

    if (fault("strange"))
        add(r, sizeof(r), done);
}

static void spoil(uint64_t *start, uint64_t *end)
{
    uint64_t t = *start;

    if (++s.kernels % 3)
        return;
    if (fault("zero"))
        *start = *end = 0;
    if (fault("inverted")) {
        *start = *end;
        *end = t;
    }
}

static void put_kernel(uint8_t *r, const struct fake_ran *k)
{
    put(r, 6, 32, 2); /* registers */
    put(r, 40, 0, 4);
    put(r, 44, 1, 4);
    put(r, 48, k->stream, 4);
    for (int i = 0; i < 3; i++) {
        put(r, 52 + 4 * (size_t)i, k->grid[i], 4);
        put(r, 64 + 4 * (size_t)i, k->block[i], 4);
    }
    put(r, 76, 1024, 4);
    put(r, 80, 512, 4);
    put(r, 92, k->correlation, 4);
    put(r, 96, k->correlation, 8); /* gridId, which nobody should take for it */
    put(r, 104, (uintptr_t)k->name, 8);
    put(r, 144, k->node, 8);
    put(r, 156, k->graph, 4);
}

static void put_copy(uint8_t *r, const struct fake_ran *k)
{
    r[4] = (uint8_t)k->copy;
    r[5] = (uint8_t)k->from;
    r[6] = (uint8_t)k->to;
    put(r, 8, k->bytes, 8);
    put(r, 36, 1, 4);
    put(r, 40, k->stream, 4);
    put(r, 44, k->correlation, 4);
    put(r, 64, k->node, 8);
    put(r, 72, k->graph, 4);
}

static void put_set(uint8_t *r, const struct fake_ran *k)
{
    put(r, 8, k->bytes, 8);
    put(r, 36, 1, 4);
    put(r, 40, k->stream, 4);
    put(r, 44, k->correlation, 4);
    put(r, 50, 3, 2);
    put(r, 64, k->node, 8);
    put(r, 72, k->graph, 4);
}

static void ran(const struct fake_ran *k)
{
    uint8_t r[KERNEL_SIZE] = {0};
    uint64_t start = theirs(k->start), end = theirs(k->end);
    size_t n = k->kind == 10 ? KERNEL_SIZE : k->kind == 1 ? COPY_SIZE : SET_SIZE;

    if (k->graph && s.enabled[GRAPH_KIND])
        return;
    put(r, 0, (uint64_t)k->kind, 4);
    if (k->kind == 10) {
        spoil(&start, &end);
        put_kernel(r, k);
    } else if (k->kind == 1) {
        put_copy(r, k);
    } else {
        put_set(r, k);
    }
    put(r, 16, start, 8);
    put(r, 24, end, 8);
    add(r, n, k->end);
    add_strange(k->end);
}

/* A whole graph's run, which comes instead of what its nodes did. */
static void graph_ran(const struct fake_ran *k)
{
    uint8_t r[GRAPH_SIZE] = {GRAPH_KIND};

    put(r, 4, k->correlation, 4);
    put(r, 8, theirs(k->start), 8);
    put(r, 16, theirs(k->end), 8);
    put(r, 28, k->graph, 4);
    put(r, 32, 1, 4);
    put(r, 36, k->stream, 4);
    add(r, sizeof(r), k->end);
}

static void synced(uint32_t correlation, uint32_t stream, uint64_t start, uint64_t end, int result)
{
    uint8_t r[SYNC_SIZE] = {38};

    if (sizeof(r) > 48) /* CUpti_ActivitySynchronization2: queries, too */
        put(r, sizeof(r) - 8, (uint64_t)result, 4);
    else if (result)
        return;
    put(r, 4, 3, 4);
    put(r, 8, theirs(start), 8);
    put(r, 16, theirs(end), 8);
    put(r, 24, correlation, 4);
    put(r, 28, 1, 4);
    put(r, 32, stream, 4);
    add(r, sizeof(r), end);
}

static void memory(uint32_t correlation, int operation, uint64_t address, uint64_t bytes)
{
    uint8_t r[MEMORY_SIZE] = {49};
    uint64_t t = now();

    put(r, 4, (uint64_t)operation, 4);
    put(r, 8, 3, 4);
    put(r, 12, correlation, 4);
    put(r, 16, address, 8);
    put(r, 24, bytes, 8);
    put(r, 32, theirs(t), 8);
    put(r, 48, (uint64_t)getpid(), 4);
    put(r, 56, 1, 4);
    add(r, sizeof(r), t);
}

/* ---- calls ---- */

static uint32_t number_of(int domain, const char *name)
{
    size_t n = strlen(name);

    for (uint32_t i = 0; i < 24 && calls[domain - 1][i]; i++) {
        const char *is = calls[domain - 1][i] + strspn(calls[domain - 1][i], "_");

        if (!strncmp(is, name, n) && strchr("_", is[n]))
            return CALLS_AT + i;
    }
    return 0;
}

/* As CUpti_CallbackData. */
struct data {
    uint32_t site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

static void tell(int domain, uint32_t cbid, uint32_t site, const char *name, uint32_t correlation)
{
    struct data d = {.site = site, .function = name, .context_id = 1, .correlation = correlation};

    if (s.callback && cbid < 512 && s.seen[domain][cbid])
        s.callback(s.arg, (uint32_t)domain, cbid, &d);
}

static uint32_t enter(int domain, const char *name, uint32_t nested)
{
    uint32_t id = nested ? nested : __atomic_add_fetch(&s.correlation, 1, __ATOMIC_RELAXED);

    tell(domain, number_of(domain, name), 0, name, id);
    return id;
}

static void leave(int domain, const char *name, uint32_t correlation, uint64_t start, int result)
{
    uint8_t r[CALL_SIZE] = {domain == 1 ? 4 : 5};
    uint32_t cbid = number_of(domain, name);
    uint64_t end = now();

    tell(domain, cbid, 1, name, correlation);
    put(r, 4, cbid, 4);
    put(r, 8, theirs(start), 8);
    put(r, 16, theirs(end), 8);
    put(r, 24, (uint64_t)getpid(), 4);
    put(r, 28, thread_id(), 4);
    put(r, 32, correlation, 4);
    put(r, 36, (uint64_t)result, 4);
    if (!s.quiet[domain][cbid])
        add(r, sizeof(r), end);
}

static void node(int cbid, void *node_, void *original)
{
    void *graph[4] = {NULL, NULL, node_, original};
    void *resource[3] = {NULL, NULL, graph};

    if (s.callback && s.seen[3][cbid])
        s.callback(s.arg, 3, (uint32_t)cbid, resource);
}

API int fake_registrations; /* of callbacks for buffers */
API int fake_buffers;       /* memory that was ever given for records, each once */
API int fake_flushes;
API int fake_zeroed; /* whether buffers are said to be zeroed already */

/* How many of the kinds that fake_profiler() of cuda.c needs are enabled. */
API int fake_enabled(void);
API int fake_enabled(void)
{
    return s.enabled[10] + s.enabled[1] + s.enabled[2] + s.enabled[4] + s.enabled[5];
}

API int fake_subscribed(void);
API int fake_subscribed(void)
{
    return s.callback != NULL;
}

API const struct fake_cupti fake_cupti = {enter, leave, ran, graph_ran, synced, memory, node};

/* ---- CUPTI's functions ---- */

#define FN(name, ...)                                                                                        \
    int name(__VA_ARGS__);                                                                                   \
    API int name(__VA_ARGS__)

FN(cuptiGetVersion, uint32_t *version)
{
    *version = CUPTI_MAJOR == 11 ? 18 : CUPTI_MAJOR == 12 ? 24 : 130000;
    return 0;
}

FN(cuptiGetTimestamp, uint64_t *t)
{
    *t = theirs(now());
    return 0;
}

FN(cuptiSubscribe, void **subscriber, void (*callback)(void *, uint32_t, uint32_t, const void *), void *arg)
{
    if (fault("subscribed"))
        return 39;
    if (fault("broken"))
        return 999;
    s.callback = callback;
    s.arg = arg;
    *subscriber = &s;
    return 0;
}

FN(cuptiUnsubscribe, void *subscriber)
{
    (void)subscriber;
    s.callback = NULL;
    return 0;
}

FN(cuptiActivitySetAttribute, int attribute, size_t *size, void *value)
{
    if (attribute == 5 && *size == 1) /* ZEROED_OUT_ACTIVITY_BUFFER */
        fake_zeroed = *(uint8_t *)value;
    return 0;
}

/* Of calls: of all of them, whatever was chosen before. */
FN(cuptiActivityEnable, int kind)
{
    s.enabled[kind] = 1;
    if (kind == 4 || kind == 5)
        memset(s.quiet[kind - 3], 0, sizeof(s.quiet[0]));
    return 0;
}

FN(cuptiActivityDisable, int kind)
{
    s.enabled[kind] = 0;
    return 0;
}

FN(cuptiActivityRegisterCallbacks, void (*requested)(uint8_t **, size_t *, size_t *),
   void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    pthread_mutex_lock(&s.lock);
    s.requested = requested;
    fake_registrations++;
    s.completed = completed;
    pthread_mutex_unlock(&s.lock);
    return 0;
}

static void count_buffer(const uint8_t *buffer)
{
    static const uint8_t *known[4096];
    int i = 0;

    while (i < fake_buffers && known[i] != buffer)
        i++;
    if (i == fake_buffers && i < 4096)
        known[fake_buffers++] = buffer;
}

/* The buffers of other threads, which have nothing. */
static void ask_for_others(uint8_t *buffers[THREADS])
{
    size_t size, records;

    for (int i = 0; fault("threads") && i < THREADS; i++) {
        s.requested(&buffers[i], &size, &records);
        count_buffer(buffers[i]);
    }
}

static void return_others(uint8_t *buffers[THREADS])
{
    for (int i = 0; i < THREADS && buffers[i]; i++)
        s.completed(NULL, 0, buffers[i], 2 << 20, 0);
}

/* Hands over what fits into one buffer; 0: there is nothing. */
static int hand_over(int all)
{
    uint64_t t = now();
    uint8_t *buffer = NULL, *others[THREADS] = {NULL};
    size_t size = 0, records = 0, used = 0, left = 0;

    pthread_mutex_lock(&s.lock);
    for (size_t i = 0; i < s.n; i++)
        left += all || s.list[i].done <= t;
    pthread_mutex_unlock(&s.lock);
    if (!left)
        return 0;
    ask_for_others(others);
    s.requested(&buffer, &size, &records);
    count_buffer(buffer);
    pthread_mutex_lock(&s.lock);
    left = 0;
    for (size_t i = 0; i < s.n; i++) {
        if ((all || s.list[i].done <= t) && used + s.list[i].n <= size) {
            memcpy(buffer + used, s.list[i].bytes, s.list[i].n);
            used += s.list[i].n;
        } else {
            s.list[left++] = s.list[i];
        }
    }
    s.n = left;
    pthread_mutex_unlock(&s.lock);
    s.completed(NULL, 0, buffer, size, used);
    return_others(others);
    return used > 0;
}

/* One at a time: how many buffers there are at once is to be sure. */
FN(cuptiActivityFlushAll, uint32_t flags)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&one);
    fake_flushes++;
    while (s.requested && hand_over(flags != 0))
        ;
    pthread_mutex_unlock(&one);
    return 0;
}

static size_t size_of(int kind)
{
    switch (kind) {
    case 10:
        return KERNEL_SIZE;
    case 1:
        return COPY_SIZE;
    case 2:
        return SET_SIZE;
    case 4:
    case 5:
        return CALL_SIZE;
    case 12:
        return MARKER_SIZE;
    case 38:
        return SYNC_SIZE;
    case 49:
        return MEMORY_SIZE;
    case GRAPH_KIND:
        return GRAPH_SIZE;
    default:
        return STRANGE_SIZE;
    }
}

FN(cuptiActivityGetNextRecord, uint8_t *buffer, size_t valid, uint8_t **record)
{
    uint8_t *next = buffer;
    int kind;

    if (*record) {
        memcpy(&kind, *record, sizeof(kind));
        next = *record + size_of(kind);
    }
    if (next >= buffer + valid)
        return 12;
    *record = next;
    return 0;
}

FN(cuptiActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *n)
{
    (void)context;
    (void)stream;
    *n = __atomic_exchange_n(&s.dropped, 0, __ATOMIC_RELAXED);
    return 0;
}

FN(cuptiEnableCallback, uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid)
{
    (void)subscriber;
    if (domain < 4 && cbid < 512)
        s.seen[domain][cbid] = (uint8_t)on;
    return 0;
}

FN(cuptiGetCallbackName, uint32_t domain, uint32_t cbid, const char **name)
{
    if (domain < 1 || domain > 2 || cbid >= CALLS_AT + 24)
        return 1;
    *name = cbid < CALLS_AT ? "unused" : calls[domain - 1][cbid - CALLS_AT];
    return *name ? 0 : 1;
}

FN(cuptiSetThreadIdType, int type)
{
    s.system_ids = type == 1;
    return 0;
}

FN(cuptiActivityEnableDriverApi, uint32_t cbid, uint8_t on)
{
    s.quiet[1][cbid] = !on;
    return 0;
}

FN(cuptiActivityEnableRuntimeApi, uint32_t cbid, uint8_t on)
{
    s.quiet[2][cbid] = !on;
    return 0;
}

FN(cuptiGetGraphNodeId, void *n, uint64_t *id)
{
    *id = *(const uint64_t *)n;
    return 0;
}
