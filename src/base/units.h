/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people write them. */
#ifndef WPROF_BASE_UNITS_H
#define WPROF_BASE_UNITS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

int units_parse_duration(const char *s, uint64_t *ns,
                         struct err *e); /* 10s 1.5m 250ms 100us 5ns 1h 2d 1w; bare: seconds */
int units_parse_size(const char *s, uint64_t *bytes,
                     struct err *e); /* 1GiB 64M 10k 512; K M G T are powers of 1024 */
int units_parse_uint(const char *s, uint64_t *v, struct err *e); /* decimal, whole string */

/* All write into out[n] and return it: "1.23 s", "45.6 MiB", "12,345", "12.3 %". Share is 0..1. */
char *units_duration(char *out, size_t n, uint64_t ns);
char *units_size(char *out, size_t n, uint64_t bytes);
char *units_count(char *out, size_t n, uint64_t v);
char *units_share(char *out, size_t n, double share);

#endif
