/* SPDX-License-Identifier: Apache-2.0 */
/* What tells of containers: the first byte says whether the rest is a /proc/PID/cgroup or a mountinfo. */
#include "base/mem.h"
#include "platform/container_path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct container_path *c)
{
    if (!memchr(c->id, '\0', sizeof(c->id)) || !memchr(c->pod, '\0', sizeof(c->pod)) || !c->engine || !c->qos)
        abort();
}

/* Around the innermost there may be others, each before the one within it. */
static void check_path(const char *path, size_t n)
{
    struct container_path c;

    while (container_path_parse(path, n, &c)) {
        check(&c);
        if (c.begin >= c.end || c.end > n || !*c.id)
            abort();
        n = c.begin;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct container_path c;
    const char *path;
    char name[64], *text;

    if (!size)
        return 0;
    text = mem_strndup((const char *)data + 1, size - 1);
    if (data[0] & 1) {
        if (container_path_mounts(text, &c, name)) {
            check(&c);
            if (!memchr(name, '\0', sizeof(name)) || (!*c.id && !*c.pod))
                abort();
        }
    } else {
        check_path(text, strlen(text));
        if (container_path_find(text, &path, &c)) {
            check(&c);
            if (path < text || path >= text + strlen(text))
                abort();
        }
    }
    free(text);
    return 0;
}
