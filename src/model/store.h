/* SPDX-License-Identifier: Apache-2.0 */
/* All tables of a session in memory: what the recorder fills, the writer persists, the reader restores, views
 * read. */
#ifndef WPROF_MODEL_STORE_H
#define WPROF_MODEL_STORE_H

#include "base/vec.h"
#include "model/event.h"
#include "model/frames.h"
#include "model/gpu.h"
#include "model/origins.h"
#include "model/stacks.h"
#include "model/strtab.h"
#include "model/tasks.h"
#include "model/waits.h"

/* A count or figure by dotted name ("cpu.taken"); the last value written wins. See quality.h for those in
 * use. */
struct counter {
    uint32_t name; /* strtab */
    uint64_t value;
};

struct store {
    struct strtab strings;
    struct frames frames;
    struct stacks stacks;
    struct tasks tasks;
    struct waits waits;
    struct gpu_works gpus;
    struct origins origins;
    VEC(struct event) events;     /* readers: all of them; the recorder: those not yet written */
    VEC(struct counter) counters; /* few: searched linearly */
};

void store_release(struct store *s);
void store_set_counter(struct store *s, const char *name, uint64_t value);
uint64_t store_counter(const struct store *s, const char *name, uint64_t otherwise);

#endif
