/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include "command.h"
#include "product.h"

#include "analyze/open.h"
#include "analyze/topology.h"
#include "analyze/topology_diff.h"
#include "base/json.h"
#include "base/log.h"
#include "collect/gpu_rest.h"

#include <string.h>

static const char *const names[TOPOLOGY_CHANGES] = {"gone", "new", "heavier", "lighter", "other"};

/* Both directions where these are not all there is to say. */
static void add_change(const struct topology_change *c, struct buf *out)
{
    unsigned long long from[2] = {c->from.bytes[0], c->from.bytes[1]},
                       to[2] = {c->to.bytes[0], c->to.bytes[1]};

    buf_addf(out, ": %llu -> %llu bytes", from[0] + from[1], to[0] + to[1]);
    if ((from[0] || to[0]) && (from[1] || to[1]))
        buf_addf(out, " (there %llu -> %llu, back %llu -> %llu)", from[0], to[0], from[1], to[1]);
    if (c->from.messages[0] != c->to.messages[0] || c->from.messages[1] != c->to.messages[1])
        buf_addf(out, ", %llu -> %llu messages",
                 (unsigned long long)(c->from.messages[0] + c->from.messages[1]),
                 (unsigned long long)(c->to.messages[0] + c->to.messages[1]));
}

static void text_of(const struct topology_diff *d, struct buf *out)
{
    static const char marks[TOPOLOGY_CHANGES] = {'-', '+', '>', '<', '~'};

    for (size_t k = 0; k < TOPOLOGY_CHANGES; k++)
        for (size_t i = 0; i < d->nodes[k].list.n; i++)
            buf_addf(out, "%c node %s\n", marks[k], d->nodes[k].list.a[i].name);
    for (size_t k = 0; k < TOPOLOGY_CHANGES; k++)
        for (size_t i = 0; i < d->edges[k].list.n; i++) {
            const struct topology_change *c = &d->edges[k].list.a[i];

            buf_addf(out, "%c edge %s", marks[k], c->name);
            if (k >= TOPOLOGY_HEAVIER)
                add_change(c, out);
            buf_addch(out, '\n');
        }
    if (topology_diff_equal(d))
        buf_addstr(out, "no difference\n");
}

static void json_flow(struct json_writer *w, const char *name, const struct topology_flow *f)
{
    json_object(w, name);
    json_u64(w, "bytes_ab", f->bytes[0]);
    json_u64(w, "bytes_ba", f->bytes[1]);
    json_u64(w, "messages_ab", f->messages[0]);
    json_u64(w, "messages_ba", f->messages[1]);
    json_end_object(w);
}

static void json_change(struct json_writer *w, const struct topology_change *c, int is_edge)
{
    if (!is_edge) {
        json_str(w, NULL, c->name);
        return;
    }
    json_object(w, NULL);
    json_str(w, "edge", c->name);
    json_u64(w, "bytes_before", c->from.bytes[0] + c->from.bytes[1]);
    json_u64(w, "bytes_after", c->to.bytes[0] + c->to.bytes[1]);
    json_flow(w, "before", &c->from);
    json_flow(w, "after", &c->to);
    json_end_object(w);
}

static void json_of(const struct topology_diff *d, struct buf *out)
{
    struct json_writer w = {.out = out, .indent = 2};

    json_object(&w, NULL);
    json_bool(&w, "equal", topology_diff_equal(d));
    json_object(&w, "nodes");
    for (size_t k = 0; k < TOPOLOGY_HEAVIER; k++) {
        json_array(&w, names[k]);
        for (size_t i = 0; i < d->nodes[k].list.n; i++)
            json_change(&w, &d->nodes[k].list.a[i], 0);
        json_end_array(&w);
    }
    json_end_object(&w);
    json_object(&w, "edges");
    for (size_t k = 0; k < TOPOLOGY_CHANGES; k++) {
        json_array(&w, names[k]);
        for (size_t i = 0; i < d->edges[k].list.n; i++)
            json_change(&w, &d->edges[k].list.a[i], 1);
        json_end_array(&w);
    }
    json_end_object(&w);
    json_end_object(&w);
    buf_addch(out, '\n');
}

static int read_graph(const char *path, struct graph *g, struct err *e)
{
    struct session s = {0};
    int rc = open_session(&s, path, gpu_rest_take, e);

    if (rc)
        return -1;
    rc = topology_read(&s, g, e);
    session_release(&s);
    return rc;
}

static int put(const char *path, const struct buf *out)
{
    struct err e = {0};

    if (!path || !strcmp(path, "-")) {
        product_print(out);
        return 0;
    }
    if (product_write(path, out, &e)) {
        log_error("%s", e.msg);
        return -1;
    }
    return 0;
}

int diff_topology(const char *from, const char *to, const struct diff_topology_opts *o)
{
    struct topology_diff d = {0};
    struct graph a, b;
    struct buf out = {0};
    struct err e = {0};
    int code = EXIT_FAILED;

    graph_init(&a);
    graph_init(&b);
    if (read_graph(from, &a, &e) || read_graph(to, &b, &e)) {
        log_error("%s", e.msg);
    } else {
        topology_diff(&d, &a, &b, o->by_name);
        if (o->json)
            json_of(&d, &out);
        else
            text_of(&d, &out);
        code = put(o->output, &out) ? EXIT_FAILED : topology_diff_equal(&d) ? EXIT_OK : EXIT_GATE;
    }
    topology_diff_release(&d);
    buf_release(&out);
    graph_release(&a);
    graph_release(&b);
    return code;
}
