/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/clock.h"

#include "base/buf.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ll

uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void clock_ahead_parse(const char *text, struct clock_ahead *out)
{
    *out = (struct clock_ahead){0};
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char name[16];
        long long s, ns;

        if (sscanf(line, "%15s %lld %lld", name, &s, &ns) != 3)
            continue;
        if (!strcmp(name, "monotonic") || !strcmp(name, "1"))
            out->monotonic = s * SECOND + ns;
        else if (!strcmp(name, "boottime") || !strcmp(name, "7"))
            out->boottime = s * SECOND + ns;
    }
}

/* The file tells of the namespace that children get: after an unshare(2) that is another one. */
static int is_ours(void)
{
    char own[64] = "", children[64] = "";

    return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
           readlink("/proc/self/ns/time_for_children", children, sizeof(children) - 1) > 0 &&
           !strcmp(own, children);
}

void clock_ahead_read(struct clock_ahead *out)
{
    struct buf text = {0};

    *out = (struct clock_ahead){0};
    if (is_ours() && !io_read_file(AT_FDCWD, "/proc/self/timens_offsets", &text, NULL))
        clock_ahead_parse(buf_str(&text), out);
    buf_release(&text);
}
