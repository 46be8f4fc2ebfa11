/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a perf sample that came with registers and a piece of the thread's stack. */
#ifndef WPROF_COLLECT_OUTSIDE_SAMPLE_H
#define WPROF_COLLECT_OUTSIDE_SAMPLE_H

#include "collect/outside.h"
#include "platform/perf_task.h"

/* As outside_python(), right after the sample: what lies in the copied stack is of its moment. *how: WIRE_PY_
 * and WIRE_GIL flags for outside_sample_stack(). */
int outside_sample_python(struct outside *o, struct outside_thread *t, struct process *p,
                          const struct perf_task_sample *s, uint16_t *how);

/* Python's frames (n may be 0) and the sample's in one stack: its id. */
uint32_t outside_sample_stack(struct outside *o, const struct outside_thread *t, struct process *p,
                              const struct perf_task_record *rec, const void *python, uint32_t n,
                              uint16_t how, uint16_t *flags);

#endif
