/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors of tier B: where the CPU time of own processes goes, and their time off the CPU, by perf's
 * rings. */
#include "base/mem.h"
#include "collect/rings.h"

#include <stdio.h>
#include <stdlib.h>

struct collector {
    struct rings *rings;
    char detail[400];
};

static void ring_free(struct collector *c)
{
    rings_put(c->rings);
    free(c);
}

static struct collector *ring_new(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));

    c->rings = rings_get(ctx, e);
    if (!c->rings) {
        free(c);
        return NULL;
    }
    return c;
}

static struct collector *cpu_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = ring_new(ctx, e);

    if (!c)
        return NULL;
    c->rings->sampling = 1;
    snprintf(c->detail, sizeof(c->detail), "%s%s%s%s", c->rings->events.event.name,
             c->rings->why[0] ? ": " : "", c->rings->why,
             c->rings->events.kernel ? "" : "; the kernel's side is not sampled");
    return c;
}

static struct collector *off_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = ring_new(ctx, e);

    if (!c)
        return NULL;
    c->rings->outside.off = 1;
    snprintf(c->detail, sizeof(c->detail),
             "waits and their delays by switches; where, from 10 ms on; wakers are inferred");
    return c;
}

static int ring_start(struct collector *c, struct err *e)
{
    return rings_begin(c->rings, e);
}

static int ring_fd(struct collector *c)
{
    return rings_fd(c->rings);
}

static int ring_poll(struct collector *c, struct err *e)
{
    return rings_poll(c->rings, e);
}

static void ring_ids(struct collector *c, struct store_visit *v)
{
    rings_ids(c->rings, v);
}

static void ring_counters(struct collector *c)
{
    rings_counters(c->rings);
}

static int ring_stop(struct collector *c, struct err *e)
{
    int rc = rings_end(c->rings, e);

    rings_counters(c->rings);
    return rc;
}

static const char *ring_detail(struct collector *c)
{
    return c->detail;
}

static int ring_alive(struct collector *c)
{
    return outside_alive(&c->rings->outside);
}

const struct collector_ops collector_cpu_rings = {
    .name = "cpu",
    .summary = "stacks of what runs on a CPU, by samples",
    .on_by_default = 1,
    .tiers = TIER_B,
    .open = cpu_open,
    .start = ring_start,
    .fd = ring_fd,
    .poll = ring_poll,
    .stop = ring_stop,
    .counters = ring_counters,
    .detail = ring_detail,
    .alive = ring_alive,
    .ids = ring_ids,
    .free = ring_free,
};

const struct collector_ops collector_offcpu_rings = {
    .name = "offcpu",
    .summary = "what threads wait for off the CPU, and where",
    .on_by_default = 1,
    .tiers = TIER_B,
    .open = off_open,
    .start = ring_start,
    .fd = ring_fd,
    .poll = ring_poll,
    .stop = ring_stop,
    .counters = ring_counters,
    .detail = ring_detail,
    .alive = ring_alive,
    .ids = ring_ids,
    .free = ring_free,
};
