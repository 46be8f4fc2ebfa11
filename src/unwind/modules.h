/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files whose code the targets have mapped, each once: kept open from the moment that a mapping appears,
 * so that its tables and symbols can be read whatever becomes of the process or the file.
 */
#ifndef WPROF_UNWIND_MODULES_H
#define WPROF_UNWIND_MODULES_H

#include "base/map.h"
#include "base/vec.h"
#include "model/frames.h"
#include "model/strtab.h"
#include "platform/procfs.h"
#include "unwind/table.h"

#include <stdint.h>
#include <sys/types.h>

struct code_file {
    char *path; /* as the target saw it, without " (deleted)" */
    uint64_t dev, ino;
    int fd;                   /* -1: it could not be opened */
    int fd_given;             /* the store has taken the descriptor over */
    uint8_t kind;             /* enum module_kind: FILE, VDSO; JIT for what is no ELF file */
    uint8_t runtime;          /* enum jit_runtime: whose code it holds */
    uint8_t table_asked;      /* its table is being made, or was */
    struct unw_layout layout; /* n == 0: not an ELF file with code */
    struct unw_lazy *lazy;
    int lazy_tried;
    uint32_t store_id; /* in frames.modules, 0: no frame of it yet */
};

struct modules {
    VEC(struct code_file *) list; /* file id is index + 1; also its index in the kernel's array of tables */
    struct map by_identity;
    uint32_t vdso;
};

void modules_release(struct modules *m);

/* The file behind a mapping of process `pid` (as wprof sees it); opened when it is new. 0: memory without a
 * file, or a file that is no ELF file: JIT code. build_id (may be NULL): what the kernel said of it. */
uint32_t modules_find(struct modules *m, pid_t pid, const struct procfs_map *map, const uint8_t *build_id,
                      size_t build_id_len);

static inline struct code_file *modules_get(const struct modules *m, uint32_t id)
{
    return id && id <= m->list.n ? m->list.a[id - 1] : NULL;
}

/* One row at a time for user space; NULL where there is nothing to read. */
struct unw_lazy *modules_lazy(struct code_file *f);

/* Its id among the store's modules, entered at the first call. */
uint32_t modules_store_id(struct code_file *f, struct frames *frames, struct strtab *strings);

/* Our own vDSO's image: every process has the same. */
const void *modules_vdso(size_t *n);

#endif
