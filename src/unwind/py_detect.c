/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_detect.h"

#include "base/hash.h"
#include "base/mem.h"
#include "platform/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEGMENTS = 8, PAGE = 4096 };

struct py_seen {
    int python; /* 1: binary is filled */
    struct py_binary binary;
    struct segment {
        uint64_t offset, vaddr, filesz;
    } segments[MAX_SEGMENTS]; /* executable ones */
    size_t segments_n;
};

void py_detector_release(struct py_detector *d)
{
    for (size_t i = 0; i < d->seen.n; i++)
        free(d->seen.a[i]);
    vec_release(&d->seen);
    map_release(&d->ids);
}

static void note_segments(struct py_seen *s, const struct elf *f)
{
    for (size_t i = 0; i < f->segments_n && s->segments_n < MAX_SEGMENTS; i++) {
        const struct elf_segment *p = &f->segments[i];

        if (p->type == PT_LOAD && (p->flags & PF_X))
            s->segments[s->segments_n++] = (struct segment){p->offset, p->vaddr, p->filesz};
    }
}

static uint64_t identity(const struct py_mapping *m)
{
    uint64_t main = m->main ? 0x6d61696e : 0; /* a program is searched more thoroughly than a library */

    if (m->build_id_len)
        return hash_bytes(m->build_id, m->build_id_len) ^ main;
    if (m->dev || m->ino)
        return hash_mix(hash_u64(m->dev), m->ino) ^ main;
    return 0;
}

static struct py_seen *examine(struct py_detector *d, const struct py_mapping *m, int *failed, struct err *e)
{
    struct py_seen *s = mem_calloc(1, sizeof(*s));
    struct elf f;

    *vec_push(&d->seen) = s;
    *failed = 0;
    if (elf_open_fd(&f, m->fd, e)) {
        *failed = 1;
        return s;
    }
    if (elf_is_executable(&f)) {
        int r = py_binary_examine(&s->binary, &f, m->path, m->main, e);

        s->python = r == 1;
        *failed = r < 0;
        note_segments(s, &f);
    }
    elf_close(&f);
    return s;
}

static struct py_seen *lookup(struct py_detector *d, const struct py_mapping *m, int *failed, struct err *e)
{
    uint64_t id = identity(m), *at = id ? map_get(&d->ids, id) : NULL;
    struct py_seen *s;

    *failed = 0;
    if (at)
        return d->seen.a[*at - 1];
    s = examine(d, m, failed, e);
    if (id)
        *map_put(&d->ids, id) = d->seen.n;
    return s;
}

/* Run-time address minus ELF address. -1: the mapping is of no executable segment. */
static int bias_of(const struct py_seen *s, const struct py_mapping *m, uint64_t *bias)
{
    for (size_t i = 0; i < s->segments_n; i++) {
        const struct segment *g = &s->segments[i];
        uint64_t from = g->offset & ~(uint64_t)(PAGE - 1);

        if (m->pgoff < from || m->pgoff >= g->offset + g->filesz)
            continue;
        *bias = m->start - (g->vaddr - (g->offset - from) + (m->pgoff - from));
        return 0;
    }
    return -1;
}

/* A loop that holds all opcodes has tens of kilobytes; one that only calls the first opcode's function, few.
 */
enum { EVAL_MIN = 8192 };

static int calls_opcodes(const struct py_binary *b)
{
    uint64_t size = b->eval[0].end - b->eval[0].start;

    return b->version >= 0x030e && size && size < EVAL_MIN;
}

static struct py_range shift(struct py_range r, uint64_t bias)
{
    return r.start == r.end ? (struct py_range){0} : (struct py_range){r.start + bias, r.end + bias};
}

int py_detect(struct py_detector *d, const struct py_mapping *m, struct py_target *out, struct err *e)
{
    const struct py_binary *b;
    struct py_seen *s;
    size_t len = strlen(m->path);
    uint64_t bias;
    int failed;

    s = lookup(d, m, &failed, e);
    if (failed) {
        err_wrap(e, "%s", m->path);
        return -1;
    }
    if (!s->python)
        return 0;
    if (bias_of(s, m, &bias))
        return err_set(e, "%s: mapped from offset %#llx, where it has no code", m->path,
                       (unsigned long long)m->pgoff);
    b = &s->binary;
    *out = (struct py_target){
        .proc = {.runtime = b->runtime + bias, .code_type = b->code_type ? b->code_type + bias : 0},
        .layout = b->layout,
        .eval = {shift(b->eval[0], bias), shift(b->eval[1], bias)},
        .tail_calls = calls_opcodes(b),
    };
    memcpy(out->path, m->path + (len < sizeof(out->path) ? 0 : len - sizeof(out->path) + 1),
           len < sizeof(out->path) ? len : sizeof(out->path) - 1);
    return 1;
}
