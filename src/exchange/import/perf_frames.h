/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of `perf script`: "  ffffffff8104f45a native_write_msr_safe+0x1a ([kernel.kallsyms])". */
#ifndef WPROF_EXCHANGE_PERF_FRAMES_H
#define WPROF_EXCHANGE_PERF_FRAMES_H

#include "base/buf.h"
#include "base/vec.h"
#include "exchange/import/tokens.h"
#include "model/store.h"

/* A line's frames. */
struct perf_frames_run {
    uint32_t n;
    uint32_t at; /* of one: its id; of several: they are pool[at..at + n), the outermost first */
};

/* What a line's text gave: the same text gives it again. */
struct perf_frames {
    struct store *store;
    struct tokens seen[2];            /* "name (module)" -> index in runs + 1; [1]: of Java's */
    VEC(struct perf_frames_run) runs; /* n == BY_ADDRESS: `at` is one like it */
    VEC(uint32_t) pool;
    struct buf text;
};

/* The frames of a line, those that were inlined too. 0, or -1: it is no frame. A name is cut down as
 * stackcollapse-perf.pl does: no offset, no arguments; `java`: the process is Java's, whose class names lose
 * their L. What has no name is one frame an address, "[libc.so.6]". */
int perf_frames_get(struct perf_frames *x, const char *line, size_t n, int java, struct perf_frames_run *run);
void perf_frames_release(struct perf_frames *x);

#endif
