/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of ELF files (x86-64): the rows of bpf/unw.h, built from .eh_frame and .debug_frame.
 *
 * A whole table serves the walker in the kernel: it is built once per build id, kept in a cache of files that
 * are mapped and checked (magic, version, size, CRC-32C) but not parsed, and copied into a BPF map. Building
 * goes over all entries, sorts them by pc and runs each one's program; about 100 ns an entry. A lazy table
 * serves user space when it finishes a single sample: it finds the one entry that covers a pc and runs only
 * that.
 *
 * Both agree on addresses: a row's pc counts from `base`, the page of the lowest executable segment's
 * p_vaddr. For code mapped at `start` from file offset `pgoff`, bias = the run-time address minus the ELF's
 * (see unw_layout_bias), so a run-time pc has the row of (uint32_t)(pc - bias - base).
 */
#ifndef WPROF_UNWIND_TABLE_H
#define WPROF_UNWIND_TABLE_H

#include <linux/types.h>

#include "base/err.h"
#include "bpf/unw.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define UNW_MAX_SEGMENTS 16
#define UNW_MAX_BUILD_ID 32

/* Where an ELF file's code lies: its executable PT_LOAD segments, by rising vaddr. */
struct unw_layout {
    struct unw_segment {
        uint64_t offset, vaddr, filesz;
    } seg[UNW_MAX_SEGMENTS];
    uint32_t n;
    uint32_t build_id_len; /* 0: the file has none */
    uint8_t build_id[UNW_MAX_BUILD_ID];
    uint64_t base; /* seg[0].vaddr, rounded down to a page */
};

/* Gives what to take from a run-time address in [start, ...), mapped from file offset pgoff, to get the ELF's
 * virtual address. -1 when pgoff lies in no executable segment. */
int unw_layout_bias(const struct unw_layout *l, uint64_t start, uint64_t pgoff, uint64_t *bias);

/* Reads a file's layout alone (program headers and notes). Doesn't keep fd. */
int unw_layout_read(int fd, struct unw_layout *l, struct err *e);

/* What building met and could not say in rows. */
struct unw_build_stats {
    uint32_t entries; /* FDEs used */
    uint32_t bad;     /* entries or programs that are malformed: their code has UNW_NONE */
    uint32_t unsaid;  /* rows whose rule these tables can't hold: UNW_NONE too */
};

struct unw_table {
    const struct unw_row *rows; /* borrowed from the table; NULL where n == 0 */
    uint32_t n;
    int from_cache;
    uint64_t build_ns; /* wall time that building took; 0 from the cache */
    struct unw_layout layout;
    struct unw_build_stats stats;
    void *map; /* private: the mapping or allocation behind rows */
    size_t map_len;
};

/*
 * The folder of cached tables. Immutable once open, so threads may share it. A file there is trusted only
 * when it is a regular file of the owner's (or root's) that nobody else can write, and its checksum holds;
 * any other is ignored and replaced. Files appear by rename. Several wprofs may use one folder.
 */
struct unw_cache {
    int dirfd;
    uid_t uid;
    gid_t gid;
    uint64_t limit; /* bytes in all; the least recently used files go first */
};

#define UNW_CACHE_LIMIT (512ull << 20)

/*
 * dir NULL: io_cache_dir()/tables. Makes it, mode 0700, with whatever lies above; what is made belongs to uid
 * and gid (of the user who called sudo; else geteuid() and getegid()). -1: no cache (say so, and go on with
 * cache = NULL).
 */
int unw_cache_open(struct unw_cache *c, const char *dir, uid_t uid, gid_t gid, uint64_t limit, struct err *e);
void unw_cache_trim(
    struct unw_cache *c); /* drops the least recently used files above the limit; call it at the end */
void unw_cache_close(struct unw_cache *c);

/*
 * The table of an open ELF file: from the cache when it is there, else built and put there. cache may be
 * NULL. build_id is what the kernel said (NULL, 0: taken from the file); where neither knows one the table
 * isn't cached. fd is read only during the call. A file without unwind data gives a table of n == 0, or of
 * the few rows that are known without. NULL with `e` when the file is no x86-64 ELF or can't be read. Any
 * thread may call it. The caller frees the result.
 */
struct unw_table *unw_table_open(struct unw_cache *cache, int fd, const uint8_t *build_id,
                                 size_t build_id_len, struct err *e);
/* The same for an image in memory (the vDSO), never cached; the image isn't needed afterwards. */
struct unw_table *unw_table_open_image(const void *image, size_t size, struct err *e);
void unw_table_free(struct unw_table *t);

/* The row that holds at an ELF virtual address; NULL before the first row. */
const struct unw_row *unw_table_find(const struct unw_table *t, uint64_t vaddr);

/* One row at a time, without a table. For one thread at a time. */
struct unw_lazy;

struct unw_lazy *unw_lazy_open(int fd, struct err *e); /* maps the file; fd may be closed after */
struct unw_lazy *unw_lazy_open_image(const void *image, size_t size, struct err *e); /* borrows the image */
void unw_lazy_free(struct unw_lazy *l);

/* 0 and the row (its pc where it begins, counted from base); a rule UNW_NONE when nothing covers vaddr. Never
 * fails otherwise: malformed data gives UNW_NONE. */
void unw_lazy_find(struct unw_lazy *l, uint64_t vaddr, struct unw_row *row);
const struct unw_layout *unw_lazy_layout(const struct unw_lazy *l);

/* Bytes of code as the file has them. -1 when [vaddr, vaddr + n) isn't whole in one executable segment. */
int unw_lazy_code(const struct unw_lazy *l, uint64_t vaddr, void *dst, size_t n);

#endif
