/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"
#include "model/stacks.h"

#include <stdio.h>
#include <string.h>

/* The profile's tree by text: frames that read the same are one. */
struct text_tree {
    struct strtab labels;
    uint32_t *label;     /* profile frame -> label id */
    struct stacks nodes; /* frame: the label id */
    VEC(uint64_t) self;  /* by node id; the value that a line ends with */
    VEC(uint64_t) other; /* the same; only of pairs: the value before it */
    int pair, difference;
    uint32_t *first; /* node id -> its children in `entries`; one more at the end */
    struct entry *entries;
    struct buf out; /* lines so far */
    struct buf path;
};

/* What follows a stack's text: " 12" where it has a value of its own, ";name..." for those below. */
struct entry {
    uint32_t node; /* the child, or the stack itself */
    const char *name;
    char sep; /* ' ': the line of `node`; ';': the tree below it */
    uint64_t value;
};

static void clean(char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == ';' || s[i] == 0x7f)
            s[i] = '_';
    /* Readers take the spaces before the value as part of the separator. */
    for (; n && s[n - 1] == ' '; n--)
        s[n - 1] = '_';
}

static void make_labels(struct text_tree *t, const struct profile *p)
{
    struct buf b = {0};

    t->label = mem_calloc(p->frames.n, sizeof(*t->label));
    for (uint32_t i = 0; i < p->frames.n; i++) {
        buf_clear(&b);
        profile_frame_label(p, i, &b);
        if (!b.len)
            buf_addch(&b, '?');
        clean(b.data, b.len);
        t->label[i] = strtab_addn(&t->labels, b.data, b.len);
    }
    buf_release(&b);
}

/* before: of pairs; NULL. */
static void make_nodes(struct text_tree *t, const struct profile *p, const uint64_t *before,
                       const uint64_t *self)
{
    uint32_t *node = mem_calloc(p->nodes.n, sizeof(*node));

    *vec_push(&t->self) = 0;
    for (size_t i = 1; i < p->nodes.n; i++) {
        const struct profile_node *n = &p->nodes.a[i];

        node[i] = stacks_push(&t->nodes, node[n->parent], t->label[n->frame]);
        while (t->self.n <= node[i])
            *vec_push(&t->self) = 0;
        t->self.a[node[i]] += self[i];
        if (!before)
            continue;
        while (t->other.n <= node[i])
            *vec_push(&t->other) = 0;
        t->other.a[node[i]] += before[i];
    }
    free(node);
}

static int entry_order(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    const char *x = a->name, *y = b->name;
    char tx[24], ty[24];

    while (*x && *x == *y) {
        x++;
        y++;
    }
    if (*x && *y)
        return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
    /* One name ends here: its separator and, behind a space, its count go on in the line. */
    snprintf(tx, sizeof(tx), a->sep == ' ' ? " %llu" : ";", (unsigned long long)a->value);
    snprintf(ty, sizeof(ty), b->sep == ' ' ? " %llu" : ";", (unsigned long long)b->value);
    return strcmp(*x ? x : tx, *y ? y : ty);
}

static int has_line(const struct text_tree *t, uint32_t id)
{
    return t->self.a[id] || (t->pair && t->other.a[id]);
}

static void make_entries(struct text_tree *t)
{
    size_t n = t->nodes.nodes.n;
    uint32_t *at = mem_calloc(n + 2, sizeof(*at));

    for (uint32_t id = 1; id <= n; id++)
        at[t->nodes.nodes.a[id - 1].parent + 1] += has_line(t, id) ? 2 : 1;
    for (size_t i = 0; i <= n; i++)
        at[i + 1] += at[i];
    t->first = mem_dup(at, (n + 2) * sizeof(*at));
    t->entries = mem_alloc(at[n + 1] * sizeof(*t->entries));
    for (uint32_t id = 1; id <= n; id++) {
        const struct stack_node *k = &t->nodes.nodes.a[id - 1];
        const char *name = strtab_get(&t->labels, k->frame);

        if (has_line(t, id))
            t->entries[at[k->parent]++] = (struct entry){id, name, ' ', t->self.a[id]};
        t->entries[at[k->parent]++] = (struct entry){id, name, ';', 0};
    }
    free(at);
    for (size_t id = 0; id <= n; id++)
        if (t->first[id + 1] - t->first[id] > 1)
            qsort(t->entries + t->first[id], t->first[id + 1] - t->first[id], sizeof(*t->entries),
                  entry_order);
}

struct level {
    uint32_t at, end; /* entries still to come */
    size_t len;       /* of the path above them */
};

static void write_line(const struct text_tree *t, const struct entry *en, struct buf *out)
{
    long long change = t->pair ? (long long)(t->self.a[en->node] - t->other.a[en->node]) : 1;

    if (!change && t->difference)
        return;
    buf_add(out, t->path.data, t->path.len);
    if (t->difference)
        buf_addf(out, " %lld\n", change);
    else if (t->pair)
        buf_addf(out, " %llu %llu\n", (unsigned long long)t->other.a[en->node],
                 (unsigned long long)en->value);
    else
        buf_addf(out, " %llu\n", (unsigned long long)en->value);
}

/* Depth first without recursion: stacks may be thousands of frames deep. */
static void write_lines(struct text_tree *t, struct buf *out)
{
    VEC(struct level) levels = {0};

    *vec_push(&levels) = (struct level){t->first[0], t->first[1], 0};
    while (levels.n) {
        struct level *l = &levels.a[levels.n - 1];
        const struct entry *en;

        if (l->at == l->end) {
            levels.n--;
            continue;
        }
        en = &t->entries[l->at++];
        t->path.len = l->len;
        if (l->len)
            buf_addch(&t->path, ';');
        buf_add(&t->path, en->name, strlen(en->name));
        if (en->sep == ' ') {
            write_line(t, en, out);
        } else {
            *vec_push(&levels) = (struct level){t->first[en->node], t->first[en->node + 1], t->path.len};
        }
    }
    vec_release(&levels);
}

static void write_folded(struct text_tree *t, const struct profile *p, const uint64_t *before,
                         const uint64_t *self, struct buf *out)
{
    make_labels(t, p);
    make_nodes(t, p, before, self);
    make_entries(t);
    write_lines(t, out);
    strtab_release(&t->labels);
    stacks_release(&t->nodes);
    vec_release(&t->self);
    vec_release(&t->other);
    free(t->label);
    free(t->first);
    free(t->entries);
    buf_release(&t->path);
}

void profile_folded(const struct profile *p, size_t metric, struct buf *out)
{
    struct text_tree t = {0};

    if (metric < p->metrics.n && p->nodes.n)
        write_folded(&t, p, NULL, p->metrics.a[metric].self, out);
}

void profile_folded_pair(const struct profile *p, const uint64_t *before, const uint64_t *after,
                         int difference, struct buf *out)
{
    struct text_tree t = {.pair = 1, .difference = difference};

    if (p->nodes.n)
        write_folded(&t, p, before, after, out);
}
