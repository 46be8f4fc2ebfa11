/* SPDX-License-Identifier: Apache-2.0 */
/* Where CPython keeps what: one layout a version, or as the interpreter itself states it (3.13 on). */
#ifndef WPROF_UNWIND_PY_LAYOUT_H
#define WPROF_UNWIND_PY_LAYOUT_H

#include "base/err.h"

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/py.h"

enum {
    PY_VERSION_MIN = 0x0308,
    PY_VERSION_MAX = 0x030e,
    PY_OFFSETS_COOKIE_LEN = 8,
    PY_OFFSETS_MAX = 1024, /* as much of _Py_DebugOffsets as is ever needed */
};

/* The layout of an ordinary build of `version` (0x030b is 3.11), static; NULL outside of PY_VERSION_MIN..MAX.
 */
const struct py_layout *py_layout_of(unsigned version);

/* Does p[0..n), the start of _PyRuntime, begin with _Py_DebugOffsets? Gives its version (0x030d), else 0. */
unsigned py_offsets_version(const void *p, size_t n);

/*
 * Fills `out` from the _Py_DebugOffsets at p[0..n), of 3.13 or 3.14. Fails, naming what is wrong, on another
 * version, on fewer bytes than that version has, and on an offset that no build can have.
 */
int py_layout_from_offsets(struct py_layout *out, const void *p, size_t n, struct err *e);

#endif
