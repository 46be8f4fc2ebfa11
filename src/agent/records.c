/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's buffers, and what of their records goes to the log. */
#include "agent/agent.h"

#include <errno.h>
#include <string.h>

/* enum gpu_op of model/gpu.h, which is not included here; src/collect/gpu_names.c holds these against it. */
enum {
    OP_KERNEL = 1,
    OP_COPY,
    OP_SET,
    OP_GRAPH,
    OP_RUNTIME,
    OP_DRIVER,
    OP_SYNC,
    OP_OVERHEAD,
    OP_ALLOC,
    OP_FREE,
};

/* ---- buffers ---- */

enum { BUFFER_BYTES = 2 << 20, BUFFERS = 4096, LAST_BYTES = 1 << 16 };

/* Made as they are asked for, and used again: CUPTI has one for each thread that calls CUDA, all at once. */
static struct {
    struct buffer {
        _Atomic(uint8_t *) bytes;
        atomic_int busy;
    } buffers[BUFFERS];
    atomic_uint n;
    uint8_t last[LAST_BYTES] __attribute__((aligned(64))); /* where there is no memory at all */
} pool;

/* The number of those that may be there. */
static unsigned made(void)
{
    unsigned n = atomic_load(&pool.n);

    return n < BUFFERS ? n : BUFFERS;
}

/* NULL: none is free, or there is no memory. */
static uint8_t *take_buffer(void)
{
    uint8_t *p;
    unsigned n;

    for (unsigned i = 0; i < made(); i++)
        if ((p = atomic_load(&pool.buffers[i].bytes)) && !atomic_exchange(&pool.buffers[i].busy, 1))
            return p;
    n = made() < BUFFERS ? atomic_fetch_add(&pool.n, 1) : BUFFERS;
    if (n >= BUFFERS)
        return NULL;
    atomic_store(&pool.buffers[n].busy, 1);
    p = table_memory(BUFFER_BYTES);
    atomic_store(&pool.buffers[n].bytes, p);
    return p;
}

void records_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    struct agent *a = agent_get();
    uint8_t *p = take_buffer();

    *records = 0; /* as many as fit */
    *size = BUFFER_BYTES;
    atomic_fetch_add(&a->buffers, 1);
    if (!p) { /* NULL is not allowed; nothing fits into one of size 0, and CUPTI counts what it drops */
        p = pool.last;
        *size = 0;
    }
    *buffer = p;
}

/* 0: it is none of ours. */
static int give_back(const uint8_t *p)
{
    for (unsigned i = 0; i < made(); i++)
        if (atomic_load(&pool.buffers[i].bytes) == p) {
            atomic_store(&pool.buffers[i].busy, 0);
            return 1;
        }
    return 0;
}

/* ---- records ---- */

static uint32_t u32(const uint8_t *r, size_t at)
{
    uint32_t v;

    memcpy(&v, r + at, sizeof(v));
    return v;
}

static uint64_t u64(const uint8_t *r, size_t at)
{
    uint64_t v;

    memcpy(&v, r + at, sizeof(v));
    return v;
}

static uint32_t u16(const uint8_t *r, size_t at)
{
    uint16_t v;

    memcpy(&v, r + at, sizeof(v));
    return v;
}

static const char *text(const uint8_t *r, size_t at)
{
    const char *p;

    memcpy(&p, r + at, sizeof(p));
    return p;
}

static uint32_t text_id(struct agent *a, const char *p)
{
    return p ? agent_text(a, p, strnlen(p, GPU_WIRE_TEXT)) : 0;
}

/* A span of the device or the host. */
struct span {
    uint64_t start, end;
    uint32_t correlation;
    uint32_t tid; /* of the host's */
    const char *name;
    struct gpu_wire_work work;
};

static void put_span(struct agent *a, struct span *s, enum gpu_item item)
{
    uint32_t work, generation;

    if (!s->start || s->end < s->start || !s->end) {
        agent_count(a, GPU_N_TIMES, 1);
        return;
    }
    out_lock(&a->out);
    do {
        generation = a->generation;
        s->work.name = text_id(a, s->name);
        work = agent_work(a, &s->work);
    } while (generation != a->generation);
    out_reserve(&a->out, 64);
    out_u8(&a->out, (uint8_t)item);
    out_correlation(&a->out, s->correlation);
    out_time(&a->out, s->start);
    out_number(&a->out, s->end - s->start);
    out_number(&a->out, work);
    if (item == GPU_CALL)
        out_number(&a->out, s->tid);
    out_unlock(&a->out);
}

static void kernel(struct agent *a, const uint8_t *r)
{
    struct span s = {.start = u64(r, KERNEL_START),
                     .end = u64(r, KERNEL_END),
                     .correlation = u32(r, KERNEL_CORRELATION),
                     .name = text(r, KERNEL_NAME),
                     .work = {.op = OP_KERNEL,
                              .device = u32(r, KERNEL_DEVICE) + 1,
                              .context = u32(r, KERNEL_CONTEXT),
                              .stream = u32(r, KERNEL_STREAM),
                              .shared = u32(r, KERNEL_SHARED_STATIC) + u32(r, KERNEL_SHARED_DYNAMIC),
                              .registers = u16(r, KERNEL_REGISTERS)}};

    memcpy(s.work.grid, r + KERNEL_GRID, sizeof(s.work.grid));
    memcpy(s.work.block, r + KERNEL_BLOCK, sizeof(s.work.block));
    if (a->version >= CUPTI_VERSION_KERNEL5) {
        s.work.node = u32(r, KERNEL_NODE);
        s.work.graph = u32(r, KERNEL_GRAPH);
    }
    put_span(a, &s, GPU_RAN);
}

static void copy(struct agent *a, const uint8_t *r, int peers)
{
    struct span s = {.start = u64(r, MEMCPY_START),
                     .end = u64(r, MEMCPY_END),
                     .correlation = u32(r, peers ? PTOP_CORRELATION : MEMCPY_CORRELATION),
                     .work = {.op = OP_COPY,
                              .device = u32(r, MEMCPY_DEVICE) + 1,
                              .context = u32(r, MEMCPY_CONTEXT),
                              .stream = u32(r, MEMCPY_STREAM),
                              .what = r[MEMCPY_KIND],
                              .from = r[MEMCPY_FROM],
                              .to = r[MEMCPY_TO],
                              .bytes = u64(r, MEMCPY_BYTES)}};

    if (a->version >= CUPTI_VERSION_MEMCPY4) {
        s.work.node = u32(r, peers ? PTOP_NODE : MEMCPY_NODE);
        s.work.graph = u32(r, peers ? PTOP_GRAPH : MEMCPY_GRAPH);
    }
    put_span(a, &s, GPU_RAN);
}

static void set(struct agent *a, const uint8_t *r)
{
    struct span s = {.start = u64(r, MEMSET_START),
                     .end = u64(r, MEMSET_END),
                     .correlation = u32(r, MEMSET_CORRELATION),
                     .work = {.op = OP_SET,
                              .device = u32(r, MEMSET_DEVICE) + 1,
                              .context = u32(r, MEMSET_CONTEXT),
                              .stream = u32(r, MEMSET_STREAM),
                              .to = u16(r, MEMSET_TO),
                              .bytes = u64(r, MEMSET_BYTES)}};

    if (a->version >= CUPTI_VERSION_MEMCPY4) {
        s.work.node = u32(r, MEMSET_NODE);
        s.work.graph = u32(r, MEMSET_GRAPH);
    }
    put_span(a, &s, GPU_RAN);
}

static void graph(struct agent *a, const uint8_t *r)
{
    struct span s = {.start = u64(r, GRAPH_START),
                     .end = u64(r, GRAPH_END),
                     .correlation = u32(r, GRAPH_CORRELATION),
                     .work = {.op = OP_GRAPH,
                              .device = u32(r, GRAPH_DEVICE) + 1,
                              .context = u32(r, GRAPH_CONTEXT),
                              .stream = u32(r, GRAPH_STREAM),
                              .graph = u32(r, GRAPH_ID)}};

    put_span(a, &s, GPU_RAN);
}

static void call(struct agent *a, const uint8_t *r, int runtime)
{
    struct span s = {.start = u64(r, CALL_START),
                     .end = u64(r, CALL_END),
                     .correlation = u32(r, CALL_CORRELATION),
                     .tid = u32(r, CALL_THREAD),
                     .name = calls_name(a, runtime ? CUPTI_RUNTIME : CUPTI_DRIVER, u32(r, CALL_CBID)),
                     .work = {.op = runtime ? OP_RUNTIME : OP_DRIVER,
                              .what = u32(r, CALL_CBID),
                              .result = u32(r, CALL_RESULT) != 0}};

    put_span(a, &s, GPU_CALL);
}

static void sync_done(struct agent *a, const uint8_t *r)
{
    struct span s = {.start = u64(r, SYNC_START),
                     .end = u64(r, SYNC_END),
                     .correlation = u32(r, SYNC_CORRELATION),
                     .work = {.op = OP_SYNC,
                              .what = u32(r, SYNC_TYPE),
                              .context = u32(r, SYNC_CONTEXT),
                              .stream = u32(r, SYNC_STREAM)}};

    /* cudaEventQuery and the like, which did not wait, as what they ask for is still to come */
    if (a->version >= CUPTI_VERSION_SYNC2 && u32(r, SYNC_RESULT))
        return;
    put_span(a, &s, GPU_CALL);
}

static void overhead(struct agent *a, const uint8_t *r)
{
    struct span s = {.start = u64(r, OVERHEAD_START),
                     .end = u64(r, OVERHEAD_END),
                     .tid = u32(r, OVERHEAD_OF) == CUPTI_OF_THREAD ? u32(r, OVERHEAD_THREAD) : 0,
                     .work = {.op = OP_OVERHEAD, .what = u32(r, OVERHEAD_KIND)}};

    put_span(a, &s, GPU_CALL);
}

static void memory(struct agent *a, const uint8_t *r)
{
    uint32_t operation = u32(r, MEMORY_OPERATION), work;
    struct gpu_wire_work w = {.op = operation == CUPTI_ALLOCATE ? OP_ALLOC : OP_FREE,
                              .device = u32(r, MEMORY_DEVICE) + 1,
                              .context = u32(r, MEMORY_CONTEXT),
                              .stream = u32(r, MEMORY_STREAM),
                              .what = operation,
                              .to = u32(r, MEMORY_KIND),
                              .bytes = u64(r, MEMORY_BYTES)};

    if (!u64(r, MEMORY_TIME)) {
        agent_count(a, GPU_N_TIMES, 1);
        return;
    }
    out_lock(&a->out);
    work = agent_work(a, &w);
    out_reserve(&a->out, 64);
    out_u8(&a->out, GPU_MEMORY);
    out_correlation(&a->out, u32(r, MEMORY_CORRELATION));
    out_time(&a->out, u64(r, MEMORY_TIME));
    out_number(&a->out, work);
    out_number(&a->out, u64(r, MEMORY_ADDRESS));
    out_unlock(&a->out);
}

static void record(struct agent *a, const uint8_t *r)
{
    agent_count(a, GPU_N_RECORDS, 1);
    switch (u32(r, 0)) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
        kernel(a, r);
        break;
    case CUPTI_MEMCPY:
    case CUPTI_MEMCPY2:
        copy(a, r, u32(r, 0) == CUPTI_MEMCPY2);
        break;
    case CUPTI_MEMSET:
        set(a, r);
        break;
    case CUPTI_GRAPH:
        graph(a, r);
        break;
    case CUPTI_RUNTIME_CALL:
    case CUPTI_DRIVER_CALL:
        call(a, r, u32(r, 0) == CUPTI_RUNTIME_CALL);
        break;
    case CUPTI_SYNC:
        sync_done(a, r);
        break;
    case CUPTI_OVERHEAD:
        overhead(a, r);
        break;
    case CUPTI_MEMORY2:
        memory(a, r);
        break;
    case CUPTI_MARKER: /* of another profiler's NVTX */
    case CUPTI_MARKER_DATA:
        break;
    default:
        agent_count(a, GPU_N_UNKNOWN, 1);
    }
}

void records_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct agent *a = agent_get();
    int before = errno;
    uint8_t *r = NULL;

    (void)context;
    (void)stream;
    (void)size;
    atomic_fetch_add(&a->buffers, 1);
    if (!buffer || buffer == pool.last)
        return;
    while (agent_is_on(a) && valid && a->cupti.next(buffer, valid, &r) == CUPTI_OK && r)
        record(a, r);
    if (agent_is_on(a))
        out_flush(&a->out);
    if (!give_back(buffer)) /* of another profiler, which alone knows how to free it */
        agent_count(a, GPU_N_FOREIGN, 1);
    errno = before;
}
