/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the kernel's RDMA netlink, made by hand as nldev.c of the kernel makes them, and the graph of
 * them. */
#include "topo/rdma.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void put_attribute(struct buf *b, uint16_t type, const void *data, size_t n)
{
    struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + n), .nla_type = type};

    buf_add(b, &a, sizeof(a));
    buf_add(b, data, n);
    while (b->len % NLA_ALIGNTO)
        buf_addch(b, '\0');
}

static void put_u32(struct buf *b, uint16_t type, uint32_t v)
{
    put_attribute(b, type, &v, sizeof(v));
}

static void put_u8(struct buf *b, uint16_t type, uint8_t v)
{
    put_attribute(b, type, &v, sizeof(v));
}

static void put_message(struct buf *b, uint16_t op, const struct buf *body)
{
    struct nlmsghdr h = {.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + body->len),
                         .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op),
                         .nlmsg_flags = NLM_F_MULTI};

    buf_add(b, &h, sizeof(h));
    buf_add(b, body->data, body->len);
}

static void put_end(struct buf *b, uint16_t type, int32_t error)
{
    struct nlmsghdr h = {.nlmsg_len = NLMSG_HDRLEN + 4, .nlmsg_type = type};

    buf_add(b, &h, sizeof(h));
    buf_add(b, &error, sizeof(error));
}

static void put_device(struct buf *b)
{
    put_u32(b, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
    put_attribute(b, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0", 7);
}

static void put_qp(struct buf *table, uint32_t pid, uint32_t qpn, uint32_t remote)
{
    struct buf entry = {0};

    put_u32(&entry, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
    put_u32(&entry, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
    if (remote)
        put_u32(&entry, RDMA_NLDEV_ATTR_RES_RQPN, remote);
    put_u8(&entry, RDMA_NLDEV_ATTR_RES_TYPE, 2);
    put_u8(&entry, RDMA_NLDEV_ATTR_RES_STATE, 3);
    if (pid)
        put_u32(&entry, RDMA_NLDEV_ATTR_RES_PID, pid);
    else
        put_attribute(&entry, RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core", 8);
    put_u32(&entry, RDMA_NLDEV_ATTR_RES_PDN, 9);
    put_attribute(table, RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED, entry.data, entry.len);
    buf_release(&entry);
}

/* Three of processes, of which two are ends of one connection, and one of the kernel's. */
static void qps(struct buf *b)
{
    struct buf table = {0}, body = {0};

    put_qp(&table, 100, 0x11, 0x12);
    put_qp(&table, 200, 0x12, 0x11);
    put_qp(&table, 100, 0x13, 0x777);
    put_qp(&table, 0, 1, 0);
    put_device(&body);
    put_attribute(&body, RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED, table.data, table.len);
    put_message(b, RDMA_NLDEV_CMD_RES_QP_GET, &body);
    put_end(b, NLMSG_DONE, 0);
    buf_release(&table);
    buf_release(&body);
}

static void mrs(struct buf *b)
{
    struct buf entry = {0}, table = {0}, body = {0};
    uint64_t length = UINT64_C(5) << 30;

    put_u32(&entry, RDMA_NLDEV_ATTR_RES_RKEY, 0x2000);
    put_u32(&entry, RDMA_NLDEV_ATTR_RES_LKEY, 0x1000);
    put_attribute(&entry, RDMA_NLDEV_ATTR_RES_MRLEN, &length, sizeof(length));
    put_u32(&entry, RDMA_NLDEV_ATTR_RES_MRN, 5);
    put_u32(&entry, RDMA_NLDEV_ATTR_RES_PDN, 9);
    put_u32(&entry, RDMA_NLDEV_ATTR_RES_PID, 100);
    put_attribute(&table, RDMA_NLDEV_ATTR_RES_MR_ENTRY, entry.data, entry.len);
    put_device(&body);
    put_attribute(&body, RDMA_NLDEV_ATTR_RES_MR, table.data, table.len);
    put_message(b, RDMA_NLDEV_CMD_RES_MR_GET, &body);
    put_end(b, NLMSG_DONE, 0);
    buf_release(&entry);
    buf_release(&table);
    buf_release(&body);
}

static void test_parse(void **state)
{
    struct buf b = {0}, body = {0};
    struct rdma_objects r = {0};
    int error;

    put_device(&body);
    put_u32(&body, RDMA_NLDEV_ATTR_PORT_INDEX, 2); /* the number of ports, here */
    put_message(&b, RDMA_NLDEV_CMD_GET, &body);
    assert_int_equal(rdma_parse(&r, RDMA_DEVICE, b.data, b.len, &error), 0);
    buf_clear(&b);
    qps(&b);
    assert_int_equal(rdma_parse(&r, RDMA_QP, b.data, b.len, &error), 1);
    buf_clear(&b);
    mrs(&b);
    assert_int_equal(rdma_parse(&r, RDMA_MR, b.data, b.len, &error), 1);
    assert_int_equal(r.bad, 0);
    assert_int_equal(r.list.n, 6);
    assert_string_equal(r.list.a[0].dev, "mlx5_0");
    assert_int_equal(r.list.a[0].index, 3);
    assert_int_equal(r.list.a[2].pid, 200);
    assert_int_equal(r.list.a[2].qpn, 0x12);
    assert_int_equal(r.list.a[2].remote_qpn, 0x11);
    assert_int_equal(r.list.a[2].type, 2);
    assert_int_equal(r.list.a[4].pid, 0);
    assert_false(r.list.a[4].has_remote);
    assert_int_equal(r.list.a[5].lkey, 0x1000);
    assert_int_equal(r.list.a[5].length, UINT64_C(5) << 30);
    assert_int_equal(r.list.a[5].pdn, 9);
    buf_clear(&b);
    put_end(&b, NLMSG_ERROR, -EPERM);
    assert_int_equal(rdma_parse(&r, RDMA_QP, b.data, b.len, &error), -1);
    assert_int_equal(error, EPERM);
    rdma_release(&r);
    buf_release(&b);
    buf_release(&body);
}

/* Cut off anywhere, nothing is read beyond it; what is whole stays. */
static void test_cut(void **state)
{
    struct buf b = {0};

    qps(&b);
    for (size_t n = 0; n < b.len; n++) {
        struct rdma_objects r = {0};
        char *part = mem_strndup(b.data, n);
        int error;

        assert_int_equal(rdma_parse(&r, RDMA_QP, part, n, &error), 0);
        assert_true(r.list.n <= 4);
        rdma_release(&r);
        free(part);
    }
    buf_release(&b);
}

static struct graph_node *find(const struct graph *g, enum graph_kind kind, const char *a, const char *b,
                               const char *c)
{
    struct graph_node *n =
        graph_find(g, &(struct graph_id){.kind = kind, .instance = "mlx5_0", .field = {a, b, c}});

    assert_non_null(n);
    return n;
}

static void test_graph(void **state)
{
    struct topo_ctx ctx = {.root = ""};
    struct rdma_objects r = {0};
    struct graph_node *one, *two, *pd;
    struct buf b = {0};
    struct graph g;
    int error;

    qps(&b);
    rdma_parse(&r, RDMA_QP, b.data, b.len, &error);
    buf_clear(&b);
    mrs(&b);
    rdma_parse(&r, RDMA_MR, b.data, b.len, &error);
    graph_init(&g);
    assert_int_equal(rdma_add_objects(&ctx, &g, &r), 1); /* the kernel's */
    one = find(&g, GRAPH_RDMA_QP, "100", "17", NULL);
    two = find(&g, GRAPH_RDMA_QP, "200", "18", NULL);
    pd = find(&g, GRAPH_RDMA_PD, "100", "9", NULL);
    assert_non_null(graph_find_edge(&g, GRAPH_EDGE_RDMA, one, two));
    assert_non_null(
        graph_find_edge(&g, GRAPH_EDGE_RDMA, graph_process(&g, 100, -1, 0), graph_process(&g, 200, -1, 0)));
    assert_non_null(graph_find_edge(&g, GRAPH_EDGE_RDMA, find(&g, GRAPH_RDMA_QP, "100", "19", NULL),
                                    find(&g, GRAPH_RDMA_ENDPOINT, "1911", NULL, NULL)));
    assert_non_null(graph_find_edge(&g, GRAPH_EDGE_BELONG, one, pd));
    assert_non_null(graph_find_edge(&g, GRAPH_EDGE_BELONG, find(&g, GRAPH_RDMA_MR, "100", "9", "4096"), pd));
    assert_string_equal(graph_attr_str(&one->attrs, "type", ""), "RC");
    assert_string_equal(graph_attr_str(&one->attrs, "state", ""), "ready to send");
    assert_int_equal(ctx.seen, 4);
    graph_release(&g);
    rdma_release(&r);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
