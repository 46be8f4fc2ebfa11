/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stats_step.h"

#include "analyze/stats.h"
#include "analyze/stats_tests.h"

#include <math.h>

enum { LEAST_VALUES = 4 };

int stats_step_find(struct stats_step *s, const double *value, const size_t *group, size_t n)
{
    size_t places = 0;

    *s = (struct stats_step){.p = 1};
    for (size_t i = 1; i < n; i++) {
        struct stats_difference d;

        if (group[i] == group[i - 1])
            continue;
        places++;
        d = stats_two_sided(value, i, value + i, n - i, 0.01);
        if (places > 1 && d.p >= s->p)
            continue;
        *s = (struct stats_step){group[i], stats_mean(value, i), stats_mean(value + i, n - i), d.p};
    }
    s->p = fmin(1, s->p * (double)places);
    return places && n >= LEAST_VALUES;
}
