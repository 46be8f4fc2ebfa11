/* SPDX-License-Identifier: Apache-2.0 */
#include "model/origins.h"

#include "model/store.h"

void origins_release(struct origins *o)
{
    vec_release(&o->list);
}

const char *origins_clock_name(unsigned clock)
{
    static const char *const names[ORIGIN_CLOCKS] = {
        [ORIGIN_CLOCK_ITSELF] = "reference", [ORIGIN_CLOCK_BOOT] = "same boot",
        [ORIGIN_CLOCK_SOCKETS] = "sockets",  [ORIGIN_CLOCK_BARRIERS] = "barriers",
        [ORIGIN_CLOCK_WALL] = "wall clock",  [ORIGIN_CLOCK_NONE] = "none",
    };

    return clock < ORIGIN_CLOCKS ? names[clock] : "unknown";
}

/* Whether any two differ. */
static int hosts_differ(const struct origins *o)
{
    for (size_t i = 1; i < o->list.n; i++)
        if (o->list.a[i].host != o->list.a[0].host)
            return 1;
    return 0;
}

/* "node1 rank 3": what tells it from the session's others; nothing where it is alone. Appended. */
static void add_label(const struct store *s, uint32_t origin, struct buf *out)
{
    const struct origin *o = origins_get(&s->origins, origin);
    const char *between = "";

    if (!o || s->origins.list.n < 2)
        return;
    if (o->host && (!o->rank || hosts_differ(&s->origins))) {
        buf_addstr(out, strtab_get(&s->strings, o->host));
        between = " ";
    }
    if (o->rank)
        buf_addf(out, "%srank %u", between, o->rank - 1);
}

char *origins_task_name(const struct store *s, const struct task *t, const char *otherwise)
{
    const char *comm = t ? strtab_get(&s->strings, t->comm) : "";
    struct buf out = {0}, label = {0};

    buf_addstr(&out, *comm ? comm : otherwise);
    if (t)
        add_label(s, t->origin, &label);
    if (label.len)
        buf_addf(&out, " [%s]", label.data);
    buf_release(&label);
    return buf_detach(&out);
}
