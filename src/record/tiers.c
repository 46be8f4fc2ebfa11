/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tiers.h"

#include "base/log.h"
#include "collect/looks.h"
#include "collect/rings.h"
#include "collect/trace.h"
#include "platform/probe.h"
#include "record/about.h"

#include <stdlib.h>
#include <string.h>

static int open_a(struct record_ctx *ctx, struct err *e)
{
    return trace_get(ctx, e) ? 0 : -1;
}

static int own_only(const struct record_ctx *ctx, struct err *e)
{
    return ctx->whole_machine ? err_set(e, "-a needs tier A") : 0;
}

static int open_b(struct record_ctx *ctx, struct err *e)
{
    return own_only(ctx, e) < 0 || !rings_get(ctx, e) ? -1 : 0;
}

static int open_c(struct record_ctx *ctx, struct err *e)
{
    if (ctx->event)
        return err_set(e, "-e needs tier A or B");
    return own_only(ctx, e) < 0 || !looks_get(ctx, e) ? -1 : 0;
}

static const char *unseen_in_b(const struct record_ctx *ctx)
{
    return ctx->rings->events.kernel ? "who wakes whom, and where waits shorter than 10 ms are"
                                     : "kernel frames and what runs in the kernel, who wakes whom, and where "
                                       "waits shorter than 10 ms are";
}

static const char *unseen_in_c(const struct record_ctx *ctx)
{
    return "native frames of what runs, kernel frames, who wakes whom, and where waits are that end between "
           "two "
           "looks";
}

static const struct way {
    char letter[2];
    unsigned tier;
    const char *name;
    int (*open)(struct record_ctx *ctx, struct err *e);
    const char *(*unseen)(const struct record_ctx *ctx);
} ways[] = {
    {"A", TIER_A, "BPF", open_a, NULL},
    {"B", TIER_B, "perf events", open_b, unseen_in_b},
    {"C", TIER_C, "from outside", open_c, unseen_in_c},
};

unsigned tiers_parse(const char *letter)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        if (!strcmp(letter, ways[i].letter))
            return ways[i].tier;
    return 0;
}

static void chosen(struct record_ctx *ctx, const struct way *w, const struct err *why)
{
    ctx->tier = w->tier;
    free(ctx->meta->tier);
    ctx->meta->tier = mem_strdup(w->letter);
    if (!w->unseen)
        return;
    about_note(ctx->meta, "tier %s (%s): not seen are %s", w->letter, w->name, w->unseen(ctx));
    if (why->msg[0])
        log_info("recording with tier %s (%s), since: %s", w->letter, w->name, why->msg);
}

int tiers_choose(struct record_ctx *ctx, const char *forced, struct err *e)
{
    struct err first = {0};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct err why = {0};

        if (forced && strcmp(forced, ways[i].letter))
            continue;
        if (!ways[i].open(ctx, &why)) {
            chosen(ctx, &ways[i], &first);
            return 0;
        }
        log_debug("tier %s: %s", ways[i].letter, why.msg);
        if (!first.msg[0])
            first = why;
    }
    *e = first;
    if (forced && strcmp(forced, "A")) /* that has said it */
        probe_explain_tier(e, forced[0]);
    return forced ? err_wrap(e, "tier %s", forced) : -1;
}

void tiers_release(struct record_ctx *ctx)
{
    if (ctx->tier == TIER_A)
        trace_put(ctx->trace);
    else if (ctx->tier == TIER_B)
        rings_put(ctx->rings);
    else if (ctx->tier == TIER_C)
        looks_put(ctx->looks);
    ctx->tier = 0;
}
