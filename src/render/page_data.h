/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile inside the HTML page: one run of LEB128 numbers, read by templates/data.js.
 *
 *     strings   count, then {bytes, UTF-8}; ids are 1.., 0 is ""
 *     frames    count, then {flags, func, file, module, line} and {self, total} per metric; ids are 1.., 0 is
 * the root flags: kind in bits 0-2 (enum frame_kind), 8 inlined, 16 unknown, 32 pruned, shade in bits 6-7
 *     boxes     count, then {levels up, frame} and self per metric, in preorder; a box whose levels up is 0
 * is a child of the one before it, 1 a sibling, 2 a sibling of its parent ... The root comes first with 1
 *     slices    per metric: slices, pairs in all, then per slice its pairs {box - previous box, value}, by
 * box
 *
 * The sums of frames are those of the whole profile; boxes hold what the layout left, pruned weight in boxes
 * of the pruned frame. A slice is `slice_ns` long. Sums are exact in JavaScript up to 2^53.
 */
#ifndef WPROF_RENDER_PAGE_DATA_H
#define WPROF_RENDER_PAGE_DATA_H

#include "base/buf.h"
#include "model/functions.h"
#include "render/flame.h"

struct page_data {
    const struct profile *p;
    const struct functions *functions; /* one per metric */
    size_t max_boxes, max_pairs;       /* about how much to keep */
};

struct page_data_stats {
    uint64_t pruned_nodes;          /* see flame.h */
    double pruned_share, min_share; /* of the whole, 0..1; with several metrics, of their joint weight */
    uint64_t slice_ns;              /* 0: no sample has a time */
};

/* Appends a text's length and the text, which is cut where it is very long. */
void page_data_text(struct buf *out, const char *s);

/* Appends the numbers. */
void page_data_encode(const struct page_data *d, struct buf *out, struct page_data_stats *stats);

#endif
