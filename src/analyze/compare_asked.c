/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that run instead of others: a library of another version, a compiler that numbers what it makes,
 * another device. The operator that asks for them is the same and takes as long; nothing grew.
 */
#include "analyze/compare_job.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* By how much a count or a length differs that isn't the same. */
#define MORE 1.05

int compare_is_call(const char *function)
{
    static const char *const prefixes[] = {"cuda", "cu", "hip"};

    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        size_t n = strlen(prefixes[i]);

        if (!strncmp(function, prefixes[i], n) && isupper((unsigned char)function[n]))
            return 1;
    }
    return 0;
}

/* ---- of one run ---- */

struct asking {
    struct compare *c;
    struct compare_run *run;
    const struct store *store;
    uint32_t *asker; /* stack -> asker's index + 2; 0: not looked for yet, 1: none */
};

/* The stack's innermost frame that is no call of the API, below those outside of it. */
static uint32_t asker_of(struct asking *x, uint32_t stack)
{
    const struct stack_node *n = stacks_get(&x->store->stacks, stack);
    const struct frame_name *names;
    struct frame_name self;
    const char *name;
    uint32_t up;

    if (!n)
        return 0;
    if (x->asker[stack])
        return x->asker[stack] - 1;
    up = asker_of(x, n->parent);
    name = frames_names(&x->store->frames, n->frame, &self, &names)
               ? strtab_get(&x->store->strings, names[0].func)
               : "";
    if (*name && !compare_is_call(name)) {
        *vec_push(&x->run->askers) =
            (struct compare_asker){.up = up, .name = compare_operator_name(x->c, name)};
        up = (uint32_t)x->run->askers.n;
    }
    x->asker[stack] = up + 1;
    return up;
}

void compare_take_asked(struct compare *c, struct compare_run *run, const struct session *s,
                        const uint32_t *kernel_of)
{
    struct asking x = {c, run, &s->store, mem_calloc(s->store.stacks.nodes.n + 1, sizeof(*x.asker))};
    struct map sums = {0};
    struct map_slot *slot;

    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];

        if (ev->kind == EVENT_GPU && kernel_of[ev->attr])
            *map_put(&sums, (uint64_t)ev->stack << 32 | kernel_of[ev->attr]) += ev->dur;
    }
    for (size_t i = 0; (slot = map_next(&sums, &i));)
        *vec_push(&run->asked) = (struct compare_asked){
            .by = asker_of(&x, (uint32_t)(slot->key >> 32)), .kernel = (uint32_t)slot->key, .ns = slot->val};
    map_release(&sums);
    free(x.asker);
}

/* ---- of all ---- */

/* By asker of the run: the string of the nearest one that both sides have; [0] 0. */
static uint32_t *nearest(const struct compare_run *run, const uint8_t *on)
{
    uint32_t *near = mem_calloc(run->askers.n + 1, sizeof(*near));

    for (size_t i = 0; i < run->askers.n; i++) {
        const struct compare_asker *a = &run->askers.a[i];

        near[i + 1] = on[a->name] == (1u << COMPARISON_BASE | 1u << COMPARISON_NEW) ? a->name : near[a->up];
    }
    return near;
}

/* New ones, and those that are picked more often but take no longer each. */
static int is_picked(const struct compare *c, const struct compare_rows *rows, size_t row,
                     const uint64_t *times)
{
    const uint64_t *n = times + COMPARISON_SIDES * row;
    double ns[COMPARISON_SIDES] = {0}, often[COMPARISON_SIDES];

    for (size_t r = 0; r < c->runs.n; r++)
        ns[c->runs.a[r].side] += (double)rows->counts[row * rows->runs + r];
    for (int side = 0; side < COMPARISON_SIDES; side++)
        often[side] = (double)n[side] / (double)c->n[side];
    if (!n[COMPARISON_BASE] || !n[COMPARISON_NEW])
        return n[COMPARISON_NEW] > 0;
    return often[COMPARISON_NEW] > MORE * often[COMPARISON_BASE] &&
           ns[COMPARISON_NEW] / (double)n[COMPARISON_NEW] <=
               MORE * ns[COMPARISON_BASE] / (double)n[COMPARISON_BASE];
}

static void add_run(struct compare_callers *x, const struct compare *c, size_t r,
                    const struct compare_divisor *whole, const uint8_t *on, const uint32_t *row_of)
{
    const struct compare_run *run = &c->runs.a[r];
    double scale = whole->per > 0 ? whole->scale / whole->per / (double)c->n[run->side] : 0;
    uint32_t *near = nearest(run, on);

    for (size_t i = 0; i < run->asked.n; i++) {
        const struct compare_asked *a = &run->asked.a[i];

        x->inner[run->side][near[a->by]] += (double)a->ns * scale;
        if (run->side == COMPARISON_NEW && row_of[a->kernel])
            compare_callers_add(x, row_of[a->kernel] - 1, near[a->by], a->ns);
    }
    free(near);
}

uint32_t *compare_find_instead(const struct compare *c, const struct compare_rows *rows,
                               const uint32_t *names, const uint64_t *times)
{
    size_t strings = strtab_count(&c->strings);
    uint8_t *on = mem_calloc(strings + 1, sizeof(*on));
    uint32_t *row_of = mem_calloc(strings + 1, sizeof(*row_of));
    struct compare_callers x;

    for (size_t r = 0; r < c->runs.n; r++)
        for (size_t i = 0; i < c->runs.a[r].askers.n; i++)
            on[c->runs.a[r].askers.a[i].name] |= (uint8_t)(1u << c->runs.a[r].side);
    for (size_t i = 0; i < rows->n; i++)
        if (is_picked(c, rows, i, times))
            row_of[names[i]] = (uint32_t)i + 1;
    compare_callers_init(&x, strings, rows->n);
    for (size_t r = 0; r < c->runs.n; r++)
        add_run(&x, c, r, &rows->whole[r], on, row_of);
    free(on);
    free(row_of);
    return compare_callers_find(&x, compare_callers_limit(c, rows->whole));
}
