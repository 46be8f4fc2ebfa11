/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in order, by a radix sort of keys (least significant digit first): recordings hold millions of
 * events that are nearly in order, and the recorder sorts each batch while its target runs. Stable.
 */
#include "model/store_log.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PART = 1 << 15 };

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

static void sort_keys(struct event *ev, size_t n, int by_time)
{
    struct key *both = mem_alloc(2 * n * sizeof(*both)), *keys = both, *spare = both + n;
    struct event *sorted;

    for (size_t i = 0; i < n; i++)
        keys[i] = (struct key){ev[i].ts, run_of(&ev[i]), i};
    sort_part(&keys, &spare, n, 0);
    if (!by_time)
        sort_part(&keys, &spare, n, 1);
    sorted = mem_alloc(n * sizeof(*sorted));
    for (size_t i = 0; i < n; i++)
        sorted[i] = ev[keys[i].event];
    memcpy(ev, sorted, n * sizeof(*ev));
    free(sorted);
    free(both);
}

/* ---- by time, of very many ---- */

/* The first of [from, to), which is in order, that is later than ts, or not earlier. */
static size_t first_after(const struct event *ev, size_t from, size_t to, uint64_t ts, int or_at)
{
    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (ev[mid].ts < ts || (ev[mid].ts == ts && !or_at))
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Only what overlaps is moved. */
static void merge(struct event *ev, size_t from, size_t mid, size_t end)
{
    size_t low = first_after(ev, from, mid, ev[mid].ts, 0), n = mid - low, i = 0, k = mid;
    size_t high = first_after(ev, mid, end, ev[mid - 1].ts, 1);
    struct event *left;

    if (!n)
        return;
    left = mem_dup(ev + low, n * sizeof(*left));
    for (size_t out = low; i < n; out++)
        ev[out] = k < high && ev[k].ts < left[i].ts ? ev[k++] : left[i++];
    free(left);
}

/* Logs come nearly in order: parts that fit into a cache, then what overlaps between them. */
static void sort_parts(struct event *ev, size_t n)
{
    for (size_t at = 0; at < n; at += PART)
        store_events_sort(ev + at, n - at < PART ? n - at : PART, 1);
    for (size_t size = PART; size < n; size *= 2)
        for (size_t at = 0; at + size < n; at += 2 * size)
            merge(ev, at, at + size, n - at < 2 * size ? n : at + 2 * size);
}

void store_events_sort(struct event *ev, size_t n, int by_time)
{
    size_t i = 1;

    while (i < n && in_order(&ev[i - 1], &ev[i], by_time))
        i++;
    if (i >= n)
        return;
    if (by_time && n > PART)
        sort_parts(ev, n);
    else
        sort_keys(ev, n, by_time);
}
