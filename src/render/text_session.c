/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "model/session_extra.h"
#include "render/figures.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void entry(struct buf *out, const struct text_style *style, const char *label, const char *value)
{
    if (!value || !*value)
        return;
    buf_addf(out, "  %-10s", label);
    text_clean(value, style->width > 40 ? style->width - 12 : 0, out);
    buf_addch(out, '\n');
}

static void machine(const struct meta *m, const struct text_style *style, struct buf *out)
{
    struct buf b = {0};

    buf_addf(&b, "%s", m->host ? m->host : "");
    if (m->kernel)
        buf_addf(&b, "%sLinux %s", b.len ? ", " : "", m->kernel);
    if (m->machine)
        buf_addf(&b, " %s", m->machine);
    if (m->ncpus)
        buf_addf(&b, ", %u CPU%s", m->ncpus, m->ncpus == 1 ? "" : "s");
    if (m->cpu_model)
        buf_addf(&b, " (%s)", m->cpu_model);
    entry(out, style, "on", buf_str(&b));
    buf_release(&b);
}

static void how(const struct session *s, const struct text_style *style, struct buf *out)
{
    const struct meta *m = &s->meta;
    struct buf b = {0};

    if (m->event && m->frequency)
        buf_addf(&b, "%s at %llu Hz", m->event, (unsigned long long)m->frequency);
    if (m->tier)
        buf_addf(&b, "%stier %s", b.len ? ", " : "", m->tier);
    if (m->kind)
        buf_addf(&b, "%s%s", b.len ? ", " : "", m->kind);
    if (m->state && strcmp(m->state, "sealed"))
        buf_addf(&b, "%s%s", b.len ? ", " : "", m->state);
    entry(out, style, "how", buf_str(&b));
    buf_release(&b);
}

static void when(const struct meta *m, const struct figures *f, const struct text_style *style,
                 struct buf *out)
{
    char text[32];
    struct buf b = {0};

    for (size_t i = 0; i < f->facts.n; i++)
        if (!strcmp(f->facts.a[i].label, "started"))
            buf_addstr(&b, f->facts.a[i].value);
    if (m->duration_s > 0)
        buf_addf(&b, "%sfor %s", b.len ? ", " : "",
                 units_duration(text, sizeof(text), (uint64_t)(m->duration_s * 1e9)));
    if (m->end_reason)
        buf_addf(&b, "%s%s", b.len ? ", " : "", m->end_reason);
    if (m->exit_code > 0)
        buf_addf(&b, "%sexit code %lld", b.len ? ", " : "", (long long)m->exit_code);
    entry(out, style, "when", buf_str(&b));
    buf_release(&b);
}

/* The figures, a few on a line. */
static void quality(const struct figures *f, const struct text_style *style, struct buf *out)
{
    size_t width = style->width > 40 ? style->width : 100, at = 0;

    buf_addstr(out, "  measured  ");
    for (size_t i = 0; i < f->quality.n; i++) {
        const struct figure *x = &f->quality.a[i];
        size_t n = strlen(x->label) + 1 + strlen(x->value);

        if (at && 12 + at + 2 + n > width) {
            buf_addstr(out, ",\n            ");
            at = 0;
        }
        if (at) {
            buf_addstr(out, ", ");
            at += 2;
        }
        buf_addf(out, "%s%s %s%s", style->color && x->bad ? "\033[33m" : "", x->label, x->value,
                 style->color && x->bad ? "\033[0m" : "");
        at += n;
    }
    buf_addch(out, '\n');
}

static void cost(const struct quality *q, struct buf *out)
{
    char a[32], b[32], c[32], d[32];

    if (!isnan(q->own_cpu_s) && !isnan(q->target_cpu_s)) {
        buf_addf(out, "  cost      BPF %s, own %s, over %s of the target's CPU time",
                 isnan(q->bpf_s) ? "not measured" : units_duration(a, sizeof(a), (uint64_t)(q->bpf_s * 1e9)),
                 units_duration(b, sizeof(b), (uint64_t)(q->own_cpu_s * 1e9)),
                 units_duration(c, sizeof(c), (uint64_t)(q->target_cpu_s * 1e9)));
        if (!isnan(q->tables_s))
            buf_addf(out, "; unwind tables %s apart",
                     units_duration(d, sizeof(d), (uint64_t)(q->tables_s * 1e9)));
        buf_addch(out, '\n');
    }
    if (!isnan(q->tick_s))
        buf_addf(out, "  tick      the bare timer %s\n",
                 units_duration(a, sizeof(a), (uint64_t)(q->tick_s * 1e9)));
}

static void collectors(const struct meta *m, const struct text_style *style, struct buf *out)
{
    for (size_t i = 0; i < m->collectors.n; i++) {
        const struct meta_collector *c = &m->collectors.a[i];
        struct buf b = {0};

        if (!c->name || !c->state || !strcmp(c->state, "off") || (!strcmp(c->state, "on") && !c->detail))
            continue;
        buf_addf(&b, "%s %s", c->name, c->state);
        if (c->detail)
            buf_addf(&b, ": %s", c->detail);
        entry(out, style, i ? "" : "collected", buf_str(&b));
        buf_release(&b);
    }
}

static void damage(const struct session *s, struct buf *out)
{
    char text[32];

    if (s->bad_bytes && !s->meta.damage)
        buf_addf(out,
                 "  note      %s after the last whole block could not be used: the recording was cut off\n",
                 units_size(text, sizeof(text), s->bad_bytes));
    if (s->skipped_blocks)
        buf_addf(out, "  note      %llu blocks of kinds that only a newer wprof knows were skipped\n",
                 (unsigned long long)s->skipped_blocks);
}

static void extra(const struct meta *m, const struct text_style *style, struct buf *out)
{
    struct session_extra x = session_extra_count(m);
    struct buf b = {0};

    if (!x.n)
        return;
    session_extra_say(&x, &b);
    entry(out, style, SESSION_EXTRA "/", buf_str(&b));
    buf_release(&b);
}

void text_session(const struct session *s, const struct quality *q, const struct text_style *style,
                  struct buf *out)
{
    struct figures f = {0};
    char *command = figures_command(&s->meta);

    figures_make(&f, q, &s->meta);
    entry(out, style, "session", s->path);
    entry(out, style, "command", command);
    when(&s->meta, &f, style, out);
    machine(&s->meta, style, out);
    how(s, style, out);
    collectors(&s->meta, style, out);
    quality(&f, style, out);
    cost(q, out);
    extra(&s->meta, style, out);
    for (size_t i = 0; i < f.warnings.n; i++)
        entry(out, style, i ? "" : "beware", f.warnings.a[i]);
    for (size_t i = 0; i < f.notes.n; i++)
        entry(out, style, i ? "" : "note", f.notes.a[i]);
    damage(s, out);
    figures_release(&f);
    free(command);
}
