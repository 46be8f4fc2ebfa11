/* SPDX-License-Identifier: Apache-2.0 */
#include "model/waits.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static const char *const reasons[] = {
    [WAIT_UNKNOWN] = "unknown", [WAIT_SLEEP] = "sleep", [WAIT_DISK] = "disk",     [WAIT_FUTEX] = "futex",
    [WAIT_POLL] = "poll",       [WAIT_PIPE] = "pipe",   [WAIT_SOCKET] = "socket", [WAIT_FAULT] = "page fault",
    [WAIT_LOCK] = "lock",       [WAIT_CHILD] = "child", [WAIT_GIL] = "GIL",       [WAIT_OTHER] = "other",
};

const char *waits_reason(unsigned reason)
{
    return reason < ARRAY_SIZE(reasons) ? reasons[reason] : reasons[WAIT_UNKNOWN];
}

static const char *const states[] = {
    [WAIT_UNKNOWN] = "blocked",
    [WAIT_SLEEP] = "asleep",
    [WAIT_DISK] = "waiting for a disk",
    [WAIT_FUTEX] = "waiting for another thread",
    [WAIT_POLL] = "waiting in poll or select",
    [WAIT_PIPE] = "waiting for a pipe",
    [WAIT_SOCKET] = "waiting for a socket",
    [WAIT_FAULT] = "waiting for pages",
    [WAIT_LOCK] = "waiting for a lock in the kernel",
    [WAIT_CHILD] = "waiting for a child process",
    [WAIT_GIL] = "waiting for the GIL",
    [WAIT_OTHER] = "blocked in a system call",
};

const char *waits_state(unsigned reason)
{
    return reason < ARRAY_SIZE(states) ? states[reason] : states[WAIT_UNKNOWN];
}

struct lookup {
    const struct waits *w;
    const struct wait *key;
};

static int same(const void *ctx, uint32_t id)
{
    const struct lookup *l = ctx;

    return !memcmp(&l->w->list.a[id - 1], l->key, sizeof(*l->key));
}

void waits_release(struct waits *w)
{
    vec_release(&w->list);
    index_release(&w->index);
}

/* A table that was made otherwise than by adding has none yet. */
static void build_index(struct waits *w)
{
    index_release(&w->index);
    for (uint32_t id = 1; id <= w->list.n; id++)
        index_add(&w->index, hash_bytes(&w->list.a[id - 1], sizeof(*w->list.a)), id);
}

uint32_t waits_add(struct waits *w, const struct wait *key)
{
    struct lookup l = {w, key};
    uint64_t hash = hash_bytes(key, sizeof(*key));
    uint32_t id;

    if (w->index.n != w->list.n)
        build_index(w);
    id = index_find(&w->index, hash, same, &l);
    if (id)
        return id;
    *vec_push(&w->list) = *key;
    id = (uint32_t)w->list.n;
    index_add(&w->index, hash, id);
    return id;
}
