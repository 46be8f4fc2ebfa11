/* SPDX-License-Identifier: Apache-2.0 */
/* How well it was measured: the figures that every view shows. Shares are 0..1; "not measured" is NAN, and
 * null in JSON. */
#ifndef WPROF_MODEL_QUALITY_H
#define WPROF_MODEL_QUALITY_H

#include "base/json.h"
#include "model/store.h"

#include <stdint.h>

struct meta;

/*
 * Counters that collectors and the recorder leave in the store, one to a line:
 *
 * - import.samples: samples that were imported, each with a weight (a period, microseconds): events of them
 * are worth more than 1
 * - import.measured: values are no samples of CPUs, but costs that were counted (callgrind), and with
 * import.measured_ns times, import.measured_bytes bytes
 * - cpu.expected: samples that the target's run time would give at the frequency
 * - cpu.taken: samples that arrived
 * - cpu.before_exec: samples of wprof's own child before it became the command; left out
 * - cpu.lost: dropped for want of ring space, or by the kernel
 * - cpu.nostack: samples whose stack was lost
 * - cpu.bpf_ns, cpu.bpf_runs: time in BPF programs and runs of them; absent: not measured
 * - cpu.tick_ns: the bare timer tick, where measured
 * - cpu.gil_read, cpu.gil_held: samples that tell whether their thread held the GIL; that say it did
 * - target.cpu_ns: the target's CPU time
 * - own.cpu_ns: the recorder's own, from the gate's opening to the command's end
 * - own.tables_ns: building unwind tables, not in own.cpu_ns
 * - own.seal_ns: from the command's end to the sealed session
 * - own.rss_max: the recorder's largest resident memory, bytes
 * - marks.taken, .malformed, .cut, .unmatched, .unsent, .dropped: see record/marks.h
 * Of the offcpu collector, on top of them:
 *   offcpu.switches    of the targets' threads, away from a CPU
 *   offcpu.spans       listed                         offcpu.short       summed: too short
 *   offcpu.over_budget listed ones without a stack, for want of time to walk it
 *   offcpu.nostack     the same, since the stack was lost on its way
 *   offcpu.lost        summed though long enough, since the ring was full
 *   offcpu.lost_ns     time that is in no sum         offcpu.unfollowed  threads not seen at all
 *   offcpu.not_walked  switches and wakings not walked (most are short), offcpu.walks and walk_ns: those that
 * were offcpu.gil_waits   for the GIL                    offcpu.gil_ns      their time
 *   offcpu.bpf_ns      its part of cpu.bpf_ns         offcpu.bpf_runs    the same
 */
struct quality {
    uint64_t expected, taken, lost;
    uint64_t
        imported; /* samples of a merged session that are not among `taken`: imported, with recorded ones */
    int counted;  /* imported samples are told apart from their weights */
    uint64_t truncated, scanned, finished, frame_pointer;
    uint64_t unwound, unknown;       /* samples */
    uint64_t python, python_framed;  /* samples of threads that ran Python; those with >= 1 Python frame */
    uint64_t frames, frames_unknown; /* distinct frames in the profile */
    double unwound_share, unknown_share, python_share;
    double cost_share; /* (BPF + own CPU time) / target's CPU time */
    double bpf_s, own_cpu_s, target_cpu_s, tables_s, tick_s;
    double seal_s;    /* from the command's end to the sealed session */
    uint64_t rss_max; /* bytes, of the recorder; 0: not measured */
};

/* Counts over EVENT_SAMPLE events and the counters. Imported sessions have most fields "not measured". */
void quality_compute(struct quality *q, const struct store *s, const struct meta *m);
/* What events of samples count: "samples", or where that was measured (import.measured) "ns", "bytes", the
 * event's name, "costs". */
const char *quality_sample_unit(const struct store *s);
void quality_json(const struct quality *q, struct json_writer *w); /* members of the open object */

#endif
