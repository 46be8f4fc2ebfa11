/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit little-endian ELF files, mapped and read in place. Everything in such a file may be hostile: every
 * offset is checked when it is followed. Constants are those of the System V ABI (gABI, "Object Files") and
 * of <elf.h>.
 */
#ifndef WPROF_PLATFORM_ELF_H
#define WPROF_PLATFORM_ELF_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20 /* what a perf mmap2 record can hold; longer ids are cut to it */

struct elf_segment {      /* one program header */
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t offset, vaddr, filesz, memsz;
};

struct elf_section {
    const char *name;          /* "" where the file has none; borrowed from the file */
    uint32_t type, link, info; /* SHT_* */
    uint64_t flags, addr, offset, size, entsize;
};

struct elf {
    const uint8_t *p; /* the whole file */
    size_t n;
    int mapped;             /* p is ours to unmap */
    uint16_t type, machine; /* ET_*, EM_* */
    uint64_t entry;
    struct elf_segment *segments;
    size_t segments_n;
    struct elf_section *sections;
    size_t sections_n; /* 0: the section headers were stripped */
};

/*
 * 0, or -1 when it is not a file that can be used: not ELF, not 64-bit, not little-endian, headers outside of
 * the file. elf_open_fd leaves fd open, and independent of f. elf_open_mem borrows p until elf_close. On
 * failure f is closed.
 */
int elf_open(struct elf *f, const char *path, struct err *e);
int elf_open_fd(struct elf *f, int fd, struct err *e);
int elf_open_mem(struct elf *f, const void *p, size_t n, struct err *e);
void elf_close(struct elf *f); /* also of a zeroed f */

int elf_is_executable(const struct elf *f); /* ET_EXEC or ET_DYN for this machine's architecture */

const struct elf_section *elf_section(const struct elf *f, const char *name); /* NULL: none of that name */
const struct elf_section *elf_section_at(const struct elf *f,
                                         uint64_t vaddr); /* allocated and covering, or NULL */
const struct elf_section *elf_section_of_type(const struct elf *f, uint32_t sh_type); /* the first, or NULL */

/* A section's bytes, decompressed where SHF_COMPRESSED. `owned` is what elf_data_release frees; the rest
 * borrows from f. */
struct elf_data {
    const uint8_t *p;
    size_t n;
    void *owned;
};

int elf_section_data(const struct elf *f, const struct elf_section *s, struct elf_data *d, struct err *e);
void elf_data_release(struct elf_data *d);

/* Bytes at a virtual address, as loaded from the file: NULL where fewer than n lie there. */
const void *elf_at(const struct elf *f, uint64_t vaddr, size_t n);

/* The GNU build id. Returns its length, 0 when there is none. */
size_t elf_build_id(const struct elf *f, uint8_t id[ELF_BUILD_ID_MAX]);
size_t elf_build_id_of_notes(const void *notes, size_t n,
                             uint8_t id[ELF_BUILD_ID_MAX]); /* of a raw note segment */

/* The start of the function around vaddr, by .eh_frame_hdr, which stripped files have too. 0, or -1: not
 * known. */
int elf_function_start(const struct elf *f, uint64_t vaddr, uint64_t *start);

/* ---- symbols ---- */

struct elf_symtab {
    const uint8_t *syms; /* may be unaligned */
    size_t n;
    const char *strs;
    size_t strs_n;
    struct elf_data owned[2]; /* when they were compressed */
};

struct elf_sym {
    const char *name; /* borrowed; "" where the name lies outside of the string table */
    uint64_t value, size;
    uint16_t shndx;
    uint8_t type, bind; /* STT_*, STB_* */
};

/* The table of type SHT_SYMTAB or SHT_DYNSYM. 0, or -1: there is none, or it is broken (then `e` says so). */
int elf_symtab_open(const struct elf *f, uint32_t sh_type, struct elf_symtab *t, struct err *e);
void elf_symtab_release(struct elf_symtab *t);
void elf_symtab_get(const struct elf_symtab *t, size_t i, struct elf_sym *sym); /* i < t->n */

/* A defined symbol by its exact name (a version after '@' is ignored) in .symtab, then .dynsym. 0 found, -1
 * not. */
int elf_find_symbol(const struct elf *f, const char *name, struct elf_sym *sym);

#endif
