/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the metrics collector share, inside of metrics*.c. Pids are those of wprof's namespace.
 */
#ifndef WPROF_COLLECT_METRICS_H
#define WPROF_COLLECT_METRICS_H

#include "base/buf.h"
#include "collect/metrics_cache.h"
#include "collect/metrics_series.h"
#include "collect/who.h"
#include "model/collector.h"
#include "platform/cgroup.h"
#include "platform/cpufreq.h"
#include "platform/procstat.h"
#include "platform/proctask.h"
#include "platform/procuse.h"

#include <stdint.h>

#define METRICS_TICK_NS 10000000ull /* USER_HZ is 100: what /proc tells times to */

/* What could not be read, by file: said with the session. */
enum metrics_missing {
    METRICS_NO_IO,        /* /proc/PID/io of some process */
    METRICS_NO_DELAY,     /* schedstat of threads */
    METRICS_NO_ALL_DELAY, /* /proc/schedstat */
    METRICS_NO_PRESSURE,  /* PSI */
    METRICS_NO_FREQUENCY, /* cpufreq and cpuinfo */
    METRICS_NO_MEMORY,    /* meminfo */
    METRICS_NO_VM,        /* vmstat */
    METRICS_NO_CGROUP,    /* no figures of a control group */
    METRICS_NO_PLACES,    /* the CPUs that threads ran on */
    METRICS_NO_STAT,      /* /proc/stat */
    METRICS_MISSING
};

/* Of the whole machine. */
struct metrics_machine {
    struct metrics_series series[METRIC_IDS];
    VEC(struct metrics_series) oncpu, frequency; /* by CPU number */
    struct procstat stat;
    struct cpufreq rates;
    uint64_t rates_ts; /* when the clock rates were last read */
};

/* A control group that a target is in. */
struct metrics_group {
    struct cgroup group;
    pid_t pid; /* of the target whose task the events bear */
    uint32_t task;
    uint64_t number; /* which group it is, on this machine; 0: not known */
    struct metrics_series series[METRIC_IDS];
};

struct metrics_oncpu {
    uint16_t cpu; /* METRIC_ANY_CPU: of more CPUs than could be told apart */
    uint64_t sum;
    struct metrics_series series;
};

struct metrics_thread {
    pid_t tid;
    uint32_t task;     /* store's id, 0: not entered */
    int run_fd;        /* schedstat; -1: opened for each look */
    uint64_t start_ns; /* to a clock tick */
    uint64_t seen;     /* number of the look at its process that last listed it */
    uint64_t slices;   /* turns on a CPU when its switches were last read */
    uint8_t looked, gone;
    char comm[16];
    struct proctask_run run;
    struct procuse_switches switches;
    struct metrics_series oncpu;
    struct metrics_counter *counter;  /* of the CPU; NULL: none */
    VEC(struct metrics_oncpu) oncpus; /* tier A */
    uint64_t used_ts;                 /* of the last record of it */
};

struct metrics_counter {
    struct metrics_counts counts;
    struct metrics_counted counted;
};

/* A target: the counters of its threads at the beginning, which all that they start inherits. */
struct metrics_root {
    pid_t pid;
    uint32_t task;
    VEC(struct metrics_counts) threads;
    struct metrics_counted counted;
};

struct metrics_process {
    pid_t pid;
    uint32_t task;
    uint64_t start_ns; /* to a clock tick */
    uint64_t birth;    /* CLOCK_MONOTONIC */
    uint64_t looks, full_ts;
    struct procuse use; /* as it was last read */
    int stat_fd;        /* -1: opened for each look */
    uint8_t gone;
    uint8_t final;  /* its last figures are told */
    uint8_t relist; /* threads came or went */
    size_t cursor;  /* the thread to go on with */
    /* Sums over threads, those that have ended too. */
    uint64_t delay_ns;
    struct procuse_switches switches;
    VEC(struct metrics_thread) threads; /* by tid */
    struct metrics_series series[METRIC_IDS];
};

struct metrics {
    struct record_ctx *ctx;
    int root; /* where proc and sys are */
    struct metrics_out out;
    struct who own_who; /* where no other collector enters tasks */
    uint64_t boot_ns;   /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
    uint64_t begin;     /* of the recording */
    uint64_t ts;        /* of the look under way */
    int last;           /* it is the last one: nothing is left for later */
    struct metrics_machine machine;
    struct metrics_cache cache;
    struct metrics_gpu *gpu;            /* metrics_gpu.c; NULL: no library for GPUs */
    struct bpfside *used;               /* tells of threads; NULL: they are read in /proc */
    uint64_t short_processes, short_ns; /* that began and ended between two looks, not listed: CPU time */
    VEC(struct metrics_root) roots;
    VEC(struct metrics_group *) groups;
    VEC(struct metrics_process *) processes;
    struct map by_pid; /* -> metrics_process */
    struct map by_tid; /* ns_tid -> the store's newest task of it, of the first `indexed` */
    size_t indexed;
    size_t cursor; /* the process to go on with: there was no time for it */
    size_t open_files, most_files;
    struct buf text; /* of the file that is being read */
    uint64_t missing[METRICS_MISSING];
    uint64_t rounds, late;     /* looks; those that found no time for all */
    uint64_t postponed;        /* processes left for the next look */
    uint64_t ended_unseen;     /* processes that ended between two looks: their last part isn't seen */
    uint64_t own_ns;           /* CPU time of looking */
    uint64_t walk_ts, walk_ns; /* when children were last looked for, CPU time of that */
    char loadavg[64];          /* with the number given last: no new one, no new process */
};

/* Reads root's file into m->text: 0, or -1 counted under `what`. */
int metrics_read(struct metrics *m, const char *path, enum metrics_missing what);

void metrics_machine_look(struct metrics *m);
void metrics_machine_end(struct metrics *m);
void metrics_machine_release(struct metrics_machine *x);

/* Of GPUs: what a thread has read since the last look. */
void metrics_gpu_start(struct metrics *m);
void metrics_gpu_look(struct metrics *m);
const char *
metrics_gpu_why(const struct metrics *m); /* why some can't be had; "": all are, or there is no library */
void metrics_gpu_release(struct metrics *m);

void metrics_groups_look(struct metrics *m);
void metrics_groups_end(struct metrics *m);
void metrics_groups_tell(const struct metrics *m, struct store *s); /* METRICS_GROUP_COUNTER */
void metrics_groups_release(struct metrics *m);

/* Looks at as many processes as there is time for: budget_ns of CPU time. */
void metrics_processes_look(struct metrics *m, uint64_t budget_ns);
void metrics_processes_end(struct metrics *m);
void metrics_processes_release(struct metrics *m);
struct metrics_process *metrics_process_find(const struct metrics *m, pid_t pid);

/* The pids of the targets and all they have started; appended. */
void metrics_targets(struct metrics *m, struct pid_list *out);
uint32_t metrics_task(struct metrics *m, const struct metrics_process *p, const char *comm);
uint32_t metrics_thread_task(struct metrics *m, const struct metrics_process *p, pid_t tid, uint64_t start_ns,
                             const char *comm);

/* The counters of the CPU, of all that the targets start. */
void metrics_roots_open(struct metrics *m);
void metrics_roots_look(struct metrics *m);
void metrics_roots_end(struct metrics *m);
void metrics_roots_release(struct metrics *m);

void metrics_used_start(struct metrics *m);
void metrics_used_look(struct metrics *m);
void metrics_used_stop(struct metrics *m);
struct metrics_process *metrics_process_enter(struct metrics *m, pid_t pid);
/* Of one born while we record: it has used nothing at its birth. ts: now. */
void metrics_process_begin(struct metrics *m, struct metrics_process *p, uint64_t ts);
void metrics_thread_counter(struct metrics *m, struct metrics_thread *t); /* opens it, where there are some */
void metrics_thread_leave(struct metrics *m, struct metrics_thread *t);

/* The threads of p: their delays, switches, time on a CPU. */
void metrics_threads_look(struct metrics *m, struct metrics_process *p);
void metrics_threads_end(struct metrics *m, struct metrics_process *p);

/* The ns that a thread has waited for a CPU between two readings of its delay, the later one at ts. The
 * kernel adds a wait when it is over, with what of it was before the recording: it can't be longer than that.
 */
uint64_t metrics_delay_grown(const struct metrics *m, uint64_t before, uint64_t now, uint64_t ts);

#endif
