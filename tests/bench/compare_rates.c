/* SPDX-License-Identifier: Apache-2.0 */
/* How often a comparison of simulated runs is wrong, and how often it finds what was planted; JSON on stdout.
 *
 *     compare_rates [TRIALS]
 */
#include "../unit/compare_simulation.h"

static const struct {
    const char *name;
    struct simulation m;
} cases[] = {
#define ALL .functions = 30, .alpha = 0.01
    {"null, 3 runs a side, variation 1 %", {.runs = 3, .first = 3000, .variation = 0.01, .speed = 0.02, ALL}},
    {"null, 3 runs a side, variation 5 %", {.runs = 3, .first = 3000, .variation = 0.05, .speed = 0.05, ALL}},
    {"null, 3 runs a side, per second",
     {.runs = 3, .first = 3000, .variation = 0.01, .speed = 0.02, .per = "second", ALL}},
    {"null, 2 runs a side, variation 1 %", {.runs = 2, .first = 3000, .variation = 0.01, .speed = 0.02, ALL}},
    {"null, 10 runs a side, variation 1 %",
     {.runs = 10, .first = 3000, .variation = 0.01, .speed = 0.02, ALL}},
    {"null, 3 runs a side, 300 samples", {.runs = 3, .first = 300, .variation = 0.01, .speed = 0.02, ALL}},
    {"null, 3 runs, uneven variation",
     {.runs = 3, .first = 3000, .variation = 0.02, .uneven = 1.5, .speed = 0.02, ALL}},
    {"null, 10 runs, uneven variation",
     {.runs = 10, .first = 3000, .variation = 0.02, .uneven = 1.5, .speed = 0.02, ALL}},
    {"null, 3 functions, 3 runs",
     {.runs = 3, .first = 3000, .variation = 0.01, .speed = 0.02, .functions = 3, .alpha = 0.01}},
    {"null, 1 run a side, bursts", {.runs = 1, .first = 500, .slices = 100, .variation = 0, ALL}},
    {"null, 1 run a side, variation 2 %", {.runs = 1, .first = 3000, .slices = 100, .variation = 0.02, ALL}},
    {"+10 %, 3 runs a side, 3000 samples",
     {.runs = 3, .first = 3000, .growth = 0.1, .variation = 0.005, .speed = 0.02, ALL}},
    {"+10 %, 3 runs a side, variation 1 %",
     {.runs = 3, .first = 3000, .growth = 0.1, .variation = 0.01, .speed = 0.02, ALL}},
    {"+3 %, 10 runs a side, 3000 samples",
     {.runs = 10, .first = 3000, .growth = 0.03, .variation = 0.005, .speed = 0.02, ALL}},
    {"+3 %, 10 runs a side, 3000, 6 functions",
     {.runs = 10,
      .first = 3000,
      .growth = 0.03,
      .variation = 0.005,
      .speed = 0.02,
      .functions = 6,
      .alpha = 0.01}},
    {"+3 %, 10 runs a side, 6000 samples",
     {.runs = 10, .first = 6000, .growth = 0.03, .variation = 0.005, .speed = 0.02, ALL}},
    {"+3 %, 10 runs a side, only it",
     {.runs = 10, .first = 3000, .growth = 0.03, .variation = 0.005, .speed = 0.02, .only = "f0", ALL}},
    {"+3 %, 10 runs a side, only it, per 1",
     {.runs = 10,
      .first = 3000,
      .growth = 0.03,
      .variation = 0.005,
      .speed = 0.0,
      .per = "1",
      .only = "f0",
      ALL}},
    {"+3 %, 10 runs a side, per 1",
     {.runs = 10, .first = 3000, .growth = 0.03, .variation = 0.005, .speed = 0.0, .per = "1", ALL}},
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
    }
    printf("]\n");
    return 0;
}
