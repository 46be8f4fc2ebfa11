/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/open.h"

#include "analyze/symbolize.h"
#include "base/log.h"
#include "model/session_dir.h"
#include "platform/clock.h"
#include "platform/packed.h"

#include <string.h>
#include <unistd.h>

/* CLOCK_MONOTONIC begins with the boot, so its distance from CLOCK_REALTIME names the boot, but for what the
 * clock was set by since. */
#define SAME_BOOT_NS 30000000000ull

static int same_boot(const struct meta *m)
{
    uint64_t now = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    uint64_t apart = now > m->realtime_offset ? now - m->realtime_offset : m->realtime_offset - now;
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    return m->realtime_offset && apart < SAME_BOOT_NS && m->host && !strcmp(m->host, host);
}

void open_names(struct session *s)
{
    struct symbolize_opts o = {.starts = 1, .same_boot = same_boot(&s->meta)};
    struct symbolize_stats stats = {0};
    struct err e = {0};

    if (symbolize_store(&s->store, &o, &stats, &e)) {
        log_warn("names for this unsealed session: %s", e.msg);
        return;
    }
    if (stats.frames)
        log_info("%s is %s: %llu of its %llu raw frames named from the files on this machine", s->path,
                 s->meta.state, (unsigned long long)stats.named, (unsigned long long)stats.frames);
}

int open_session(struct session *s, const char *path, open_rest_fn rest, struct err *e)
{
    if (packed_open_meta(s, path, e))
        return -1;
    if (!path)
        log_info("session: %s (the newest here)", s->path);
    return open_log(s, rest, e);
}

/* What of GPU agents' logs was not in the session's own. */
static void say_rest(const struct session *s)
{
    if (s->agent_events)
        log_info("%s: its recorder was killed: %llu events of GPUs are from its " SESSION_AGENTS
                 "/, where it had not read them",
                 s->path, (unsigned long long)s->agent_events);
    if (s->agent_bytes)
        log_warn("%s: its recorder was killed: %llu bytes of GPU records in its " SESSION_AGENTS
                 "/ can't be read, what they tell is missing",
                 s->path, (unsigned long long)s->agent_bytes);
}

int open_log(struct session *s, open_rest_fn rest, struct err *e)
{
    if (session_load(s, e))
        return -1;
    if (s->meta.damage)
        log_warn("%s: %s", s->path, s->meta.damage);
    else if (s->bad_bytes)
        log_warn("%s: the last %llu bytes of its log are no whole block and were left out", s->path,
                 (unsigned long long)s->bad_bytes);
    rest(s);
    say_rest(s);
    if (!s->sealed)
        open_names(s);
    return 0;
}
