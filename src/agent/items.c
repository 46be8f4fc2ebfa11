/* SPDX-License-Identifier: Apache-2.0 */
/* The items that many parts write, and the tables of ids. */
#include "agent/agent.h"

#include "base/hash.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t agent_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __thread pid_t tid;

void agent_child(void)
{
    tid = 0;
}

pid_t agent_tid(void)
{
    if (!tid)
        tid = (pid_t)syscall(SYS_gettid);
    return tid;
}

void agent_state(struct agent *a, enum gpu_state state, uint64_t number)
{
    out_lock(&a->out);
    out_reserve(&a->out, 32);
    out_u8(&a->out, GPU_STATE);
    out_number(&a->out, state);
    out_number(&a->out, number);
    out_number(&a->out, agent_clock());
    out_unlock(&a->out);
    out_flush(&a->out);
}

void agent_counts(struct agent *a, uint64_t ts)
{
    out_lock(&a->out);
    out_reserve(&a->out, 32 + 10 * GPU_COUNTS_N);
    out_u8(&a->out, GPU_COUNTS);
    out_number(&a->out, GPU_COUNTS_N);
    for (int i = 0; i < GPU_COUNTS_N; i++)
        out_number(&a->out, atomic_load_explicit(&a->counts[i], memory_order_relaxed));
    out_number(&a->out, ts);
    out_unlock(&a->out);
}

static void reset(struct agent *a)
{
    for (int i = 0; i < TABLES; i++)
        table_clear(&a->tables[i]);
    a->generation++;
    agent_count(a, GPU_N_RESETS, 1);
    out_reserve(&a->out, 1);
    out_u8(&a->out, GPU_RESET);
}

int agent_known(struct agent *a, enum agent_table t, const void *key, size_t n, uint32_t *id)
{
    uint64_t hash = hash_bytes(key, n);

    *id = table_find(&a->tables[t], key, n, hash);
    if (*id)
        return 1;
    *id = table_add(&a->tables[t], key, n, hash);
    if (!*id) {
        reset(a);
        *id = table_add(&a->tables[t], key, n, hash);
    }
    return 0;
}

uint32_t agent_text(struct agent *a, const char *p, size_t n)
{
    uint32_t id;

    if (n > GPU_WIRE_TEXT)
        n = GPU_WIRE_TEXT;
    if (!n || agent_known(a, TABLE_TEXTS, p, n, &id))
        return n ? id : 0;
    out_reserve(&a->out, n + 8);
    out_u8(&a->out, GPU_TEXT);
    out_text(&a->out, p, n);
    return id;
}

uint32_t agent_work(struct agent *a, const struct gpu_wire_work *w)
{
    const uint64_t fields[GPU_WIRE_WORK_FIELDS] = {
        w->op,      w->name,     w->device,   w->context,  w->stream, w->grid[0],   w->grid[1],
        w->grid[2], w->block[0], w->block[1], w->block[2], w->shared, w->registers, w->graph,
        w->node,    w->what,     w->from,     w->to,       w->result, w->bytes};
    uint32_t id;

    if (agent_known(a, TABLE_WORKS, w, sizeof(*w), &id))
        return id;
    out_reserve(&a->out, 1 + 10 * GPU_WIRE_WORK_FIELDS);
    out_u8(&a->out, GPU_WORK);
    for (int i = 0; i < GPU_WIRE_WORK_FIELDS; i++)
        out_number(&a->out, fields[i]);
    return id;
}
