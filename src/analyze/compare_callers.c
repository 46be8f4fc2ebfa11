/* SPDX-License-Identifier: Apache-2.0 */
/* Whether those who have something called take more time with it than they did without. */
#include "analyze/compare_job.h"

#include <stdlib.h>

/* Without a gate: more than that is growth. */
#define USUAL_LIMIT 0.05

void compare_callers_init(struct compare_callers *x, size_t callers, size_t rows)
{
    *x = (struct compare_callers){.rows = rows, .alone = mem_calloc(rows + 1, sizeof(*x->alone))};
    for (int side = 0; side < COMPARISON_SIDES; side++)
        x->inner[side] = mem_calloc(callers + 1, sizeof(*x->inner[side]));
}

void compare_callers_add(struct compare_callers *x, size_t row, uint32_t caller, uint64_t weight)
{
    if (caller)
        *map_put(&x->pairs, (uint64_t)(row + 1) << 32 | caller) += weight;
    else
        x->alone[row] = 1;
}

uint32_t *compare_callers_find(struct compare_callers *x, double limit)
{
    uint32_t *found = mem_calloc(x->rows + 1, sizeof(*found));
    uint64_t *most = mem_calloc(x->rows + 1, sizeof(*most));
    double *growth = mem_calloc(x->rows + 1, sizeof(*growth));
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&x->pairs, &i));) {
        uint32_t row = (uint32_t)(s->key >> 32) - 1, caller = (uint32_t)s->key;
        double more = x->inner[COMPARISON_NEW][caller] - x->inner[COMPARISON_BASE][caller];

        growth[row] += more > 0 ? more : 0;
        if (s->val > most[row] || (s->val == most[row] && caller < found[row])) {
            most[row] = s->val;
            found[row] = caller;
        }
    }
    for (size_t i = 0; i < x->rows; i++)
        if (x->alone[i] || growth[i] > limit)
            found[i] = 0;
    free(most);
    free(growth);
    free(x->alone);
    for (int side = 0; side < COMPARISON_SIDES; side++)
        free(x->inner[side]);
    map_release(&x->pairs);
    return found;
}

double compare_callers_limit(const struct compare *c, const struct compare_divisor *whole)
{
    double sum = 0;

    for (size_t r = 0; r < c->runs.n; r++)
        if (c->runs.a[r].side == COMPARISON_BASE && whole[r].per > 0)
            sum += (double)whole[r].sum * whole[r].scale / whole[r].per / (double)c->n[COMPARISON_BASE];
    return sum * (c->o.fail_above > 0 ? c->o.fail_above : USUAL_LIMIT);
}
