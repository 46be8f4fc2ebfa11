/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations against the real ones, where a toolkit is installed. */
#include "agent/cupti.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

#define PLACE(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field)

PLACE(CUpti_ActivityKernel5, registersPerThread, KERNEL_REGISTERS);
PLACE(CUpti_ActivityKernel5, start, KERNEL_START);
PLACE(CUpti_ActivityKernel5, end, KERNEL_END);
PLACE(CUpti_ActivityKernel5, deviceId, KERNEL_DEVICE);
PLACE(CUpti_ActivityKernel5, contextId, KERNEL_CONTEXT);
PLACE(CUpti_ActivityKernel5, streamId, KERNEL_STREAM);
PLACE(CUpti_ActivityKernel5, gridX, KERNEL_GRID);
PLACE(CUpti_ActivityKernel5, blockX, KERNEL_BLOCK);
PLACE(CUpti_ActivityKernel5, staticSharedMemory, KERNEL_SHARED_STATIC);
PLACE(CUpti_ActivityKernel5, dynamicSharedMemory, KERNEL_SHARED_DYNAMIC);
PLACE(CUpti_ActivityKernel5, correlationId, KERNEL_CORRELATION);
PLACE(CUpti_ActivityKernel5, name, KERNEL_NAME);
PLACE(CUpti_ActivityKernel5, graphNodeId, KERNEL_NODE);
PLACE(CUpti_ActivityKernel5, graphId, KERNEL_GRAPH);
PLACE(CUpti_ActivityMemcpy4, copyKind, MEMCPY_KIND);
PLACE(CUpti_ActivityMemcpy4, srcKind, MEMCPY_FROM);
PLACE(CUpti_ActivityMemcpy4, dstKind, MEMCPY_TO);
PLACE(CUpti_ActivityMemcpy4, bytes, MEMCPY_BYTES);
PLACE(CUpti_ActivityMemcpy4, start, MEMCPY_START);
PLACE(CUpti_ActivityMemcpy4, end, MEMCPY_END);
PLACE(CUpti_ActivityMemcpy4, deviceId, MEMCPY_DEVICE);
PLACE(CUpti_ActivityMemcpy4, contextId, MEMCPY_CONTEXT);
PLACE(CUpti_ActivityMemcpy4, streamId, MEMCPY_STREAM);
PLACE(CUpti_ActivityMemcpy4, correlationId, MEMCPY_CORRELATION);
PLACE(CUpti_ActivityMemcpy4, graphNodeId, MEMCPY_NODE);
PLACE(CUpti_ActivityMemcpy4, graphId, MEMCPY_GRAPH);
PLACE(CUpti_ActivityMemcpyPtoP3, correlationId, PTOP_CORRELATION);
PLACE(CUpti_ActivityMemcpyPtoP3, graphNodeId, PTOP_NODE);
PLACE(CUpti_ActivityMemcpyPtoP3, graphId, PTOP_GRAPH);
PLACE(CUpti_ActivityMemset3, bytes, MEMSET_BYTES);
PLACE(CUpti_ActivityMemset3, start, MEMSET_START);
PLACE(CUpti_ActivityMemset3, end, MEMSET_END);
PLACE(CUpti_ActivityMemset3, deviceId, MEMSET_DEVICE);
PLACE(CUpti_ActivityMemset3, contextId, MEMSET_CONTEXT);
PLACE(CUpti_ActivityMemset3, streamId, MEMSET_STREAM);
PLACE(CUpti_ActivityMemset3, correlationId, MEMSET_CORRELATION);
PLACE(CUpti_ActivityMemset3, memoryKind, MEMSET_TO);
PLACE(CUpti_ActivityMemset3, graphNodeId, MEMSET_NODE);
PLACE(CUpti_ActivityMemset3, graphId, MEMSET_GRAPH);
PLACE(CUpti_ActivityAPI, cbid, CALL_CBID);
PLACE(CUpti_ActivityAPI, start, CALL_START);
PLACE(CUpti_ActivityAPI, end, CALL_END);
PLACE(CUpti_ActivityAPI, threadId, CALL_THREAD);
PLACE(CUpti_ActivityAPI, correlationId, CALL_CORRELATION);
PLACE(CUpti_ActivityAPI, returnValue, CALL_RESULT);
PLACE(CUpti_ActivitySynchronization, type, SYNC_TYPE);
PLACE(CUpti_ActivitySynchronization, start, SYNC_START);
PLACE(CUpti_ActivitySynchronization, end, SYNC_END);
PLACE(CUpti_ActivitySynchronization, correlationId, SYNC_CORRELATION);
PLACE(CUpti_ActivitySynchronization, contextId, SYNC_CONTEXT);
PLACE(CUpti_ActivitySynchronization, streamId, SYNC_STREAM);
PLACE(CUpti_ActivityOverhead, overheadKind, OVERHEAD_KIND);
PLACE(CUpti_ActivityOverhead, objectKind, OVERHEAD_OF);
PLACE(CUpti_ActivityOverhead, objectId.pt.threadId, OVERHEAD_THREAD);
PLACE(CUpti_ActivityOverhead, start, OVERHEAD_START);
PLACE(CUpti_ActivityOverhead, end, OVERHEAD_END);
PLACE(CUpti_ActivityMemory2, memoryOperationType, MEMORY_OPERATION);
PLACE(CUpti_ActivityMemory2, memoryKind, MEMORY_KIND);
PLACE(CUpti_ActivityMemory2, correlationId, MEMORY_CORRELATION);
PLACE(CUpti_ActivityMemory2, address, MEMORY_ADDRESS);
PLACE(CUpti_ActivityMemory2, bytes, MEMORY_BYTES);
PLACE(CUpti_ActivityMemory2, timestamp, MEMORY_TIME);
PLACE(CUpti_ActivityMemory2, deviceId, MEMORY_DEVICE);
PLACE(CUpti_ActivityMemory2, contextId, MEMORY_CONTEXT);
PLACE(CUpti_ActivityMemory2, streamId, MEMORY_STREAM);
PLACE(CUpti_ActivityMarker2, flags, MARKER_FLAGS);
PLACE(CUpti_ActivityMarker2, timestamp, MARKER_TIME);
PLACE(CUpti_ActivityMarker2, id, MARKER_ID);
PLACE(CUpti_ActivityMarker2, objectKind, MARKER_OF);
PLACE(CUpti_ActivityMarker2, objectId.pt.threadId, MARKER_THREAD);
PLACE(CUpti_ActivityMarker2, name, MARKER_NAME);
PLACE(CUpti_CallbackData, callbackSite, offsetof(struct cupti_call, site));
PLACE(CUpti_CallbackData, symbolName, offsetof(struct cupti_call, symbol));
PLACE(CUpti_CallbackData, correlationId, offsetof(struct cupti_call, correlation));
PLACE(CUpti_ResourceData, resourceDescriptor, offsetof(struct cupti_resource, graph));
PLACE(CUpti_GraphData, node, offsetof(struct cupti_graph, node));
PLACE(CUpti_GraphData, originalNode, offsetof(struct cupti_graph, original_node));

_Static_assert(CUPTI_ERROR_MAX_LIMIT_REACHED == CUPTI_END &&
                   CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == CUPTI_SUBSCRIBED,
               "results");
_Static_assert(CUPTI_CB_DOMAIN_DRIVER_API == CUPTI_DRIVER && CUPTI_CB_DOMAIN_RUNTIME_API == CUPTI_RUNTIME &&
                   CUPTI_CB_DOMAIN_RESOURCE == CUPTI_RESOURCE &&
                   CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == CUPTI_NODE_CREATED &&
                   CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == CUPTI_NODE_CLONED,
               "callbacks");
_Static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == CUPTI_CONCURRENT_KERNEL &&
                   CUPTI_ACTIVITY_KIND_MARKER == CUPTI_MARKER &&
                   CUPTI_ACTIVITY_KIND_OVERHEAD == CUPTI_OVERHEAD &&
                   CUPTI_ACTIVITY_KIND_MEMCPY2 == CUPTI_MEMCPY2 &&
                   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION == CUPTI_SYNC &&
                   CUPTI_ACTIVITY_KIND_MEMORY2 == CUPTI_MEMORY2,
               "kinds");
_Static_assert(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE == CUPTI_ATTR_DEVICE_BUFFER &&
                   CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER == CUPTI_ATTR_ZEROED,
               "attributes");
#endif
