/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/gunzip.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
    CHUNK = 64 << 10,
    PIECE = 1 << 30,
    MEM_LEVEL = 8 /* the default */,
    GZIP_ONLY = 16 /* zlib.h, inflateInit2: no other header is taken */
};

struct gunzip {
    int fd;
    int ended;  /* nothing comes from fd any more */
    int inside; /* a member has begun and is not over */
    z_stream z;
    const char *damage;
    unsigned char in[CHUNK];
};

int gunzip_is(const void *p, size_t n)
{
    return n >= 2 && !memcmp(p, "\x1f\x8b", 2);
}

struct gunzip *gunzip_new(int fd, const void *p, size_t n)
{
    struct gunzip *g = mem_calloc(1, sizeof(*g));

    g->fd = fd;
    memcpy(g->in, p, n < CHUNK ? n : CHUNK);
    g->z.next_in = g->in;
    g->z.avail_in = (unsigned)(n < CHUNK ? n : CHUNK);
    if (inflateInit2(&g->z, MAX_WBITS + GZIP_ONLY) != Z_OK)
        g->damage = "zlib could not be set up";
    return g;
}

void gunzip_free(struct gunzip *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    free(g);
}

const char *gunzip_damage(const struct gunzip *g)
{
    return g->damage;
}

static int refill(struct gunzip *g, struct err *e)
{
    ssize_t n;

    do {
        n = read(g->fd, g->in, CHUNK);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(e, errno, "read");
    g->ended = !n;
    g->z.next_in = g->in;
    g->z.avail_in = (unsigned)n;
    return 0;
}

/* A step of zlib; behind a member, another one may follow. */
static void inflate_some(struct gunzip *g)
{
    int rc;

    if (!g->inside && inflateReset(&g->z) != Z_OK) {
        g->damage = "zlib could not be set up again";
        return;
    }
    g->inside = 1;
    rc = inflate(&g->z, Z_NO_FLUSH);
    if (rc == Z_STREAM_END)
        g->inside = 0;
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
        g->damage = "the gzip data is damaged";
}

ssize_t gunzip_read(struct gunzip *g, void *to, size_t n, struct err *e)
{
    g->z.next_out = to;
    g->z.avail_out = (unsigned)(n < 1 << 30 ? n : 1 << 30);
    n = g->z.avail_out;
    while (g->z.avail_out && !g->damage) {
        if (!g->z.avail_in && !g->ended && refill(g, e))
            return -1;
        if (g->ended && !g->z.avail_in) {
            if (g->inside)
                g->damage = "the gzip data ends too early";
            break;
        }
        inflate_some(g);
    }
    return (ssize_t)(n - g->z.avail_out);
}

void gunzip_reverse(const void *p, size_t n, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)p, .avail_in = 0};
    int rc = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_ONLY, MEM_LEVEL,
                          Z_DEFAULT_STRATEGY);

    while (rc == Z_OK) { /* avail_in is no size_t */
        uInt piece = n < PIECE ? (uInt)n : PIECE;

        if (!z.avail_in) {
            z.avail_in = piece;
            n -= piece;
        }
        buf_reserve(out, CHUNK);
        z.next_out = (unsigned char *)out->data + out->len;
        z.avail_out = CHUNK;
        rc = deflate(&z, n ? Z_NO_FLUSH : Z_FINISH);
        out->len += CHUNK - z.avail_out;
    }
    deflateEnd(&z);
    buf_addstr(out, ""); /* its NUL */
}
