/* SPDX-License-Identifier: Apache-2.0 */
/* A line of folded stacks: "root;caller;leaf 12". */
#ifndef WPROF_EXCHANGE_FOLDED_LINE_H
#define WPROF_EXCHANGE_FOLDED_LINE_H

#include "exchange/import/import.h"

struct folded_line {
    const char *stack; /* borrowed from the line, not empty */
    size_t n;
    uint64_t value;
    int rounded; /* it had a fraction */
};

/* 1: it is one; 0: an empty line; -1: it makes no sense. Spaces and CR at the end and around the value are no
 * part of it. */
int folded_line_split(struct folded_line *l, const char *s, size_t n);

/* Digits, perhaps with a fraction. -1: not all of s[0..n) is that, or it's beyond 64 bits. */
int folded_number(const char *s, size_t n, uint64_t *v, int *rounded);

/* Counts line `number`, which made no sense; the first one is quoted. */
void folded_bad_line(struct import_stats *st, uint64_t number, const char *s, size_t n);

#endif
