/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors of tier C: where the CPU time of own processes goes, and their time off the CPU, looked at
 * from outside. */
#include "base/mem.h"
#include "collect/looks.h"

#include <stdio.h>
#include <stdlib.h>

struct collector {
    struct looks *looks;
    char detail[400];
};

static void look_free(struct collector *c)
{
    looks_put(c->looks);
    free(c);
}

static struct collector *look_new(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));

    c->looks = looks_get(ctx, e);
    if (!c->looks) {
        free(c);
        return NULL;
    }
    return c;
}

static struct collector *cpu_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = look_new(ctx, e);

    if (!c)
        return NULL;
    c->looks->sampling = 1;
    snprintf(c->detail, sizeof(c->detail),
             "CPU time%s, looked at from outside: native frames of what runs are not seen",
             c->looks->by_ticks ? " to a clock tick" : "");
    return c;
}

static struct collector *off_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = look_new(ctx, e);

    if (!c)
        return NULL;
    c->looks->outside.off = 1;
    snprintf(
        c->detail, sizeof(c->detail),
        "waits by looks from outside: times are exact in sum, begin and end to a look; wakers are inferred");
    return c;
}

static int look_start(struct collector *c, struct err *e)
{
    return looks_begin(c->looks, e);
}

static int look_fd(struct collector *c)
{
    return looks_fd(c->looks);
}

static int look_poll(struct collector *c, struct err *e)
{
    return looks_poll(c->looks, e);
}

static void look_ids(struct collector *c, struct store_visit *v)
{
    looks_ids(c->looks, v);
}

static void look_counters(struct collector *c)
{
    looks_counters(c->looks);
}

static int look_stop(struct collector *c, struct err *e)
{
    int rc = looks_end(c->looks, e);

    looks_counters(c->looks);
    return rc;
}

static const char *look_detail(struct collector *c)
{
    return c->detail;
}

static int look_alive(struct collector *c)
{
    return outside_alive(&c->looks->outside);
}

const struct collector_ops collector_cpu_looks = {
    .name = "cpu",
    .summary = "stacks of what runs on a CPU, by samples",
    .on_by_default = 1,
    .tiers = TIER_C,
    .open = cpu_open,
    .start = look_start,
    .fd = look_fd,
    .poll = look_poll,
    .stop = look_stop,
    .counters = look_counters,
    .detail = look_detail,
    .alive = look_alive,
    .ids = look_ids,
    .free = look_free,
};

const struct collector_ops collector_offcpu_looks = {
    .name = "offcpu",
    .summary = "what threads wait for off the CPU, and where",
    .on_by_default = 1,
    .tiers = TIER_C,
    .open = off_open,
    .start = look_start,
    .fd = look_fd,
    .poll = look_poll,
    .stop = look_stop,
    .counters = look_counters,
    .detail = look_detail,
    .alive = look_alive,
    .ids = look_ids,
    .free = look_free,
};
