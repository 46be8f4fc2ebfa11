/* SPDX-License-Identifier: Apache-2.0 */
#include "model/comparison.h"

#define RELEASE_STRINGS(v)                                                                                   \
    do {                                                                                                     \
        for (size_t i_ = 0; i_ < (v)->n; i_++)                                                               \
            free((v)->a[i_]);                                                                                \
        vec_release(v);                                                                                      \
    } while (0)

void comparison_release(struct comparison *c)
{
    for (size_t s = 0; s < COMPARISON_SIDES; s++)
        RELEASE_STRINGS(&c->side[s].runs);
    for (size_t l = 0; l < COMPARISON_LEVELS; l++) {
        for (size_t i = 0; i < c->level[l].rows.n; i++) {
            free(c->level[l].rows.a[i].name);
            free(c->level[l].rows.a[i].module);
            free(c->level[l].rows.a[i].was);
            free(c->level[l].rows.a[i].within);
        }
        vec_release(&c->level[l].rows);
        free(c->level[l].method);
    }
    for (size_t i = 0; i < c->figures.n; i++) {
        free(c->figures.a[i].name);
        free(c->figures.a[i].runs);
    }
    vec_release(&c->figures);
    for (size_t i = 0; i < c->steps.n; i++) {
        free(c->steps.a[i].figure);
        free(c->steps.a[i].commit);
    }
    vec_release(&c->steps);
    RELEASE_STRINGS(&c->notes);
    RELEASE_STRINGS(&c->topology);
    profile_release(&c->tree);
    free(c->metric);
    free(c->unit);
    free(c->per);
    free(c->method);
    free(c->because);
}

const char *comparison_level_name(enum comparison_level level)
{
    static const char *const names[] = {"function", "stack", "module", "process", "kernel", "operator"};

    return names[level];
}

const char *comparison_level_names(enum comparison_level level)
{
    static const char *const names[] = {"functions", "stacks",  "modules",
                                        "processes", "kernels", "operators"};

    return names[level];
}
