/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a session's ids: inside of this folder. */
#ifndef WPROF_EXCHANGE_MERGE_IDS_H
#define WPROF_EXCHANGE_MERGE_IDS_H

#include "exchange/merge/merge.h"

/* Old id to new, one array a table; 0 stays 0. Origins come in rows of their own, behind those there are:
 * what is added to their ids. */
struct merge_ids {
    struct merge *m;
    struct merge_part *part;
    const struct store *from;
    struct store *to;
    uint32_t *string, *module, *frame, *stack, *wait, *gpu, *task;
    uint32_t origins;
    uint32_t ranks;   /* what is added to ranks that it has itself */
    uint32_t machine; /* task that stands for the part's host */
    uint32_t command; /* task of the recording's command; 0: not known */
    uint32_t unknown; /* task of what the recording tells no task of; 0: none yet */
    int64_t offset;
};

uint32_t merge_string(struct merge_ids *x, uint32_t id);

static inline uint32_t merge_task(const struct merge_ids *x, uint32_t id)
{
    return id <= x->from->tasks.list.n ? x->task[id] : 0;
}

/* A time on the merged session's clock; 0, "not known", stays. */
static inline uint64_t merge_moved(const struct merge_ids *x, uint64_t ns)
{
    int64_t to = (int64_t)ns + x->offset;

    return !ns ? 0 : to > 0 ? (uint64_t)to : 1;
}

/* Of what is the recording's, and no task's: one without a pid. */
uint32_t merge_unknown(struct merge_ids *x);

/* Tasks that bear figures of control groups -> the merged session's that bear them. `of` is empty, the caller
 * releases it. */
void merge_groups_add(struct merge_ids *x, struct map *of);

/* Origins and tasks. */
void merge_tasks_add(struct merge_ids *x);

#endif
