/* SPDX-License-Identifier: Apache-2.0 */
#include "render/dump.h"

#include "base/hash.h"
#include "base/units.h"
#include "model/waits.h"

#include <string.h>

enum { MEMBERS_SHOWN = 8 };

/* Threads of one stack and state; `threads` is in the dump's order. */
struct group {
    uint32_t stack, note;
    uint8_t asleep;
    VEC(uint32_t) threads;
};

struct page {
    const struct dump *d;
    const struct text_style *style;
    struct buf *out;
    VEC(struct group) groups;
};

/* ---- groups ---- */

static int is_off(char state)
{
    return state != 'R' && state != 'W';
}

static struct group *group_of(struct page *p, const struct dump_thread *t)
{
    for (size_t i = 0; i < p->groups.n; i++) {
        struct group *g = &p->groups.a[i];

        if (g->stack == t->stack && g->note == t->note && g->asleep == is_off(t->state))
            return g;
    }
    *vec_push(&p->groups) = (struct group){.stack = t->stack, .note = t->note, .asleep = is_off(t->state)};
    return &p->groups.a[p->groups.n - 1];
}

static void make_groups(struct page *p)
{
    for (uint32_t i = 0; i < p->d->threads.n; i++)
        *vec_push(&group_of(p, &p->d->threads.a[i])->threads) = i;
}

/* ---- lines ---- */

static const char *text(const struct page *p, uint32_t id)
{
    return strtab_get(&p->d->store.strings, id);
}

static void add_edge(const struct page *p, const struct dump_edge *e)
{
    const struct dump_thread *t = e->tid ? dump_thread(p->d, e->tid) : NULL;

    if (t)
        dump_add_thread(p->d, t, p->out);
    else
        dump_add_process(p->d, e->pid, p->out);
}

/* Who is meant, where the name of what is waited for doesn't say it. */
static void add_holder(const struct page *p, const struct dump_thread *t)
{
    const struct dump_edge *e = &p->d->edges.a[t->edge];

    if (!t->edges || e->how > DUMP_FILE_LOCK || e->how == DUMP_JOIN || e->how == DUMP_CHILD)
        return;
    buf_addstr(p->out, ", held by ");
    for (uint32_t i = 0; i < t->edges; i++) {
        if (i)
            buf_addstr(p->out, ", ");
        add_edge(p, &e[i]);
    }
}

static void add_member(struct page *p, const struct dump_thread *t)
{
    const char *bold = p->style->color ? "\033[1m" : "", *plain = p->style->color ? "\033[0m" : "";
    char time[32];

    buf_addstr(p->out, bold);
    dump_add_thread(p->d, t, p->out);
    buf_addf(p->out, "%s  ", plain);
    dump_add_state(t, p->out);
    if (is_off(t->state) && t->wait_ns && t->reason != WAIT_GIL) /* CPython waits for it in slices of 5 ms */
        buf_addf(p->out, " for %s", units_duration(time, sizeof(time), t->wait_ns));
    if (is_off(t->state))
        dump_add_wait(p->d, t, p->out);
    add_holder(p, t);
    if (t->flags & DUMP_GIL_HELD)
        buf_addstr(p->out, ", holds the GIL");
    if (t->state == 'R' && t->flags & DUMP_NO_NATIVE)
        buf_addstr(p->out, ", its native frames can't be seen");
    buf_addch(p->out, '\n');
}

static void add_frame(struct page *p, uint32_t id)
{
    const struct store *s = &p->d->store;
    const struct frame *f = frames_get(&s->frames, id);
    const struct module *m = frames_module(&s->frames, f->module);
    const char *path = m ? strtab_get(&s->strings, m->path) : "", *base = strrchr(path, '/');
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frames_names(&s->frames, id, &self, &names);

    base = base ? base + 1 : path;
    if (!n) {
        buf_addf(p->out, "    [%s+0x%llx]\n", *base ? base : "unknown", (unsigned long long)f->addr);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *file = strtab_get(&s->strings, names[i].file);

        buf_addstr(p->out, "    ");
        text_clean(strtab_get(&s->strings, names[i].func), 0, p->out);
        if (f->kind == FRAME_KERNEL)
            buf_addstr(p->out, "_[k]");
        else if (*file) {
            const char *last = strrchr(file, '/');

            buf_addstr(p->out, " (");
            text_clean(f->kind == FRAME_PYTHON || !last ? file : last + 1, 0, p->out);
            if (names[i].line)
                buf_addf(p->out, ":%u", names[i].line);
            buf_addch(p->out, ')');
        } else if (*base && !frame_name_is_place(strtab_get(&s->strings, names[i].func))) {
            buf_addstr(p->out, " [");
            text_clean(base, 0, p->out);
            buf_addch(p->out, ']');
        }
        buf_addch(p->out, '\n');
    }
}

/* Root first. */
static void add_stack(struct page *p, uint32_t stack)
{
    const struct stack_node *n;
    VEC(uint32_t) frames = {0};

    for (; (n = stacks_get(&p->d->store.stacks, stack)); stack = n->parent)
        *vec_push(&frames) = n->frame;
    for (size_t i = frames.n; i-- > 0;)
        add_frame(p, frames.a[i]);
    vec_release(&frames);
}

static void add_group(struct page *p, const struct group *g)
{
    const struct dump_thread *first = &p->d->threads.a[g->threads.a[0]];

    buf_addch(p->out, '\n');
    if (g->threads.n > 1)
        buf_addf(p->out, "%zu threads:\n", g->threads.n);
    for (size_t i = 0; i < g->threads.n && i < MEMBERS_SHOWN; i++)
        add_member(p, &p->d->threads.a[g->threads.a[i]]);
    if (g->threads.n > MEMBERS_SHOWN)
        buf_addf(p->out, "and %zu more\n", g->threads.n - MEMBERS_SHOWN);
    if (!g->stack && first->note)
        buf_addf(p->out, "    %s\n", text(p, first->note));
    else if (!g->stack)
        buf_addstr(p->out, "    [no stack]\n");
    else if (!(first->flags & (DUMP_WHOLE | DUMP_NO_NATIVE)) && !first->note)
        buf_addstr(p->out, "    [the rest is not known]\n");
    add_stack(p, g->stack);
}

static void add_processes(struct page *p)
{
    for (size_t i = 0; i < p->d->processes.n; i++) {
        const struct dump_process *pr = &p->d->processes.a[i];

        text_clean(text(p, pr->comm), 0, p->out);
        buf_addf(p->out, "[%u]", pr->pid);
        if (pr->python)
            buf_addf(p->out, "  CPython %u.%u%s", pr->python >> 8, pr->python & 255,
                     pr->free_threaded ? " without a GIL" : "");
        if (pr->n && p->d->threads.a[pr->first].state == 'T')
            buf_addf(p->out, "  stopped (kill -CONT %u lets it go on)", pr->pid);
        if (!pr->n)
            buf_addstr(p->out, "  no thread was seen");
        else if (pr->n != 1)
            buf_addf(p->out, "  %u threads", pr->n);
        if (pr->command) {
            buf_addstr(p->out, "  ");
            text_clean(text(p, pr->command), p->style->width ? p->style->width / 2 : 100, p->out);
        }
        if (pr->note) {
            buf_addstr(p->out, "  ");
            text_clean(text(p, pr->note), 0, p->out);
        }
        buf_addch(p->out, '\n');
    }
}

static void add_answers(struct page *p)
{
    const char *bold = p->style->color ? "\033[1m" : "", *plain = p->style->color ? "\033[0m" : "";

    buf_addf(p->out, "\n%sWhat waits for what%s\n", bold, plain);
    for (size_t i = 0; i < p->d->answers.n; i++) {
        const struct dump_answer *a = &p->d->answers.a[i];

        buf_addstr(p->out, "  ");
        dump_answer_text(p->d, a, p->out);
        buf_addch(p->out, '\n');
    }
    if (!p->d->answers.n)
        buf_addstr(p->out, "  no thread waits for another one that could be named\n");
    if (p->d->unseen)
        buf_addf(p->out, "tier %c, not seen: %s\n", p->d->tier, p->d->unseen);
}

void dump_text_render(const struct dump *d, const struct text_style *style, struct buf *out)
{
    struct page p = {.d = d, .style = style, .out = out};

    add_processes(&p);
    make_groups(&p);
    for (size_t i = 0; i < p.groups.n; i++)
        add_group(&p, &p.groups.a[i]);
    add_answers(&p);
    for (size_t i = 0; i < p.groups.n; i++)
        vec_release(&p.groups.a[i].threads);
    vec_release(&p.groups);
}
