/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines and inlined functions of addresses, from DWARF (2 to 5), through libdw. */
#ifndef WPROF_PLATFORM_DWARF_H
#define WPROF_PLATFORM_DWARF_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct dwarf_name {
    const char *func; /* linkage name where there is one, else the plain name; NULL: unknown */
    const char *file; /* NULL: unknown */
    uint32_t line;    /* 0: unknown */
};

/* Gets the names of addrs[i]: the real function first, the innermost inlined one last (n >= 1). The strings
 * are valid during the call. */
typedef void dwarf_sink(void *ctx, size_t i, const struct dwarf_name *names, size_t n);

#define DWARF_DEPTH_MAX 64 /* names of one address: deeper inlining loses its innermost ones */

/*
 * Reads the DWARF of the ELF file fd for n addresses (sorted, each once): units are visited once, in order of
 * their addresses. Without `inlines` only the line is looked up (one name, func NULL). Addresses that the
 * DWARF does not know are left out. The work on trees of entries is bounded (DWARF_ENTRIES_MAX): past it,
 * lines only. Returns 0, or -1 when there is no DWARF in it. fd stays open.
 */
int dwarf_lookup(int fd, const uint64_t *addrs, size_t n, int inlines, dwarf_sink *sink, void *ctx,
                 struct err *e);

#define DWARF_ENTRIES_MAX (16u << 20) /* about two seconds of reading */

#endif
