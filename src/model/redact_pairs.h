/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that a colon parts from their name, as in JSON, YAML and headers; and those that show themselves.
 */
#ifndef WPROF_MODEL_REDACT_PAIRS_H
#define WPROF_MODEL_REDACT_PAIRS_H

#include "base/buf.h"

#include <stddef.h>

int redact_is_secret_name(const char *s, size_t n);
int redact_is_plain_value(const char *s, size_t n); /* a short number, a switch */

/* Appends the text with what follows `"password":`, `X-Api-Key:` and the like replaced, and access keys that
 * begin as such (AKIA..., ghp_..., hf_...). */
void redact_pairs(const char *text, struct buf *out);

#endif
