/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps that all programs share. Each .bpf.c file defines them by including this; __weak lets the static
 * linker (bpftool gen object) merge the definitions into one. Sizes marked "set at open" are chosen by
 * src/platform/bpf.c.
 */
#ifndef WPROF_BPF_MAPS_H
#define WPROF_BPF_MAPS_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#include "bpf/wire.h"

#define SHARED_MAP __weak SEC(".maps")

/* Followed processes, by tgid. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, struct wire_proc);
} procs SHARED_MAP;

/* Slices of mappings, one after another; written by user space. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 131072);
    __type(key, __u32);
    __type(value, struct wire_mapping);
} mappings SHARED_MAP;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, struct wire_table);
} tables SHARED_MAP;

/* The rows of all published tables; set at open. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 4194304);
    __type(key, __u32);
    __type(value, struct unw_row);
} rows SHARED_MAP;

/* Stacks; set at open. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4194304);
} samples SHARED_MAP;

/* Processes coming and going, and names: apart, so that a flood of samples cannot drop them. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1048576);
} control SHARED_MAP;

/* Processes that run CPython, by tgid; user space finds that out. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, struct py_proc);
} py_procs SHARED_MAP;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 64);
    __type(key, __u32);
    __type(value, struct py_layout);
} py_layouts SHARED_MAP;

/* Where a thread's Python state was, by tid. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, struct py_cache);
} py_threads SHARED_MAP;

/*
 * Between two samples the program drives all that a walk reads out of the CPU's caches, and most of what a
 * walk costs is to get it back, page by page and line by line. An array of less than 32 KiB, the kernel's own
 * part of it included, lies in the kernel's linear mapping, which has large pages: the next two are that
 * small.
 */

/* Code objects whose names have been sent, each by its tag at one of two places. One that others drive out is
 * sent again: that is cheaper than a hash table that never forgets one, at three lines of cache a look. */
enum { PY_SEEN_SETS = 2000 };

struct py_seen_set {
    __u64 tag[2]; /* the younger first; 0: none */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PY_SEEN_SETS);
    __type(key, __u32);
    __type(value, struct py_seen_set);
} py_seen SHARED_MAP;

/*
 * Rows found lately, by pc and slice: the return addresses of a program's stacks are few, and one line of
 * cache here saves the two binary searches, which on torch's tables touch some thirty. All CPUs and programs
 * share them, without a lock: word is {slice, cfa, rule, bp}, check the pc mixed with it, so that halves of
 * two entries don't look like one.
 */
enum { ROW_WAYS = 4, ROW_SETS = 496 };

struct row_set {
    struct {
        __u64 check, word;
    } way[ROW_WAYS]; /* the youngest first */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, ROW_SETS); /* set at open, with config_row_sets: more where there are many CPUs */
    __type(key, __u32);
    __type(value, struct row_set);
} row_sets SHARED_MAP;

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct wire_lost);
} lost SHARED_MAP;

/* Defined in proc.bpf.c. */
extern __u32 own_pidns_level; /* of wprof's own pid namespace, 0: the initial one; own_level sets it */
extern __u64 own_pidns;       /* where the kernel has that namespace */
extern const volatile __u32 config_whole_machine; /* follow every process, found at its first sample */

extern const volatile __u32 config_row_sets;

extern const volatile __u32 config_clock; /* measure our own time: the kernel doesn't do it for us */

/* What wprof's time namespace adds to the kernel's clocks. */
extern const volatile __s64 config_monotonic_ahead;
extern const volatile __s64 config_boottime_ahead;

/* CLOCK_MONOTONIC as wprof itself reads it; the kernel's own does for differences. */
static __always_inline __u64 clock_now(void)
{
    return bpf_ktime_get_ns() + (__u64)config_monotonic_ahead;
}

static __always_inline struct wire_lost *lost_here(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&lost, &zero);
}

/* Around a program's work: __u64 t0 = cost_begin(); ... cost_end(t0). */
static __always_inline __u64 cost_begin(void)
{
    return config_clock ? bpf_ktime_get_ns() : 0;
}

static __always_inline int cost_end(__u64 t0)
{
    struct wire_lost *l = config_clock ? lost_here() : 0;

    if (l) {
        l->cost_ns += bpf_ktime_get_ns() - t0;
        l->cost_runs++;
    }
    return 0;
}

#endif
