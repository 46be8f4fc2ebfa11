/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "render/text.h"

#include <stdio.h>
#include <string.h>

struct step {
    uint32_t node; /* 0: the line for what was pruned */
    uint32_t hidden;
    uint64_t hidden_total;
    size_t guide; /* length of the guide text that its line begins with */
    uint8_t branch, last;
};

struct tree {
    const struct profile *p;
    const struct profile_metric *m;
    uint64_t least;
    const struct text_style *style;
    struct buf *out;
    struct buf guide;
    VEC(struct step) todo;
};

struct child {
    uint32_t node;
    uint64_t total;
};

static int heavier(const void *pa, const void *pb)
{
    const struct child *a = pa, *b = pb;

    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void figures(struct tree *t, uint64_t total, uint64_t self)
{
    char text[32];
    double sum = t->m->sum ? (double)t->m->sum : 1;

    buf_addf(t->out, "  %7s", units_share(text, sizeof(text), (double)total / sum));
    if (self)
        buf_addf(t->out, "  %7s  ", units_share(text, sizeof(text), (double)self / sum));
    else
        buf_addstr(t->out, "           ");
}

static void line(struct tree *t, const struct step *s)
{
    size_t used = 0, from = t->out->len, room;
    struct buf label = {0};

    if (s->node) {
        figures(t, t->m->total[s->node], t->m->self[s->node]);
        profile_frame_label(t->p, t->p->nodes.a[s->node].frame, &label);
    } else {
        figures(t, s->hidden_total, 0);
        buf_addf(&label, "(%u smaller)", s->hidden);
    }
    buf_add(t->out, buf_str(&t->guide), s->guide);
    if (s->branch)
        buf_addstr(t->out, s->last ? "└ " : "├ ");
    for (size_t i = from; i < t->out->len; i++)
        used += ((unsigned char)t->out->data[i] & 0xc0) != 0x80;
    room = t->style->width > used + 20 ? t->style->width - used : t->style->width ? 20 : 0;
    text_clean(buf_str(&label), room, t->out);
    buf_addch(t->out, '\n');
    buf_release(&label);
}

/* Lines for the children, heaviest first; an only child goes on in its parent's column. */
static void expand(struct tree *t, const struct step *s)
{
    VEC(struct child) list = {0};
    uint64_t hidden_total = 0;
    uint32_t hidden = 0;
    size_t guide, shown;

    for (uint32_t c = t->p->nodes.a[s->node].child; c; c = t->p->nodes.a[c].next) {
        if (t->m->total[c] >= t->least) {
            *vec_push(&list) = (struct child){c, t->m->total[c]};
        } else if (t->m->total[c]) {
            hidden++;
            hidden_total += t->m->total[c];
        }
    }
    if (list.n)
        qsort(list.a, list.n, sizeof(*list.a), heavier);
    shown = list.n + (hidden && list.n);
    t->guide.len = s->guide;
    if (s->branch)
        buf_addstr(&t->guide, s->last ? "  " : "│ ");
    guide = t->guide.len;
    if (hidden && list.n)
        *vec_push(&t->todo) = (struct step){0, hidden, hidden_total, guide, 1, 1};
    for (size_t i = list.n; i-- > 0;)
        *vec_push(&t->todo) =
            (struct step){list.a[i].node, 0, 0, guide, shown > 1, shown > 1 && i + 1 == shown};
    vec_release(&list);
}

void text_tree(const struct profile *p, size_t metric, double min_share, const struct text_style *style,
               struct buf *out)
{
    struct tree t = {.p = p, .m = &p->metrics.a[metric], .style = style, .out = out};
    struct step root = {0};

    t.least = (uint64_t)(min_share * (double)t.m->sum);
    t.least += !t.least;
    buf_addf(out, "%s    total     self%s\n", style->color ? "\033[2m" : "", style->color ? "\033[0m" : "");
    buf_addstr(&t.guide, "");
    expand(&t, &root);
    while (t.todo.n) {
        struct step s = t.todo.a[--t.todo.n];

        line(&t, &s);
        if (s.node)
            expand(&t, &s);
    }
    vec_release(&t.todo);
    buf_release(&t.guide);
}
