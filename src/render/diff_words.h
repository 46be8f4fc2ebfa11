/* SPDX-License-Identifier: Apache-2.0 */
/* What all formats of a comparison say in the same words. */
#ifndef WPROF_RENDER_DIFF_WORDS_H
#define WPROF_RENDER_DIFF_WORDS_H

#include "model/comparison.h"
#include "model/table.h"

/* A value with its unit: "12.3 %", "1.2 ms"; with its sign where it is a change: "+1.2 ms". Of shares a
 * change is in percentage points, which the words around it say. Writes into out[n] and returns it. */
char *diff_value(char *out, size_t n, enum comparison_unit unit, double v, int is_change);

/* The change by the base's value, "+12.3 %"; "new", "gone", "-" where there is none. */
char *diff_relative(char *out, size_t n, const struct comparison_value *v);

/* Sentences: what was compared, by what, how, how sure. */
struct diff_words {
    VEC(char *) list;
};
void diff_words(struct diff_words *w, const struct comparison *c, enum comparison_level by);
void diff_words_release(struct diff_words *w);

/* "FAIL: ...", "pass: ...", "can't judge: ..."; NULL: there is no gate. Owned by the caller. */
char *diff_verdict(const struct comparison *c);

/* "step: wall grew by 20.0 % with abc123 (p 2e-05)". Owned by the caller. */
char *diff_step(const struct comparison_step *s);

/* Rows of a level, at most `limit` (0: all). */
void diff_table(struct table *t, const struct comparison *c, enum comparison_level level, size_t limit);

/* Figures of whole runs. Gives how all of them were tested, where that is the same: then no row tells it. */
const char *diff_figures_table(struct table *t, const struct comparison *c);

/* Whether a level has a table of its own: the one asked for, and what ran on accelerators. */
int diff_shows(const struct comparison *c, enum comparison_level level, enum comparison_level by);

/* "functions", "stacks" ... with what of them is compared: a heading. Writes into out[n] and returns it. */
char *diff_heading(char *out, size_t n, const struct comparison *c, enum comparison_level level);

#endif
