/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report_units.h"

#include "analyze/steps.h"
#include "analyze/unit_periods.h"
#include "analyze/unit_tables.h"

enum { STACKS = 5 };

static struct table *section(struct report *r, enum report_table which, const char *key, const char *heading)
{
    r->sections[which].key = key;
    r->sections[which].heading = heading;
    return &r->sections[which].table;
}

static void slow_ones(struct report *r, const struct session *s, const struct units *u,
                      const struct units_choice *choice, const char *kind)
{
    struct places places;
    struct unit_slow slow;
    struct buf words = {0};

    if (unit_slow_init(&slow, s, u, choice)) {
        places_init(&places, &s->store);
        unit_slow_words(&slow, &places, kind, slow.order[0], &words);
        r->slow_units = buf_detach(&words);
        unit_causes_table(section(r, REPORT_SLOW, "slow_units", "Slow ones against typical ones"), &slow,
                          &places);
        unit_slow_compare(&slow, s, kind, &r->slow);
        unit_stacks_table(
            section(r, REPORT_SLOW_STACKS, "slow_units_stacks", "Where slow ones spend more time"), &r->slow,
            STACKS);
        places_release(&places);
    }
    unit_slow_release(&slow);
}

void report_units(struct report *r, const struct session *s, size_t rows)
{
    struct units_choice choice;
    struct units u;
    const char *kind;

    units_collect(&u, s);
    units_find_periods(&u, s);
    kind = strtab_get(&u.strings, units_main_kind(&u));
    if (*kind && !units_choose_kind(&choice, &u, kind, NULL)) {
        unit_kinds_table(section(r, REPORT_UNITS, "unit_kinds", "Steps and requests"), &u, rows);
        slow_ones(r, s, &u, &choice, kind);
        steps_table(section(r, REPORT_STEPS, "steps", "The longest steps"), s, &u, &choice, rows);
        units_choice_release(&choice);
    }
    units_release(&u);
}
