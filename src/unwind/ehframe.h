/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information as it stands in .eh_frame and .debug_frame: entries, encodings, and the programs
 * that describe a function's frames row by row. Bytes are foreign: every read is bounded, malformed entries
 * are refused one by one. References: DWARF 5 section 6.4, Linux Standard Base Core 5.0 chapter 10.6
 * (.eh_frame, .eh_frame_hdr, encodings).
 */
#ifndef WPROF_UNWIND_EHFRAME_H
#define WPROF_UNWIND_EHFRAME_H

#include <linux/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/unw.h"

#include <stddef.h>
#include <stdint.h>

struct cfi_section {
    const uint8_t *p; /* NULL: the file has none */
    size_t n;
    uint64_t vaddr;
    int is_debug; /* .debug_frame: other ids, absolute addresses */
};

/* How a register that the walker needs was saved. */
enum cfi_how {
    CFI_UNSET, /* no rule given: for rbp as good as CFI_SAME */
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_OFFSET,   /* at CFA + off */
    CFI_EXPR,     /* at the address that an expression gives */
    CFI_OTHER,    /* in another register, or computed */
    CFI_REGISTER, /* of the CFA only: register + off */
};

struct cfi_rule {
    uint8_t how;  /* enum cfi_how */
    uint32_t reg; /* CFI_REGISTER */
    int64_t off;
    const uint8_t *expr; /* CFI_EXPR: expr_len bytes of the section */
    size_t expr_len;
};

struct cfi_state {
    struct cfi_rule cfa, bp, ra;
};

struct cfi_cie {
    int bad; /* of a version or augmentation that can't be read: nor can what refers to it */
    int signal;
    int has_aug_data;
    uint8_t address_enc; /* DW_EH_PE_* of the addresses in its FDEs */
    uint8_t address_size;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_reg;
    const uint8_t *program, *program_end;
    struct cfi_state initial; /* after its own program */
};

struct cfi_fde {
    uint64_t pc, len;
    uint32_t cie; /* index into cfi_reader.cies */
    const uint8_t *program, *program_end;
};

/* A section with the CIEs met so far. */
struct cfi_reader {
    struct cfi_section sec;
    VEC(struct cfi_cie) cies;
    struct map by_offset; /* of a CIE in the section -> index + 1 */
    uint64_t last_offset; /* a shortcut: neighbours mostly share their CIE */
    uint32_t last_cie;
    int has_last;
};

void cfi_reader_init(struct cfi_reader *r, const struct cfi_section *sec);
void cfi_reader_release(struct cfi_reader *r);

enum cfi_entry { CFI_END, CFI_FDE, CFI_SKIP, CFI_BAD };

/*
 * Reads the entry at *off and moves *off behind it. CFI_FDE: *fde is filled. CFI_SKIP: a CIE or a terminator.
 * CFI_BAD: malformed; when even its length is, *off becomes the section's end. CFI_END: *off is at the end
 * already.
 */
enum cfi_entry cfi_next(struct cfi_reader *r, size_t *off, struct cfi_fde *fde);

/* The FDE at `off` alone, with its CIE, for who has found it by .eh_frame_hdr: allocates nothing. fde->cie is
 * 0. -1: there is no FDE that can be used. */
int cfi_fde_at(const struct cfi_section *sec, size_t off, struct cfi_cie *cie, struct cfi_fde *fde);

/* An encoded pointer at c->p, which lies at vaddr; base is what DW_EH_PE_datarel counts from. Indirect and
 * omitted pointers, and bases that ELF files don't use, set c->bad. */
struct cursor;
uint64_t cfi_pointer(struct cursor *c, uint8_t enc, uint8_t address_size, uint64_t vaddr, uint64_t base);

/* Runs a program row by row. */
#define CFI_REMEMBER 32 /* DW_CFA_remember_state can nest; compilers go one deep */

struct cfi_run {
    struct cfi_state state;
    uint64_t from, to; /* the row's pcs, ELF virtual addresses */
    int bad;           /* the program is malformed: no row from here on */

    const struct cfi_reader *reader;
    const struct cfi_cie *cie;
    const uint8_t *p, *end;
    uint64_t next, limit;
    unsigned depth;
    struct cfi_state saved[CFI_REMEMBER];
};

void cfi_run_init(struct cfi_run *run, const struct cfi_reader *r, const struct cfi_fde *fde);

/* Gives the next row: 1 and state, from, to; 0 after the last. Rows are never empty, rise, and end at the
 * FDE's end. */
int cfi_run_next(struct cfi_run *run);

/* Fills all of *row but pc. 0; -1 when these tables can't say the rule, with UNW_NONE in row. */
int cfi_state_row(const struct cfi_state *s, struct unw_row *row);

#endif
