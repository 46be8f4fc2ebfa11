/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython in the targets: which processes have it, what the kernel's walker needs to know of it, and the
 * names and lines of code objects, read from the process while it lives, else from what the kernel's side
 * copied.
 */
#ifndef WPROF_COLLECT_PYTHON_H
#define WPROF_COLLECT_PYTHON_H

#include "base/map.h"
#include "base/vec.h"
#include "model/session.h"
#include "model/store.h"
#include "unwind/py_code.h"
#include "unwind/py_detect.h"
#include "unwind/track.h"

#include <stdint.h>

/* A process that runs CPython; process->python owns it. */
struct process_python {
    struct py_target target;
    uint32_t generation; /* of one image's memory: a fork's child has its parent's */
    uint8_t checked;     /* its structures are where the layout says */
    uint8_t misfits;     /* looks that found something else */
};

/* A frame found lately: most of a stack's are those of the one before, and so few lines of cache hold them.
 */
struct python_lately {
    uint64_t key;
    uint32_t frame; /* 0: none */
};

enum { PYTHON_LATELY = 256 }; /* a power of two */

struct pythons {
    struct store *store;
    struct meta *meta;
    struct bpfside *bpf; /* NULL: there is no kernel's side */
    struct track *track;
    struct py_detector detector;
    struct py_codes codes;
    VEC(struct py_layout) layouts; /* as the kernel's side has them */
    uint32_t generation;
    struct map frames; /* hash of {code object, instruction} -> frame id */
    struct python_lately lately[PYTHON_LATELY];
    struct map copies; /* hash of a code object's identity -> struct wire_pycode *, until it is needed */
    struct py_process *memory;
    uint32_t unnamed;    /* frame of code that could not be named any more; 0: none so far */
    uint64_t names_lost; /* code objects like that */
};

void pythons_init(struct pythons *py, struct store *s, struct meta *m, struct bpfside *b, struct track *t);
void pythons_release(struct pythons *py);

/* What happens to processes. */
void pythons_mapped(struct pythons *py, struct process *p, uint32_t file, const struct mapping *m);
void pythons_forked(struct pythons *py, struct process *child, const struct process *parent);
void pythons_execed(struct pythons *py, struct process *p); /* or ended */
void pythons_code(struct pythons *py, const struct wire_pycode *r);

/* Before its Python frames are used: a process whose structures are not where they ought to be has no Python
 * from then on, which is said. */
void pythons_check(struct pythons *py, struct process *p);

struct store_visit;
void pythons_ids(struct pythons *py, struct store_visit *v); /* model/store_visit.h */

/* The store's frame for one of the process's Python frames. p->python is not NULL. */
uint32_t pythons_frame(struct pythons *py, struct process *p, const struct py_frame *f);

#endif
