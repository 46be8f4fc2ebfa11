/* SPDX-License-Identifier: Apache-2.0 */
#include "show_steps.h"

#include "analyze/steps.h"
#include "base/units.h"

#include <stdlib.h>

static int find(struct units *u, struct units_choice *choice, const struct session *s, const char *kind,
                struct err *e)
{
    units_collect(u, s);
    return units_choose_kind(choice, u, kind, e);
}

static void release(struct units *u, struct units_choice *choice)
{
    units_choice_release(choice);
    units_release(u);
}

int show_steps(const struct session *s, const char *kind, uint64_t top, const struct text_style *style,
               struct buf *out, struct err *e)
{
    struct units_choice choice;
    struct units u;
    struct table t;
    char median[32], *heading;
    uint64_t middle;

    if (find(&u, &choice, s, kind, e)) {
        release(&u, &choice);
        return -1;
    }
    steps_table(&t, s, &u, &choice, top);
    middle = steps_median(&u, &choice);
    heading = mem_printf("%s%s: %zu, %s%s; on CPU, off CPU, queued, GIL wait: of each process's main thread",
                         t.left_out ? "The longest of " : "", kind, choice.chosen.n,
                         middle ? "median " : "none of them over at the end",
                         middle ? units_duration(median, sizeof(median), middle) : "");
    text_table(&t, heading, style, out);
    free(heading);
    table_release(&t);
    release(&u, &choice);
    return 0;
}

int show_steps_json(const struct session *s, const char *kind, uint64_t top, struct json_writer *w,
                    struct err *e)
{
    struct units_choice choice;
    struct units u;
    int rc = find(&u, &choice, s, kind, e);
    struct table t;

    if (!rc) {
        steps_table(&t, s, &u, &choice, top);
        text_table_json(&t, "units", w);
        json_u64(w, "units_left_out", t.left_out); /* by --top */
        json_u64(w, "units_median_ns", steps_median(&u, &choice));
        table_release(&t);
    }
    release(&u, &choice);
    return rc;
}
