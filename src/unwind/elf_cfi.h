/* SPDX-License-Identifier: Apache-2.0 */
/* What the unwind tables take from an ELF file: where its code lies, its build id, its call frame sections.
 */
#ifndef WPROF_UNWIND_ELF_CFI_H
#define WPROF_UNWIND_ELF_CFI_H

#include "platform/elf.h"
#include "unwind/ehframe.h"
#include "unwind/table.h"

struct elf_cfi {
    struct elf elf;
    struct unw_layout layout;
    struct cfi_section eh, debug, hdr;   /* .eh_frame, .debug_frame, .eh_frame_hdr */
    struct elf_data eh_data, debug_data; /* what they were decompressed to */
};

/*
 * 0, or -1 when it is no x86-64 ELF file or its segments are malformed. elf_cfi_open maps the file (fd may be
 * closed after), elf_cfi_open_image borrows the image. Sections that are missing or broken are empty. Release
 * with elf_cfi_close, also after a failure.
 */
int elf_cfi_open(struct elf_cfi *e, int fd, struct err *err);
int elf_cfi_open_image(struct elf_cfi *e, const void *image, size_t size, struct err *err);
void elf_cfi_close(struct elf_cfi *e);

/* The layout alone. */
int elf_cfi_layout(const struct elf *f, struct unw_layout *l, struct err *err);

/* The bytes of [vaddr, vaddr + n), if they lie in one executable segment of the file; else NULL. */
const uint8_t *elf_cfi_code(const struct elf_cfi *e, uint64_t vaddr, uint64_t n);

#endif
