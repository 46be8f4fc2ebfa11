/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/net: proc(5), and Documentation/networking/proc_net_tcp.rst of the kernel. */
#include "platform/netlink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* "0100007F" or 32 digits: 32-bit words in the byte order of the machine. */
static int parse_address(const char *hex, int family, uint8_t out[16])
{
    unsigned words = family == AF_INET ? 1 : 4;

    if (strlen(hex) != words * 8)
        return -1;
    for (unsigned i = 0; i < words; i++) {
        uint32_t w;

        if (sscanf(hex + 8 * i, "%8" SCNx32, &w) != 1)
            return -1;
        memcpy(out + 4 * i, &w, sizeof(w));
    }
    return 0;
}

/* "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 12345 ..." */
static int parse_inet(const char *line, int family, int protocol, struct net_socket *n)
{
    char local[33], remote[33];
    unsigned port, peer_port, state, uid;
    unsigned long ino;

    if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x %*x:%*x %*x:%*x %*x %u %*u %lu", local,
               &port, remote, &peer_port, &state, &uid, &ino) != 7)
        return -1;
    *n = (struct net_socket){.ino = (uint32_t)ino,
                             .family = (uint8_t)family,
                             .protocol = (uint8_t)protocol,
                             .state = (uint8_t)state,
                             .uid = uid,
                             .port = (uint16_t)port,
                             .peer_port = (uint16_t)peer_port};
    return parse_address(local, family, n->addr) || parse_address(remote, family, n->peer_addr) ? -1 : 0;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/x.sock": flags 0x10000 of a listener. */
static int parse_unix(const char *line, struct net_socket *n)
{
    enum { ACCEPTS = 0x10000, CONNECTED = 3 };
    unsigned flags, type, state;
    unsigned long ino;
    int at = 0;

    if (sscanf(line, " %*x: %*x %*x %x %x %x %lu%n", &flags, &type, &state, &ino, &at) != 4)
        return -1;
    *n = (struct net_socket){.ino = (uint32_t)ino,
                             .family = AF_UNIX,
                             .protocol = (uint8_t)type,
                             .state = flags & ACCEPTS      ? NET_LISTEN
                                      : state == CONNECTED ? NET_ESTABLISHED
                                                           : NET_CLOSE};
    line += at + strspn(line + at, " ");
    snprintf(n->path, sizeof(n->path), "%s", line);
    return 0;
}

size_t net_sockets_parse(struct net_sockets *s, int family, int protocol, const char *text)
{
    const char *line = strchr(text, '\n'); /* the first one names the columns */
    size_t bad = 0;

    while (line && line[1]) {
        char one[512]; /* of its own: sscanf() measures all that follows */
        struct net_socket n;
        int rc;

        line++;
        snprintf(one, sizeof(one), "%.*s", (int)strcspn(line, "\n"), line);
        rc = family == AF_UNIX ? parse_unix(one, &n) : parse_inet(one, family, protocol, &n);
        if (rc)
            bad++;
        else
            *vec_push(&s->list) = n;
        line = strchr(line, '\n');
    }
    return bad;
}
