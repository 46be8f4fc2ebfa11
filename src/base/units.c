/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {
    {"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},     {"", 1e9},
    {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"w", 604800e9},
};

static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1 << 10},
    {"K", 1 << 10},
    {"KiB", 1 << 10},
    {"M", 1 << 20},
    {"MiB", 1 << 20},
    {"G", 1 << 30},
    {"GiB", 1 << 30},
    {"T", 1099511627776.0},
    {"TiB", 1099511627776.0},
};

static int parse(const char *s, const struct unit *units, size_t n, uint64_t *out)
{
    char *end;
    double v;

    if (!((*s >= '0' && *s <= '9') || *s == '.'))
        return -1;
    v = strtod(s, &end);
    if (end == s)
        return -1;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(end, units[i].name))
            continue;
        v *= units[i].factor;
        if (!(v < 18446744073709551615.0))
            return -1;
        *out = (uint64_t)llround(v < 9e18 ? v : 9e18);
        return 0;
    }
    return -1;
}

int units_parse_duration(const char *s, uint64_t *ns, struct err *e)
{
    if (parse(s, durations, ARRAY_SIZE(durations), ns))
        return err_set(e, "'%s' is not a duration (try 10s, 1.5m, 250ms)", s);
    return 0;
}

int units_parse_size(const char *s, uint64_t *bytes, struct err *e)
{
    if (parse(s, sizes, ARRAY_SIZE(sizes), bytes))
        return err_set(e, "'%s' is not a size (try 64M, 1GiB)", s);
    return 0;
}

int units_parse_uint(const char *s, uint64_t *v, struct err *e)
{
    char *end;

    errno = 0;
    *v = *s >= '0' && *s <= '9' ? strtoull(s, &end, 10) : (end = (char *)s, 0);
    if (end != s && !*end && errno == ERANGE)
        return err_set(e, "%s is too large a number", s);
    if (end == s || *end || errno)
        return err_set(e, "'%s' is not a whole number", s);
    return 0;
}

/* Three digits: from 999.5 on it is the next unit's. */
char *units_duration(char *out, size_t n, uint64_t ns)
{
    if (ns < 1000)
        snprintf(out, n, "%u ns", (unsigned)ns);
    else if (ns < 999500)
        snprintf(out, n, "%.3g us", (double)ns / 1e3);
    else if (ns < 999500000)
        snprintf(out, n, "%.3g ms", (double)ns / 1e6);
    else if (ns < 100 * 1000000000ull)
        snprintf(out, n, "%.2f s", (double)ns / 1e9);
    else
        snprintf(out, n, "%.0f s", (double)ns / 1e9);
    return out;
}

char *units_size(char *out, size_t n, uint64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t i = 0;

    while (v >= 1024 && i + 1 < ARRAY_SIZE(names)) {
        v /= 1024;
        i++;
    }
    snprintf(out, n, i ? "%.1f %s" : "%.0f %s", v, names[i]);
    return out;
}

char *units_count(char *out, size_t n, uint64_t v)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
    size_t w = 0;

    for (int i = 0; i < len && w + 2 < n; i++) {
        if (i && (len - i) % 3 == 0)
            out[w++] = ',';
        out[w++] = digits[i];
    }
    out[w] = '\0';
    return out;
}

char *units_share(char *out, size_t n, double share)
{
    snprintf(out, n, share > 0 && share < 0.001 ? "%.2f %%" : "%.1f %%", share * 100);
    return out;
}
