/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that was read from a process, kept in a file: zstd over a header and {address, length, bytes}. */
#ifndef WPROF_TEST_PY_FIXTURE_H
#define WPROF_TEST_PY_FIXTURE_H

#include "base/vec.h"
#include "unwind/py_detect.h"
#include "unwind/py_mem.h"

#include <zstd.h>

struct fixture_head {
    char magic[8]; /* "wprofpy1" */
    struct py_layout layout;
    uint8_t pad[96 - sizeof(struct py_layout)];
    struct py_proc proc;
    uint64_t main_id, thread_id;
};

struct piece {
    uint64_t addr;
    size_t n;
    uint8_t *p;
};

struct recorder {
    struct py_mem real;
    VEC(struct piece) pieces;
};

static int recorder_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct recorder *r = ctx;

    if (r->real.read(r->real.ctx, addr, dst, n))
        return -1;
    *vec_push(&r->pieces) = (struct piece){addr, n, mem_dup(dst, n)};
    return 0;
}

static __attribute__((unused)) struct py_mem recorder_start(struct recorder *r, struct py_mem real)
{
    *r = (struct recorder){.real = real};
    return (struct py_mem){recorder_read, r};
}

static __attribute__((unused)) void recorder_release(struct recorder *r)
{
    for (size_t i = 0; i < r->pieces.n; i++)
        free(r->pieces.a[i].p);
    vec_release(&r->pieces);
}

static __attribute__((unused)) void recorder_save(struct recorder *r, const struct py_target *t,
                                                  uint64_t main_id, uint64_t thread_id)
{
    const char *dir = getenv("WPROF_PY_RECORD");
    struct fixture_head head = {.magic = "wprofpy1",
                                .layout = t->layout,
                                .proc = t->proc,
                                .main_id = main_id,
                                .thread_id = thread_id};
    struct buf b = {0};
    char path[PATH_MAX];
    struct err e = {""};

    if (!dir)
        return;
    buf_add(&b, &head, sizeof(head));
    for (size_t i = 0; i < r->pieces.n; i++) {
        struct piece *x = &r->pieces.a[i];
        int twice = 0;

        for (size_t k = 0; k < i && !twice; k++)
            twice = r->pieces.a[k].addr == x->addr && r->pieces.a[k].n >= x->n;
        if (twice)
            continue;
        buf_add(&b, &x->addr, 8);
        buf_add(&b, &x->n, 8);
        buf_add(&b, x->p, x->n);
    }
    size_t room = ZSTD_compressBound(b.len);
    char *out = mem_alloc(room);
    room = ZSTD_compress(out, room, b.data, b.len, 19);
    snprintf(path, sizeof(path), "%s/%u.%u.zst", dir, t->layout.version >> 8, t->layout.version & 255);
    if (io_replace_file(AT_FDCWD, path, out, room, &e))
        fail_msg("%s", e.msg);
    free(out);
    buf_release(&b);
}

/* ---- reading one ---- */

struct fixture {
    struct fixture_head head;
    char *data;
    VEC(struct piece) pieces; /* borrow from data */
};

static __attribute__((unused)) int fixture_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct fixture *f = ctx;

    for (size_t i = 0; i < f->pieces.n; i++) {
        struct piece *x = &f->pieces.a[i];

        if (addr >= x->addr && addr - x->addr <= x->n && n <= x->n - (addr - x->addr)) {
            memcpy(dst, x->p + (addr - x->addr), n);
            return 0;
        }
    }
    return -1;
}

static __attribute__((unused)) int fixture_load(struct fixture *f, const char *path)
{
    struct buf in = {0};
    struct err e = {""};
    size_t n, at = sizeof(f->head);

    *f = (struct fixture){0};
    if (io_read_file(AT_FDCWD, path, &in, &e))
        return -1;
    n = ZSTD_getFrameContentSize(in.data, in.len);
    f->data = mem_alloc(n);
    assert_int_equal(ZSTD_decompress(f->data, n, in.data, in.len), n);
    buf_release(&in);
    memcpy(&f->head, f->data, sizeof(f->head));
    assert_memory_equal(f->head.magic, "wprofpy1", 8);
    while (at < n) {
        struct piece x;

        memcpy(&x.addr, f->data + at, 8);
        memcpy(&x.n, f->data + at + 8, 8);
        x.p = (uint8_t *)f->data + at + 16;
        at += 16 + x.n;
        *vec_push(&f->pieces) = x;
    }
    return 0;
}

static __attribute__((unused)) void fixture_release(struct fixture *f)
{
    free(f->data);
    vec_release(&f->pieces);
}

#endif
