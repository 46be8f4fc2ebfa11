/* SPDX-License-Identifier: Apache-2.0 */
/* Is this ELF file CPython, or a program with CPython inside? What is known of it without a process. */
#ifndef WPROF_UNWIND_PY_BINARY_H
#define WPROF_UNWIND_PY_BINARY_H

#include "unwind/py_layout.h"

#include <stdint.h>

struct elf;

struct py_range {
    uint64_t start, end; /* start == end: unknown */
};

struct py_binary {
    unsigned version; /* 0x030b */
    struct py_layout layout;
    uint64_t runtime;        /* ELF virtual addresses */
    uint64_t code_type;      /* 0: no such symbol */
    struct py_range eval[2]; /* _PyEval_EvalFrameDefault, and the part that the compiler split off as cold */
};

/*
 * path: what the file is called, a help in telling the version where it isn't stated otherwise. main: the
 * process's own program, whose full symbol table is searched too. 1: it is, and b is filled. 0: it isn't. -1:
 * it is a CPython that can't be read, and `e` says why: too old, too new, of unknown version, or structures
 * of its own making.
 */
int py_binary_examine(struct py_binary *b, const struct elf *f, const char *path, int main, struct err *e);

#endif
