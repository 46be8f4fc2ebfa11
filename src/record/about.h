/* SPDX-License-Identifier: Apache-2.0 */
/* Fills meta.json's who, what, when and how. */
#ifndef WPROF_RECORD_ABOUT_H
#define WPROF_RECORD_ABOUT_H

#include "model/session.h"

/* argv and env: of the command or of the first process attached to; NULL-terminated. Only what redact.h lets
 * through is kept. workload NULL: from argv. */
void about_fill(struct meta *m, char *const *argv, char *const *env, const char *workload, const char *user);

void about_start(struct meta *m, uint64_t mono); /* the two clocks' pair */
void about_end(struct meta *m, uint64_t mono, const char *reason);

/* "python", from the kinds of frames that were seen; symbols tell the others. */
void about_languages(struct meta *m, const struct store *s);

/* kind and kinds, from the collectors that ran (m->collectors). */
void about_kinds(struct meta *m);

void about_note(struct meta *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
