/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What run-times write as names into their perf maps, taken apart: function, file and line as people write
 * them, and which language it is. What is in no form that is known stays as it is.
 *
 *     V8       TAG:MARK NAME FILE:LINE:COLUMN   JS:*sum /srv/app.js:3:14 (tiers ~ ^ + * of
 * src/objects/code-kind.cc) HotSpot  TYPE CLASS.METHOD(TYPES)         int app.Main.sum(int, int)
 * (Method::external_name) CPython  py::QUALNAME:FILE                py::Main.sum:/srv/app.py
 * (Python/perf_trampoline.c)
 */
#ifndef WPROF_ANALYZE_JIT_NAME_H
#define WPROF_ANALYZE_JIT_NAME_H

#include "analyze/language.h"
#include "base/buf.h"

#include <stdint.h>

struct jit_name {
    struct buf func, file;  /* file: empty where the map doesn't tell */
    uint32_t line;          /* where the function begins; 0: unknown */
    enum language language; /* LANGUAGE_NONE: can't be told */
};

/* Replaces what is in `out`; its buffers stay the caller's, to be released with jit_name_release(). */
void jit_name_parse(const char *raw, struct jit_name *out);
void jit_name_release(struct jit_name *n);

#endif
