/* SPDX-License-Identifier: Apache-2.0 */
/* The report's bars of accelerators, on the page and in Markdown. */
#include "render/report_parts.h"

#include "base/units.h"

static const struct table_column part_columns[] = {
    {"share", "share", TABLE_SHARE}, {"ns", "time", TABLE_NS}, {"what", "what", TABLE_TEXT}};

static const struct table_column blame_columns[] = {{"share", "of the idle time", TABLE_SHARE},
                                                    {"ns", "time", TABLE_NS},
                                                    {"state", "the thread was", TABLE_TEXT},
                                                    {"where", "mostly in", TABLE_TEXT}};

static void add_part(struct table *t, const char *what, uint64_t ns, uint64_t whole)
{
    union table_cell *c = table_add(t);

    c[0].share = (double)ns / (double)whole;
    c[1].count = ns;
    c[2].text = mem_strdup(what);
}

static void put_device(struct report_doc *d, const struct report_device *x)
{
    char ns[32], share[32];
    struct table t;

    report_code(d, x->name);
    buf_addf(d->out, " was busy for %s of %s:\n\n",
             units_share(share, sizeof(share), x->ns ? (double)x->busy_ns / (double)x->ns : 0),
             units_duration(ns, sizeof(ns), x->ns));
    if (!x->ns)
        return;
    report_bar(d, x->parts.a, x->parts.n, x->ns);
    table_init(&t, part_columns, ARRAY_SIZE(part_columns));
    for (size_t i = 0; i < x->parts.n; i++)
        if ((double)x->parts.a[i].ns >= 0.0005 * (double)x->ns)
            add_part(&t, x->parts.a[i].label, x->parts.a[i].ns, x->ns);
    if (x->unseen_ns > x->ns / 1000)
        add_part(&t, "before its first and after its last work", x->unseen_ns, x->ns);
    report_table_put(d, &t);
    table_release(&t);
}

static void put_blame(struct report_doc *d)
{
    const struct report *r = d->r;
    struct table t;

    if (!r->idle_ns)
        return;
    buf_addf(d->out, "While %s idle, the thread that asked for what ran next was:\n\n",
             r->devices.n == 1 ? "it was" : "they were");
    table_init(&t, blame_columns, ARRAY_SIZE(blame_columns));
    for (size_t i = 0; i < r->blame.n; i++) {
        union table_cell *c;

        if ((double)r->blame.a[i].ns < 0.0005 * (double)r->idle_ns)
            continue;
        c = table_add(&t);
        c[0].share = (double)r->blame.a[i].ns / (double)r->idle_ns;
        c[1].count = r->blame.a[i].ns;
        c[2].text = mem_strdup(r->blame.a[i].state);
        c[3].text = r->blame.a[i].where ? mem_strdup(r->blame.a[i].where) : NULL;
    }
    report_table_put(d, &t);
    table_release(&t);
}

void report_device_bars(struct report_doc *d)
{
    if (!d->r->devices.n)
        return;
    report_heading(d, 2, "Where the accelerators' time went");
    for (size_t i = 0; i < d->r->devices.n; i++)
        put_device(d, &d->r->devices.a[i]);
    put_blame(d);
}
