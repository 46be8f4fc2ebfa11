/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in order, by a radix sort of keys (least significant digit first): recordings hold millions of
 * events that are nearly in order, and the recorder sorts each batch while its target runs. Stable.
 */
#include "model/store_log.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct key {
    uint64_t ts;
    uint64_t run; /* kind above task */
    size_t event;
};

static uint64_t run_of(const struct event *ev)
{
    return (uint64_t)ev->kind << 32 | ev->task;
}

static int in_order(const struct event *a, const struct event *b, int by_time)
{
    if (by_time || run_of(a) == run_of(b))
        return a->ts <= b->ts;
    return run_of(a) < run_of(b);
}

static uint64_t part_of(const struct key *k, int run)
{
    return run ? k->run : k->ts;
}

static void pass(const struct key *from, struct key *to, size_t n, int run, unsigned shift)
{
    size_t at[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[part_of(&from[i], run) >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t count = at[d];

        at[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[part_of(&from[i], run) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Only digits in which the keys differ take a pass. */
static void sort_part(struct key **keys, struct key **spare, size_t n, int run)
{
    uint64_t differ = 0;

    for (size_t i = 1; i < n; i++)
        differ |= part_of(&(*keys)[i], run) ^ part_of(&(*keys)[0], run);
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        struct key *done = *spare;

        if (!(differ >> shift & (DIGITS - 1)))
            continue;
        pass(*keys, done, n, run, shift);
        *spare = *keys;
        *keys = done;
    }
}

void store_events_sort(struct event *ev, size_t n, int by_time)
{
    struct key *both, *keys, *spare;
    struct event *sorted;
    size_t i = 1;

    while (i < n && in_order(&ev[i - 1], &ev[i], by_time))
        i++;
    if (i >= n)
        return;
    keys = both = mem_alloc(2 * n * sizeof(*both));
    spare = keys + n;
    for (i = 0; i < n; i++)
        keys[i] = (struct key){ev[i].ts, run_of(&ev[i]), i};
    sort_part(&keys, &spare, n, 0);
    if (!by_time)
        sort_part(&keys, &spare, n, 1);
    sorted = mem_alloc(n * sizeof(*sorted));
    for (i = 0; i < n; i++)
        sorted[i] = ev[keys[i].event];
    memcpy(ev, sorted, n * sizeof(*ev));
    free(sorted);
    free(both);
}
