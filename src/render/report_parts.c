/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of templates/report.md. */
#include "render/report_parts.h"

#include "base/templates.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_SHOWN = 5 };

static void put_title(struct report_doc *d)
{
    char *command = figures_command(d->r->meta);

    report_code(d, command);
    free(command);
}

/* "label value, label value" */
static void list_figures(struct report_doc *d, const struct figure *a, size_t n, int measured)
{
    int any = 0;

    for (size_t i = 0; i < n; i++) {
        if (measured && !a[i].measured)
            continue;
        buf_addf(d->out, "%s%s ", any ? ", " : "", a[i].label);
        buf_addstr(d->out, a[i].bad ? "**" : "");
        report_plain(d, a[i].value);
        buf_addstr(d->out, a[i].bad ? "**" : "");
        any = 1;
    }
    buf_addch(d->out, '\n');
}

static void put_facts(struct report_doc *d)
{
    list_figures(d, d->figures.facts.a, d->figures.facts.n, 0);
}

static void put_quality(struct report_doc *d)
{
    buf_addstr(d->out, "How well it was measured: ");
    list_figures(d, d->figures.quality.a, d->figures.quality.n, 1);
}

static void put_warnings(struct report_doc *d)
{
    for (size_t i = 0; i < d->figures.warnings.n; i++) {
        buf_addstr(d->out, "- **");
        report_plain(d, d->figures.warnings.a[i]);
        buf_addstr(d->out, "**\n");
    }
    for (size_t i = 0; i < d->figures.notes.n && i < NOTES_SHOWN; i++) {
        buf_addstr(d->out, "- ");
        report_plain(d, d->figures.notes.a[i]);
        buf_addch(d->out, '\n');
    }
    if (d->figures.notes.n > NOTES_SHOWN)
        buf_addf(d->out, "- and %zu more notes (wprof show)\n", d->figures.notes.n - NOTES_SHOWN);
}

/* A page has all that in its header. */
static void put_head(struct report_doc *d)
{
    if (d->html)
        return;
    buf_addstr(d->out, "# ");
    put_title(d);
    buf_addstr(d->out, "\n\n");
    put_facts(d);
    buf_addch(d->out, '\n');
    put_quality(d);
    buf_addch(d->out, '\n');
    put_warnings(d);
}

/* ---- wall time ---- */

static const struct table_column wall_columns[] = {
    {"share", "share", TABLE_SHARE}, {"ns", "time", TABLE_NS}, {"what", "in", TABLE_TEXT}};

static void add_part(struct table *t, const char *what, int blocked, uint64_t ns, uint64_t wall)
{
    union table_cell *c = table_add(t);

    c[0].share = (double)ns / (double)wall;
    c[1].count = ns;
    c[2].text = mem_printf("%s%s", blocked ? "blocked: " : "", what);
}

/* The bar and what its parts are; `unseen` of the whole is in none of them. */
static void put_bar(struct report_doc *d, const struct report_part *parts, size_t n, uint64_t whole,
                    uint64_t unseen)
{
    struct table t;

    report_bar(d, parts, n, whole);
    table_init(&t, wall_columns, ARRAY_SIZE(wall_columns));
    for (size_t i = 0; i < n; i++)
        if ((double)parts[i].ns >= 0.0005 * (double)whole)
            add_part(&t, parts[i].label, parts[i].blocked && strcmp(parts[i].key, "runq"), parts[i].ns,
                     whole);
    if (unseen > whole / 1000)
        add_part(&t, d->r->waits_measured ? "not there" : "off the CPU: waits were not recorded", 0, unseen,
                 whole);
    report_table_put(d, &t);
    table_release(&t);
}

static void put_crew(struct report_doc *d)
{
    const struct report *r = d->r;
    char ns[32], idle[32];

    if (!r->crew || !r->crew_ns)
        return;
    buf_addf(d->out, "\nThat only waits. The workers' time: %s of ",
             units_duration(ns, sizeof(ns), r->crew_ns));
    report_plain(d, r->crew);
    if (r->crew_idle_ns > r->crew_ns / 1000)
        buf_addf(d->out, ", and %s in which they had nothing to do",
                 units_duration(idle, sizeof(idle), r->crew_idle_ns));
    buf_addstr(d->out, ":\n\n");
    put_bar(d, r->crew_wall.a, r->crew_wall.n, r->crew_ns, 0);
}

static void put_wall(struct report_doc *d)
{
    const struct report *r = d->r;
    char ns[32];

    if (!r->lead || !r->wall_ns)
        return;
    report_heading(d, 2, "Where the time went");
    buf_addf(d->out, "%s of ", units_duration(ns, sizeof(ns), r->wall_ns));
    report_code(d, r->lead);
    buf_addf(d->out, ", %s:\n\n", r->lead_is_child ? "for which the command waited" : "the main thread");
    put_bar(d, r->wall.a, r->wall.n, r->wall_ns, r->unseen_ns);
    put_crew(d);
}

/* ---- findings ---- */

static void put_finding(struct report_doc *d, size_t i)
{
    const struct finding *x = &d->r->findings.list.a[i];
    char ns[32], share[32];

    buf_addf(d->out, "\n### %zu\\. ", i + 1);
    report_plain(d, x->title);
    if (x->timed && x->total_ns)
        buf_addf(d->out, ": %s, %s", units_duration(ns, sizeof(ns), x->cost_ns),
                 isnan(x->share) ? "share unknown" : units_share(share, sizeof(share), x->share));
    buf_addstr(d->out, "\n\n");
    report_plain(d, x->evidence);
    if (x->within) {
        buf_addstr(d->out, " ");
        finding_within(x, d->out);
    }
    buf_addstr(d->out, "\n\n**What to do:** ");
    report_plain(d, x->advice);
    buf_addf(d->out, "\n\n`%s`, severity %s, %s", x->id, finding_severity_name(x->severity),
             finding_certainty_name(x->certainty));
    if (x->why) {
        buf_addstr(d->out, ": ");
        report_plain(d, x->why);
    }
    buf_addstr(d->out, ".\n");
    if (x->stack) {
        buf_addstr(d->out, "\nAt ");
        report_code(d, x->stack);
        buf_addch(d->out, '\n');
    }
}

static void put_findings(struct report_doc *d)
{
    report_heading(d, 2, d->r->findings.list.n ? "Findings" : "No findings");
    if (!d->r->findings.list.n) {
        report_no_findings(d->r, d->out);
        buf_addch(d->out, '\n');
    }
    for (size_t i = 0; i < d->r->findings.list.n; i++)
        put_finding(d, i);
}

static void put_checked(struct report_doc *d)
{
    char *checked = report_checked(d->r);

    buf_addf(d->out, "%s.\n", checked);
    free(checked);
}

static const struct table_column check_columns[] = {{"state", "state", TABLE_TEXT},
                                                    {"id", "rule", TABLE_TEXT},
                                                    {"what", "looks for", TABLE_TEXT},
                                                    {"detail", "note", TABLE_TEXT}};

static void put_checks(struct report_doc *d)
{
    struct table t;

    table_init(&t, check_columns, ARRAY_SIZE(check_columns));
    for (size_t i = 0; i < d->r->findings.checks.n; i++) {
        const struct check *x = &d->r->findings.checks.a[i];
        union table_cell *c;

        /* In a comment, what could not be checked for want of data would be most of it. */
        if (!d->html && (x->state == CHECK_NOT_DONE || x->state == CHECK_LEFT_OUT))
            continue;
        c = table_add(&t);
        c[0].text = mem_strdup(check_state_name(x->state));
        c[1].text = mem_strdup(x->id);
        c[2].text = mem_strdup(x->title);
        c[3].text = mem_strdup(x->detail);
    }
    if (table_rows(&t)) {
        report_heading(d, 2, "What was looked for");
        report_table_put(d, &t);
    }
    table_release(&t);
}

/* ---- pictures and tables ---- */

static void put_picture(struct report_doc *d, const char *svg, const char *class)
{
    struct buf html = {0};

    buf_addf(&html, "<figure class=\"%s\">%s</figure>", class, svg);
    report_block(d, &html);
}

static void put_flame(struct report_doc *d)
{
    if (d->html)
        report_link(d);
    if (d->flame)
        put_picture(d, d->flame, "static");
    if (d->timeline)
        put_picture(d, d->timeline, "static");
}

static void put_topology(struct report_doc *d)
{
    const struct report *r = d->r;

    if (!r->nodes)
        return;
    report_heading(d, 2, "Topology");
    buf_addf(d->out, "%zu nodes, %zu edges, %zu processes.\n", r->nodes, r->edges, r->processes);
    if (d->topology)
        put_picture(d, d->topology, "static");
}

static void put_sections(struct report_doc *d)
{
    for (size_t i = 0; i < REPORT_TABLES; i++) {
        const struct report_section *s = &d->r->sections[i];

        if (!table_rows(&s->table))
            continue;
        report_heading(d, 2, s->heading);
        if (i == REPORT_SLOW)
            report_slow(d);
        report_table_put(d, &s->table);
        if (i == REPORT_SLOW)
            report_slow_flame(d);
    }
}

static const struct table_column stack_columns[] = {
    {"share", "share", TABLE_SHARE}, {"value", "samples", TABLE_COUNT}, {"text", "stack", TABLE_TEXT}};

static void put_stacks(struct report_doc *d, const char *heading, const struct report_stack *a, size_t n)
{
    struct table t;

    report_heading(d, 3, heading);
    table_init(&t, stack_columns, ARRAY_SIZE(stack_columns));
    for (size_t i = 0; i < n; i++) {
        union table_cell *c = table_add(&t);

        c[0].share = d->r->folded.samples ? (double)a[i].value / (double)d->r->folded.samples : 0;
        c[1].count = a[i].value;
        c[2].text = mem_strdup(a[i].text);
    }
    report_table_put(d, &t);
    table_release(&t);
}

static void put_folded(struct report_doc *d)
{
    const struct report_folded *f = &d->r->folded;
    char a[32], b[32], share[32];

    if (!f->stacks)
        return;
    report_heading(d, 2, "Folded stacks");
    buf_addf(d->out, "%s unique stacks, %s samples; %s in CUDA kernels.\n",
             units_count(a, sizeof(a), f->stacks), units_count(b, sizeof(b), f->samples),
             units_share(share, sizeof(share), f->samples ? (double)f->cuda / (double)f->samples : 0));
    put_stacks(d, "Heaviest stacks", f->top.a, f->top.n);
    put_stacks(d, "Heaviest leaves", f->leaves.a, f->leaves.n);
}

static void add_line(struct report_doc *d, const char *label, const char *value)
{
    if (!value || !*value)
        return;
    buf_addf(d->out, "- %s: ", label);
    report_code(d, value);
    buf_addch(d->out, '\n');
}

static void put_environment(struct report_doc *d)
{
    const struct meta *m = d->r->meta;

    if (!m->kernel && !m->os && !m->cpu_model && !m->env.n)
        return;
    report_heading(d, 2, "Environment");
    add_line(d, "machine", m->machine);
    add_line(d, "CPU", m->cpu_model);
    add_line(d, "kernel", m->kernel);
    add_line(d, "system", m->os);
    add_line(d, "directory", m->cwd);
    for (size_t i = 0; i < m->env.n; i++)
        add_line(d, "variable", m->env.a[i]);
}

/* ---- filling ---- */

static const struct part {
    const char *name;
    void (*put)(struct report_doc *d);
} parts[] = {
    {"head", put_head},
    {"wall", put_wall},
    {"programs", report_program_bar},
    {"devices", report_device_bars},
    {"findings", put_findings},
    {"checked", put_checked},
    {"flame", put_flame},
    {"sections", put_sections},
    {"topology", put_topology},
    {"folded", put_folded},
    {"checks", put_checks},
    {"environment", put_environment},
};

static const struct part *find_part(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (strlen(parts[i].name) == n && !memcmp(parts[i].name, name, n))
            return &parts[i];
    return NULL;
}

int report_doc_fill(struct report_doc *d, struct err *e)
{
    const char *text = template_get("report.md", NULL), *open, *close;

    text += strcspn(text, "\n"); /* the license */
    text += *text == '\n';
    while ((open = strstr(text, "{{")) && (close = strstr(open, "}}"))) {
        const struct part *part = find_part(open + 2, (size_t)(close - open) - 2);

        if (!part)
            return err_set(e, "report.md asks for an unknown part '%.*s'", (int)(close - open) - 2, open + 2);
        buf_add(d->out, text, (size_t)(open - text));
        part->put(d);
        text = close + 2;
    }
    buf_addstr(d->out, text);
    return 0;
}
