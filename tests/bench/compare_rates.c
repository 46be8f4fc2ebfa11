/* SPDX-License-Identifier: Apache-2.0 */
/* How often a comparison of simulated runs is wrong, and how often it finds what was planted; JSON on stdout.
 *
 *     compare_rates [TRIALS [TRACE]]
 *
 * TRACE: a session of a GPU with marked steps, of which runs are drawn besides.
 */
#include "../unit/kernels_simulation.h"

#include "analyze/open.h"
#include "collect/gpu_rest.h"

/* The first of 30 functions has so many samples, of 3,000 a sixth of all; all of a run vary by 2 % together.
 */
#define EVEN(FIRST)        .functions = 30, .first = FIRST, .alpha = 0.01
#define USUAL(RUNS, FIRST) EVEN(FIRST), .runs = RUNS, .speed = 0.02
#define ONE                USUAL(1, 500), .slices = 100

static const struct {
    const char *name;
    struct simulation m;
} cases[] = {
    {"null: 3 runs a side", {USUAL(3, 3000), .variation = 0.01}},
    {"null: 3 runs a side, each second", {USUAL(3, 3000), .variation = 0.01, .per = "second"}},
    {"null: 3 runs a side, functions vary by 5 %", {USUAL(3, 3000), .variation = 0.05}},
    {"null: 3 runs a side, functions vary by 0.4 to 9 %", {USUAL(3, 3000), .variation = 0.02, .uneven = 1.5}},
    {"null: 3 runs a side, 300 samples", {USUAL(3, 300), .variation = 0.01}},
    {"null: 10 runs a side", {USUAL(10, 3000), .variation = 0.01}},
    {"null: 1 run a side, which do not vary", {ONE}},
    {"null: 1 run a side, runs vary by 2 %", {ONE, .variation = 0.02}},
    {"+10 %: 3 runs a side", {USUAL(3, 3000), .growth = 0.1, .variation = 0.005}},
    {"+10 %: 3 runs a side, functions vary by 1 %", {USUAL(3, 3000), .growth = 0.1, .variation = 0.01}},
    {"+3 %: 10 runs a side", {USUAL(10, 3000), .growth = 0.03, .variation = 0.005}},
    {"+3 %: 10 runs a side, --only", {USUAL(10, 3000), .growth = 0.03, .variation = 0.005, .only = "f0"}},
    {"+3 %: 10 runs a side, of 6,000 samples", {USUAL(10, 6000), .growth = 0.03, .variation = 0.005}},
    {"+3 %: 10 runs a side, by a number, --only",
     {EVEN(3000), .runs = 10, .growth = 0.03, .per = "1", .only = "f0"}},
    {"+3 %: 10 runs a side, samples of an even clock",
     {USUAL(10, 3000), .growth = 0.03, .variation = 0.005, .even = 0.3}},
    {"+3 %: 15 runs a side", {USUAL(15, 3000), .growth = 0.03, .variation = 0.005}},
    {"+3 %: 20 runs a side", {USUAL(20, 3000), .growth = 0.03, .variation = 0.005}},
    {"+5 %: 3 runs a side", {USUAL(3, 3000), .growth = 0.05, .variation = 0.005}},
    {"+5 %: 5 runs a side", {USUAL(5, 3000), .growth = 0.05, .variation = 0.005}},
    {"+5 %: 10 runs a side", {USUAL(10, 3000), .growth = 0.05, .variation = 0.005}},
    {"+10 %: 2 runs a side", {USUAL(2, 3000), .growth = 0.1, .variation = 0.005}},
    {"+10 %: 1 run a side", {USUAL(1, 3000), .slices = 100, .growth = 0.1, .variation = 0.005}},
    {"+20 %: 1 run a side", {USUAL(1, 3000), .slices = 100, .growth = 0.2, .variation = 0.005}},
};

/* The first of 20 kernels takes a fifth of a step. */
#define KERNELS(STEPS) .steps = STEPS, .kernels = 20, .calls = 10, .alpha = 0.01

static const struct {
    const char *name;
    struct kernels_simulation m;
} traces[] = {
    {"null: kernels, 1 run a side of 6 steps", {KERNELS(6), .variation = 0.05}},
    {"null: kernels, 1 run a side of 12 steps", {KERNELS(12), .variation = 0.05}},
    {"null: kernels, 1 run a side of 60 steps", {KERNELS(60), .variation = 0.05}},
    {"null: kernels, 1 run a side of 60 steps, calls vary by 30 %", {KERNELS(60), .variation = 0.3}},
    {"null: kernels, 1 run a side of 60 steps, not marked", {KERNELS(60), .variation = 0.05, .unmarked = 1}},
    {"+10 %: kernels, 1 run a side of 6 steps", {KERNELS(6), .variation = 0.05, .growth = 0.1}},
    {"+10 %: kernels, 1 run a side of 12 steps", {KERNELS(12), .variation = 0.05, .growth = 0.1}},
    {"+10 %: kernels, 1 run a side of 60 steps", {KERNELS(60), .variation = 0.05, .growth = 0.1}},
};

static void put(const char *before, const char *name, const struct simulation_rates *r, int covered)
{
    printf("%s  {\"case\": \"%s\", \"trials\": %u, \"any\": %.4f, \"gate\": %.4f, \"found\": %.4f", before,
           name, r->trials, (double)r->any / r->trials, (double)r->gates / r->trials,
           (double)r->found / r->trials);
    if (covered)
        printf(", \"covered\": %.4f", (double)r->covered / r->trials);
    printf("}");
    fflush(stdout);
}

/* Runs of as many steps as the trace has, and of 30, drawn from it. */
static int draw(const char *path, unsigned trials)
{
    struct session s = {0};
    struct kernels_trace t = {.s = &s};
    struct err e = {0};

    if (open_session(&s, path, gpu_rest_take, &e)) {
        fprintf(stderr, "compare_rates: %s\n", e.msg);
        return 1;
    }
    qsort(s.store.events.a, s.store.events.n, sizeof(*s.store.events.a), simulation_by_time);
    for (size_t i = 0; i < s.store.events.n; i++)
        if (s.store.events.a[i].kind == EVENT_MARKER &&
            !strncmp(strtab_get(&s.store.strings, s.store.events.a[i].metric), "step ", 5)) {
            *vec_push(&t.first) = i;
            *vec_push(&t.start) = s.store.events.a[i].ts;
        }
    for (int more = 0; more < 2 && t.start.n > 1; more++) {
        struct kernels_simulation m = {.steps = more ? 30 : (unsigned)t.start.n, .alpha = 0.01};
        struct simulation_rates r = kernels_simulate(&m, &t, trials, 1);

        put(",\n",
            more ? "null: kernels, 30 steps drawn from a recorded trace"
                 : "null: kernels, as many steps drawn from a recorded trace as it has",
            &r, 0);
    }
    vec_release(&t.first);
    vec_release(&t.start);
    session_release(&s);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned trials = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    int rc = 0;

    printf("[\n");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct simulation_rates r = simulate(&cases[i].m, trials, i + 1);

        put(i ? ",\n" : "", cases[i].name, &r, 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
        struct simulation_rates r = kernels_simulate(&traces[i].m, NULL, trials, i + 1);

        put(",\n", traces[i].name, &r, 0);
    }
    if (argc > 2)
        rc = draw(argv[2], trials / 5 + 1);
    printf("\n]\n");
    return rc;
}
