/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our declarations against the real ones, where the compiler finds a toolkit's headers of CUDA 11.8 to 13
 * (tests/cli/gpu_cupti.bats looks for one): each version of a record, as far as the headers have it, against
 * the places that it is read at, and all numbers.
 */
#include "agent/cupti.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

/* CUPTI_API_VERSION is 19 of CUDA 12.0, 26 of 12.8, 130000 of 13.0: cupti_version.h. */
#define PLACE(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field)
#define WIDTH(type, field, n)  _Static_assert(sizeof(((type *)0)->field) == (n), #type "." #field)
#define EQUAL(theirs, ours)    _Static_assert((long)(theirs) == (long)(ours), #theirs)

/* ---- records ---- */

#define KERNEL(type)                                                                                         \
    PLACE(type, kind, 0);                                                                                    \
    PLACE(type, registersPerThread, KERNEL_REGISTERS);                                                       \
    WIDTH(type, registersPerThread, 2);                                                                      \
    PLACE(type, start, KERNEL_START);                                                                        \
    PLACE(type, end, KERNEL_END);                                                                            \
    PLACE(type, deviceId, KERNEL_DEVICE);                                                                    \
    PLACE(type, contextId, KERNEL_CONTEXT);                                                                  \
    PLACE(type, streamId, KERNEL_STREAM);                                                                    \
    PLACE(type, gridX, KERNEL_GRID);                                                                         \
    PLACE(type, gridZ, KERNEL_GRID + 8);                                                                     \
    PLACE(type, blockX, KERNEL_BLOCK);                                                                       \
    PLACE(type, blockZ, KERNEL_BLOCK + 8);                                                                   \
    PLACE(type, staticSharedMemory, KERNEL_SHARED_STATIC);                                                   \
    PLACE(type, dynamicSharedMemory, KERNEL_SHARED_DYNAMIC);                                                 \
    PLACE(type, correlationId, KERNEL_CORRELATION);                                                          \
    PLACE(type, name, KERNEL_NAME)

#define GRAPHED(type, node, graph)                                                                           \
    PLACE(type, graphNodeId, node);                                                                          \
    WIDTH(type, graphNodeId, 8);                                                                             \
    PLACE(type, graphId, graph);                                                                             \
    WIDTH(type, graphId, 4)

#define KERNEL_OF_GRAPH(type)                                                                                \
    KERNEL(type);                                                                                            \
    GRAPHED(type, KERNEL_NODE, KERNEL_GRAPH)

KERNEL(CUpti_ActivityKernel3);
KERNEL(CUpti_ActivityKernel4);
KERNEL_OF_GRAPH(CUpti_ActivityKernel5);
KERNEL_OF_GRAPH(CUpti_ActivityKernel6);
KERNEL_OF_GRAPH(CUpti_ActivityKernel7);
KERNEL_OF_GRAPH(CUpti_ActivityKernel8);
#if CUPTI_API_VERSION >= 19
KERNEL_OF_GRAPH(CUpti_ActivityKernel9);
#endif
#if CUPTI_API_VERSION >= 130000
KERNEL_OF_GRAPH(CUpti_ActivityKernel10);
#endif

/* Of copies and, but for the first three, sets and copies between devices. */
#define MOVED(type, of)                                                                                      \
    PLACE(type, kind, 0);                                                                                    \
    PLACE(type, bytes, of##_BYTES);                                                                          \
    PLACE(type, start, of##_START);                                                                          \
    PLACE(type, end, of##_END);                                                                              \
    PLACE(type, deviceId, of##_DEVICE);                                                                      \
    PLACE(type, contextId, of##_CONTEXT);                                                                    \
    PLACE(type, streamId, of##_STREAM)

#define COPIED(type, correlation)                                                                            \
    MOVED(type, MEMCPY);                                                                                     \
    PLACE(type, copyKind, MEMCPY_KIND);                                                                      \
    WIDTH(type, copyKind, 1);                                                                                \
    PLACE(type, srcKind, MEMCPY_FROM);                                                                       \
    PLACE(type, dstKind, MEMCPY_TO);                                                                         \
    WIDTH(type, dstKind, 1);                                                                                 \
    PLACE(type, correlationId, correlation)

#define COPIED_BY_GRAPH(type)                                                                                \
    COPIED(type, MEMCPY_CORRELATION);                                                                        \
    GRAPHED(type, MEMCPY_NODE, MEMCPY_GRAPH)

#define COPIED_TO_PEER(type)                                                                                 \
    COPIED(type, PTOP_CORRELATION);                                                                          \
    GRAPHED(type, PTOP_NODE, PTOP_GRAPH)

#define SET(type)                                                                                            \
    MOVED(type, MEMSET);                                                                                     \
    PLACE(type, correlationId, MEMSET_CORRELATION);                                                          \
    PLACE(type, memoryKind, MEMSET_TO);                                                                      \
    WIDTH(type, memoryKind, 2)

#define SET_BY_GRAPH(type)                                                                                   \
    SET(type);                                                                                               \
    GRAPHED(type, MEMSET_NODE, MEMSET_GRAPH)

COPIED(CUpti_ActivityMemcpy, MEMCPY_CORRELATION);
COPIED(CUpti_ActivityMemcpyPtoP, PTOP_CORRELATION);
SET(CUpti_ActivityMemset);
PLACE(CUpti_ActivityMemcpy3, graphNodeId, MEMCPY_NODE);
COPIED_BY_GRAPH(CUpti_ActivityMemcpy4);
COPIED_BY_GRAPH(CUpti_ActivityMemcpy5);
COPIED_TO_PEER(CUpti_ActivityMemcpyPtoP3);
COPIED_TO_PEER(CUpti_ActivityMemcpyPtoP4);
SET_BY_GRAPH(CUpti_ActivityMemset3);
SET_BY_GRAPH(CUpti_ActivityMemset4);
#if CUPTI_API_VERSION >= 26
COPIED_BY_GRAPH(CUpti_ActivityMemcpy6);
#endif

PLACE(CUpti_ActivityAPI, kind, 0);
PLACE(CUpti_ActivityAPI, cbid, CALL_CBID);
PLACE(CUpti_ActivityAPI, start, CALL_START);
PLACE(CUpti_ActivityAPI, end, CALL_END);
PLACE(CUpti_ActivityAPI, threadId, CALL_THREAD);
PLACE(CUpti_ActivityAPI, correlationId, CALL_CORRELATION);
PLACE(CUpti_ActivityAPI, returnValue, CALL_RESULT);

#define SYNC(record)                                                                                         \
    PLACE(record, kind, 0);                                                                                  \
    PLACE(record, type, SYNC_TYPE);                                                                          \
    PLACE(record, start, SYNC_START);                                                                        \
    PLACE(record, end, SYNC_END);                                                                            \
    PLACE(record, correlationId, SYNC_CORRELATION);                                                          \
    PLACE(record, contextId, SYNC_CONTEXT);                                                                  \
    PLACE(record, streamId, SYNC_STREAM)

SYNC(CUpti_ActivitySynchronization);
#if CUPTI_API_VERSION >= 26
SYNC(CUpti_ActivitySynchronization2);
PLACE(CUpti_ActivitySynchronization2, returnValue, SYNC_RESULT);
WIDTH(CUpti_ActivitySynchronization2, returnValue, 4);
#endif

#define OVERHEAD(type)                                                                                       \
    PLACE(type, kind, 0);                                                                                    \
    PLACE(type, overheadKind, OVERHEAD_KIND);                                                                \
    PLACE(type, objectKind, OVERHEAD_OF);                                                                    \
    PLACE(type, objectId.pt.threadId, OVERHEAD_THREAD);                                                      \
    PLACE(type, start, OVERHEAD_START);                                                                      \
    PLACE(type, end, OVERHEAD_END)

OVERHEAD(CUpti_ActivityOverhead);
#if CUPTI_API_VERSION >= 130000
OVERHEAD(CUpti_ActivityOverhead2);
OVERHEAD(CUpti_ActivityOverhead3);
#endif

#define MEMORY(type)                                                                                         \
    PLACE(type, kind, 0);                                                                                    \
    PLACE(type, memoryOperationType, MEMORY_OPERATION);                                                      \
    PLACE(type, memoryKind, MEMORY_KIND);                                                                    \
    PLACE(type, correlationId, MEMORY_CORRELATION);                                                          \
    PLACE(type, address, MEMORY_ADDRESS);                                                                    \
    PLACE(type, bytes, MEMORY_BYTES);                                                                        \
    PLACE(type, timestamp, MEMORY_TIME);                                                                     \
    PLACE(type, deviceId, MEMORY_DEVICE);                                                                    \
    PLACE(type, contextId, MEMORY_CONTEXT);                                                                  \
    PLACE(type, streamId, MEMORY_STREAM)

MEMORY(CUpti_ActivityMemory2);
MEMORY(CUpti_ActivityMemory3);
#if CUPTI_API_VERSION >= 130000
MEMORY(CUpti_ActivityMemory4);
#endif

#define GRAPH(type)                                                                                          \
    PLACE(type, kind, 0);                                                                                    \
    PLACE(type, correlationId, GRAPH_CORRELATION);                                                           \
    PLACE(type, start, GRAPH_START);                                                                         \
    PLACE(type, end, GRAPH_END);                                                                             \
    PLACE(type, deviceId, GRAPH_DEVICE);                                                                     \
    PLACE(type, graphId, GRAPH_ID);                                                                          \
    PLACE(type, contextId, GRAPH_CONTEXT);                                                                   \
    PLACE(type, streamId, GRAPH_STREAM)

GRAPH(CUpti_ActivityGraphTrace);
#if CUPTI_API_VERSION >= 130000
GRAPH(CUpti_ActivityGraphTrace2);
#endif

/* ---- what callbacks get ---- */

PLACE(CUpti_CallbackData, callbackSite, offsetof(struct cupti_call, site));
PLACE(CUpti_CallbackData, functionName, offsetof(struct cupti_call, function));
PLACE(CUpti_CallbackData, functionParams, offsetof(struct cupti_call, parameters));
PLACE(CUpti_CallbackData, functionReturnValue, offsetof(struct cupti_call, result));
PLACE(CUpti_CallbackData, symbolName, offsetof(struct cupti_call, symbol));
PLACE(CUpti_CallbackData, context, offsetof(struct cupti_call, context));
PLACE(CUpti_CallbackData, contextUid, offsetof(struct cupti_call, context_id));
PLACE(CUpti_CallbackData, correlationData, offsetof(struct cupti_call, data));
PLACE(CUpti_CallbackData, correlationId, offsetof(struct cupti_call, correlation));
_Static_assert(sizeof(CUpti_CallbackData) == sizeof(struct cupti_call), "CUpti_CallbackData");
PLACE(CUpti_ResourceData, context, offsetof(struct cupti_resource, context));
PLACE(CUpti_ResourceData, resourceHandle.stream, offsetof(struct cupti_resource, stream));
PLACE(CUpti_ResourceData, resourceDescriptor, offsetof(struct cupti_resource, graph));
_Static_assert(sizeof(CUpti_ResourceData) == sizeof(struct cupti_resource), "CUpti_ResourceData");
PLACE(CUpti_GraphData, graph, offsetof(struct cupti_graph, graph));
PLACE(CUpti_GraphData, originalGraph, offsetof(struct cupti_graph, original));
PLACE(CUpti_GraphData, node, offsetof(struct cupti_graph, node));
PLACE(CUpti_GraphData, originalNode, offsetof(struct cupti_graph, original_node));

/* ---- numbers ---- */

EQUAL(CUPTI_SUCCESS, CUPTI_OK);
EQUAL(CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_END);
EQUAL(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_SUBSCRIBED);
EQUAL(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER);
EQUAL(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME);
EQUAL(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_RESOURCE);
EQUAL(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_NODE_CREATED);
EQUAL(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, CUPTI_NODE_CLONED);
EQUAL(CUPTI_API_ENTER, 0);
EQUAL(CUPTI_API_EXIT, 1);
EQUAL(CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_MEMCPY);
EQUAL(CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_MEMSET);
EQUAL(CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_KERNEL);
EQUAL(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_CALL);
EQUAL(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_CALL);
EQUAL(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_CONCURRENT_KERNEL);
EQUAL(CUPTI_ACTIVITY_KIND_MARKER, CUPTI_MARKER);
EQUAL(CUPTI_ACTIVITY_KIND_MARKER_DATA, CUPTI_MARKER_DATA);
EQUAL(CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_OVERHEAD);
EQUAL(CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_MEMCPY2);
EQUAL(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_SYNC);
EQUAL(CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_MEMORY2);
EQUAL(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_GRAPH);
EQUAL(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, CUPTI_ATTR_DEVICE_BUFFER);
EQUAL(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, CUPTI_THREADS_OF_SYSTEM);
EQUAL(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, CUPTI_FLUSH_FORCED);
EQUAL(CUPTI_ACTIVITY_OBJECT_PROCESS, CUPTI_OF_PROCESS);
EQUAL(CUPTI_ACTIVITY_OBJECT_THREAD, CUPTI_OF_THREAD);
EQUAL(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, CUPTI_ALLOCATE);
EQUAL(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, CUPTI_RELEASE);
_Static_assert(sizeof(CUptiResult) == sizeof(int) && sizeof(CUpti_ActivityKind) == sizeof(int), "enums");

/* ---- the words of src/collect/gpu_names.c, by number ---- */

EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 2);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, 3);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, 4);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, 5);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, 6);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, 7);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 8);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, 9);
EQUAL(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 10);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, 1);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 2);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 3);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, 4);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, 5);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, 6);
EQUAL(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC, 7);
EQUAL(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 1);
EQUAL(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 2);
EQUAL(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 3);
EQUAL(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, 4);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, 1);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, 1 << 16);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, 2 << 16);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, 3 << 16);
#if CUPTI_API_VERSION >= 130000
EQUAL(CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, 4 << 16);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 5 << 16);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, 6 << 16);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, 7 << 16);
EQUAL(CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, 8 << 16);
#endif

#endif
