/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the CPython in a process, from its executable file mappings. */
#ifndef WPROF_UNWIND_PY_DETECT_H
#define WPROF_UNWIND_PY_DETECT_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "unwind/py_binary.h"

#include <stddef.h>
#include <stdint.h>

struct py_mapping {
    const char *path;      /* as the process sees it */
    uint64_t start, pgoff; /* of an executable mapping */
    int fd;                /* the file, open for reading; borrowed */
    const uint8_t *build_id;
    size_t build_id_len; /* 0: looked for in the file */
    uint64_t dev, ino;   /* what a file without build id is remembered by; 0, 0: it is not */
    int main;            /* the process's own program, not one of its libraries */
};

/* A CPython found in a process. */
struct py_target {
    struct py_proc proc; /* layout and generation are the caller's to set */
    struct py_layout layout;
    struct py_range eval[2]; /* where its eval loop runs, run-time addresses; start == end: unknown */
    int tail_calls;          /* opcodes are functions that tail-call each other (3.14, some compilers) */
    char path[256];          /* the file, its end where it is longer */
};

static inline int py_target_is_eval(const struct py_target *t, uint64_t ip)
{
    return (ip >= t->eval[0].start && ip < t->eval[0].end) || (ip >= t->eval[1].start && ip < t->eval[1].end);
}

/* Remembers every file looked at, so that each is examined once. */
struct py_detector {
    VEC(struct py_seen *) seen;
    struct map ids; /* hash of the file's identity -> index + 1 */
};

void py_detector_release(struct py_detector *d);

/*
 * 1: CPython is in mapping m, out is filled (py_walk_check tells on the process whether its layout fits).
 * 0: it isn't. -1: a CPython whose frames can't be read, as `e` says, or a file that can't; said once a file,
 * afterwards it is 0. Mappings may be handed over as they appear, one at a time, libraries and program in any
 * order.
 */
int py_detect(struct py_detector *d, const struct py_mapping *m, struct py_target *out, struct err *e);

#endif
