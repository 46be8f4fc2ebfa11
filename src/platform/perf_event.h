/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event_open(2): sampling events, and rings of the kernel's records about mappings and names. Times are
 * ns of CLOCK_MONOTONIC, pids those of wprof's own pid namespace.
 */
#ifndef WPROF_PLATFORM_PERF_EVENT_H
#define WPROF_PLATFORM_PERF_EVENT_H

#include "base/err.h"
#include "base/vec.h"
#include "platform/pfm.h"

#include <stddef.h>
#include <stdint.h>

struct cpu_list {
    VEC(uint32_t) list;
};

/* The CPUs that are online, and how many numbers there can be (the highest possible one + 1). */
int perf_cpus_online(struct cpu_list *out, struct err *e);
uint32_t perf_cpus_possible(void);
int perf_parse_cpus(const char *text, struct cpu_list *out); /* "0-3,8"; -1 where it isn't a list */

/*
 * A disabled event that counts everything on `cpu` and overflows hz times a second. Clocks get a prime period
 * in ns, so that no timer of the target's keeps step with it; *period is it, or 0 where the kernel adjusts
 * the period. Gives a file descriptor, or -1.
 */
int perf_open_sampler(const struct pfm_event *ev, double hz, uint32_t cpu, uint64_t *period, struct err *e);

/* A software clock on the calling thread alone that ticks every period_ns, for nobody. A descriptor, or -1.
 */
int perf_open_own_timer(uint64_t period_ns);

/* Does the event come at the frequency asked for whenever a CPU is busy? Clocks and cycles do; page faults
 * come when they come. */
int perf_keeps_rate(const struct pfm_event *ev);

/* The smallest prime >= n. */
uint64_t perf_next_prime(uint64_t n);

enum perf_record_kind {
    PERF_KIND_MMAP, /* an executable mapping */
    PERF_KIND_EXEC, /* the process has a new image; its mappings follow */
    PERF_KIND_LOST, /* `lost` records had no room */
};

struct perf_record {
    enum perf_record_kind kind;
    uint64_t ts;
    uint32_t pid, tid;
    uint64_t start, len, pgoff;
    uint64_t dev, ino; /* dev as of makedev(3); both 0 where the kernel sent the build id in their place */
    uint8_t build_id[20];
    uint8_t build_id_len;
    const char *path; /* borrowed until the next call */
    uint64_t lost;
};

struct perf_ring {
    int fd;
    uint8_t *base;
    size_t size;   /* of the data area */
    uint8_t *copy; /* of a record that wraps around */
    uint64_t tail;
    int64_t ahead; /* what is added to the kernel's times: see clock.h */
};

/* Records of all processes on one CPU. -1 with `e`. */
int perf_ring_open(struct perf_ring *r, uint32_t cpu, struct err *e);
void perf_ring_close(struct perf_ring *r);

/* 1 and the next record that is of interest, 0 when the ring is empty. */
int perf_ring_next(struct perf_ring *r, struct perf_record *out);

/* The next record whatever it is, *n bytes, header included; valid until the next call. NULL: the ring is
 * empty. */
const uint8_t *perf_ring_raw(struct perf_ring *r, size_t *n);

/* The bytes of one record, header included; its time is the kernel's. 1: of interest; 0: not, or malformed.
 */
int perf_record_parse(const uint8_t *p, size_t n, struct perf_record *out);

#endif
