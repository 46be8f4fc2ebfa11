/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/out.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As model/wlog.h lays them down; major 1, minor 1. */
enum { FILE_HEADER = 16, BLOCK_HEADER = 24, MAJOR = 1, MINOR = 1 };

static void put(uint8_t *p, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* fstat(2) itself: the library's function is a newer one's. */
static int status_of(int fd, struct stat *st)
{
    return (int)syscall(SYS_fstat, fd, st);
}

static int write_all(int fd, const uint8_t *p, size_t n)
{
    while (n) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int write_header(int fd)
{
    uint8_t h[FILE_HEADER] = "WPROFLOG";

    put(h + 8, MAJOR, 2);
    put(h + 10, MINOR, 2);
    put(h + 12, crc32c(0, h, 12), 4);
    return write_all(fd, h, sizeof(h));
}

int out_open(struct out *o, const char *dir)
{
    struct timespec t;
    struct stat st;

    clock_gettime(CLOCK_MONOTONIC, &t);
    if (snprintf(o->path, sizeof(o->path), "%s/%d-%lld%09ld.wlog", dir, (int)getpid(), (long long)t.tv_sec,
                 t.tv_nsec) >= (int)sizeof(o->path))
        return -1;
    o->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (o->fd < 0)
        return -1;
    if (status_of(o->fd, &st) || write_header(o->fd)) {
        out_close(o);
        return -1;
    }
    o->dev = st.st_dev;
    o->ino = st.st_ino;
    o->n = 0;
    return 0;
}

void out_close(struct out *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

/* Programs close descriptors that they do not know: the number may be another file's by now. */
static int is_ours(const struct out *o, struct stat *st)
{
    return o->fd >= 0 && !status_of(o->fd, st) && st->st_dev == o->dev && st->st_ino == o->ino;
}

int out_is_gone(const struct out *o)
{
    struct stat st;

    return !is_ours(o, &st) || !st.st_nlink;
}

void out_give_up(struct out *o)
{
    struct stat st;

    out_lock(o);
    if (is_ours(o, &st))
        out_close(o);
    o->fd = -1;
    o->n = 0;
    out_unlock(o);
}

static void write_block(struct out *o)
{
    uint8_t *h = o->bytes;
    struct stat st;

    if (!o->n)
        return;
    memcpy(h, "WBLK", 4);
    put(h + 4, GPU_WIRE_BLOCK, 2);
    h[6] = 1;
    h[7] = 0; /* stored */
    put(h + 8, o->n, 4);
    put(h + 12, o->n, 4);
    put(h + 16, crc32c(0, o->bytes + OUT_SPARE, o->n), 4);
    put(h + 20, crc32c(0, h, 20), 4);
    if (!is_ours(o, &st))
        o->fd = -1;
    else if (write_all(o->fd, o->bytes, OUT_SPARE + o->n))
        out_close(o);
    o->n = 0;
    o->correlation = o->time = 0;
}

void out_reserve(struct out *o, size_t n)
{
    if (o->n + n > OUT_BYTES)
        write_block(o);
}

void out_u8(struct out *o, uint8_t v)
{
    if (o->n < OUT_BYTES)
        o->bytes[OUT_SPARE + o->n++] = v;
}

void out_number(struct out *o, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        out_u8(o, (uint8_t)(v | 128));
    out_u8(o, (uint8_t)v);
}

void out_signed(struct out *o, int64_t v)
{
    out_number(o, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void out_text(struct out *o, const void *p, size_t n)
{
    if (n > OUT_BYTES - o->n)
        n = OUT_BYTES - o->n;
    out_number(o, n);
    if (n > OUT_BYTES - o->n)
        return;
    memcpy(o->bytes + OUT_SPARE + o->n, p, n);
    o->n += n;
}

void out_correlation(struct out *o, uint32_t correlation)
{
    out_signed(o, (int64_t)correlation - o->correlation);
    o->correlation = correlation;
}

void out_time(struct out *o, uint64_t ns)
{
    out_signed(o, (int64_t)(ns - (uint64_t)o->time));
    o->time = (int64_t)ns;
}

void out_flush(struct out *o)
{
    out_lock(o);
    write_block(o);
    out_unlock(o);
}
