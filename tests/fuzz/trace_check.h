/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of any trace that an importer takes. */
#ifndef WPROF_TESTS_TRACE_CHECK_H
#define WPROF_TESTS_TRACE_CHECK_H

#include "exchange/import/import.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void trace_check_events(const struct store *s)
{
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->ts + ev->dur < ev->ts || ev->stack > s->stacks.nodes.n || ev->task > s->tasks.list.n)
            abort();
        if (ev->kind == EVENT_GPU && !gpu_works_get(&s->gpus, ev->attr))
            abort();
    }
    for (size_t i = 0; i < s->tasks.list.n; i++)
        if (!s->tasks.list.a[i].leader || s->tasks.list.a[i].leader > s->tasks.list.n)
            abort();
}

static inline void trace_check(const struct importer *x, const void *p, size_t n)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct import_stats st = {0};
    struct input in;
    struct store s = {0};
    struct meta m = {0};
    struct err e = {0};

    if (fd < 0 || write(fd, p, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) ||
        input_open_fd(&in, fd, "trace", &e))
        abort();
    if (!x->run(&in, &s, &m, &st, &e)) {
        if (x->unnamed)
            x->unnamed(&s);
        trace_check_events(&s);
    } else if (!e.msg[0]) {
        abort();
    }
    import_stats_release(&st);
    input_release(&in);
    close(fd);
    store_release(&s);
    meta_release(&m);
}

#endif
