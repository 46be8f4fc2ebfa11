/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jvm.h"

#include "base/log.h"
#include "platform/clock.h"
#include "platform/jvm_attach.h"
#include "record/about.h"

#define ONE_MS 3000           /* a JVM answers within some 50 ms, a busy one within a second */
#define ALL_NS 10000000000ull /* for all of them */

static int ask(pid_t pid, uint64_t until, struct err *e)
{
    uint64_t now = clock_monotonic();
    int ms = until <= now ? 0 : (int)((until - now) / 1000000);

    return jvm_write_perf_map(pid, ms < ONE_MS ? ms : ONE_MS, e);
}

static void say(struct meta *m, pid_t pid, const struct err *e)
{
    log_warn("java (process %d): no names of its functions: %s", (int)pid, e->msg);
    about_note(m, "no names of the Java functions of process %d: %s", (int)pid, e->msg);
}

void jvm_write_maps(const struct store *s, struct meta *m)
{
    uint64_t until = clock_monotonic() + ALL_NS;

    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];
        pid_t pid = (pid_t)(t->ns_pid ? t->ns_pid : t->pid);
        struct err e = {0};

        if (t->leader == i + 1 && pid > 0 && jvm_is(pid) && ask(pid, until, &e))
            say(m, pid, &e);
    }
}

void jvm_write_early_maps(const pid_t *pids, size_t n)
{
    uint64_t until = clock_monotonic() + ALL_NS;

    for (size_t i = 0; i < n; i++) {
        struct err e = {0};

        if (jvm_is(pids[i]) && ask(pids[i], until, &e))
            log_debug("java (process %d): %s", (int)pids[i], e.msg);
    }
}
