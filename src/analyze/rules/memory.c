/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 47 and 56: what the CPU's counters tell of memory. */
#include "analyze/rules/check.h"

#include <stdlib.h>

/* A read from memory takes about so long, and the core waits for it unless others are under way: what misses
 * may cost at most. Of a cache line in bytes: x86-64 and most arm64. */
#define MISS_NS 80.0
#define LINE    64.0

/* Of all trees of targets together; -1: it was not counted. */
static double counted(const struct rule_data *d, enum metric_id id)
{
    double sum = -1;

    for (size_t i = 0; i < d->sums.list.n; i++)
        if (d->sums.list.a[i].id == id)
            sum = (sum < 0 ? 0 : sum) + d->sums.list.a[i].total;
    return sum;
}

void check_memory_bound(struct rule_run *r, const struct rule_data *d)
{
    double misses = counted(d, METRIC_ID_TREE_LLC_MISSES), reads = counted(d, METRIC_ID_TREE_LLC_READS);
    double cycles = counted(d, METRIC_ID_TREE_CYCLES), instructions = counted(d, METRIC_ID_TREE_INSTRUCTIONS);
    double cpu = cpus_used(d) * (double)d->wall_ns, stall;
    struct words w = {0};
    struct finding *x;
    struct buf b = {0};

    if (misses < 0 || !(reads > 0) || !(cpu > 0)) {
        rule_not_checked(r, "needs cache references: %s", rule_need_help(NEED_LLC));
        return;
    }
    stall = misses * MISS_NS / cpu;
    if (misses <= rule_threshold(r, "misses") * reads || stall <= rule_threshold(r, "stall"))
        return;
    x = rule_found(r);
    x->severity = FINDING_MEDIUM;
    x->title = mem_strdup("Cores wait for memory");
    buf_addf(&b,
             "%s of %s reads of the last cache missed it (%s); at %.0f ns each that is up to %s of the CPU "
             "time.",
             words_count(&w, (uint64_t)misses), words_count(&w, (uint64_t)reads),
             words_share(&w, misses / reads), MISS_NS, words_share(&w, stall < 1 ? stall : 1));
    if (cycles > 0 && instructions >= 0)
        buf_addf(&b, " %.2f instructions a cycle.", instructions / cycles);
    x->evidence = buf_detach(&b);
    x->advice =
        mem_strdup("Walk memory in order, block loops so that what is used again is still in the cache, "
                   "smaller types, arrays of what is used together; huge pages.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("misses that are under way at a time cost less than one after the other; counted in "
                        "user mode");
}

void check_memory_traffic(struct rule_run *r, const struct rule_data *d)
{
    double peak = rule_threshold(r, "peak"), misses = counted(d, METRIC_ID_TREE_LLC_MISSES), rate;
    struct words w = {0};
    struct finding *x;

    if (!(peak > 0)) {
        rule_not_checked(
            r, "needs what the memory can bear, which no file tells: --set memory-traffic.peak=50e9 "
               "(bytes/s)");
        return;
    }
    if (misses < 0 || !d->wall_ns) {
        rule_not_checked(r, "needs cache references: %s", rule_need_help(NEED_LLC));
        return;
    }
    rate = misses * LINE * 1e9 / (double)d->wall_ns;
    if (rate <= rule_threshold(r, "bandwidth") * peak)
        return;
    x = rule_found(r);
    x->severity = FINDING_MEDIUM;
    x->title = mem_strdup("Memory bandwidth is used up");
    x->evidence =
        mem_printf("Reads that missed the last cache alone are %.3g GB/s, %s of the %.3g GB/s given.",
                   rate / 1e9, words_share(&w, rate / peak), peak / 1e9);
    x->advice =
        mem_strdup("More threads get no more of it: use what is in the cache again, smaller types, both "
                   "sockets' memory.");
    x->certainty = FINDING_LIKELY;
    x->why =
        mem_strdup("prefetches and writes come on top; counted in user mode, for the recorded processes");
}
