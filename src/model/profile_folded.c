/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"

#include "model/frame_text.h"
#include "model/stacks.h"

#include <stdio.h>
#include <string.h>

enum {
    FLUSH_BYTES = 1 << 20,
    NUMBER = 21, /* a sign and the digits of 64 bits */
    FEW = 12,    /* entries that are sorted by insertion */
};

struct text {
    const char *s;
    size_t n;
};

/* What follows a stack's text: " 12" where it has a value of its own, ";name..." for those below. */
struct entry {
    uint32_t node; /* the child, or the stack itself */
    struct text name;
    char sep; /* ' ': the line of `node`; ';': the tree below it */
    uint64_t value;
};

/* The profile's tree by text: frames that read the same are one. Where no two frames do it is the profile's
 * own, which may have tens of millions of nodes. */
struct text_tree {
    const struct profile *p;
    struct strtab labels;
    uint32_t *label;        /* profile frame -> label id */
    struct text *texts;     /* by label id */
    int own;                /* the nodes are the profile's; else: */
    struct stacks nodes;    /* frame: the label id */
    VEC(uint64_t) sums[2];  /* by node id: as `self` and `other` */
    uint32_t *child, *next; /* by node id */
    const uint64_t *self;   /* by node: the value that a line ends with */
    const uint64_t *other;  /* only of pairs: the value before it; else NULL */
    double scale;           /* of `other` */
    int difference;
    VEC(struct entry) entries; /* of the nodes on the way, those still to come */
    struct buf path;
    const struct profile_folded_sink *sink;
};

static void make_labels(struct text_tree *t, const struct profile *p)
{
    struct buf b = {0};

    t->label = mem_calloc(p->frames.n, sizeof(*t->label));
    for (uint32_t i = 0; i < p->frames.n; i++) {
        buf_clear(&b);
        profile_frame_label(p, i, &b);
        if (!b.len)
            buf_addch(&b, '?');
        frame_fold_text(b.data, b.len);
        t->label[i] = strtab_addn(&t->labels, b.data, b.len);
    }
    t->texts = mem_calloc((size_t)strtab_count(&t->labels) + 1, sizeof(*t->texts));
    for (uint32_t id = 1; id <= strtab_count(&t->labels); id++) {
        const char *s = strtab_get(&t->labels, id);

        t->texts[id] = (struct text){s, strlen(s)};
    }
    buf_release(&b);
}

static void add_sum(struct text_tree *t, int which, uint32_t node, uint64_t value)
{
    while (t->sums[which].n <= node)
        *vec_push(&t->sums[which]) = 0;
    t->sums[which].a[node] += value;
}

/* Nodes of their own, for frames that read the same. */
static void make_nodes(struct text_tree *t, const uint64_t *other, const uint64_t *self)
{
    const struct profile *p = t->p;
    uint32_t *node = mem_calloc(p->nodes.n, sizeof(*node)), n;

    for (size_t i = 1; i < p->nodes.n; i++) {
        node[i] = stacks_push(&t->nodes, node[p->nodes.a[i].parent], t->label[p->nodes.a[i].frame]);
        add_sum(t, 0, node[i], self[i]);
        add_sum(t, 1, node[i], other ? other[i] : 0);
    }
    free(node);
    n = (uint32_t)t->nodes.nodes.n;
    t->child = mem_calloc((size_t)n + 1, sizeof(*t->child));
    t->next = mem_calloc((size_t)n + 1, sizeof(*t->next));
    for (uint32_t id = n; id; id--) {
        uint32_t parent = t->nodes.nodes.a[id - 1].parent;

        t->next[id] = t->child[parent];
        t->child[parent] = id;
    }
    t->self = t->sums[0].a;
    t->other = other ? t->sums[1].a : NULL;
}

static uint32_t first_child(const struct text_tree *t, uint32_t node)
{
    return t->own ? t->p->nodes.a[node].child : t->child[node];
}

static uint32_t next_child(const struct text_tree *t, uint32_t node)
{
    return t->own ? t->p->nodes.a[node].next : t->next[node];
}

static uint32_t label_of(const struct text_tree *t, uint32_t node)
{
    return t->own ? t->label[t->p->nodes.a[node].frame] : t->nodes.nodes.a[node - 1].frame;
}

static int entry_order(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    const char *x = a->name.s, *y = b->name.s;
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

static void sort_entries(struct entry *list, size_t n)
{
    if (n > FEW) {
        qsort(list, n, sizeof(*list), entry_order);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct entry en = list[i];
        size_t k = i;

        for (; k && entry_order(&list[k - 1], &en) > 0; k--)
            list[k] = list[k - 1];
        list[k] = en;
    }
}

static uint64_t other_of(const struct text_tree *t, uint32_t node)
{
    double scaled;

    if (!t->other || t->scale == 1)
        return t->other ? t->other[node] : 0;
    scaled = (double)t->other[node] * t->scale + 0.5;
    return scaled < 0x1p64 ? (uint64_t)scaled : UINT64_MAX;
}

/* Entries of a node's children, sorted, behind those that there are; gives where they begin. */
static size_t add_entries(struct text_tree *t, uint32_t node)
{
    size_t begin = t->entries.n;

    for (uint32_t k = first_child(t, node); k; k = next_child(t, k)) {
        struct text name = t->texts[label_of(t, k)];

        if (t->self[k] || other_of(t, k))
            *vec_push(&t->entries) = (struct entry){k, name, ' ', t->self[k]};
        if (first_child(t, k))
            *vec_push(&t->entries) = (struct entry){k, name, ';', 0};
    }
    if (t->entries.n > begin)
        sort_entries(t->entries.a + begin, t->entries.n - begin);
    return begin;
}

struct level {
    size_t begin, at; /* in the entries: its first, the one to come */
    size_t end;
    size_t len; /* of the path above them */
};

/* Gives what follows it. */
static char *put_number(char *at, uint64_t v)
{
    char digits[NUMBER];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n)
        *at++ = digits[--n];
    return at;
}

static void write_line(const struct text_tree *t, const struct entry *en, struct buf *out)
{
    uint64_t other = other_of(t, en->node);
    int less = en->value < other;
    char *at;

    if (t->difference && en->value == other)
        return;
    buf_reserve(out, t->path.len + 2 * (NUMBER + 1) + 1);
    at = mempcpy(out->data + out->len, t->path.data, t->path.len);
    *at++ = ' ';
    if (t->difference) {
        if (less)
            *at++ = '-';
        at = put_number(at, less ? other - en->value : en->value - other);
    } else {
        if (t->other) {
            at = put_number(at, other);
            *at++ = ' ';
        }
        at = put_number(at, en->value);
    }
    *at++ = '\n';
    *at = '\0';
    out->len = (size_t)(at - out->data);
}

static int flush(const struct text_tree *t, struct buf *out, struct err *e)
{
    return t->sink && out->len >= FLUSH_BYTES ? t->sink->write(t->sink->arg, out, e) : 0;
}

/* Depth first without recursion: stacks may be thousands of frames deep. */
static int write_lines(struct text_tree *t, struct buf *out, struct err *e)
{
    VEC(struct level) levels = {0};
    int rc = 0;

    add_entries(t, 0);
    *vec_push(&levels) = (struct level){0, 0, t->entries.n, 0};
    while (!rc && levels.n) {
        struct level *l = &levels.a[levels.n - 1];
        struct entry en;

        if (l->at == l->end) {
            t->entries.n = l->begin;
            levels.n--;
            continue;
        }
        en = t->entries.a[l->at++];
        t->path.len = l->len;
        if (l->len)
            buf_addch(&t->path, ';');
        buf_add(&t->path, en.name.s, en.name.n);
        if (en.sep == ' ') {
            write_line(t, &en, out);
            rc = flush(t, out, e);
        } else {
            size_t begin = add_entries(t, en.node);

            *vec_push(&levels) = (struct level){begin, begin, t->entries.n, t->path.len};
        }
    }
    vec_release(&levels);
    return rc;
}

static int write_folded(struct text_tree *t, const struct profile *p, const uint64_t *other,
                        const uint64_t *self, struct buf *out, struct err *e)
{
    int rc;

    t->p = p;
    make_labels(t, p);
    t->own = strtab_count(&t->labels) == p->frames.n;
    if (t->own) {
        t->self = self;
        t->other = other;
    } else {
        make_nodes(t, other, self);
    }
    rc = write_lines(t, out, e);
    strtab_release(&t->labels);
    stacks_release(&t->nodes);
    vec_release(&t->sums[0]);
    vec_release(&t->sums[1]);
    vec_release(&t->entries);
    free(t->label);
    free(t->texts);
    free(t->child);
    free(t->next);
    buf_release(&t->path);
    return rc;
}

void profile_folded(const struct profile *p, size_t metric, struct buf *out)
{
    struct text_tree t = {0};

    if (metric < p->metrics.n && p->nodes.n)
        write_folded(&t, p, NULL, p->metrics.a[metric].self, out, NULL);
}

int profile_folded_pair(const struct profile *p, const uint64_t *before, double scale, const uint64_t *after,
                        int difference, const struct profile_folded_sink *sink, struct buf *out,
                        struct err *e)
{
    struct text_tree t = {.scale = scale, .difference = difference, .sink = sink};

    return p->nodes.n ? write_folded(&t, p, before, after, out, e) : 0;
}
