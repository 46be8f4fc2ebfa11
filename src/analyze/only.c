/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/only.h"

#include "analyze/unit_periods.h"

#include "base/units.h"

int only_apply(struct cut *c, struct session *s, const char *text, struct err *e)
{
    struct units_choice choice = {0};
    struct units u = {0};
    uint64_t time = 0;
    char amount[32];
    int rc = 0;

    *c = (struct cut){0};
    if (!text)
        return 0;
    units_collect(&u, s);
    units_find_periods(&u, s);
    rc = units_choose(&choice, &u, text, e);
    if (!rc) {
        cut_init(c, s, &u, &choice);
        cut_apply(c, s);
        for (size_t i = 0; i < choice.chosen.n; i++)
            time += u.list.a[choice.chosen.a[i]].end - u.list.a[choice.chosen.a[i]].start;
        units_duration(amount, sizeof(amount), time);
        *vec_push(&s->meta.notes) =
            choice.outside ? mem_printf("only what is %s", text)
                           : mem_printf("only %s: %zu of them, %s in all", text, choice.chosen.n, amount);
    }
    units_choice_release(&choice);
    units_release(&u);
    return rc;
}
