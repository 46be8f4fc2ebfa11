/* SPDX-License-Identifier: Apache-2.0 */
/* The report's bar of programs, on the page and in Markdown. */
#include "render/report_parts.h"

#include "base/units.h"
#include "render/markup.h"

#include <math.h>

enum { SHOWN = 15 };

static const struct table_column columns[] = {
    {"share", "share", TABLE_SHARE}, {"cpu_ns", "CPU time", TABLE_NS},
    {"runq", "run queue", TABLE_NS}, {"processes", "processes", TABLE_COUNT},
    {"name", "program", TABLE_TEXT}, {"where_share", "of its own", TABLE_SHARE},
    {"where", "in", TABLE_TEXT},
};

enum { C_SHARE, C_CPU, C_QUEUE, C_PROCESSES, C_NAME, C_WHERE_SHARE, C_WHERE };

static union table_cell *add_row(struct table *t, uint64_t ns, uint64_t whole, char *what)
{
    union table_cell *c = table_add(t);

    c[C_SHARE].share = (double)ns / (double)whole;
    c[C_CPU].count = ns;
    c[C_QUEUE].count = c[C_PROCESSES].count = TABLE_NONE;
    c[C_NAME].text = what;
    c[C_WHERE_SHARE].share = NAN;
    return c;
}

static void add_program(struct table *t, const struct report_program *p, uint64_t whole)
{
    union table_cell *c = add_row(t, p->cpu_ns, whole, mem_strdup(p->name));

    c[C_QUEUE].count = p->delay_ns;
    c[C_PROCESSES].count = p->processes;
    if (!p->where)
        return;
    c[C_WHERE_SHARE].share = p->where_share;
    c[C_WHERE].text = mem_strdup(p->where);
}

static void put_bar(struct report_doc *d, size_t n)
{
    static const char *const strength[] = {"1", ".7", ".45"};
    const struct report *r = d->r;
    struct buf html = {0};
    char share[32];

    buf_addstr(&html, "<div class=\"wall\">");
    for (size_t i = 0; i < n; i++) {
        const struct report_program *p = &r->programs.a[i];
        double part = (double)p->cpu_ns / (double)r->cpus_ns;

        units_share(share, sizeof(share), part);
        buf_addf(&html, "<span class=\"ran\" style=\"width:%.3f%%;opacity:%s\" title=\"", part * 100,
                 strength[i % ARRAY_SIZE(strength)]);
        markup_text(&html, p->name);
        buf_addf(&html, ": %s\">", share);
        if (part > 0.08) {
            markup_text(&html, p->name);
            buf_addf(&html, " %s", share);
        }
        buf_addstr(&html, "</span>");
    }
    buf_addstr(&html, "</div>");
    report_block(d, &html);
}

void report_program_bar(struct report_doc *d)
{
    const struct report *r = d->r;
    size_t n = r->programs.n < SHOWN ? r->programs.n : SHOWN;
    uint64_t shown = 0;
    struct table t;

    if (!n)
        return;
    report_heading(d, 2, "Who used the CPUs");
    report_programs_words(r, d->out);
    buf_addstr(d->out, ":\n\n");
    if (d->html)
        put_bar(d, n);
    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < n; i++) {
        add_program(&t, &r->programs.a[i], r->cpus_ns);
        shown += r->programs.a[i].cpu_ns;
    }
    if (r->cpus_used_ns > shown)
        add_row(&t, r->cpus_used_ns - shown, r->cpus_ns, mem_printf("%zu more", r->programs.n - n));
    if (r->cpus_ns > r->cpus_used_ns)
        add_row(&t, r->cpus_ns - r->cpus_used_ns, r->cpus_ns, mem_strdup("idle, or in interrupts"));
    report_table_put(d, &t);
    table_release(&t);
}
