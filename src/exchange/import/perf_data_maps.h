/* SPDX-License-Identifier: Apache-2.0 */
/* What code lay where in the processes that a perf.data tells of, and in the kernel. */
#ifndef WPROF_EXCHANGE_PERF_DATA_MAPS_H
#define WPROF_EXCHANGE_PERF_DATA_MAPS_H

#include "exchange/import/perf_data_code.h"
#include "exchange/import/perf_data_record.h"
#include "unwind/process.h"
#include "unwind/walk_user.h"

struct perf_maps {
    struct store *s;
    const struct perf_file *f;
    struct processes processes;
    struct process kernel;      /* its modules' mappings */
    struct process symbols;     /* code that KSYMBOL names: mapping.file is the name in strtab */
    VEC(struct perf_code) code; /* id is index + 1: mapping.file */
    struct map by_key;
    size_t inherited;      /* mappings that processes hold from their parents */
    uint64_t uninherited;  /* processes that got none: there were too many */
    uint32_t kernel_code;  /* [kernel.kallsyms]; 0: not met */
    int vdso_asked;        /* whether the vdso is ours: asked once */
    struct perf_code vdso; /* only its build id; of length 0: it isn't, as far as can be told */
    uint64_t ref;          /* where a symbol of the kernel's was, */
    char *ref_name;        /* and which; NULL: not told */
};

void perf_maps_init(struct perf_maps *m, struct store *s, const struct perf_file *f);
void perf_maps_release(struct perf_maps *m);

struct process *perf_maps_process(struct perf_maps *m, uint32_t pid); /* made where it is new */
void perf_maps_fork(struct perf_maps *m, uint32_t pid, uint32_t from);
void perf_maps_exec(struct perf_maps *m, uint32_t pid);
int perf_maps_mmap(struct perf_maps *m, const struct perf_rec *r);   /* -1: it makes no sense */
int perf_maps_symbol(struct perf_maps *m, const struct perf_rec *r); /* KSYMBOL; the same */

/* The frame of code at ip, raw where its name is to be looked up. is_return: ip is behind a call. */
uint32_t perf_maps_frame(struct perf_maps *m, struct process *p, uint64_t ip, enum perf_mode mode,
                         int is_return);

/* For walks: what lies at pc. 0, or -1: nothing. */
int perf_maps_walk(struct perf_maps *m, const struct process *p, uint64_t pc, struct walk_map *out);

/* The build id of the kernel that was recorded: its length, 0: not told. */
size_t perf_maps_kernel_id(const struct perf_maps *m, uint8_t id[20]);

#endif
