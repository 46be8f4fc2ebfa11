/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a function that the compiler put elsewhere, in a file that was stripped of its symbols. */
#ifndef WPROF_UNWIND_PY_COLD_H
#define WPROF_UNWIND_PY_COLD_H

#include "unwind/py_binary.h"

struct elf;

/*
 * Looks for what `hot` jumps into: code with an entry of its own in .eh_frame, entered in its middle, which
 * no other function's code is. x86-64. 0 and *cold, or -1 when there is none.
 */
int py_cold_find(const struct elf *f, struct py_range hot, struct py_range *cold);

#endif
