/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/rdma.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_MAX = 65536, HEADER = NLMSG_HDRLEN, ATTRIBUTE = NLA_HDRLEN };

/* How each kind is asked for, and the table and the entries it comes in. */
static const struct {
    uint16_t op, table, entry;
} kinds[] = {
    [RDMA_DEVICE] = {RDMA_NLDEV_CMD_GET, 0, 0},
    [RDMA_QP] = {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY},
    [RDMA_MR] = {RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY},
    [RDMA_PD] = {RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY},
};

/* ---- attributes ---- */

struct attribute {
    uint16_t type;
    const uint8_t *data;
    size_t n;
};

/* The one at *p, which is moved behind it. 0: there is none; -1: what is there is none. */
static int next_attribute(const uint8_t **p, const uint8_t *end, struct attribute *a)
{
    struct nlattr h;
    size_t room = (size_t)(end - *p), step;

    if (!room)
        return 0;
    if (room < ATTRIBUTE)
        return -1;
    memcpy(&h, *p, sizeof(h));
    if (h.nla_len < ATTRIBUTE || h.nla_len > room)
        return -1;
    step = NLA_ALIGN(h.nla_len);
    *a = (struct attribute){h.nla_type & NLA_TYPE_MASK, *p + ATTRIBUTE, h.nla_len - ATTRIBUTE};
    *p += step < room ? step : room;
    return 1;
}

static uint64_t number(const struct attribute *a)
{
    uint64_t v = 0; /* in the order of this machine's bytes, which is little-endian */

    memcpy(&v, a->data, a->n < sizeof(v) ? a->n : sizeof(v));
    return v;
}

/* Sets the field that the attribute is about. */
static void take(struct rdma_object *o, const struct attribute *a)
{
    switch (a->type) {
    case RDMA_NLDEV_ATTR_DEV_INDEX:
        o->index = (uint32_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_DEV_NAME:
        snprintf(o->dev, sizeof(o->dev), "%.*s", (int)a->n, (const char *)a->data);
        break;
    case RDMA_NLDEV_ATTR_PORT_INDEX:
        o->port = (uint32_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_PID:
        o->pid = (uint32_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_LQPN:
        o->qpn = (uint32_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_RQPN:
        o->remote_qpn = (uint32_t)number(a);
        o->has_remote = 1;
        break;
    case RDMA_NLDEV_ATTR_RES_TYPE:
        o->type = (uint8_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_STATE:
        o->state = (uint8_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_PDN:
        o->pdn = (uint32_t)number(a);
        o->has_pdn = 1;
        break;
    case RDMA_NLDEV_ATTR_RES_LKEY:
        o->lkey = (uint32_t)number(a);
        o->has_keys = 1;
        break;
    case RDMA_NLDEV_ATTR_RES_RKEY:
        o->rkey = (uint32_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_MRN: /* who may not see the keys is told a number instead */
        if (!o->has_keys)
            o->lkey = (uint32_t)number(a);
        break;
    case RDMA_NLDEV_ATTR_RES_MRLEN:
        o->length = number(a);
        break;
    default:
        break;
    }
}

/* All of them in [p, end); those for which it is a table go to `table`. */
static int take_all(struct rdma_object *o, const uint8_t *p, const uint8_t *end, uint16_t table,
                    struct attribute *nested)
{
    struct attribute a;
    int rc;

    while ((rc = next_attribute(&p, end, &a)) > 0)
        if (table && a.type == table)
            *nested = a;
        else
            take(o, &a);
    return rc;
}

static void on_message(struct rdma_objects *r, enum rdma_kind kind, const uint8_t *p, const uint8_t *end)
{
    struct attribute table = {0}, entry;
    struct rdma_object like = {.kind = kind};
    int rc;

    r->bad += take_all(&like, p, end, kinds[kind].table, &table) < 0;
    if (kind == RDMA_DEVICE) {
        if (*like.dev)
            *vec_push(&r->list) = like;
        return;
    }
    if (!table.data)
        return;
    p = table.data;
    end = table.data + table.n;
    while ((rc = next_attribute(&p, end, &entry)) > 0) {
        struct rdma_object o = like;
        struct attribute none = {0};

        if (entry.type != kinds[kind].entry || take_all(&o, entry.data, entry.data + entry.n, 0, &none) < 0) {
            r->bad++;
            continue;
        }
        *vec_push(&r->list) = o;
    }
    r->bad += rc < 0;
}

int rdma_parse(struct rdma_objects *r, enum rdma_kind kind, const void *data, size_t n, int *error)
{
    const uint8_t *p = data, *end = p + n;

    *error = 0;
    while ((size_t)(end - p) >= HEADER) {
        struct nlmsghdr h;
        size_t step;
        int32_t code = 0;

        memcpy(&h, p, sizeof(h));
        if (h.nlmsg_len < HEADER || h.nlmsg_len > (size_t)(end - p)) {
            r->bad++;
            return 0;
        }
        if (h.nlmsg_type == NLMSG_DONE)
            return 1;
        if (h.nlmsg_type == NLMSG_ERROR) {
            if (h.nlmsg_len >= HEADER + sizeof(code))
                memcpy(&code, p + HEADER, sizeof(code));
            *error = code < 0 && code > -4096 ? -code : EIO;
            return -1;
        }
        if (h.nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, kinds[kind].op))
            on_message(r, kind, p + HEADER, p + h.nlmsg_len);
        step = NLMSG_ALIGN(h.nlmsg_len);
        p += step < (size_t)(end - p) ? step : (size_t)(end - p);
    }
    return 0;
}

/* ---- asking ---- */

static int ask(int fd, enum rdma_kind kind, uint32_t index)
{
    struct {
        struct nlmsghdr h;
        struct nlattr a;
        uint32_t index;
    } q = {.h = {.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, kinds[kind].op),
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                 .nlmsg_len = NLMSG_LENGTH(0)},
           .a = {.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX, .nla_len = ATTRIBUTE + sizeof(uint32_t)},
           .index = index};

    if (kind != RDMA_DEVICE)
        q.h.nlmsg_len = sizeof(q);
    return send(fd, &q, q.h.nlmsg_len, 0) < 0 ? -1 : 0;
}

/* 0, or an errno: what an old kernel does not know (EINVAL, EOPNOTSUPP) is none. */
static int dump(int fd, struct rdma_objects *r, enum rdma_kind kind, uint32_t index)
{
    uint8_t *answer;
    int rc = 0, error = 0;

    if (ask(fd, kind, index))
        return errno;
    answer = mem_alloc(ANSWER_MAX);
    while (!rc) {
        ssize_t n = recv(fd, answer, ANSWER_MAX, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            error = n ? errno : EIO;
            break;
        }
        rc = rdma_parse(r, kind, answer, (size_t)n, &error);
    }
    free(answer);
    return error == EINVAL || error == EOPNOTSUPP ? 0 : error;
}

int rdma_read(struct rdma_objects *r, struct err *e)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA), error;
    struct timeval limit = {.tv_sec = 2};

    if (fd < 0)
        return errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT || errno == EPERM
                   ? 1
                   : err_sys(e, errno, "RDMA netlink");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    error = dump(fd, r, RDMA_DEVICE, 0);
    for (size_t i = 0, devices = r->list.n; !error && i < devices; i++)
        for (enum rdma_kind kind = RDMA_QP; kind <= RDMA_PD && !error; kind++)
            error = dump(fd, r, kind, r->list.a[i].index);
    close(fd);
    return error ? err_sys(e, error, "RDMA netlink") : 0;
}

void rdma_release(struct rdma_objects *r)
{
    vec_release(&r->list);
}
