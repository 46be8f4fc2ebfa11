/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { WORKLOAD_MAX = 40 };

void session_new_id(char id[24], double realtime_s)
{
    time_t t = (time_t)realtime_s;
    uint32_t r = 0;
    struct tm tm;
    size_t n;

    if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
        r = (uint32_t)getpid() * 2654435761u ^ (uint32_t)(realtime_s * 1e6);
    localtime_r(&t, &tm);
    n = strftime(id, 24, "%Y%m%d-%H%M%S", &tm);
    snprintf(id + n, 24 - n, "-%06x", r & 0xffffff);
}

static int plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

char *session_default_dir(const char *workload, const char *id)
{
    const char *slash = workload ? strrchr(workload, '/') : NULL, *base = slash ? slash + 1 : workload;
    char name[WORKLOAD_MAX + 1];
    size_t n = 0;

    for (; base && base[n] && n < WORKLOAD_MAX; n++)
        name[n] = plain(base[n]) ? base[n] : '_';
    name[n] = '\0';
    return mem_printf("wprof-%s-%s", n ? name : "session", id);
}
