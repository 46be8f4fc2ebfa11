/* SPDX-License-Identifier: Apache-2.0 */
#include "model/wlog.h"

#include "base/hash.h"
#include "base/io.h"
#include "model/zblock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_magic[8] = {'W', 'P', 'R', 'O', 'F', 'L', 'O', 'G'};
static const char block_magic[4] = {'W', 'B', 'L', 'K'};

enum { STORE_BELOW = 64 }; /* bytes: zstd's own framing would eat the gain */

static void put(uint8_t *p, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get(const uint8_t *p, unsigned size)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < size; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

void wlog_payload_clear(struct wlog_payload *p)
{
    buf_clear(&p->raw);
    vec_clear(&p->cuts);
}

void wlog_payload_release(struct wlog_payload *p)
{
    buf_release(&p->raw);
    vec_release(&p->cuts);
}

int wlog_create(struct wlog_writer *w, int fd, int level, struct err *e)
{
    uint8_t h[WLOG_FILE_HEADER];

    *w = (struct wlog_writer){.fd = fd, .packer = zpacker_new(level)};
    if (!w->packer)
        return err_set(e, "zstd cannot start");
    memcpy(h, file_magic, 8);
    put(h + 8, WLOG_MAJOR, 2);
    put(h + 10, WLOG_MINOR, 2);
    put(h + 12, crc32c(0, h, 12), 4);
    if (io_write_all(fd, h, sizeof(h), e))
        return -1;
    w->bytes = sizeof(h);
    return 0;
}

void wlog_writer_release(struct wlog_writer *w)
{
    if (w->reserves && ftruncate(w->fd, (off_t)w->bytes))
        w->reserves = 0; /* it is a little more space that stays taken */
    zpacker_free(w->packer);
    buf_release(&w->out);
    *w = (struct wlog_writer){.fd = -1};
}

static void block_header(uint8_t *h, enum wlog_type type, enum wlog_coding coding, size_t raw, const char *p,
                         size_t stored)
{
    memcpy(h, block_magic, 4);
    put(h + 4, type, 2);
    h[6] = 1;
    h[7] = (uint8_t)coding;
    put(h + 8, raw, 4);
    put(h + 12, stored, 4);
    put(h + 16, crc32c(0, p, stored), 4);
    put(h + 20, crc32c(0, h, 20), 4);
}

/* Where space cannot be allocated ahead, the write itself tells whether there is any. */
static int make_room(struct wlog_writer *w, size_t n, struct err *e)
{
    if (!w->reserves || !fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->bytes, (off_t)(n + w->reserve)))
        return 0;
    if (errno == ENOSPC || errno == EDQUOT)
        return err_sys(e, errno, "write");
    w->reserves = 0;
    return 0;
}

void wlog_reserve(struct wlog_writer *w, uint64_t bytes)
{
    w->reserves |= bytes > 0;
    w->reserve = bytes;
    if (bytes)
        make_room(w, 0, NULL);
}

int wlog_append(struct wlog_writer *w, enum wlog_type type, const struct wlog_payload *p, struct err *e)
{
    enum wlog_coding coding = p->raw.len < STORE_BELOW ? WLOG_STORED : WLOG_ZSTD;
    static const char room[WLOG_BLOCK_HEADER];

    if (p->raw.len > WLOG_RAW_MAX)
        return err_set(e, "a block of %zu bytes is over the limit", p->raw.len);
    buf_clear(&w->out);
    buf_add(&w->out, room, sizeof(room));
    if (coding == WLOG_ZSTD &&
        zpacker_pack(w->packer, p->raw.data, p->raw.len, p->cuts.a, p->cuts.n, &w->out, e))
        return -1;
    if (coding == WLOG_STORED || w->out.len - sizeof(room) >= p->raw.len) {
        w->out.len = sizeof(room);
        buf_add(&w->out, p->raw.data, p->raw.len);
        coding = WLOG_STORED;
    }
    block_header((uint8_t *)w->out.data, type, coding, p->raw.len, w->out.data + sizeof(room),
                 w->out.len - sizeof(room));
    if (make_room(w, w->out.len, e))
        return -1;
    if (io_write_all(w->fd, w->out.data, w->out.len, e)) {
        /* Half a block would be harmless to readers, but later blocks would land behind it. */
        if (ftruncate(w->fd, (off_t)w->bytes) || lseek(w->fd, (off_t)w->bytes, SEEK_SET) < 0)
            err_wrap(e, "and the partial block could not be cut off (%s)", strerror(errno));
        return -1;
    }
    w->bytes += w->out.len;
    w->blocks++;
    return 0;
}

/* n bytes at r->pos + at. NULL: not there. */
static const uint8_t *read_at(struct wlog_reader *r, uint64_t at, size_t n, struct err *e)
{
    uint64_t pos = r->pos + at;

    if (pos > r->size || n > r->size - pos) {
        err_set(e, "cut off: %zu bytes wanted at %llu, the file has %llu", n, (unsigned long long)pos,
                (unsigned long long)r->size);
        return NULL;
    }
    if (r->fd < 0)
        return r->mem + pos;
    buf_clear(&r->stored);
    buf_reserve(&r->stored, n);
    while (r->stored.len < n) {
        ssize_t got =
            pread(r->fd, r->stored.data + r->stored.len, n - r->stored.len, (off_t)(pos + r->stored.len));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_sys(e, errno, "read");
            return NULL;
        }
        if (!got) { /* the recorder cut a partial block off meanwhile */
            err_set(e, "the file became shorter");
            return NULL;
        }
        r->stored.len += (size_t)got;
    }
    return (const uint8_t *)r->stored.data;
}

int wlog_open(struct wlog_reader *r, int fd, const void *mem, size_t n, struct err *e)
{
    const uint8_t *h;
    struct stat st;
    size_t have;

    *r = (struct wlog_reader){.fd = fd, .mem = mem, .size = n};
    if (fd >= 0) {
        if (fstat(fd, &st))
            return err_sys(e, errno, "stat");
        if (!S_ISREG(st.st_mode))
            return err_set(e, "not a regular file");
        r->size = (uint64_t)st.st_size;
    }
    have = r->size < WLOG_FILE_HEADER ? (size_t)r->size : WLOG_FILE_HEADER;
    if (!have)
        return 0;
    h = read_at(r, 0, have, e);
    if (!h)
        return -1;
    if (memcmp(h, file_magic, have < 8 ? have : 8))
        return err_set(e, "not a wprof log (it does not begin with WPROFLOG)");
    if (have < WLOG_FILE_HEADER)
        return 0; /* cut inside the header: pos stays 0, no byte is good */
    if (get(h + 12, 4) != crc32c(0, h, 12))
        return err_set(e, "damaged: the file header's checksum is wrong");
    if (get(h + 8, 2) > WLOG_MAJOR)
        return err_set(e, "written in log format %u.%u, this wprof reads up to %d.x: use a newer wprof",
                       get(h + 8, 2), get(h + 10, 2), WLOG_MAJOR);
    r->pos = WLOG_FILE_HEADER;
    return 0;
}

/* NULL with `e`: there is none. */
static const uint8_t *read_header(struct wlog_reader *r, struct err *e)
{
    const uint8_t *h = read_at(r, 0, WLOG_BLOCK_HEADER, e);

    if (h && (memcmp(h, block_magic, 4) || get(h + 20, 4) != crc32c(0, h, 20))) {
        err_set(e, "no block header at %llu", (unsigned long long)r->pos);
        return NULL;
    }
    return h;
}

int wlog_skip(struct wlog_reader *r, struct wlog_block *b)
{
    struct err e;
    const uint8_t *h = read_header(r, &e);
    uint64_t stored = h ? get(h + 12, 4) : 0;

    if (!h || r->pos + WLOG_BLOCK_HEADER + stored > r->size)
        return 0;
    *b = (struct wlog_block){.type = get(h + 4, 2), .version = h[6]};
    r->pos += WLOG_BLOCK_HEADER + stored;
    return 1;
}

int wlog_next(struct wlog_reader *r, struct wlog_block *b, struct err *e)
{
    uint32_t raw, stored, sum;
    const uint8_t *h, *p;
    unsigned coding;

    if (!r->pos || r->pos >= r->size)
        return 0;
    h = read_header(r, e);
    if (!h)
        return -1;
    *b = (struct wlog_block){.type = get(h + 4, 2), .version = h[6]};
    coding = h[7];
    raw = get(h + 8, 4);
    stored = get(h + 12, 4);
    sum = get(h + 16, 4);
    if (raw > WLOG_RAW_MAX || coding > WLOG_ZSTD || (coding == WLOG_STORED && raw != stored))
        return err_set(e, "impossible block header at %llu", (unsigned long long)r->pos);
    p = read_at(r, WLOG_BLOCK_HEADER, stored, e);
    if (!p)
        return -1;
    if (crc32c(0, p, stored) != sum)
        return err_set(e, "wrong checksum in the block at %llu", (unsigned long long)r->pos);
    if (coding == WLOG_ZSTD) {
        buf_clear(&r->raw);
        buf_reserve(&r->raw, raw);
        if (zblock_unpack(p, stored, r->raw.data, raw))
            return err_set(e, "zstd refuses the block at %llu", (unsigned long long)r->pos);
        p = (const uint8_t *)r->raw.data;
    }
    b->p = p;
    b->n = raw;
    r->pos += WLOG_BLOCK_HEADER + stored;
    return 1;
}

void wlog_reader_release(struct wlog_reader *r)
{
    buf_release(&r->stored);
    buf_release(&r->raw);
    *r = (struct wlog_reader){.fd = -1};
}
