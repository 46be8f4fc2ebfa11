/* SPDX-License-Identifier: Apache-2.0 */
/* The user's part of a thread that stands still: what whoever looks at one adds to the record for
 * stack_take(). */
#ifndef WPROF_COLLECT_BLOCKED_H
#define WPROF_COLLECT_BLOCKED_H

#include <linux/types.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "platform/proctask.h"
#include "unwind/py_walk.h"

#include <sys/types.h>

/* Bytes of its stack: what lies beyond is read when it is needed. Where the walk does not come to its end,
 * rbp was needed and may lie behind large locals: then once more with the larger number. */
enum { BLOCKED_COPY = 16384, BLOCKED_COPY_MAX = 128 << 10 };

/* Adds Python's frames and up to n bytes of stack from the sample's sp on, read into `room` first; the
 * sample's size is then that of all. rc: 1: `python` has frames; 0: there is no Python; -1: it could not be
 * read. */
void blocked_add(struct buf *record, pid_t pid, const struct py_stack *python, int rc, uint8_t *room,
                 size_t n);

/* Who holds the mutex that a thread of process pid, blocked in this call, waits for: bpf/mutex.h. */
uint32_t blocked_mutex_owner(pid_t pid, const struct proctask_call *call);

#endif
