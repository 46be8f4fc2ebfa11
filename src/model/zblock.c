/* SPDX-License-Identifier: Apache-2.0 */
#include "model/zblock.h"

#include "base/mem.h"

#include <stdlib.h>
#include <zstd.h>

struct zpacker {
    ZSTD_CCtx *ctx;
};

struct zpacker *zpacker_new(int level)
{
    struct zpacker *z = mem_calloc(1, sizeof(*z));

    z->ctx = ZSTD_createCCtx();
    if (!z->ctx || ZSTD_isError(ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_compressionLevel, level))) {
        zpacker_free(z);
        return NULL;
    }
    return z;
}

void zpacker_free(struct zpacker *z)
{
    if (z)
        ZSTD_freeCCtx(z->ctx);
    free(z);
}

static size_t drain(struct zpacker *z, ZSTD_inBuffer *in, ZSTD_EndDirective how, struct buf *out)
{
    size_t left;

    do {
        ZSTD_outBuffer o;

        buf_reserve(out, ZSTD_compressBound(in->size - in->pos) + 64);
        o = (ZSTD_outBuffer){out->data + out->len, out->cap - out->len - 1, 0};
        left = ZSTD_compressStream2(z->ctx, &o, in, how);
        out->len += o.pos;
    } while (left && !ZSTD_isError(left));
    return left;
}

int zpacker_pack(struct zpacker *z, const void *raw, size_t n, const size_t *cuts, size_t ncuts,
                 struct buf *out, struct err *e)
{
    size_t at = 0, rc;

    ZSTD_CCtx_reset(z->ctx, ZSTD_reset_session_only);
    rc = ZSTD_CCtx_setPledgedSrcSize(z->ctx, n);
    for (size_t i = 0; i <= ncuts && !ZSTD_isError(rc); i++) {
        size_t to = i < ncuts ? cuts[i] : n;
        ZSTD_inBuffer in = {(const char *)raw + at, to - at, 0};

        rc = drain(z, &in, i < ncuts ? ZSTD_e_flush : ZSTD_e_end, out);
        at = to;
    }
    buf_reserve(out, 0);
    out->data[out->len] = '\0';
    return ZSTD_isError(rc) ? err_set(e, "zstd: %s", ZSTD_getErrorName(rc)) : 0;
}

int zblock_unpack(const void *p, size_t n, void *raw, size_t raw_n)
{
    size_t got = ZSTD_decompress(raw, raw_n, p, n);

    return ZSTD_isError(got) || got != raw_n ? -1 : 0;
}

struct zstream {
    ZSTD_DStream *stream;
};

struct zstream *zstream_new(void)
{
    struct zstream *z = mem_calloc(1, sizeof(*z));

    z->stream = ZSTD_createDStream();
    if (!z->stream) {
        free(z);
        return NULL;
    }
    return z;
}

void zstream_free(struct zstream *z)
{
    if (z)
        ZSTD_freeDStream(z->stream);
    free(z);
}

int zstream_unpack(struct zstream *z, const void *p, size_t n, size_t limit, struct buf *out, struct err *e)
{
    ZSTD_inBuffer in = {p, n, 0};
    size_t begin = out->len, rc, room;

    do {
        ZSTD_outBuffer o;

        buf_reserve(out, ZSTD_DStreamOutSize());
        room = out->cap - out->len - 1;
        o = (ZSTD_outBuffer){out->data + out->len, room, 0};
        rc = ZSTD_decompressStream(z->stream, &o, &in);
        out->len += o.pos;
        room -= o.pos;
    } while (!ZSTD_isError(rc) && (in.pos < in.size || !room) && out->len - begin <= limit);
    if (out->data)
        out->data[out->len] = '\0';
    if (ZSTD_isError(rc))
        return err_set(e, "zstd: %s", ZSTD_getErrorName(rc));
    return out->len - begin > limit ? err_set(e, "more than %zu bytes in a piece of %zu", limit, n) : 0;
}
