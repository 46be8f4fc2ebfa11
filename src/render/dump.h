/* SPDX-License-Identifier: Apache-2.0 */
/* A dump for people and for machines. */
#ifndef WPROF_RENDER_DUMP_H
#define WPROF_RENDER_DUMP_H

#include "model/dump.h"
#include "render/text.h"

/* Threads of one stack together, root first; then what waits for what. */
void dump_text_render(const struct dump *d, const struct text_style *style, struct buf *out);

/* One JSON object: wprof-dump(1) has its members. */
void dump_json_render(const struct dump *d, struct buf *out);

/* An answer as a sentence, without a line's end: "deadlock: a[1/2] waits for b[1/3] (mutex 0x.., ...)". */
void dump_answer_text(const struct dump *d, const struct dump_answer *a, struct buf *out);

/* What a thread that is off the CPU waits for, as the end of a sentence: ", waits for pipe:[12]". */
void dump_add_wait(const struct dump *d, const struct dump_thread *t, struct buf *out);

#endif
