/* SPDX-License-Identifier: Apache-2.0 */
/* From a store's frames to a profile's: one raw frame may become several (inlines), many raw ones the same.
 */
#ifndef WPROF_ANALYZE_FOLD_FRAMES_H
#define WPROF_ANALYZE_FOLD_FRAMES_H

#include "analyze/fold.h"
#include "base/map.h"

struct fold_frames {
    struct profile *p;
    const struct store *s;
    const struct fold_opts *o;
    struct map gpu;      /* name of what ran on a GPU -> profile frame + 1 */
    uint32_t *string;    /* store string id -> profile string id */
    uint32_t *first, *n; /* frame id -> a run in seq */
    VEC(uint32_t) seq;   /* profile frames, outermost first */
    struct index index;  /* of p->frames, by index + 1 */
    int one_to_one;      /* every frame is one profile frame, and no two the same */
};

/* Maps every frame of the store. */
void fold_frames_init(struct fold_frames *f, struct profile *p, const struct store *s,
                      const struct fold_opts *o);
void fold_frames_release(struct fold_frames *f);

/* A process's or thread's frame at the root: finds or adds. */
uint32_t fold_frames_task(struct fold_frames *f, const char *name);

/* A frame that is a text in brackets. */
uint32_t fold_frames_marker(struct fold_frames *f, const char *text);

/* The frame of what ran on a GPU: "CUDA:" and its name, a string of the store. */
uint32_t fold_frames_gpu(struct fold_frames *f, uint32_t name);

/* The frame of what has no stack: "[no stack]". */
uint32_t fold_frames_none(struct fold_frames *f);

#endif
