/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that a perf.data tells of: what each was called when. */
#ifndef WPROF_EXCHANGE_PERF_DATA_THREADS_H
#define WPROF_EXCHANGE_PERF_DATA_THREADS_H

#include "exchange/import/perf_data_record.h"
#include "exchange/import/perf_samples.h"

struct perf_thread {
    uint32_t comm; /* strtab of the names below */
    uint32_t task; /* under that name; 0: not made yet */
    uint32_t pid;  /* that the task was made with */
};

struct perf_threads {
    struct perf_samples *out;
    struct strtab names;
    struct map by_tid; /* -> index in list + 1 */
    VEC(struct perf_thread) list;
    struct buf who; /* being made */
};

void perf_threads_release(struct perf_threads *t);
void perf_threads_comm(struct perf_threads *t, uint32_t tid, const char *comm, size_t n);
void perf_threads_fork(struct perf_threads *t, uint32_t tid, uint32_t from);

/* The task of a thread by its present name: where none was told ":1234", as perf has it. */
uint32_t perf_threads_task(struct perf_threads *t, uint32_t pid, uint32_t tid);

#endif
