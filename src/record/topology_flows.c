/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology_flows.h"

#include "base/hash.h"

#include <string.h>

/* 25 MB: what a server with short connections has in a long recording is told as sums. */
enum { FLOWS_HELD = 65536 };

struct wanted {
    const struct flows *f;
    const struct wire_flow_key *key;
};

static int same(const void *arg, uint32_t id)
{
    const struct wanted *w = arg;

    return !memcmp(&w->f->all.list.a[id - 1].key, w->key, sizeof(*w->key));
}

static void add_up(struct wire_flow *to, const struct wire_flow *f)
{
    for (int d = 0; d < 2; d++) {
        to->bytes[d] += f->bytes[d];
        to->messages[d] += f->messages[d];
        to->begun[d] = flows_earlier(to->begun[d], f->begun[d]);
        to->ended[d] = flows_later(to->ended[d], f->ended[d]);
    }
    if (f->first < to->first)
        to->first = f->first;
    if (f->last > to->last)
        to->last = f->last;
    if (!to->peer_ino)
        to->peer_ino = f->peer_ino;
}

static void add_one(struct flows *f, const struct bpfside_flow *one)
{
    uint64_t hash = hash_bytes(&one->key, sizeof(one->key));
    uint32_t id = index_find(&f->index, hash, same, &(struct wanted){f, &one->key});

    if (id) {
        add_up(&f->all.list.a[id - 1].flow, &one->flow);
    } else if (f->all.list.n < FLOWS_HELD) {
        *vec_push(&f->all.list) = *one;
        index_add(&f->index, hash, (uint32_t)f->all.list.n);
    } else {
        f->left_bytes += one->flow.bytes[0] + one->flow.bytes[1];
        f->left_messages += one->flow.messages[0] + one->flow.messages[1];
    }
}

void flows_add(struct flows *f, const struct bpfside_flows *more)
{
    for (size_t i = 0; i < more->list.n; i++)
        add_one(f, &more->list.a[i]);
}

void flows_copy(struct flows *to, const struct flows *from)
{
    flows_add(to, &from->all);
    to->left_bytes = from->left_bytes;
    to->left_messages = from->left_messages;
}

void flows_release(struct flows *f)
{
    vec_release(&f->all.list);
    index_release(&f->index);
    *f = (struct flows){0};
}
