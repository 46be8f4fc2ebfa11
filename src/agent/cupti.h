/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of CUPTI is used, declared anew so that no toolkit is needed to build; cupti_check.c holds it against
 * the real headers where they are installed. Source: cupti_activity.h, cupti_callbacks.h, cupti_result.h of
 * CUDA 11 to 13.
 *
 * Records grow at their end from version to version: fields are read by their place, those of the tail where
 * the library's version has them.
 */
#ifndef WPROF_AGENT_CUPTI_H
#define WPROF_AGENT_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum { CUPTI_OK = 0, CUPTI_END = 12, CUPTI_SUBSCRIBED = 39 }; /* CUptiResult */

enum cupti_domain { CUPTI_DRIVER = 1, CUPTI_RUNTIME, CUPTI_RESOURCE };
enum { CUPTI_NODE_CREATED = 13, CUPTI_NODE_CLONED = 20 }; /* of CUPTI_RESOURCE */

enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_KERNEL = 3,
    CUPTI_DRIVER_CALL = 4,
    CUPTI_RUNTIME_CALL = 5,
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_MARKER = 12,
    CUPTI_MARKER_DATA = 13,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY2 = 22,
    CUPTI_SYNC = 38,
    CUPTI_MEMORY2 = 49,
    CUPTI_GRAPH = 51,
};

enum { CUPTI_ATTR_DEVICE_BUFFER = 0 };
enum { CUPTI_THREADS_OF_SYSTEM = 1, CUPTI_FLUSH_FORCED = 1 };
enum { CUPTI_OF_PROCESS = 1, CUPTI_OF_THREAD = 2 }; /* CUpti_ActivityObjectKind */
enum { CUPTI_ALLOCATE = 1, CUPTI_RELEASE = 2 };     /* CUpti_ActivityMemoryOperationType */

/* The first version whose kernels, and whose copies and sets, tell of graphs: CUDA 11.0 and 11.1; and whose
 * synchronizations tell of their result: 12.8. */
enum { CUPTI_VERSION_KERNEL5 = 13, CUPTI_VERSION_MEMCPY4 = 14, CUPTI_VERSION_SYNC2 = 26 };

/* Where the fields are. All records begin with their kind, 32 bits. */
enum {
    /* CUpti_ActivityKernel3 on */
    KERNEL_REGISTERS = 6,
    KERNEL_START = 16,
    KERNEL_END = 24,
    KERNEL_DEVICE = 40,
    KERNEL_CONTEXT = 44,
    KERNEL_STREAM = 48,
    KERNEL_GRID = 52,
    KERNEL_BLOCK = 64,
    KERNEL_SHARED_STATIC = 76,
    KERNEL_SHARED_DYNAMIC = 80,
    KERNEL_CORRELATION = 92,
    KERNEL_NAME = 104,
    KERNEL_NODE = 144,
    KERNEL_GRAPH = 156,
    /* CUpti_ActivityMemcpy on */
    MEMCPY_KIND = 4,
    MEMCPY_FROM = 5,
    MEMCPY_TO = 6,
    MEMCPY_BYTES = 8,
    MEMCPY_START = 16,
    MEMCPY_END = 24,
    MEMCPY_DEVICE = 32,
    MEMCPY_CONTEXT = 36,
    MEMCPY_STREAM = 40,
    MEMCPY_CORRELATION = 44,
    MEMCPY_NODE = 64,
    MEMCPY_GRAPH = 72,
    /* CUpti_ActivityMemcpyPtoP on: as above, but */
    PTOP_CORRELATION = 60,
    PTOP_NODE = 72,
    PTOP_GRAPH = 80,
    /* CUpti_ActivityMemset on */
    MEMSET_BYTES = 8,
    MEMSET_START = 16,
    MEMSET_END = 24,
    MEMSET_DEVICE = 32,
    MEMSET_CONTEXT = 36,
    MEMSET_STREAM = 40,
    MEMSET_CORRELATION = 44,
    MEMSET_TO = 50,
    MEMSET_NODE = 64,
    MEMSET_GRAPH = 72,
    /* CUpti_ActivityAPI */
    CALL_CBID = 4,
    CALL_START = 8,
    CALL_END = 16,
    CALL_THREAD = 28,
    CALL_CORRELATION = 32,
    CALL_RESULT = 36,
    /* CUpti_ActivitySynchronization on */
    SYNC_TYPE = 4,
    SYNC_START = 8,
    SYNC_END = 16,
    SYNC_CORRELATION = 24,
    SYNC_CONTEXT = 28,
    SYNC_STREAM = 32,
    SYNC_RESULT = 48, /* CUpti_ActivitySynchronization2 */
    /* CUpti_ActivityOverhead on */
    OVERHEAD_KIND = 4,
    OVERHEAD_OF = 8,
    OVERHEAD_THREAD = 16,
    OVERHEAD_START = 24,
    OVERHEAD_END = 32,
    /* CUpti_ActivityMemory2 on */
    MEMORY_OPERATION = 4,
    MEMORY_KIND = 8,
    MEMORY_CORRELATION = 12,
    MEMORY_ADDRESS = 16,
    MEMORY_BYTES = 24,
    MEMORY_TIME = 32,
    MEMORY_DEVICE = 52,
    MEMORY_CONTEXT = 56,
    MEMORY_STREAM = 60,
    /* CUpti_ActivityGraphTrace on */
    GRAPH_CORRELATION = 4,
    GRAPH_START = 8,
    GRAPH_END = 16,
    GRAPH_DEVICE = 24,
    GRAPH_ID = 28,
    GRAPH_CONTEXT = 32,
    GRAPH_STREAM = 36,
};

/* CUpti_CallbackData */
struct cupti_call {
    uint32_t site; /* 0: enter, 1: exit */
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

/* CUpti_ResourceData, and what its descriptor is for graphs: CUpti_GraphData */
struct cupti_resource {
    void *context, *stream;
    const struct cupti_graph *graph;
};

struct cupti_graph {
    void *graph, *original;
    void *node, *original_node;
};

typedef void (*cupti_callback)(void *arg, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*cupti_requested)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*cupti_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* The functions; those that are not needed may be NULL. */
struct cupti {
    void *library;
    int (*version)(uint32_t *version);
    int (*timestamp)(uint64_t *ns);
    int (*subscribe)(void **subscriber, cupti_callback callback, void *arg);
    int (*unsubscribe)(void *subscriber);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*register_callbacks)(cupti_requested requested, cupti_completed completed);
    int (*flush)(uint32_t flags);
    int (*next)(uint8_t *buffer, size_t valid, uint8_t **record);
    int (*dropped)(void *context, uint32_t stream, size_t *n);
    int (*enable_callback)(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid);
    int (*callback_name)(uint32_t domain, uint32_t cbid, const char **name);
    int (*set_attribute)(int attribute, size_t *size, void *value);
    int (*thread_ids)(int type);
    int (*enable_driver)(uint32_t cbid, uint8_t on);
    int (*enable_runtime)(uint32_t cbid, uint8_t on);
    int (*node_id)(void *node, uint64_t *id);
};

/* The one that the process has, else one that can be found. 0; -1: there is none; 1: it lacks something that
 * is needed. Never closed again. */
int cupti_load(struct cupti *c);

#endif
