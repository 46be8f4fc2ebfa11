/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/topology_diff.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { EPHEMERAL = 32768 }; /* Linux gives clients ports from here on: net.ipv4.ip_local_port_range */

struct item {
    const char *name;
    struct topology_flow flow;
};

struct items {
    VEC(struct item) list;
};

static const char *keep(struct topology_diff *d, struct buf *b)
{
    char *s = mem_strdup(buf_str(b));

    buf_clear(b);
    *vec_push(&d->names) = s;
    return s;
}

/* Whether mkstemp(3), multiprocessing or the like made up that end of a name: six to eight letters and
 * digits, of both kinds or of both cases. */
static int is_random(const char *s, size_t n)
{
    int lower = 0, upper = 0, digit = 0;

    for (size_t i = 0; i < n; i++) {
        lower |= islower((unsigned char)s[i]) != 0;
        upper |= isupper((unsigned char)s[i]) != 0;
        digit |= isdigit((unsigned char)s[i]) != 0;
        if (!isalnum((unsigned char)s[i]))
            return 0;
    }
    return n >= 6 && n <= 8 && lower + upper + digit > 1;
}

/* "/dev/shm/sem.GjFesE", "/dev/shm/torch_123_4_0": numbers and made-up ends are other ones in each run. */
static void add_without_chance(const char *path, struct buf *out)
{
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;

    buf_add(out, path, (size_t)(at - path));
    while (*at) {
        size_t n = strcspn(at, "._-"), digits = strspn(at, "0123456789");

        if (n && (digits == n || (!at[n] && is_random(at, n))))
            buf_addch(out, '*');
        else
            buf_add(out, at, n);
        at += n;
        if (*at)
            buf_addch(out, *at++);
    }
}

static void name_of(const struct graph_node *n, int by_name, struct buf *out)
{
    const char *name = graph_attr_str(&n->attrs, "name", NULL), *abbr = graph_kind(n->kind)->abbr;
    int64_t port = graph_attr_int(&n->attrs, "socket_port", 0);

    if (!by_name)
        graph_node_id(n, out);
    else if (n->kind == GRAPH_SOCKET)
        buf_addf(out, "%s(%s:%.*lld%s)", abbr, graph_attr_str(&n->attrs, "socket_addr", "?"),
                 port < EPHEMERAL ? 8 : 0, port < EPHEMERAL ? (long long)port : 0,
                 port < EPHEMERAL ? "" : "*");
    else if (n->kind == GRAPH_PROCESS || n->kind == GRAPH_THREAD || n->kind == GRAPH_UNIX_SOCKET)
        buf_addf(out, "%s(%s)", abbr, name ? name : "");
    else if (n->kind == GRAPH_PIPE || n->kind == GRAPH_EVENTFD || n->kind == GRAPH_RDMA_QP)
        buf_addf(out, "%s()", abbr);
    else if (n->kind == GRAPH_SHM) {
        buf_addf(out, "%s(", abbr);
        add_without_chance(graph_attr_str(&n->attrs, "shm_name", "?"), out);
        buf_addch(out, ')');
    } else
        graph_node_id(n, out);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static void add_up(struct topology_flow *to, const struct topology_flow *f)
{
    for (int k = 0; k < 2; k++) {
        to->bytes[k] += f->bytes[k];
        to->messages[k] += f->messages[k];
    }
}

/* Sorted; what has one name is one. */
static void settle(struct items *x)
{
    size_t n = 0;

    if (x->list.n)
        qsort(x->list.a, x->list.n, sizeof(*x->list.a), by_text);
    for (size_t i = 0; i < x->list.n; i++) {
        if (n && !strcmp(x->list.a[n - 1].name, x->list.a[i].name))
            add_up(&x->list.a[n - 1].flow, &x->list.a[i].flow);
        else
            x->list.a[n++] = x->list.a[i];
    }
    x->list.n = n;
}

static void read_nodes(struct topology_diff *d, const struct graph *g, int by_name, struct items *out)
{
    struct buf b = {0};

    for (size_t i = 0; i < g->nodes.n; i++) {
        name_of(g->nodes.a[i], by_name, &b);
        *vec_push(&out->list) = (struct item){.name = keep(d, &b)};
    }
    buf_release(&b);
    settle(out);
}

/* Of two ends with one name nobody knows which is which in the other graph: the greater first. */
static struct topology_flow flow_of(const struct graph_edge *e, int swap, int alike, int by_name)
{
    struct topology_flow f = {{e->bytes_ab, e->bytes_ba}, {e->messages_ab, e->messages_ba}};

    if (swap || (alike && f.bytes[0] < f.bytes[1]))
        f = (struct topology_flow){{f.bytes[1], f.bytes[0]}, {f.messages[1], f.messages[0]}};
    if (by_name)
        f.messages[0] = f.messages[1] = 0;
    return f;
}

/* The ends of one without direction: in the order of their names. */
static void read_edges(struct topology_diff *d, const struct graph *g, int by_name, struct items *out)
{
    struct buf a = {0}, b = {0}, name = {0};

    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];
        int directed = graph_relation(e->kind)->directed, swap, alike;

        name_of(e->a, by_name, &a);
        name_of(e->b, by_name, &b);
        alike = !directed && !strcmp(buf_str(&a), buf_str(&b));
        swap = !directed && strcmp(buf_str(&a), buf_str(&b)) > 0;
        buf_addf(&name, "%s %s %s %s", graph_relation(e->kind)->name, buf_str(swap ? &b : &a),
                 directed ? "->" : "--", buf_str(swap ? &a : &b));
        *vec_push(&out->list) = (struct item){keep(d, &name), flow_of(e, swap, alike, by_name)};
        buf_clear(&a);
        buf_clear(&b);
    }
    buf_release(&a);
    buf_release(&b);
    buf_release(&name);
    settle(out);
}

static uint64_t sum(const struct topology_flow *f)
{
    return f->bytes[0] + f->bytes[1];
}

static enum topology_diff_kind kind_of(const struct topology_flow *from, const struct topology_flow *to)
{
    return sum(to) > sum(from) ? TOPOLOGY_HEAVIER : sum(to) < sum(from) ? TOPOLOGY_LIGHTER : TOPOLOGY_OTHER;
}

static void compare(struct topology_diff *d, const struct items *a, const struct items *b, int edges)
{
    size_t i = 0, k = 0;

    while (i < a->list.n || k < b->list.n) {
        const struct item *x = i < a->list.n ? &a->list.a[i] : NULL;
        const struct item *y = k < b->list.n ? &b->list.a[k] : NULL;
        int c = !x ? 1 : !y ? -1 : strcmp(x->name, y->name);
        struct topology_change change = {c <= 0 ? x->name : y->name,
                                         c <= 0 ? x->flow : (struct topology_flow){{0}, {0}},
                                         c >= 0 ? y->flow : (struct topology_flow){{0}, {0}}};
        enum topology_diff_kind kind = c < 0   ? TOPOLOGY_GONE
                                       : c > 0 ? TOPOLOGY_NEW
                                               : kind_of(&change.from, &change.to);

        i += c <= 0;
        k += c >= 0;
        if (!c && !memcmp(&change.from, &change.to, sizeof(change.from)))
            continue;
        if (edges)
            *vec_push(&d->edges[kind].list) = change;
        else
            *vec_push(&d->nodes[kind].list) = change;
    }
}

void topology_diff(struct topology_diff *d, const struct graph *a, const struct graph *b, int by_name)
{
    struct items x = {0}, y = {0};

    read_nodes(d, a, by_name, &x);
    read_nodes(d, b, by_name, &y);
    compare(d, &x, &y, 0);
    vec_clear(&x.list);
    vec_clear(&y.list);
    read_edges(d, a, by_name, &x);
    read_edges(d, b, by_name, &y);
    compare(d, &x, &y, 1);
    vec_release(&x.list);
    vec_release(&y.list);
}

int topology_diff_equal(const struct topology_diff *d)
{
    for (size_t i = 0; i < TOPOLOGY_CHANGES; i++)
        if (d->nodes[i].list.n || d->edges[i].list.n)
            return 0;
    return 1;
}

void topology_diff_release(struct topology_diff *d)
{
    for (size_t i = 0; i < TOPOLOGY_CHANGES; i++) {
        vec_release(&d->nodes[i].list);
        vec_release(&d->edges[i].list);
    }
    for (size_t i = 0; i < d->names.n; i++)
        free(d->names.a[i]);
    vec_release(&d->names);
}
