/* SPDX-License-Identifier: Apache-2.0 */
#include "render/report.h"

#include "base/units.h"
#include "render/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, BAR = 60, FINDINGS_SHOWN = 3, DEVICES_SHOWN = 2 };

/* How much is told: of bars' parts, of warnings and of notes each so many. */
struct extent {
    int all; /* findings, tables and checks, too */
    size_t parts, notes;
};

/* The first that fits the screen is taken, else the last. */
static const struct extent extents[] = {{0, 5, 2}, {0, 3, 1}, {0, 1, 0}};
enum { LINES_BELOW = 5 }; /* "3 more", what was checked, the shell's prompt */

static const char *on(const struct text_style *s, const char *sgr)
{
    return s->color ? sgr : "";
}

static const char *off(const struct text_style *s)
{
    return s->color ? "\033[0m" : "";
}

static size_t width_of(const struct text_style *s)
{
    return s->width > 40 ? s->width : WIDTH;
}

static void wrap(struct buf *out, const char *text, const struct text_style *style, size_t indent, size_t at)
{
    text_wrap(out, text, width_of(style), indent, at);
}

/* ---- what ran, how well it was measured ---- */

static void about(const struct report *r, const struct text_style *style, const struct extent *how,
                  struct buf *out)
{
    const struct meta *m = r->meta;
    char *command = figures_command(m), text[40];
    int imported = meta_is_imported(m);
    struct figures f = {0};
    struct buf b = {0};

    buf_addstr(out, on(style, "\033[1m"));
    text_clean(command, width_of(style), out);
    buf_addf(out, "%s\n", off(style));
    if (m->duration_s > 0)
        buf_addstr(&b, units_duration(text, sizeof(text), (uint64_t)(m->duration_s * 1e9)));
    if (m->host && *m->host)
        buf_addf(&b, "%son %s", b.len ? " " : "", m->host);
    if (imported)
        buf_addf(&b, "%simported", b.len ? ", " : "");
    if (m->ncpus)
        buf_addf(&b, ", %u CPU%s", m->ncpus, m->ncpus == 1 ? "" : "s");
    if (m->tier)
        buf_addf(&b, ", tier %s", m->tier);
    if (m->kind && !imported)
        buf_addf(&b, "%s%s", b.len ? ", " : "", m->kind);
    if (m->exit_code > 0)
        buf_addf(&b, ", exit code %lld", (long long)m->exit_code);
    figures_make(&f, r->quality, m);
    for (size_t i = 0; i < f.quality.n; i++)
        if (f.quality.a[i].measured)
            buf_addf(&b, "%s%s %s", b.len ? ", " : "", f.quality.a[i].label, f.quality.a[i].value);
    buf_addstr(out, "  ");
    wrap(out, buf_str(&b), style, 2, 2);
    for (size_t i = 0; i < f.warnings.n && i < how->notes; i++) {
        buf_addf(out, "  %s! ", on(style, "\033[33m"));
        wrap(out, f.warnings.a[i], style, 4, 4);
        buf_addstr(out, off(style));
    }
    for (size_t i = 0; i < f.notes.n && i < how->notes; i++) {
        buf_addstr(out, "  - ");
        wrap(out, f.notes.a[i], style, 4, 4);
    }
    if (f.warnings.n > how->notes)
        buf_addf(out, "  ! %zu more: wprof show\n", f.warnings.n - how->notes);
    if (f.notes.n > how->notes)
        buf_addf(out, "  - %zu more: wprof show\n", f.notes.n - how->notes);
    figures_release(&f);
    buf_release(&b);
    free(command);
}

/* ---- the bar ---- */

struct paint {
    const char *cell, *sgr;
};

static struct paint paint_of(const struct report_part *p)
{
    if (!p)
        return (struct paint){"·", "\033[2m"};
    if (!p->blocked)
        return (struct paint){"█", "\033[32m"};
    return !strcmp(p->key, "runq") ? (struct paint){"▒", "\033[33m"} : (struct paint){"░", "\033[34m"};
}

static void shade(struct buf *out, const struct text_style *style, const struct paint *paint, size_t n)
{
    buf_addstr(out, on(style, paint->sgr));
    for (; n; n--)
        buf_addstr(out, paint->cell);
    buf_addstr(out, off(style));
}

static void cells(struct buf *out, const struct text_style *style, const struct report_part *p, size_t n)
{
    struct paint paint = paint_of(p);

    shade(out, style, &paint, n);
}

/* How many parts are larger: the first few are shown. */
static size_t rank_of(const struct report_part *parts, size_t n, size_t part)
{
    size_t larger = 0;

    for (size_t i = 0; i < n; i++)
        larger += parts[i].ns > parts[part].ns || (parts[i].ns == parts[part].ns && i < part);
    return larger;
}

static void bar(const struct report_part *parts, size_t n, uint64_t whole, const struct text_style *style,
                struct buf *out)
{
    uint64_t sum = 0;
    size_t at = 0;

    buf_addstr(out, "  ");
    for (size_t i = 0; i < n; i++) {
        size_t end;

        sum += parts[i].ns;
        end = (size_t)((double)sum / (double)whole * BAR + 0.5);
        end = end < BAR ? end : BAR;
        cells(out, style, &parts[i], end - at);
        at = end;
    }
    cells(out, style, NULL, BAR - at);
    buf_addch(out, '\n');
}

static void part_line(uint64_t whole, const struct text_style *style, const struct report_part *p,
                      uint64_t value, const char *label, struct buf *out)
{
    int blocked = p && p->blocked && strcmp(p->key, "runq");
    char ns[40], share[32];

    buf_addf(out, "  %s%s%s %7s  %9s  %s%s\n", on(style, paint_of(p).sgr), paint_of(p).cell, off(style),
             units_share(share, sizeof(share), (double)value / (double)whole),
             units_duration(ns, sizeof(ns), value), blocked ? "blocked: " : "", label);
}

/* Whose time a bar is of. */
struct bar {
    const struct report_part *parts;
    size_t n;
    uint64_t ns;
};

/* The bar and what its parts are. */
static void bar_lines(const struct bar *b, const struct text_style *style, const struct extent *how,
                      struct buf *out)
{
    uint64_t rest = 0;

    bar(b->parts, b->n, b->ns, style, out);
    for (size_t i = 0; i < b->n; i++) {
        const struct report_part *x = &b->parts[i];

        /* A part that would show as 0.0 % tells nothing; the rest is summed up. */
        if ((double)x->ns < 0.001 * (double)b->ns || rank_of(b->parts, b->n, i) >= how->parts)
            rest += x->ns;
        else
            part_line(b->ns, style, x, x->ns, x->label, out);
    }
    if ((double)rest >= 0.001 * (double)b->ns)
        part_line(b->ns, style, NULL, rest, "other", out);
}

static void crew(const struct report *r, const struct text_style *style, const struct extent *how,
                 struct buf *out)
{
    char ns[40], idle[40];

    if (!r->crew || !r->crew_ns)
        return;
    buf_addf(out, "  That only waits. %sThe workers' time%s: %s of ", on(style, "\033[1m"), off(style),
             units_duration(ns, sizeof(ns), r->crew_ns));
    text_clean(r->crew, 60, out);
    if (r->crew_idle_ns > r->crew_ns / 1000)
        buf_addf(out, ", and %s idle", units_duration(idle, sizeof(idle), r->crew_idle_ns));
    buf_addch(out, '\n');
    bar_lines(&(struct bar){r->crew_wall.a, r->crew_wall.n, r->crew_ns}, style, how, out);
}

static void wall(const struct report *r, const struct text_style *style, const struct extent *how,
                 struct buf *out)
{
    char ns[40];

    if (!r->lead || !r->wall_ns)
        return;
    buf_addf(out, "\n%sWhere the time went%s: %s of ", on(style, "\033[1m"), off(style),
             units_duration(ns, sizeof(ns), r->wall_ns));
    text_clean(r->lead, 40, out);
    buf_addf(out, ", %s\n", r->lead_is_child ? "for which the command waited" : "the main thread");
    bar_lines(&(struct bar){r->wall.a, r->wall.n, r->wall_ns}, style, how, out);
    if (r->unseen_ns > r->wall_ns / 1000)
        part_line(r->wall_ns, style, NULL, r->unseen_ns,
                  r->waits_measured ? "not there" : "off the CPU: waits were not recorded", out);
    crew(r, style, how, out);
}

/* Programs come in shades, in turn. */
static struct paint paint_of_program(size_t i)
{
    static const struct paint shades[] = {
        {"█", "\033[32m"}, {"▓", "\033[36m"}, {"▒", "\033[33m"}, {"░", "\033[34m"}};

    return shades[i % (sizeof(shades) / sizeof(*shades))];
}

static void program_line(const struct report *r, size_t i, const struct text_style *style, struct buf *out)
{
    const struct report_program *p = &r->programs.a[i];
    const struct paint paint = paint_of_program(i);
    char ns[40], share[32];
    struct buf text = {0};

    buf_addf(out, "  %s%s%s %7s  %9s  ", on(style, paint.sgr), paint.cell, off(style),
             units_share(share, sizeof(share), (double)p->cpu_ns / (double)r->cpus_ns),
             units_duration(ns, sizeof(ns), p->cpu_ns));
    text_clean(p->name, 40, &text);
    if (p->processes > 1)
        buf_addf(&text, ", %zu processes", p->processes);
    if (p->delay_ns)
        buf_addf(&text, "; queued %s", units_duration(ns, sizeof(ns), p->delay_ns));
    if (p->where) {
        buf_addf(&text, "; %s in ", units_share(share, sizeof(share), p->where_share));
        text_clean(p->where, 0, &text);
    }
    wrap(out, buf_str(&text), style, 25, 25);
    buf_release(&text);
}

/* Gives what the first n of them used. */
static uint64_t programs_bar(const struct report *r, size_t n, const struct text_style *style,
                             struct buf *out)
{
    uint64_t sum = 0;
    size_t at = 0;

    buf_addstr(out, "  ");
    for (size_t i = 0; i < n; i++) {
        const struct paint paint = paint_of_program(i);
        size_t end;

        sum += r->programs.a[i].cpu_ns;
        end = (size_t)((double)sum / (double)r->cpus_ns * BAR + 0.5);
        end = end < BAR ? end : BAR;
        shade(out, style, &paint, end - at);
        at = end;
    }
    cells(out, style, NULL, BAR - at);
    buf_addch(out, '\n');
    return sum;
}

/* Of a whole machine, or where others than the main thread's program did the work. */
static void programs(const struct report *r, const struct text_style *style, const struct extent *how,
                     struct buf *out)
{
    size_t n = r->programs.n <= how->parts ? r->programs.n : how->parts;
    struct buf text = {0};
    uint64_t shown;

    if (!r->programs.n)
        return;
    report_programs_words(r, &text);
    buf_addf(out, "\n%sWho used the CPUs%s: %s\n", on(style, "\033[1m"), off(style), buf_str(&text));
    shown = programs_bar(r, n, style, out);
    for (size_t i = 0; i < n; i++)
        program_line(r, i, style, out);
    if (r->cpus_used_ns > shown) {
        buf_clear(&text);
        buf_addf(&text, "%zu more programs", r->programs.n - n);
        part_line(r->cpus_ns, style, NULL, r->cpus_used_ns - shown, buf_str(&text), out);
    }
    if (r->cpus_ns > r->cpus_used_ns)
        part_line(r->cpus_ns, style, NULL, r->cpus_ns - r->cpus_used_ns, "idle, or in interrupts", out);
    buf_release(&text);
}

/* One bar a device, and what its parts are, in a line. */
static void device(const struct report_device *d, const struct text_style *style, struct buf *out)
{
    struct buf text = {0};
    char ns[40], share[32];

    buf_addf(out, "\n%s%s%s: busy for %s of %s\n", on(style, "\033[1m"), d->name, off(style),
             units_share(share, sizeof(share), d->ns ? (double)d->busy_ns / (double)d->ns : 0),
             units_duration(ns, sizeof(ns), d->ns));
    if (!d->ns)
        return;
    bar(d->parts.a, d->parts.n, d->ns, style, out);
    for (size_t i = 0; i < d->parts.n; i++)
        if ((double)d->parts.a[i].ns >= 0.001 * (double)d->ns)
            buf_addf(&text, "%s%s %s", text.len ? ", " : "", d->parts.a[i].label,
                     units_share(share, sizeof(share), (double)d->parts.a[i].ns / (double)d->ns));
    if ((double)d->unseen_ns >= 0.001 * (double)d->ns)
        buf_addf(&text, "%sbefore its first and after its last work %s", text.len ? ", " : "",
                 units_share(share, sizeof(share), (double)d->unseen_ns / (double)d->ns));
    buf_addstr(out, "  ");
    wrap(out, buf_str(&text), style, 2, 2);
    buf_release(&text);
}

static void blame(const struct report *r, const struct text_style *style, const struct extent *how,
                  struct buf *out)
{
    struct buf text = {0};
    size_t shown = 0;
    char share[32];

    for (size_t i = 0; i < r->blame.n && shown < how->parts; i++) {
        const struct report_blame *b = &r->blame.a[i];

        if ((double)b->ns < 0.01 * (double)r->idle_ns)
            continue;
        buf_addf(&text, "%s%s %s%s%s%s",
                 shown++ ? ", " : "Idle, by what the thread that fed it did: ", b->state,
                 units_share(share, sizeof(share), (double)b->ns / (double)r->idle_ns), b->where ? " (" : "",
                 b->where ? b->where : "", b->where ? ")" : "");
    }
    if (text.len) {
        buf_addstr(out, "  ");
        wrap(out, buf_str(&text), style, 2, 2);
    }
    buf_release(&text);
}

static void devices(const struct report *r, const struct text_style *style, const struct extent *how,
                    struct buf *out)
{
    size_t n = how->all || r->devices.n <= DEVICES_SHOWN ? r->devices.n : DEVICES_SHOWN;

    for (size_t i = 0; i < n; i++)
        device(&r->devices.a[i], style, out);
    if (n < r->devices.n)
        buf_addf(out, "  %zu more devices: --all\n", r->devices.n - n);
    blame(r, style, how, out);
}

/* ---- findings ---- */

static const char *severity_sgr(unsigned severity)
{
    return severity == FINDING_HIGH ? "\033[1;31m" : severity == FINDING_MEDIUM ? "\033[1;33m" : "\033[1m";
}

static void finding_title(const struct report *r, size_t i, const struct text_style *style, struct buf *out)
{
    const struct finding *x = &r->findings.list.a[i];
    struct buf head = {0};
    char ns[40], share[32];

    buf_addf(out, "%s%2zu. ", on(style, severity_sgr(x->severity)), i + 1);
    text_clean(x->title, 0, &head);
    if (x->timed && x->total_ns)
        buf_addf(&head, ": %s, %s", units_duration(ns, sizeof(ns), x->cost_ns),
                 isnan(x->share) ? "share unknown" : units_share(share, sizeof(share), x->share));
    wrap(out, buf_str(&head), style, 4, 4);
    buf_addstr(out, off(style));
    buf_release(&head);
}

static void finding(const struct report *r, size_t i, const struct text_style *style,
                    const struct extent *how, struct buf *out)
{
    const struct finding *x = &r->findings.list.a[i];
    struct buf head = {0}, within = {0};

    finding_title(r, i, style, out);
    buf_addstr(out, "    ");
    wrap(out, x->evidence, style, 4, 4);
    if (x->within) {
        buf_addstr(out, "    ");
        finding_within(x, &within);
        wrap(out, buf_str(&within), style, 4, 4);
        buf_release(&within);
    }
    buf_addf(out, "    %s→%s ", on(style, "\033[36m"), off(style));
    wrap(out, x->advice, style, 6, 6);
    buf_addf(out, "    %s", on(style, "\033[2m"));
    buf_addf(&head, "[%s] severity %s, %s", x->id, finding_severity_name(x->severity),
             finding_certainty_name(x->certainty));
    if (x->why && (how->all || x->certainty != FINDING_MEASURED))
        buf_addf(&head, ": %s", x->why);
    wrap(out, buf_str(&head), style, 6, 4);
    buf_addstr(out, off(style));
    if (how->all && x->stack) {
        buf_addstr(out, "    ");
        wrap(out, x->stack, style, 6, 4);
    }
    buf_release(&head);
}

static size_t lines(const struct buf *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

/* The first with all that is said of it, the others as far as the screen goes: else their titles, of which
 * the last `left` are still to come. Whether it is whole. */
static int fitting_finding(const struct report *r, size_t i, size_t left, const struct text_style *style,
                           struct buf *out)
{
    struct buf whole = {0};
    int fits;

    finding(r, i, style, &extents[0], &whole);
    fits = !i || !style->rows || lines(out) + lines(&whole) + left + LINES_BELOW <= style->rows;
    if (fits)
        buf_add(out, buf_str(&whole), whole.len);
    else
        finding_title(r, i, style, out);
    buf_release(&whole);
    return fits;
}

static void list_findings(const struct report *r, const struct text_style *style, const struct extent *how,
                          struct buf *out)
{
    size_t n = r->findings.list.n, shown = how->all || n < FINDINGS_SHOWN ? n : FINDINGS_SHOWN, cut = 0;
    struct buf why = {0};

    if (!n) {
        buf_addf(out, "\n%sNo findings.%s ", on(style, "\033[1m"), off(style));
        report_no_findings(r, &why);
        wrap(out, buf_str(&why), style, 0, 13);
        buf_release(&why);
        return;
    }
    buf_addf(out, "\n%sFindings%s\n", on(style, "\033[1m"), off(style));
    for (size_t i = 0; i < shown; i++) {
        if (how->all)
            finding(r, i, style, how, out);
        else
            cut += !fitting_finding(r, i, shown - i - 1, style, out);
    }
    if (shown < n)
        buf_addf(out, "    %zu more%s: --all\n", n - shown, cut ? ", and what these are made of" : "");
    else if (cut)
        buf_addf(out, "    what these are made of: --all\n");
}

/* What could not be checked, by what is missing: a line for each. */
static void not_checked(const struct findings *f, const struct text_style *style, struct buf *out)
{
    for (size_t i = 0; i < f->checks.n; i++) {
        const struct check *c = &f->checks.a[i];
        struct buf line = {0};
        size_t first = 0;

        if (c->state != CHECK_NOT_DONE)
            continue;
        for (size_t k = 0; k < f->checks.n; k++) {
            const struct check *other = &f->checks.a[k];

            if (other->state != CHECK_NOT_DONE || strcmp(other->detail, c->detail))
                continue;
            if (!line.len)
                first = k;
            buf_addf(&line, "%s%s", line.len ? ", " : "", other->id);
        }
        if (first == i) {
            buf_addf(out, "  %-11s  ", check_state_name(c->state));
            wrap(out, c->detail, style, 15, 15);
            buf_addf(out, "%15s", "");
            wrap(out, buf_str(&line), style, 15, 15);
        }
        buf_release(&line);
    }
}

static void checks(const struct report *r, const struct text_style *style, const struct extent *how,
                   struct buf *out)
{
    char *checked = report_checked(r);
    struct buf line = {0};

    buf_addf(&line, "%s%s.", checked, how->all ? "" : " (--all says which)");
    buf_addstr(out, "\n");
    wrap(out, buf_str(&line), style, 0, 0);
    for (size_t i = 0; how->all && i < r->findings.checks.n; i++) {
        const struct check *c = &r->findings.checks.a[i];

        if (c->state == CHECK_NOT_DONE || c->state == CHECK_LEFT_OUT)
            continue;
        buf_clear(&line);
        buf_addf(&line, "%s%s%s", c->title, c->detail ? ": " : "", c->detail ? c->detail : "");
        buf_addf(out, "  %-11s  %-20s ", check_state_name(c->state), c->id);
        wrap(out, buf_str(&line), style, 36, 36);
    }
    if (how->all)
        not_checked(&r->findings, style, out);
    free(checked);
    buf_release(&line);
}

/* ---- all the rest ---- */

/* What shows all rows of a table. */
static const char *command_of(enum report_table table)
{
    static const char *const commands[REPORT_TABLES] = {
        [REPORT_KERNELS] = "wprof show --gpu --top 0",
        [REPORT_SELF] = "wprof show --by function --top 0",
        [REPORT_TOTAL] = "wprof show --by function --sort total --top 0",
        [REPORT_LINES] = "wprof show --by line --top 0",
        [REPORT_PROCESSES] = "wprof show --by process --top 0",
        [REPORT_WAITS] = "wprof show --waits --top 0",
        [REPORT_GIL] = "wprof show --metric gil --top 0",
        [REPORT_STEPS] = "wprof show --steps --top 0",
    };

    return commands[table] ? commands[table] : "wprof report --all --format json";
}

static void sections(const struct report *r, const struct text_style *style, struct buf *out)
{
    for (size_t i = 0; i < REPORT_TABLES; i++) {
        const struct report_section *s = &r->sections[i];
        struct table t = s->table; /* borrowed */

        if (!table_rows(&t))
            continue;
        t.left_out = 0;
        buf_addch(out, '\n');
        text_table(&t, s->heading, style, out);
        if (i == REPORT_SLOW && r->slow_units) {
            buf_addstr(out, "  ");
            wrap(out, r->slow_units, style, 2, 2);
        }
        if (s->table.left_out)
            buf_addf(out, "  ... %llu more: %s\n", (unsigned long long)s->table.left_out,
                     command_of((enum report_table)i));
    }
}

static void stacks(const char *heading, const struct report_stack *a, size_t n, uint64_t sum,
                   const struct text_style *style, struct buf *out)
{
    char share[32];

    buf_addf(out, "  %s\n", heading);
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, "  %7s  ",
                 units_share(share, sizeof(share), sum ? (double)a[i].value / (double)sum : 0));
        text_clean(a[i].text, width_of(style) - 12, out);
        buf_addch(out, '\n');
    }
}

static void folded(const struct report *r, const struct text_style *style, struct buf *out)
{
    const struct report_folded *f = &r->folded;
    char a[32], b[32];

    if (!f->stacks)
        return;
    buf_addf(out, "\n%sFolded stacks%s: %s unique stacks, %s samples\n", on(style, "\033[1m"), off(style),
             units_count(a, sizeof(a), f->stacks), units_count(b, sizeof(b), f->samples));
    stacks("heaviest stacks", f->top.a, f->top.n, f->samples, style, out);
    stacks("heaviest leaves", f->leaves.a, f->leaves.n, f->samples, style, out);
}

static void topology(const struct report *r, struct buf *out)
{
    if (r->nodes)
        buf_addf(out,
                 "  topology of %zu nodes and %zu edges, %zu of them processes: wprof render --format html\n",
                 r->nodes, r->edges, r->processes);
}

static void tell(const struct report *r, const struct text_style *style, const struct extent *how,
                 struct buf *out)
{
    about(r, style, how, out);
    if (!r->wall_ns && !r->devices.n)
        topology(r, out);
    wall(r, style, how, out);
    programs(r, style, how, out);
    devices(r, style, how, out);
    list_findings(r, style, how, out);
    if (how->all) {
        sections(r, style, out);
        folded(r, style, out);
    }
    checks(r, style, how, out);
}

void report_text(const struct report *r, const struct text_style *style, int all, struct buf *out)
{
    static const struct extent everything = {1, SIZE_MAX, 2};
    struct buf text = {0};

    if (all) {
        tell(r, style, &everything, out);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(extents); i++) {
        buf_clear(&text);
        tell(r, style, &extents[i], &text);
        if (!style->rows || lines(&text) < style->rows)
            break;
    }
    buf_add(out, buf_str(&text), text.len);
    buf_release(&text);
}
