/* SPDX-License-Identifier: Apache-2.0 */
/* How frames read, the same in every view and format. */
#ifndef WPROF_MODEL_FRAME_TEXT_H
#define WPROF_MODEL_FRAME_TEXT_H

#include "base/buf.h"
#include "model/frames.h"
#include "model/strtab.h"

/* Appends "f", of Python and JIT code "f (file.py)", with a line (0: none) "f (file.c:12)". Names that carry
 * their place already, as imported ones do, stay as they are. */
void frame_label(const char *func, const char *file, uint32_t line, unsigned kind, struct buf *out);

/* Appends what stands for code that nobody can name: "[libc.so.6+0x1d0]". JIT addresses mean nothing to
 * anybody, so all of a process's JIT code is "[jit]". */
void frame_place(const struct frames *f, const struct strtab *strings, const struct frame *frame,
                 struct buf *out);

/* Appends what one of a frame's names is called, NULL: it has none: the function, or frame_place(). Names
 * that are blank, as importers find them in libraries, are "[libfoo.so]". */
void frame_func(const struct frames *f, const struct strtab *strings, const struct frame *frame,
                const struct frame_name *name, struct buf *out);

/* Appends the same as the default of every view has it: with the file where there is one to tell, without the
 * line. */
void frame_text(const struct frames *f, const struct strtab *strings, const struct frame *frame,
                const struct frame_name *name, struct buf *out);

/* Makes a frame's text one that folded lines can hold: `;`, control bytes and what is no UTF-8 become `_`, as
 * do spaces at the end. */
void frame_fold_text(char *s, size_t n);

#endif
