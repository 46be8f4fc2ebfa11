/* SPDX-License-Identifier: Apache-2.0 */
/* Which ends are one connection's, where addresses and ports are used again. */
#include "record/topology_ends.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

/* One end of 127.0.0.1:PORT - 127.0.0.1:PEER; its inode is its name. */
static void add(struct flows *f, uint64_t ino, uint16_t port, uint16_t peer, uint64_t first, uint64_t last,
                uint64_t sent, uint64_t got)
{
    struct bpfside_flow one = {.key = {.ino = ino, .tid = (uint32_t)ino}};
    struct wire_flow *w = &one.flow;
    struct bpfside_flows more = {0};

    w->task.tgid = w->task.tid = (uint32_t)ino;
    w->family = AF_INET;
    w->protocol = IPPROTO_TCP;
    w->port = port;
    w->peer_port = peer;
    w->addr[0] = w->peer_addr[0] = 127;
    w->addr[3] = w->peer_addr[3] = 1;
    w->first = first;
    w->last = last;
    w->bytes[WIRE_FLOW_OUT] = sent;
    w->bytes[WIRE_FLOW_IN] = got;
    w->messages[WIRE_FLOW_OUT] = w->messages[WIRE_FLOW_IN] = 1;
    *vec_push(&more.list) = one;
    flows_add(f, &more);
    vec_release(&more.list);
}

static struct wire_flow *last(struct flows *f)
{
    return &f->all.list.a[f->all.list.n - 1].flow;
}

static void in_namespace(struct flows *f, uint32_t net, uint8_t first_byte)
{
    last(f)->net = net;
    last(f)->addr[0] = last(f)->peer_addr[0] = first_byte;
}

static uint64_t peer_of(const struct ends *x, uint64_t ino)
{
    for (size_t i = 0; i < x->list.n; i++)
        if (x->list.a[i].flows->key.ino == ino)
            return x->list.a[i].peer < 0 ? 0 : x->list.a[x->list.a[i].peer].flows->key.ino;
    return 0;
}

static void check(struct flows *f, const uint64_t pairs[][2], size_t n)
{
    struct ends x = {0};

    ends_find(&x, f);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(peer_of(&x, pairs[i][0]), pairs[i][1]);
        if (pairs[i][1])
            assert_int_equal(peer_of(&x, pairs[i][1]), pairs[i][0]);
    }
    ends_release(&x);
    flows_release(f);
}

/* On a busy machine the first server reads long after its client has sent, just before the second begins. */
static void test_late_reader(void **state)
{
    struct flows f = {0};

    add(&f, 11, 80, 4000, 184938, 185447, 1, 1001);
    add(&f, 12, 4000, 80, 179996, 185056, 1001, 1);
    add(&f, 13, 80, 4000, 187292, 192446, 1, 2001);
    add(&f, 14, 4000, 80, 186762, 192145, 2001, 1);
    check(&f, (const uint64_t[][2]){{11, 12}, {13, 14}}, 2);
}

/* It reads when the second client has begun: what it reads tells. */
static void test_overlap(void **state)
{
    struct flows f = {0};

    add(&f, 11, 80, 4000, 190, 300, 1, 1001);
    add(&f, 12, 4000, 80, 100, 180, 1001, 1);
    add(&f, 13, 80, 4000, 310, 400, 1, 2001);
    add(&f, 14, 4000, 80, 200, 380, 2001, 1);
    check(&f, (const uint64_t[][2]){{11, 12}, {13, 14}}, 2);
}

/* Of connections that were there before the recording the ends need not agree. */
static void test_partial(void **state)
{
    struct flows f = {0};

    add(&f, 11, 80, 4000, 110, 190, 70, 900);
    add(&f, 12, 4000, 80, 100, 180, 1001, 71);
    add(&f, 13, 80, 4000, 310, 400, 1, 2001);
    add(&f, 14, 4000, 80, 300, 380, 2000, 1);
    check(&f, (const uint64_t[][2]){{11, 12}, {13, 14}}, 2);
}

/* The same is said each time: who is there at one time. */
static void test_same_bytes(void **state)
{
    struct flows f = {0};

    for (uint64_t i = 0; i < 8; i++) {
        add(&f, 100 + i, 80, 4000, 1000 * i + 500, 1000 * i + 700, 5, 10);
        add(&f, 200 + i, 4000, 80, 1000 * i + 50, 1000 * i + 600, 10, 5);
    }
    add(&f, 300, 4001, 80, 0, 1, 1, 1); /* its other end is nobody's here */
    check(&f,
          (const uint64_t[][2]){
              {100, 200}, {101, 201}, {102, 202}, {103, 203}, {104, 204}, {105, 205}, {107, 207}, {300, 0}},
          8);
}

/* Between two namespaces there are wires, but 127.0.0.1 is another one in each. */
static void test_namespaces(void **state)
{
    struct flows f = {0};

    add(&f, 11, 80, 4000, 100, 200, 3, 5);
    in_namespace(&f, 1, 10);
    add(&f, 12, 4000, 80, 100, 200, 5, 3);
    in_namespace(&f, 2, 10);
    add(&f, 13, 81, 4001, 100, 200, 3, 5);
    in_namespace(&f, 1, 127);
    add(&f, 14, 4001, 81, 100, 200, 5, 3);
    in_namespace(&f, 2, 127);
    add(&f, 15, 82, 4002, 100, 200, 3, 5);
    in_namespace(&f, 1, 10);
    add(&f, 16, 4002, 82, 100, 200, 5, 3);
    in_namespace(&f, 2, 10);
    add(&f, 17, 4002, 82, 100, 200, 9, 9); /* its own namespace's comes first */
    in_namespace(&f, 1, 10);
    check(&f, (const uint64_t[][2]){{11, 12}, {13, 0}, {14, 0}, {15, 17}, {16, 0}}, 5);
}

/* What a datagram socket sends to a place, and what it gets from everybody. */
static void add_datagrams(struct flows *f, uint64_t ino, uint16_t port, uint16_t to, const char *path,
                          uint64_t bytes)
{
    struct bpfside_flow one = {.key = {.ino = ino, .tid = (uint32_t)ino, .to = to}};
    struct wire_flow *w = &one.flow;
    struct bpfside_flows more = {0};

    w->task.tgid = w->task.tid = (uint32_t)ino;
    w->family = path ? AF_UNIX : AF_INET;
    w->type = SOCK_DGRAM;
    w->protocol = path ? 0 : IPPROTO_UDP;
    w->sk = ino;
    w->port = port;
    w->peer_port = path ? 0 : to;
    w->peer_addr[0] = to ? 127 : 0;
    w->peer_addr[3] = to ? 1 : 0;
    w->first = 100;
    w->last = 200;
    w->bytes[to ? WIRE_FLOW_OUT : WIRE_FLOW_IN] = bytes;
    w->messages[to ? WIRE_FLOW_OUT : WIRE_FLOW_IN] = 1;
    if (path) {
        w->path_len = (uint8_t)(strlen(path) + (to != 0)); /* sendto(2) may leave the NUL out */
        memcpy(w->path, path, strlen(path));
    }
    *vec_push(&more.list) = one;
    flows_add(f, &more);
    vec_release(&more.list);
}

static const struct end *end_of(const struct ends *x, uint64_t ino, int sent)
{
    for (size_t i = 0; i < x->list.n; i++)
        if (x->list.a[i].flows->key.ino == ino && end_is_sent(&x->list.a[i]) == sent)
            return &x->list.a[i];
    fail_msg("no end %d", (int)ino);
    return NULL;
}

/* Two that are bound to any address and connected to nobody. */
static void test_datagrams(void **state)
{
    struct flows f = {0};
    struct ends x = {0};

    add_datagrams(&f, 11, 500, 600, NULL, 70);
    add_datagrams(&f, 11, 500, 0, NULL, 30);
    add_datagrams(&f, 12, 600, 500, NULL, 30);
    add_datagrams(&f, 12, 600, 0, NULL, 71); /* of which one came from elsewhere */
    ends_find(&x, &f);
    assert_ptr_equal(&x.list.a[end_of(&x, 11, 1)->peer], end_of(&x, 12, 1));
    assert_ptr_equal(&x.list.a[end_of(&x, 12, 1)->peer], end_of(&x, 11, 1));
    assert_int_equal(end_of(&x, 11, 0)->known, 30);
    assert_int_equal(end_of(&x, 12, 0)->known, 70);
    ends_release(&x);
    flows_release(&f);
}

static void test_one_way(void **state)
{
    struct flows f = {0};
    struct ends x = {0};

    add_datagrams(&f, 11, 500, 600, NULL, 70);
    add_datagrams(&f, 12, 600, 0, NULL, 70);
    add_datagrams(&f, 13, 0, 7, "/run/log", 40);
    add_datagrams(&f, 14, 0, 0, "/run/log", 40);
    add_datagrams(&f, 15, 0, 8, "/run/lo", 40);
    ends_find(&x, &f);
    assert_ptr_equal(&x.list.a[end_of(&x, 11, 1)->peer], end_of(&x, 12, 0));
    assert_ptr_equal(&x.list.a[end_of(&x, 13, 1)->peer], end_of(&x, 14, 0));
    assert_int_equal(end_of(&x, 15, 1)->peer, -1);
    assert_int_equal(end_of(&x, 12, 0)->peer, -1);
    ends_release(&x);
    flows_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_reader), cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_partial),     cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_namespaces),  cmocka_unit_test(test_datagrams),
        cmocka_unit_test(test_one_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
