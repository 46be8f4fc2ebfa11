/* SPDX-License-Identifier: Apache-2.0 */
#include "record/live.h"

#include "base/units.h"

#include <stdio.h>
#include <unistd.h>

void live_begin(struct live *l, int quiet, int launched)
{
    *l = (struct live){.on = !quiet && isatty(STDERR_FILENO) && (!launched || !isatty(STDOUT_FILENO))};
}

static void put(const char *s, int n)
{
    if (n > 0 && write(STDERR_FILENO, s, (size_t)n) < 0)
        return; /* the terminal went away: nothing is lost that anyone could see */
}

void live_draw(struct live *l, uint64_t elapsed_ns, uint64_t samples, uint64_t bytes)
{
    char line[160], size[32], count[32];
    int n;

    /* In the background a write could stop us (stty tostop) or spoil what the shell shows. */
    if (!l->on || tcgetpgrp(STDERR_FILENO) != getpgrp())
        return;
    n = snprintf(line, sizeof(line), "\r\033[Kwprof: %.0f s, %s samples, %s (^C ends the recording)",
                 (double)elapsed_ns / 1e9, units_count(count, sizeof(count), samples),
                 units_size(size, sizeof(size), bytes));
    put(line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
    l->drawn = 1;
}

void live_clear(struct live *l)
{
    if (l->drawn)
        put("\r\033[K", 4);
    l->drawn = 0;
}
