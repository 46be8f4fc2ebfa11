/* SPDX-License-Identifier: Apache-2.0 */
/* How often a comparison of simulated runs is wrong, and how often it finds what was planted; JSON on stdout.
 *
 *     compare_rates [TRIALS]
 */
#include "../unit/compare_simulation.h"

/* Of 30 functions the first has 3,000 samples, a sixth of all; all of a run vary by 2 % together. */
#define USUAL .functions = 30, .first = 3000, .speed = 0.02, .alpha = 0.01
#define THREE .runs = 3, USUAL
#define TEN   .runs = 10, USUAL
#define ONE   .runs = 1, .slices = 100, .functions = 30, .first = 500, .speed = 0.02, .alpha = 0.01

static const struct {
    const char *name;
    struct simulation m;
} cases[] = {
    {"null: 3 runs a side", {THREE, .variation = 0.01}},
    {"null: 3 runs a side, each second", {THREE, .variation = 0.01, .per = "second"}},
    {"null: 3 runs a side, functions vary by 5 %", {THREE, .variation = 0.05}},
    {"null: 3 runs a side, functions vary by 0.4 to 9 %", {THREE, .variation = 0.02, .uneven = 1.5}},
    {"null: 3 runs a side, 300 samples",
     {.runs = 3, .functions = 30, .first = 300, .speed = 0.02, .alpha = 0.01, .variation = 0.01}},
    {"null: 10 runs a side", {TEN, .variation = 0.01}},
    {"null: 1 run a side, which do not vary", {ONE}},
    {"null: 1 run a side, runs vary by 2 %", {ONE, .variation = 0.02}},
    {"+10 %: 3 runs a side", {THREE, .growth = 0.1, .variation = 0.005}},
    {"+10 %: 3 runs a side, functions vary by 1 %", {THREE, .growth = 0.1, .variation = 0.01}},
    {"+3 %: 10 runs a side", {TEN, .growth = 0.03, .variation = 0.005}},
    {"+3 %: 10 runs a side, --only", {TEN, .growth = 0.03, .variation = 0.005, .only = "f0"}},
    {"+3 %: 10 runs a side, of 6,000 samples",
     {.runs = 10,
      .functions = 30,
      .first = 6000,
      .speed = 0.02,
      .alpha = 0.01,
      .growth = 0.03,
      .variation = 0.005}},
    {"+3 %: 10 runs a side, by a number, --only",
     {.runs = 10, .functions = 30, .first = 3000, .alpha = 0.01, .growth = 0.03, .per = "1", .only = "f0"}},
    {"+3 %: 10 runs a side, samples of an even clock",
     {TEN, .growth = 0.03, .variation = 0.005, .even = 0.3}},
};

int main(int argc, char **argv)
{
    unsigned trials = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;

    printf("[\n");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct simulation_rates r = simulate(&cases[i].m, trials, i + 1);

        printf("  {\"case\": \"%s\", \"trials\": %u, \"any\": %.4f, \"gate\": %.4f, \"found\": %.4f, "
               "\"covered\": %.4f}%s\n",
               cases[i].name, r.trials, (double)r.any / r.trials, (double)r.gates / r.trials,
               (double)r.found / r.trials, (double)r.covered / r.trials,
               i + 1 < ARRAY_SIZE(cases) ? "," : "");
        fflush(stdout);
    }
    printf("]\n");
    return 0;
}
