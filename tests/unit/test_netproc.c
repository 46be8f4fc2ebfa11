/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, as /proc/PID/net and as sock_diag tell of them. */
#include "platform/netlink.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD                                                                                                 \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define REST " 00000000:00000000 00:00000000 00000000  1000        0 "

static void test_inet(void **state)
{
    static const char text[] =
        HEAD "   0: 0100007F:1F90 00000000:0000 0A" REST "4242 1 0000000000000000 100 0 0 10 0\n"
             "   1: nonsense\n"
             "   2: 0100007F:1F90 0200007F:0050 01" REST "4243 1\n"
             "   3: 0100007F 0200007F:0050 01" REST "4243 1\n";
    struct net_sockets s = {0};
    const struct net_socket *n;

    assert_int_equal(net_sockets_parse(&s, AF_INET, IPPROTO_TCP, text), 2);
    assert_int_equal(s.list.n, 2);
    n = &s.list.a[0];
    assert_int_equal(n->ino, 4242);
    assert_int_equal(n->state, NET_LISTEN);
    assert_int_equal(n->port, 8080);
    assert_int_equal(n->uid, 1000);
    assert_memory_equal(n->addr, "\x7f\0\0\1", 4);
    n = &s.list.a[1];
    assert_int_equal(n->state, NET_ESTABLISHED);
    assert_int_equal(n->peer_port, 80);
    assert_memory_equal(n->peer_addr, "\x7f\0\0\2", 4);
    net_sockets_release(&s);
}

static void test_inet6(void **state)
{
    static const char text[] = HEAD
        "   0: B80D01200000000000000000010000FF:0035 00000000000000000000000000000000:0000 07" REST "7 2\n";
    struct net_sockets s = {0};
    char addr[INET6_ADDRSTRLEN];

    assert_int_equal(net_sockets_parse(&s, AF_INET6, IPPROTO_UDP, text), 0);
    assert_string_equal(inet_ntop(AF_INET6, s.list.a[0].addr, addr, sizeof(addr)), "2001:db8::ff00:1");
    assert_int_equal(s.list.a[0].port, 53);
    assert_int_equal(s.list.a[0].protocol, IPPROTO_UDP);
    net_sockets_release(&s);
}

static void test_unix(void **state)
{
    static const char text[] = "Num       RefCount Protocol Flags    Type St Inode Path\n"
                               "0000000000000000: 00000002 00000000 00010000 0001 01 11 /run/a b\n"
                               "0000000000000000: 00000003 00000000 00000000 0001 03 12\n"
                               "0000000000000000: 00000002 00000000 00000000 0002 01 13 @x\n"
                               "short";
    struct net_sockets s = {0};

    assert_int_equal(net_sockets_parse(&s, AF_UNIX, 0, text), 1);
    assert_int_equal(s.list.n, 3);
    assert_string_equal(s.list.a[0].path, "/run/a b");
    assert_int_equal(s.list.a[0].state, NET_LISTEN);
    assert_int_equal(s.list.a[1].state, NET_ESTABLISHED);
    assert_int_equal(s.list.a[2].protocol, SOCK_DGRAM);
    assert_string_equal(s.list.a[2].path, "@x");
    net_sockets_release(&s);
}

/* A connection to ourselves: what both ends count. */
static void test_counts(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), s = -1;
    socklen_t len = sizeof(a);
    struct net_sockets all = {0};
    const struct net_socket *n;
    char data[5000] = {0};
    struct stat st;
    ssize_t got = 0;

    if (bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1) ||
        getsockname(l, (struct sockaddr *)&a, &len) || connect(c, (struct sockaddr *)&a, sizeof(a)) ||
        (s = accept(l, NULL, NULL)) < 0)
        skip();
    assert_int_equal(send(c, data, sizeof(data), 0), sizeof(data));
    while (got < (ssize_t)sizeof(data))
        got += recv(s, data, sizeof(data), 0);
    assert_int_equal(send(s, data, 7, 0), 7);
    assert_int_equal(recv(c, data, 7, MSG_WAITALL), 7);
    if (net_sockets_read_inet(&all, IPPROTO_TCP, 1, NULL)) {
        print_message("# needs sock_diag\n");
        skip();
    }
    assert_int_equal(fstat(c, &st), 0);
    n = net_sockets_find(&all, (uint32_t)st.st_ino);
    assert_non_null(n);
    assert_true(n->counted);
    assert_int_equal(n->sent, sizeof(data));
    assert_int_equal(n->received, 7);
    assert_in_range(n->rtt_us, 1, 1000000000);
    n = net_sockets_peer(&all, n);
    assert_int_equal(fstat(s, &st), 0);
    assert_int_equal(n->ino, st.st_ino);
    assert_int_equal(n->received, sizeof(data));
    assert_int_equal(n->sent, 7);
    net_sockets_release(&all);
    close(l);
    close(c);
    close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inet),
        cmocka_unit_test(test_inet6),
        cmocka_unit_test(test_unix),
        cmocka_unit_test(test_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
