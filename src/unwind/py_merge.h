/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stack out of two: native frames and Python frames of the same thread at the same moment. A run of
 * Python frames takes the place of the eval loop's native frame that executes it, so Python -> C -> Python
 * comes out in order.
 */
#ifndef WPROF_UNWIND_PY_MERGE_H
#define WPROF_UNWIND_PY_MERGE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/py.h"

enum {
    PY_NATIVE_EVAL = 1, /* in the eval loop (py_target_is_eval); to 3.9 this is what places frames */
    PY_NATIVE_JIT = 2,  /* in no file: may be a trampoline of `python -X perf` */
};

struct py_native {
    uint64_t sp; /* of the frame itself: it spans [sp, next frame's sp) */
    uint32_t flags;
};

struct py_merge_how {
    enum py_entry entry; /* the layout's */
    int native_whole;    /* the native walk reached the thread's start */
    int python_whole;    /* the Python walk ended PY_DONE */
    int tail_calls;      /* py_target.tail_calls */
};

struct py_slot {
    uint32_t python : 1; /* index is one of the Python frames, else of the native ones */
    uint32_t index : 31;
};

/* Added to, over many stacks. */
struct py_merge_stats {
    uint64_t stacks, runs;
    uint64_t unplaced;    /* runs without a native frame of their own, put where their order allows */
    uint64_t trampolines; /* native frames left out since a Python frame says the same */
};

/*
 * All arrays innermost first. Writes to out, which has room for n_native + n_python, and returns how many:
 * all Python frames in their order, and all native ones in theirs but eval loops and trampolines that a run
 * replaces.
 */
size_t py_merge(struct py_slot *out, const struct py_native *native, size_t n_native,
                const struct py_frame *python, size_t n_python, const struct py_merge_how *how,
                struct py_merge_stats *stats);

#endif
