/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of importers: a text is imported into a store, stacks and names come out as text. */
#ifndef WPROF_TESTS_IMPORT_TEXT_H
#define WPROF_TESTS_IMPORT_TEXT_H

#include "exchange/import/import.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct imported {
    struct store store;
    struct meta meta;
    struct import_stats stats;
    const struct importer *importer; /* that its beginning told */
    struct err e;
    int rc;
};

static inline void imported_add(struct imported *im, const struct importer *x, const void *p, size_t n,
                                unsigned index, unsigned count)
{
    int fd = memfd_create("import", MFD_CLOEXEC);
    struct input in;

    if (write(fd, p, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET) && !input_open_fd(&in, fd, "text", &im->e)) {
        in.index = index;
        in.count = count;
        im->importer = importer_detect(&in, &im->e);
        im->rc = x->run(&in, &im->store, &im->meta, &im->stats, &im->e);
    } else {
        im->rc = -1;
    }
    input_release(&in);
    close(fd);
}

static inline void imported_release(struct imported *im)
{
    import_stats_release(&im->stats);
    store_release(&im->store);
    meta_release(&im->meta);
}

/* "main;f (a.py);kernel", root first. */
static inline char *imported_stack(struct imported *im, uint32_t stack)
{
    struct buf out = {0};
    const struct stack_node *nodes[600];
    size_t n = 0;

    for (const struct stack_node *s; (s = stacks_get(&im->store.stacks, stack)) && n < 600; stack = s->parent)
        nodes[n++] = s;
    while (n--) {
        const struct frame *f = frames_get(&im->store.frames, nodes[n]->frame);

        buf_addf(&out, "%s%s", strtab_get(&im->store.strings, f->func), n ? ";" : "");
    }
    buf_addstr(&out, "");
    return buf_detach(&out);
}

/* The `nth` event of an operation, from 0; NULL: there is none. */
static inline struct event *imported_event(struct imported *im, unsigned op, size_t nth)
{
    for (size_t i = 0; i < im->store.events.n; i++) {
        struct event *ev = &im->store.events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&im->store.gpus, ev->attr) : NULL;

        if (w && w->op == op && !nth--)
            return ev;
    }
    return NULL;
}

static inline const struct gpu_work *imported_work(struct imported *im, const struct event *ev)
{
    return gpu_works_get(&im->store.gpus, ev->attr);
}

static inline uint64_t imported_count(const struct imported *im, enum import_fate fate, const char *what)
{
    for (size_t i = 0; i < im->stats.counts.n; i++)
        if (im->stats.counts.a[i].fate == fate && strstr(im->stats.counts.a[i].what, what))
            return im->stats.counts.a[i].n;
    return 0;
}

#endif
