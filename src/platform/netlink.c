/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/netlink.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MAX = 32768 }; /* what the kernel sends in one piece (NLMSG_GOODSIZE) at most */

typedef void each_answer(struct net_sockets *s, const struct nlmsghdr *h);

static void on_unix(struct net_sockets *s, const struct nlmsghdr *h)
{
    const struct unix_diag_msg *m = NLMSG_DATA(h);
    struct net_socket n = {.family = AF_UNIX};
    int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
        return;
    n.ino = m->udiag_ino;
    n.protocol = m->udiag_type;
    n.state = m->udiag_state;
    for (const struct rtattr *a = (const struct rtattr *)(m + 1); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
        size_t size = RTA_PAYLOAD(a);

        if (a->rta_type == UNIX_DIAG_PEER && size >= sizeof(n.peer))
            memcpy(&n.peer, RTA_DATA(a), sizeof(n.peer));
        if (a->rta_type == UNIX_DIAG_NAME && size) {
            memcpy(n.path, RTA_DATA(a), size < sizeof(n.path) ? size : sizeof(n.path) - 1);
            if (!n.path[0])
                n.path[0] = '@';
        }
    }
    *vec_push(&s->list) = n;
}

/* The other end's FIN has come, which the kernel counts as a byte. */
static int has_fin(uint8_t state)
{
    return state == NET_CLOSE_WAIT || state == NET_LAST_ACK || state == NET_CLOSING;
}

static void add_counts(struct net_socket *n, const void *data, size_t size)
{
    struct tcp_info info = {0};

    if (size < offsetof(struct tcp_info, tcpi_bytes_sent)) /* added in Linux 4.19 */
        return;
    memcpy(&info, data, size < sizeof(info) ? size : sizeof(info));
    n->counted = 1;
    n->sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
    n->received = info.tcpi_bytes_received - (info.tcpi_bytes_received && has_fin(n->state));
    n->segments_out = info.tcpi_data_segs_out;
    n->segments_in = info.tcpi_data_segs_in;
    n->rtt_us = info.tcpi_rtt;
}

static void on_inet(struct net_sockets *s, const struct nlmsghdr *h)
{
    const struct inet_diag_msg *m = NLMSG_DATA(h);
    struct net_socket n = {.protocol = s->protocol};
    int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
        return;
    n.family = m->idiag_family;
    n.state = m->idiag_state;
    n.uid = m->idiag_uid;
    n.ino = m->idiag_inode;
    n.port = ntohs(m->id.idiag_sport);
    n.peer_port = ntohs(m->id.idiag_dport);
    memcpy(n.addr, m->id.idiag_src, sizeof(n.addr));
    memcpy(n.peer_addr, m->id.idiag_dst, sizeof(n.peer_addr));
    for (const struct rtattr *a = (const struct rtattr *)(m + 1); RTA_OK(a, len); a = RTA_NEXT(a, len))
        if (a->rta_type == INET_DIAG_INFO)
            add_counts(&n, RTA_DATA(a), RTA_PAYLOAD(a));
    *vec_push(&s->list) = n;
}

static int answers(int fd, struct net_sockets *s, each_answer *each, struct err *e)
{
    char buf[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));

    for (;;) {
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
        int left = (int)n;

        if (n < 0)
            return err_sys(e, errno, "sock_diag");
        for (const struct nlmsghdr *h = (const struct nlmsghdr *)buf; NLMSG_OK(h, left);
             h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return 0;
            if (h->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *ne = NLMSG_DATA(h);

                return err_sys(e, -ne->error, "sock_diag");
            }
            each(s, h);
        }
        if (!n)
            return 0;
    }
}

static int ask(int fd, const void *req, size_t n, struct err *e)
{
    struct {
        struct nlmsghdr h;
        char body[128];
    } msg = {.h = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(n),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};

    memcpy(msg.body, req, n);
    return send(fd, &msg, msg.h.nlmsg_len, 0) < 0 ? err_sys(e, errno, "sock_diag") : 0;
}

static int dump(struct net_sockets *s, const void *req, size_t n, each_answer *each, struct err *e)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), rc;

    if (fd < 0)
        return err_sys(e, errno, "sock_diag");
    rc = ask(fd, req, n, e) || answers(fd, s, each, e) ? -1 : 0;
    close(fd);
    return rc;
}

int net_sockets_read_unix(struct net_sockets *s, struct err *e)
{
    struct unix_diag_req u = {
        .sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER};

    return dump(s, &u, sizeof(u), on_unix, e);
}

int net_sockets_read_inet(struct net_sockets *s, int protocol, int with_counts, struct err *e)
{
    struct inet_diag_req_v2 t = {.sdiag_family = AF_INET,
                                 .sdiag_protocol = (uint8_t)protocol,
                                 .idiag_ext = with_counts ? 1 << (INET_DIAG_INFO - 1) : 0,
                                 .idiag_states = ~0u};
    int rc;

    s->protocol = (uint8_t)protocol;
    rc = dump(s, &t, sizeof(t), on_inet, e);
    t.sdiag_family = AF_INET6;
    return dump(s, &t, sizeof(t), on_inet, rc ? e : NULL) && rc ? -1 : 0;
}

int net_sockets_read_tcp(struct net_sockets *s, struct err *e)
{
    return net_sockets_read_inet(s, IPPROTO_TCP, 0, e);
}

void net_sockets_release(struct net_sockets *s)
{
    vec_release(&s->list);
}

const struct net_socket *net_sockets_find(const struct net_sockets *s, uint32_t ino)
{
    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.a[i].ino == ino)
            return &s->list.a[i];
    return NULL;
}

static int mirrors(const struct net_socket *a, const struct net_socket *b)
{
    return a->family == b->family && a->port == b->peer_port && a->peer_port == b->port &&
           !memcmp(a->addr, b->peer_addr, sizeof(a->addr)) && !memcmp(a->peer_addr, b->addr, sizeof(a->addr));
}

const struct net_socket *net_sockets_peer(const struct net_sockets *s, const struct net_socket *of)
{
    if (of->family == AF_UNIX)
        return of->peer ? net_sockets_find(s, of->peer) : NULL;
    if (!of->peer_port)
        return NULL;
    for (size_t i = 0; i < s->list.n; i++)
        if (mirrors(&s->list.a[i], of))
            return &s->list.a[i];
    return NULL;
}
