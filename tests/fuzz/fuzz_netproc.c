/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/net: the first byte says which file, the rest is its text. */
#include "base/mem.h"
#include "platform/netlink.h"

#include <stdlib.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    struct net_sockets s = {0};
    char *text;

    if (!size)
        return 0;
    text = mem_strndup((const char *)data + 1, size - 1);
    net_sockets_parse(&s, families[data[0] % 3], IPPROTO_TCP, text);
    net_sockets_release(&s);
    free(text);
    return 0;
}
