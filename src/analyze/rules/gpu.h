/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of accelerators share. Only sessions with something that ran on one come here. */
#ifndef WPROF_ANALYZE_RULES_GPU_H
#define WPROF_ANALYZE_RULES_GPU_H

#include "analyze/gpu_busy.h"
#include "analyze/gpu_figures.h"
#include "analyze/rules/check.h"

/* One device, with what ran on it by time. */
struct gpu_view {
    const struct gpu_trace *t;
    const struct gpu_device *d;
    struct gpu_slot *slots; /* d->n */
    struct gpu_figures f;
};

typedef void (*gpu_view_check)(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v);

/* Each device in turn; what is found of many becomes one finding. */
void gpu_views(struct rule_run *r, const struct rule_data *d, gpu_view_check check, const char *of_many);

/* Findings of the rule from the index `before` on, each of a device, become one where these are more than
 * two: "64 GPUs wait for the host to launch". It costs what they cost on average; its evidence tells who is
 * worst and who is far from the others, and goes on with that of the worst. of_many: its title, "%s wait for
 * ...". */
void gpu_gather(struct rule_run *r, const struct rule_data *d, size_t before, const char *of_many);

/* A finding of the device. */
struct finding *gpu_found(struct rule_run *r, const struct gpu_view *v);

/* Claims the gaps of that cause (GPU_IDLE_CAUSES: of any) that are at least so long. Gives their sum. x NULL:
 * only that. */
uint64_t gpu_gaps(struct finding *x, const struct gpu_view *v, enum gpu_idle why, uint64_t least, size_t *n);

/* What the thread that fed the device did in its gaps of that cause (GPU_IDLE_CAUSES: of any), as a sentence,
 * and where: the most of what it did in them. Gives what to do about that; NULL: it is not known. */
const char *gpu_blame(struct finding *x, const struct rule_data *d, const struct gpu_view *v,
                      enum gpu_idle why, struct buf *text);

/* How many steps were marked; 0: none were. */
size_t gpu_steps(const struct rule_data *d);

/* The event's work; NULL: it is none of an accelerator's. */
const struct gpu_work *gpu_work(const struct rule_data *d, const struct event *ev);
const char *gpu_name(const struct rule_data *d, const struct gpu_work *w);

/* What asked for copies, by stack: the finding's line is where most were asked for. */
void gpu_at(struct finding *x, const struct rule_data *d, const struct place_time *t);

#endif
