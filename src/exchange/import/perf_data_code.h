/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with code that a perf.data names, and what of it is to be had here. A file is used where its build
 * id is the recorded one: it, or perf's copy in ~/.debug, or what lies under /usr/lib/debug. Without a
 * recorded build id, device and inode must be the same, which proves little and is told.
 */
#ifndef WPROF_EXCHANGE_PERF_DATA_CODE_H
#define WPROF_EXCHANGE_PERF_DATA_CODE_H

#include "model/store.h"
#include "unwind/table.h"

#include <stddef.h>
#include <stdint.h>

enum perf_code_state {
    PERF_CODE_UNTRIED,
    PERF_CODE_SURE,   /* its build id is the recorded one */
    PERF_CODE_UNSURE, /* no build id was recorded; device and inode fit */
    PERF_CODE_OTHER,  /* what lies at its path is another one */
    PERF_CODE_ABSENT, /* nothing lies there, or nothing tells whether it is the same */
    PERF_CODE_NONE,   /* it is no file */
};

struct perf_code {
    char *path;   /* owned; as recorded, without " (deleted)" */
    uint8_t kind; /* enum module_kind */
    uint8_t state;
    uint8_t build_id_n, build_id[20];
    uint64_t dev, ino;        /* 0: not told */
    char *found;              /* owned; where its code was found, NULL: nowhere */
    int found_apart;          /* not at its path */
    struct unw_layout layout; /* n == 0: not known */
    struct unw_lazy *lazy;
    int lazy_tried;
    uint32_t store_id; /* 0: no frame of it yet */
};

void perf_code_release(struct perf_code *c);

/* Is the kernel of that build id the one that runs here? Then its vdso is ours. */
int perf_kernel_runs_here(const uint8_t *id, size_t n);

/* Of a vdso without a build id: that of ours. */
void perf_code_take_own_vdso(struct perf_code *c);

/* One row at a time; NULL: it has no tables, or wasn't found. */
struct unw_lazy *perf_code_lazy(struct perf_code *c);

/* Its id among the store's modules, entered at the first call, which looks for the file. */
uint32_t perf_code_module(struct perf_code *c, struct store *s);

#endif
