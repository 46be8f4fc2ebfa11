/* SPDX-License-Identifier: Apache-2.0 */
/* What would have given names to code that was compiled at run time, and whole stacks through it. */
#ifndef WPROF_ANALYZE_JIT_ADVICE_H
#define WPROF_ANALYZE_JIT_ADVICE_H

#include "base/buf.h"
#include "model/store.h"

/* What the recording was told to do about it already. */
enum { JIT_ADVICE_JVM = 1, JIT_ADVICE_NAMES = 2 };

/*
 * One sentence a line, appended; nothing where all is named. `s` is symbolized; scanned: those of
 * `samples` whose stack was searched for return addresses (struct quality); done: of JIT_ADVICE_*.
 */
void jit_advice(const struct store *s, uint64_t scanned, uint64_t samples, unsigned done, struct buf *out);

#endif
