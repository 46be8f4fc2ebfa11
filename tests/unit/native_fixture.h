/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded walk: the registers, and every word, mapping, row and piece of code that the walker asked for.
 * Shared by record_native, which makes such files of live processes, and by the test that walks them again.
 * Stack words that the walker didn't read are not in it: nothing of the process's data is kept but what makes
 * the stack.
 */
#ifndef NATIVE_FIXTURE_H
#define NATIVE_FIXTURE_H

#include "base/buf.h"
#include "base/vec.h"
#include "unwind/walk_user.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FIXTURE_MAGIC "wprof native fixture 1\n"

struct fixture_map {
    uint64_t start, end;
    uint32_t module;
    uint8_t frame_pointers, tables;
    char name[64];
};

struct fixture_row {
    uint64_t pc;
    struct unw_row row;
};

struct fixture_word {
    uint64_t addr, value;
};

struct fixture {
    struct walk_regs regs;
    VEC(struct fixture_word) words; /* of the stack, 8 bytes each */
    VEC(struct fixture_word) code;  /* 8 bytes each */
    VEC(struct fixture_map) maps;
    VEC(struct fixture_row) rows;
    VEC(struct walk_frame) frames; /* what to expect */
    uint32_t status, flags;
};

static inline void fixture_release(struct fixture *f)
{
    vec_release(&f->words);
    vec_release(&f->code);
    vec_release(&f->maps);
    vec_release(&f->rows);
    vec_release(&f->frames);
}

#define FIXTURE_PUT(b, v)                                                                                    \
    do {                                                                                                     \
        buf_add_varint(b, (v).n);                                                                            \
        buf_add(b, (v).a, (v).n * sizeof(*(v).a));                                                           \
    } while (0)

#define FIXTURE_GET(c, v)                                                                                    \
    do {                                                                                                     \
        size_t n_ = cursor_varint(c);                                                                        \
        const void *p_ = n_ < 100000 ? cursor_bytes(c, n_ * sizeof(*(v).a)) : NULL;                          \
        if (p_ && n_) {                                                                                      \
            vec_reserve(&(v), n_);                                                                           \
            memcpy((v).a, p_, n_ * sizeof(*(v).a));                                                          \
            (v).n = n_;                                                                                      \
        } else if (n_) {                                                                                     \
            (c)->bad = 1;                                                                                    \
        }                                                                                                    \
    } while (0)

/* The file's bytes, compressed. */
static inline void fixture_save(const struct fixture *f, struct buf *out)
{
    struct buf b = {0};

    buf_addstr(&b, FIXTURE_MAGIC);
    buf_add(&b, &f->regs, sizeof(f->regs));
    buf_add_varint(&b, f->status);
    buf_add_varint(&b, f->flags);
    FIXTURE_PUT(&b, f->words);
    FIXTURE_PUT(&b, f->code);
    FIXTURE_PUT(&b, f->maps);
    FIXTURE_PUT(&b, f->rows);
    FIXTURE_PUT(&b, f->frames);
    buf_reserve(out, ZSTD_compressBound(b.len));
    out->len = ZSTD_compress(out->data, out->cap, b.data, b.len, 19);
    buf_release(&b);
}

/* 0, or -1 when these aren't a fixture's bytes. */
static inline int fixture_load(struct fixture *f, const void *p, size_t n)
{
    size_t cap = 8 << 20, len;
    char *raw = malloc(cap);
    const void *regs;
    struct cursor c;

    memset(f, 0, sizeof(*f));
    len = ZSTD_decompress(raw, cap, p, n);
    if (ZSTD_isError(len)) {
        free(raw);
        return -1;
    }
    c = cursor_init(raw, len);
    regs = cursor_bytes(&c, sizeof(FIXTURE_MAGIC) - 1);
    if (!regs || memcmp(regs, FIXTURE_MAGIC, sizeof(FIXTURE_MAGIC) - 1))
        c.bad = 1;
    regs = cursor_bytes(&c, sizeof(f->regs));
    if (regs)
        memcpy(&f->regs, regs, sizeof(f->regs));
    f->status = (uint32_t)cursor_varint(&c);
    f->flags = (uint32_t)cursor_varint(&c);
    FIXTURE_GET(&c, f->words);
    FIXTURE_GET(&c, f->code);
    FIXTURE_GET(&c, f->maps);
    FIXTURE_GET(&c, f->rows);
    FIXTURE_GET(&c, f->frames);
    free(raw);
    return c.bad ? -1 : 0;
}

#endif
