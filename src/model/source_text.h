/* SPDX-License-Identifier: Apache-2.0 */
/* What lines of source files said when they ran: source.json of a session (wprof-session(5)). */
#ifndef WPROF_MODEL_SOURCE_TEXT_H
#define WPROF_MODEL_SOURCE_TEXT_H

#include "base/map.h"
#include "model/strtab.h"

#define SOURCE_TEXT "source.json"

struct source_line {
    uint32_t file, text; /* strings */
    uint32_t line;
};

struct source_text {
    struct strtab strings;
    VEC(struct source_line) lines;
    struct map places; /* file << 32 | line -> place in `lines` + 1 */
};

void source_text_release(struct source_text *t);

/* 1: the line is there with another text, which stays. */
int source_text_add(struct source_text *t, const char *file, uint32_t line, const char *text, size_t n);
const char *source_text_get(const struct source_text *t, const char *file,
                            uint32_t line); /* NULL: not known */

/* Adds what the session in the directory has. *others: how many lines were there with another text. 1: it has
 * some; 0: none; -1: they are damaged, or too many to be of a recording. */
int source_text_read(struct source_text *t, const char *dir, uint64_t *others);

void source_text_write(const struct source_text *t, struct buf *out);

#endif
