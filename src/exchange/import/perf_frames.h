/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of `perf script`: "  ffffffff8104f45a native_write_msr_safe+0x1a ([kernel.kallsyms])". */
#ifndef WPROF_EXCHANGE_PERF_FRAMES_H
#define WPROF_EXCHANGE_PERF_FRAMES_H

#include "base/vec.h"
#include "model/store.h"

struct perf_frames_run {
    uint32_t first, n;
};

/* What a line's text gave: the same text gives it again. */
struct perf_frames {
    struct store *store;
    struct strtab seen;               /* texts */
    VEC(struct perf_frames_run) runs; /* by id of `seen` - 1 */
    VEC(uint32_t) pool;               /* frame ids, outermost first */
};

/* The frames of a line, those that were inlined too: ids in x->pool. 0, or -1: it is no frame. A name is cut
 * down as stackcollapse-perf.pl does: no offset, no arguments; `java`: the process is Java's, whose class
 * names lose their L. */
int perf_frames_get(struct perf_frames *x, const char *line, size_t n, int java, struct perf_frames_run *run);
void perf_frames_release(struct perf_frames *x);

#endif
