/* SPDX-License-Identifier: Apache-2.0 */
/* From call frame sections to sorted rows. */
#ifndef WPROF_UNWIND_TABLE_BUILD_H
#define WPROF_UNWIND_TABLE_BUILD_H

#include "unwind/elf_cfi.h"

/* Code between two entries shorter than this is padding: functions are aligned to 16 bytes. */
#define UNW_PADDING 16

/* A piece of code without an entry whose rule is known from its bytes: [from, to), relative to base. */
struct unw_island {
    uint32_t from, to;
    uint8_t rule; /* UNW_SIGNAL or UNW_END */
};

/*
 * The next such piece in [from, to) of a file, both relative to base. 1 or 0.
 *   - e_entry: whatever the program's start is, nothing called it (musl's _start has no entry);
 *   - mov $15, %rax; syscall: the return from a signal handler (musl's __restore_rt), with the byte before
 * it, because the handler's return address is its first;
 *   - mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall: where a thread's function returns in musl's
 * __clone.
 */
int unw_island_next(const struct elf_cfi *e, uint32_t from, uint32_t to, struct unw_island *is);

/* *rows is the caller's to free, NULL where *n is 0. Never fails: what is malformed is counted. */
void unw_build(const struct elf_cfi *e, struct unw_row **rows, uint32_t *n, struct unw_build_stats *stats);

#endif
