/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles made up for tests of renderers: stacks are given as text, the tree and its sums are built as fold
 * does. */
#ifndef WPROF_TESTS_FAKE_PROFILE_H
#define WPROF_TESTS_FAKE_PROFILE_H

#include "base/hash.h"
#include "base/map.h"
#include "model/frames.h"
#include "model/profile.h"

#include <stdio.h>
#include <string.h>

struct fake {
    struct profile p;
    struct map nodes, frames; /* {parent, frame} -> node; name's hash -> frame + 1 */
};

static inline void fake_init(struct fake *f, const char *metric, const char *unit)
{
    *f = (struct fake){0};
    *vec_push(&f->p.frames) = (struct profile_frame){.func = strtab_add(&f->p.strings, "all")};
    *vec_push(&f->p.nodes) = (struct profile_node){0};
    *vec_push(&f->p.metrics) = (struct profile_metric){.name = mem_strdup(metric), .unit = mem_strdup(unit)};
    f->p.metrics.a[0].self = mem_calloc(1, sizeof(uint64_t));
}

static inline void fake_release(struct fake *f)
{
    profile_release(&f->p);
    map_release(&f->nodes);
    map_release(&f->frames);
}

/* A name's first two characters give its kind: "p:" Python, "k:" kernel, "n:" native, "j:" JIT, "g:" GPU,
 * "m:" marker, "w:" waiting for the GIL, "t:" process or thread. */
static inline uint32_t fake_frame(struct fake *f, const char *name, size_t n)
{
    static const char letters[] = {
        [FRAME_NONE] = 't', [FRAME_KERNEL] = 'k', [FRAME_NATIVE] = 'n', [FRAME_PYTHON] = 'p',
        [FRAME_JIT] = 'j',  [FRAME_GPU] = 'g',    [FRAME_MARKER] = 'm', [FRAME_GIL] = 'w',
    };
    static const char *const modules[] = {
        [FRAME_KERNEL] = "[kernel]",
        [FRAME_NATIVE] = "/usr/lib/libfake.so.1",
        [FRAME_MARKER] = NULL,
        [FRAME_GIL] = NULL,
    };
    uint64_t *known = map_put(&f->frames, hash_bytes(name, n));
    struct profile_frame frame = {0};

    if (*known)
        return (uint32_t)*known - 1;
    frame.kind = (uint8_t)((const char *)memchr(letters, name[0], sizeof(letters)) - letters);
    frame.func = strtab_addn(&f->p.strings, name + 2, n - 2);
    frame.module = strtab_add(&f->p.strings,
                              memmem(name, n, "_PyEval", 7) ? "/usr/bin/python3.11" : modules[frame.kind]);
    if (frame.kind == FRAME_PYTHON) {
        frame.file = strtab_add(&f->p.strings, "/srv/app/train.py");
        frame.line = 12;
    }
    *vec_push(&f->p.frames) = frame;
    *known = f->p.frames.n;
    return (uint32_t)(f->p.frames.n - 1);
}

static inline uint32_t fake_child(struct fake *f, uint32_t parent, uint32_t frame)
{
    struct profile_metric *m = &f->p.metrics.a[0];
    uint64_t *known = map_put(&f->nodes, (uint64_t)parent << 32 | frame);
    size_t cap = f->p.nodes.cap;

    if (*known)
        return (uint32_t)*known;
    *known = f->p.nodes.n;
    *vec_push(&f->p.nodes) = (struct profile_node){parent, frame, 0, f->p.nodes.a[parent].child};
    f->p.nodes.a[parent].child = (uint32_t)*known;
    if (f->p.nodes.cap != cap)
        m->self = mem_realloc(m->self, f->p.nodes.cap, sizeof(*m->self));
    m->self[*known] = 0;
    return (uint32_t)*known;
}

/* "t:python;p:main;n:work" and its weight; gives the node. */
static inline uint32_t fake_stack(struct fake *f, const char *stack, uint64_t value)
{
    uint32_t node = 0;

    if (f->p.nodes.n == 1)
        f->p.metrics.a[0].self = mem_realloc(f->p.metrics.a[0].self, f->p.nodes.cap, sizeof(uint64_t));
    while (*stack) {
        size_t n = strcspn(stack, ";");

        node = fake_child(f, node, fake_frame(f, stack, n));
        stack += n + (stack[n] == ';');
    }
    f->p.metrics.a[0].self[node] += value;
    return node;
}

/* The same with a time, in ns since the start; times must not fall. */
static inline void fake_sample(struct fake *f, uint64_t ts, const char *stack, uint64_t value)
{
    uint32_t node = fake_stack(f, stack, value);

    *vec_push(&f->p.samples) = (struct profile_sample){ts, node, 0, value};
}

static inline void fake_finish(struct fake *f)
{
    struct profile_metric *m = &f->p.metrics.a[0];

    m->total = mem_calloc(f->p.nodes.n, sizeof(*m->total));
    for (size_t i = f->p.nodes.n; i-- > 0;) {
        m->total[i] += m->self[i];
        if (i)
            m->total[f->p.nodes.a[i].parent] += m->total[i];
    }
    m->sum = m->total[0];
}

#endif
