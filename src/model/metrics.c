/* SPDX-License-Identifier: Apache-2.0 */
#include "model/metrics.h"

#include "base/mem.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define METRIC(id, name, title, unit, kind, of, what)                                                        \
    [METRIC_ID_##id] = {name, title, what, METRIC_##unit, METRIC_##kind, of},
static const struct metric all[METRIC_IDS] = {
#include "model/metrics.def"
};
#undef METRIC

const struct metric *metrics_get(enum metric_id id)
{
    return &all[id];
}

enum metric_id metrics_find(const char *name)
{
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        if (!strcmp(all[id].name, name))
            return (enum metric_id)id;
    return METRIC_NONE;
}

const char *metrics_unit_name(unsigned unit)
{
    static const char *const names[] = {
        [METRIC_NS] = "ns", [METRIC_BYTES] = "bytes",  [METRIC_COUNT] = "count", [METRIC_RATIO] = "ratio",
        [METRIC_HZ] = "Hz", [METRIC_MILLIWATT] = "mW", [METRIC_CELSIUS] = "C"};

    return unit < ARRAY_SIZE(names) ? names[unit] : "?";
}

double metrics_rate(const struct event *ev)
{
    return ev->dur ? (double)ev->value * 1e9 / (double)ev->dur : 0;
}

/* Three digits, at most two behind the point. */
static void spell_number(char *out, size_t n, double v)
{
    char whole[32];

    if (v >= 100 || v == floor(v))
        snprintf(out, n, "%s",
                 units_count(whole, sizeof(whole), v < 1e19 ? (uint64_t)(v + 0.5) : UINT64_MAX));
    else
        snprintf(out, n, v >= 10 ? "%.1f" : "%.2f", v);
}

char *metrics_spell(char *out, size_t n, const struct metric *m, double value, int per_second)
{
    char text[48];

    value = value > 0 ? value : 0;
    switch (m->unit) {
    case METRIC_NS:
        if (per_second) {
            spell_number(text, sizeof(text), value / 1e7);
            snprintf(out, n, "%s %%", text);
        } else {
            units_duration(out, n, (uint64_t)value);
        }
        break;
    case METRIC_BYTES:
        snprintf(out, n, "%s%s", units_size(text, sizeof(text), (uint64_t)value), per_second ? "/s" : "");
        break;
    case METRIC_RATIO:
        spell_number(out, n, value / METRIC_MILLION);
        break;
    case METRIC_HZ:
        snprintf(out, n, value >= 1e9 ? "%.2f GHz" : "%.0f MHz", value >= 1e9 ? value / 1e9 : value / 1e6);
        break;
    case METRIC_MILLIWATT:
        snprintf(out, n, "%.0f W", value / 1000);
        break;
    case METRIC_CELSIUS:
        snprintf(out, n, "%.0f C", value);
        break;
    default:
        spell_number(text, sizeof(text), value);
        snprintf(out, n, "%s%s", text, per_second ? "/s" : "");
    }
    return out;
}

struct metric_scale metrics_scale(unsigned unit, int per_second)
{
    switch (unit) {
    case METRIC_NS:
        return per_second ? (struct metric_scale){1e-7, "%"} : (struct metric_scale){1e-9, "s"};
    case METRIC_BYTES:
        return (struct metric_scale){1, per_second ? "bytes/s" : "bytes"};
    case METRIC_RATIO:
        return (struct metric_scale){1.0 / METRIC_MILLION, ""};
    case METRIC_HZ:
        return (struct metric_scale){1e-6, "MHz"};
    case METRIC_MILLIWATT:
        return (struct metric_scale){1e-3, "W"};
    case METRIC_CELSIUS:
        return (struct metric_scale){1, "C"};
    default:
        return (struct metric_scale){1, per_second ? "/s" : ""};
    }
}
