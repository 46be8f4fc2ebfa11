/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/procuse.h"

#include "platform/sysfile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int procuse_parse(const char *stat, struct procuse *out)
{
    const char *close = strrchr(stat, ')');
    unsigned long long minor, major, user, sys, start;
    long long cuser, csys, threads, rss;
    long hz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    uint64_t tick = 1000000000ull / (uint64_t)(hz > 0 ? hz : 100);

    /* From field 3 on. 10: minflt, 12: majflt, 14 to 17: utime stime cutime cstime, 20: num_threads, 22:
     * starttime, 24: rss. */
    if (!close ||
        sscanf(close + 1,
               " %c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %lld %lld %*d %*d %lld "
               "%*d %llu %*u %lld",
               &out->state, &minor, &major, &user, &sys, &cuser, &csys, &threads, &start, &rss) != 10)
        return -1;
    out->minor_faults = minor;
    out->major_faults = major;
    out->user_ns = user * tick;
    out->system_ns = sys * tick;
    out->children_ns = cuser >= 0 && csys >= 0 ? ((uint64_t)cuser + (uint64_t)csys) * tick : 0;
    out->threads = threads > 0 ? (uint64_t)threads : 0;
    out->start_ns = start * tick;
    out->rss = rss > 0 ? (uint64_t)rss * (uint64_t)page : 0;
    return 0;
}

int procuse_parse_io(const char *text, struct procuse_io *out)
{
    return sysfile_key(text, "rchar:", &out->in) || sysfile_key(text, "wchar:", &out->out) ||
                   sysfile_key(text, "read_bytes:", &out->read) ||
                   sysfile_key(text, "write_bytes:", &out->written)
               ? -1
               : 0;
}

int procuse_parse_switches(const char *status, struct procuse_switches *out)
{
    return sysfile_key(status, "voluntary_ctxt_switches:", &out->voluntary) ||
                   sysfile_key(status, "nonvoluntary_ctxt_switches:", &out->involuntary)
               ? -1
               : 0;
}

int procuse_parse_swap(const char *status, uint64_t *bytes)
{
    if (sysfile_key(status, "VmSwap:", bytes))
        return -1;
    *bytes *= 1024;
    return 0;
}
