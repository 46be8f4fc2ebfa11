/* SPDX-License-Identifier: Apache-2.0 */
/* What the unwind tables take from an ELF file: where its code lies, its build id, its call frame sections.
 */
#ifndef WPROF_UNWIND_ELF_CFI_H
#define WPROF_UNWIND_ELF_CFI_H

#include "unwind/ehframe.h"
#include "unwind/table.h"

struct elf_cfi {
    const uint8_t *image; /* the whole file, borrowed */
    size_t size;
    struct unw_layout layout;
    uint64_t entry;           /* e_entry; 0: none */
    struct cfi_section eh;    /* .eh_frame */
    struct cfi_section debug; /* .debug_frame */
    struct cfi_section hdr;   /* .eh_frame_hdr */
};

/* Reads an image of an x86-64 ELF file. -1 when it isn't one, or when its headers are malformed. Sections
 * that lie outside the file are left out. A compressed .debug_frame is left out too. */
int elf_cfi_open(struct elf_cfi *e, const void *image, size_t size, struct err *err);

/* The bytes of [vaddr, vaddr + n), if they lie in one executable segment of the file; else NULL. */
const uint8_t *elf_cfi_code(const struct elf_cfi *e, uint64_t vaddr, uint64_t n);

/* Program headers and notes alone, from the first `size` bytes of a file; notes that lie further on are not
 * seen, and *need is how many bytes would show them. */
int elf_cfi_layout(struct unw_layout *l, const void *head, size_t size, uint64_t *need, struct err *err);

#endif
