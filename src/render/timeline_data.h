/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline inside the HTML page: one run of LEB128 numbers, read by templates/timeline-data.js.
 *
 *     strings    count, then {bytes, UTF-8}; ids are 1.., 0 is ""
 *     frames     count, then {kind, func, file, module, line}; ids are 0..
 *     nodes      count, then {levels: id - parent, frame}; ids are 1.., parent 0 is none
 *     processes  count, then {pid, name, 1: it is a GPU}; number 0 is the machine
 *     tasks      count, then {pid, tid, name, process, lane + 1}
 *     works      count, then {enum gpu_op, context, stream, grid of three, block of three, shared memory,
 *                graph, node, bytes, registers, occupancy, from, to, failed}, as struct gpu_work; ids are 1..
 *     lanes      count, then {kind, process, task + 1, name, depth, from, to - from, short waits, their ns,
 *                ns of short delays, spans or points, ticks, unit of a metric: 0 none, 1 + 2 * enum
 *                metric_unit, + 1 per second}, then its spans or points, then its ticks
 *     span       state in bits 0-4, 32 merged, 64 has a stack, 128 has a name, 256 has a waker, 512 open,
 *                1024 ended by an interrupt, 2048 first of the next row, 4096 has a call, 8192 a work, 16384
 *                parts;
 *                start - end of the one before in its row, duration; merged: count and three shares of
 *                255; stack; name; waker: task + 1, stack; call: its span, of all lanes, + 1; work; parts:
 * count, then {state, ns} point      time - the one before, value tick       the same with stack, samples in
 * place of value
 */
#ifndef WPROF_RENDER_TIMELINE_DATA_H
#define WPROF_RENDER_TIMELINE_DATA_H

#include "base/buf.h"
#include "base/json.h"
#include "model/timeline.h"

void timeline_data_encode(const struct timeline *t, struct buf *out);

/* The object `timeline` of the page's info: states with their labels, and what was left out. */
void timeline_data_info(const struct timeline *t, struct json_writer *w);

/* Declarations "--state-running:#abc;..." of one theme, to stand inside a rule. */
void timeline_data_css(struct buf *out, int dark);

#endif
