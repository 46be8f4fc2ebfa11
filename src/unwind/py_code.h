/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects: qualified name, file, lines. All of it comes from a foreign process's memory and is checked.
 */
#ifndef WPROF_UNWIND_PY_CODE_H
#define WPROF_UNWIND_PY_CODE_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "unwind/py_layout.h"
#include "unwind/py_mem.h"

#include <stdint.h>

enum {
    PY_TEXT_MAX = 1024, /* characters of a name that are kept; a longer one ends in "..." */
    PY_LINETABLE_MAX = 1 << 20,
};

/* ---- lines ---- */

/* Rows by rising `end` (bytes of bytecode): what lies before it and after the previous row's end is of
 * `line`. */
struct py_line_row {
    uint32_t end;
    uint32_t line; /* 0: of no line */
};

struct py_lines {
    VEC(struct py_line_row) rows;
};

void py_lines_release(struct py_lines *l);

/*
 * Decodes co_lnotab (3.8, 3.9), co_linetable (3.10) or the location table (3.11 on):
 * Objects/lnotab_notes.txt, PEP 626, InternalDocs/code_objects.md of CPython. Damaged bytes give wrong lines,
 * nothing worse. Replaces what l held.
 */
void py_lines_decode(struct py_lines *l, unsigned version, uint32_t firstline, const uint8_t *p, size_t n);
uint32_t py_lines_find(const struct py_lines *l, int32_t lasti); /* 0: none */

struct py_code {
    char *name; /* qualified from 3.11 on */
    char *file;
    uint32_t firstline;
    int has_lines; /* 0: the object was gone before its line table could be read */
    struct py_lines lines;
};

void py_code_release(struct py_code *c);

/*
 * Reads the code object that frame f names. -1, with c empty, when it can't be read, or another object has
 * taken its place since f was seen (its first line and py_ident() are compared, before and after).
 */
int py_code_read(struct py_code *c, const struct py_mem *mem, const struct py_layout *lay,
                 const struct py_frame *f);

/* From names that were copied when the frame was seen. -1, with c empty, when there is no name among them. */
int py_code_from_copy(struct py_code *c, const struct py_str *name, const struct py_str *file,
                      uint32_t firstline);

/* Puts copied names that are whole in the place of those read later: the object may have been freed since,
 * its memory as it was, and its strings' memory already others'. */
void py_code_prefer_copy(struct py_code *c, const struct py_str *name, const struct py_str *file);

/* The line of frame f; *unsure is set to 1 when it is only the function's first, else to 0. */
uint32_t py_code_line(const struct py_code *c, const struct py_frame *f, int *unsure);

/* ---- all code objects of a recording ---- */

/*
 * By identity: {process, code, firstline, name}. `process` is the caller's number for one process's memory
 * between two execs, so that reused addresses are told apart. Entries stay where they are until release.
 */
struct py_codes {
    VEC(struct py_codes_entry *) list; /* id is index + 1 */
    struct index index;
};

struct py_codes_entry {
    uint64_t process, code;
    uint32_t name, firstline;
    struct py_code info; /* info.name NULL: known to be unreadable */
};

void py_codes_release(struct py_codes *t);
uint32_t py_codes_find(const struct py_codes *t, uint64_t process, const struct py_frame *f); /* 0: not in */
/* Finds or adds; c's contents are taken over (released when a readable one was in already). */
uint32_t py_codes_add(struct py_codes *t, uint64_t process, const struct py_frame *f, struct py_code *c);
/* The code object of an id; its name is NULL when it could not be read. */
const struct py_code *py_codes_get(const struct py_codes *t, uint32_t id);

#endif
