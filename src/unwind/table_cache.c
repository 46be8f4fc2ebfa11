/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table_cache.h"

#include "base/dir.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VERSION                                                                                              \
    1 /* of the file and of what rows mean: raise it when either changes, old files are then rebuilt */
#define SUFFIX      ".unw"
#define TOUCH_AFTER 3600 /* seconds; a file's mtime is its last use, this exactly */
#define MAX_ROWS    (1u << 27)
#define NAME_SIZE   (2 * UNW_MAX_BUILD_ID + sizeof(SUFFIX))
#define STALE_AFTER 600 /* seconds; a temporary file this old has no writer any more */

struct header {
    char magic[8];
    uint32_t version, n;
    uint32_t crc; /* CRC-32C of everything behind this field */
    uint32_t segments;
    uint32_t build_id_len;
    struct unw_build_stats stats;
    uint64_t base;
    uint8_t build_id[UNW_MAX_BUILD_ID];
    struct unw_segment seg[UNW_MAX_SEGMENTS];
};

_Static_assert(sizeof(struct header) == 464, "the cache file's header has no holes and keeps its size");
_Static_assert(sizeof(struct unw_row) == 8, "rows are stored as they are");

static const char magic[8] = "wprofunw";

static uint32_t checksum(const struct header *h, const void *rows, size_t size)
{
    size_t from = offsetof(struct header, crc) + sizeof(h->crc);

    return crc32c(crc32c(0, (const char *)h + from, sizeof(*h) - from), rows, size);
}

static void file_name(const struct unw_layout *l, char name[NAME_SIZE])
{
    for (uint32_t i = 0; i < l->build_id_len; i++)
        snprintf(name + 2 * i, 3, "%02x", l->build_id[i]);
    memcpy(name + 2 * l->build_id_len, SUFFIX, sizeof(SUFFIX));
}

/* A regular file of the owner's or root's that nobody else may write. */
static int trusted(const struct unw_cache *c, const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_uid == c->uid || !st->st_uid) && !(st->st_mode & 022);
}

/* Same build id, but another layout: a tool rewrote the file (patchelf, prelink), so addresses may differ. */
static int same_layout(const struct header *h, const struct unw_layout *l)
{
    return h->segments == l->n && h->base == l->base && h->build_id_len == l->build_id_len &&
           !memcmp(h->build_id, l->build_id, l->build_id_len) &&
           !memcmp(h->seg, l->seg, l->n * sizeof(*l->seg));
}

static int valid(const uint8_t *p, size_t size, const struct unw_layout *l)
{
    const struct header *h = (const void *)p;

    return size >= sizeof(*h) && !memcmp(h->magic, magic, sizeof(magic)) && h->version == VERSION &&
           h->n <= MAX_ROWS && size == sizeof(*h) + (size_t)h->n * sizeof(struct unw_row) &&
           same_layout(h, l) && h->crc == checksum(h, p + sizeof(*h), size - sizeof(*h));
}

static void touch(int fd, const struct stat *st)
{
    if (time(NULL) - st->st_mtime > TOUCH_AFTER)
        futimens(fd, NULL);
}

static struct unw_table *load_fd(const struct unw_cache *c, int fd, const struct unw_layout *l)
{
    struct unw_table *t;
    struct stat st;
    uint8_t *p;

    if (fstat(fd, &st) || !trusted(c, &st) || st.st_size < (off_t)sizeof(struct header))
        return NULL;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (!valid(p, (size_t)st.st_size, l)) {
        munmap(p, (size_t)st.st_size);
        return NULL;
    }
    touch(fd, &st);
    t = mem_calloc(1, sizeof(*t));
    t->n = ((const struct header *)p)->n;
    t->stats = ((const struct header *)p)->stats;
    t->rows = t->n ? (const struct unw_row *)(p + sizeof(struct header)) : NULL;
    t->from_cache = 1;
    t->layout = *l;
    t->map = p;
    t->map_len = (size_t)st.st_size;
    return t;
}

struct unw_table *unw_cache_load(const struct unw_cache *c, const struct unw_layout *l)
{
    struct unw_table *t;
    char name[NAME_SIZE];
    int fd;

    if (!l->build_id_len)
        return NULL;
    file_name(l, name);
    fd = openat(c->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    t = load_fd(c, fd, l);
    close(fd);
    if (!t)
        log_debug("unwind table %s is not usable: built again", name);
    return t;
}

static int write_file(const struct unw_cache *c, int fd, const struct header *h, const struct unw_table *t,
                      struct err *e)
{
    if ((c->uid != geteuid() || c->gid != getegid()) && fchown(fd, c->uid, c->gid))
        return err_sys(e, errno, "chown");
    if (io_write_all(fd, h, sizeof(*h), e))
        return -1;
    return io_write_all(fd, t->rows, (size_t)t->n * sizeof(*t->rows), e);
}

void unw_cache_store(const struct unw_cache *c, const struct unw_table *t)
{
    const struct unw_layout *l = &t->layout;
    struct header h = {.version = VERSION, .n = t->n, .segments = l->n, .build_id_len = l->build_id_len};
    char name[NAME_SIZE], tmp[NAME_SIZE + 32];
    struct err e = {0};
    int fd, rc;

    if (!l->build_id_len || t->n > MAX_ROWS)
        return;
    memcpy(h.magic, magic, sizeof(magic));
    h.stats = t->stats;
    h.base = l->base;
    memcpy(h.build_id, l->build_id, l->build_id_len);
    memcpy(h.seg, l->seg, sizeof(h.seg));
    h.crc = checksum(&h, t->rows, (size_t)t->n * sizeof(*t->rows));
    file_name(l, name);
    /* a name of this thread's own: other threads and other wprofs may build the same table now */
    snprintf(tmp, sizeof(tmp), "%.*s.%ld.tmp", (int)(2 * l->build_id_len), name, (long)syscall(SYS_gettid));
    unlinkat(c->dirfd, tmp, 0);
    fd = openat(c->dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        log_debug("unwind table cache: %s: %s", tmp, strerror(errno));
        return;
    }
    rc = write_file(c, fd, &h, t, &e);
    if (close(fd) && !rc)
        rc = err_sys(&e, errno, "close");
    if (!rc && renameat(c->dirfd, tmp, c->dirfd, name))
        rc = err_sys(&e, errno, "rename");
    if (rc) {
        log_debug("unwind table cache: %s: %s", name, e.msg);
        unlinkat(c->dirfd, tmp, 0);
    }
}

/* Makes a folder and what lies above it; each that is made belongs to the cache's owner. */
static int make_dirs(const struct unw_cache *c, const char *path, struct err *e)
{
    char *s = mem_strdup(path);
    int rc = 0;

    for (char *p = s + 1; *s && !rc; p++) {
        char sep = *p;

        if (sep && sep != '/')
            continue;
        *p = '\0';
        if (!mkdir(s, 0700)) {
            if ((c->uid != geteuid() || c->gid != getegid()) && lchown(s, c->uid, c->gid))
                rc = err_sys(e, errno, "chown %s", s);
        } else if (errno != EEXIST) {
            rc = err_sys(e, errno, "mkdir %s", s);
        }
        *p = sep;
        if (!sep)
            break;
    }
    free(s);
    return rc;
}

int unw_cache_open(struct unw_cache *c, const char *dir, uid_t uid, gid_t gid, uint64_t limit, struct err *e)
{
    char *own = NULL, *home;
    struct stat st;
    int rc;

    *c = (struct unw_cache){-1, uid, gid, limit};
    if (!dir) {
        home = io_cache_dir();
        if (!home)
            return err_set(e, "no folder for unwind tables: neither XDG_CACHE_HOME nor HOME is set");
        dir = own = mem_printf("%s/tables", home);
        free(home);
    }
    rc = make_dirs(c, dir, e);
    if (!rc) {
        c->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (c->dirfd < 0 || fstat(c->dirfd, &st))
            rc = err_sys(e, errno, "%s", dir);
        else if ((st.st_uid != uid && st.st_uid) || (st.st_mode & 022))
            rc = err_set(
                e, "%s belongs to another user, or others may write there: unwind tables are not kept", dir);
    }
    free(own);
    if (rc)
        unw_cache_close(c);
    return rc;
}

void unw_cache_close(struct unw_cache *c)
{
    if (c->dirfd >= 0)
        close(c->dirfd);
    c->dirfd = -1;
}

struct cached {
    char *name;
    time_t used;
    uint64_t size;
};

static int by_use(const void *a, const void *b)
{
    const struct cached *x = a, *y = b;

    return x->used < y->used ? -1 : x->used > y->used;
}

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && !strcmp(s + n - k, end);
}

void unw_cache_trim(struct unw_cache *c)
{
    VEC(struct cached) files = {0};
    DIR *d = dir_open(c->dirfd, ".", 0);
    struct dirent *ent;
    uint64_t sum = 0;
    struct stat st;

    while ((ent = dir_next(d))) {
        if (fstatat(dirfd(d), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (ends_with(ent->d_name, ".tmp") && time(NULL) - st.st_mtime > STALE_AFTER)
            unlinkat(dirfd(d), ent->d_name, 0);
        if (!ends_with(ent->d_name, SUFFIX))
            continue;
        *vec_push(&files) = (struct cached){mem_strdup(ent->d_name), st.st_mtime, (uint64_t)st.st_size};
        sum += (uint64_t)st.st_size;
    }
    if (files.n)
        qsort(files.a, files.n, sizeof(*files.a), by_use);
    for (size_t i = 0; i < files.n; i++) {
        if (sum > c->limit && !unlinkat(dirfd(d), files.a[i].name, 0))
            sum -= files.a[i].size;
        free(files.a[i].name);
    }
    vec_release(&files);
    dir_close(d);
}
