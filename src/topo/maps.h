/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared mappings of processes: of files, of memory that has a name and of memory that has none. proc(5),
 * maps. Where the kernel can be asked for these alone (PROCMAP_QUERY, Linux 6.11) nothing else is read; else
 * the text of maps is, up to a limit, of processes that have such memory.
 */
#ifndef WPROF_TOPO_MAPS_H
#define WPROF_TOPO_MAPS_H

#include "base/map.h"
#include "base/vec.h"
#include "topo/source.h"

#include <stdint.h>

struct shared_map {
    uint64_t start, end, offset; /* bytes */
    uint64_t dev, ino;           /* as stat has them */
    uint32_t path;               /* offset in maps.text: as maps shows it, " (deleted)" at its end */
    uint8_t mode;                /* 1 may read, 2 may write */
};

struct maps {
    struct topo_ctx *ctx;
    VEC(struct shared_map) list; /* of the process read last, by address */
    struct buf text, file;
    struct map paths;   /* hash of a text -> its offset */
    struct map objects; /* hash of a device and inode -> the offset of its path */
    uint64_t nameless;  /* the device where inodes are not unique: SysV memory's are its ids */
    int no_query;       /* the kernel can't be asked */
    uint64_t text_left; /* bytes of maps that may still be read */
    uint64_t read;      /* processes */
    uint64_t left_out;  /* processes: the limit was reached */
    uint64_t without;   /* processes whose text was not read: none of such memory is resident */
};

void maps_init(struct maps *m, struct topo_ctx *ctx);
void maps_release(struct maps *m);
/* Fills the list. `must`: it is known to have such memory. -1: not to be had, counted in ctx. */
int maps_read(struct maps *m, int pid, int must);
void maps_parse(struct maps *m, char *text); /* adds what a text of maps tells; changes it */
static inline const char *maps_path(const struct maps *m, uint32_t path)
{
    return buf_str(&m->text) + path;
}

#endif
