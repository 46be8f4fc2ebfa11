/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/packed.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/tree.h"
#include "base/utf8.h"
#include "model/session_dir.h"
#include "platform/archive.h"
#include "platform/packed_meta.h"
#include "platform/sweeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The log is compressed, texts shrink to a twentieth or so; zeros to a 30,000th. */
#define RATIO      1000
#define NAMED      5                  /* of what is left out */
#define ZSTD_MAGIC "\x28\xb5\x2f\xfd" /* RFC 8878, 3.1.1 */
#define GZIP_MAGIC "\x1f\x8b"         /* RFC 1952, 2.3.1 */

/* POSIX.1-2017, pax, "ustar Interchange Format"; GNU's tar has the same five bytes there. */
#define USTAR_MAGIC "ustar"
enum { USTAR_AT = 257, HEAD = 512, PIECE = 64 << 10 };

/* ---- writing ---- */

struct packing {
    struct archive_out *out;
    const char *top;
    struct packed_left *left;
    int meta; /* what travels as meta.json; 0: the session's own */
};

/* meta.json and the log come first: whoever reads a stream knows soon what it is. */
static int rank(const char *name)
{
    return !strcmp(name, SESSION_META) ? 0 : !strcmp(name, SESSION_LOG) ? 1 : 2;
}

static int in_order(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;

    return rank(x) != rank(y) ? rank(x) - rank(y) : strcmp(x, y);
}

static int pack_one(void *ctx, int fd, const char *path, struct err *e)
{
    struct packing *p = ctx;
    char *member = mem_printf("%s/%s", p->top, path);
    int own = !p->meta || strcmp(path, SESSION_META) != 0,
        rc = archive_out_add(p->out, member, own ? fd : p->meta, e);

    free(member);
    return rc;
}

static void name_left(void *ctx, const char *path)
{
    struct packing *p = ctx;
    struct buf name = {0};

    if (p->left->named++ == NAMED)
        buf_addstr(&p->left->names, ", ...");
    if (p->left->named > NAMED)
        return;
    utf8_add(&name, path);
    for (size_t i = 0; i < name.len; i++)
        name.data[i] = (unsigned char)name.data[i] < 0x20 ? '_' : name.data[i];
    buf_addf(&p->left->names, "%s%s", p->left->names.len ? ", " : "", buf_str(&name));
    buf_release(&name);
}

int packed_write(int dirfd, const struct meta *m, int fd, struct packed_left *left, struct err *e)
{
    struct packing p = {.top = m->session_id, .left = left};
    struct tree_visit visit = {pack_one, &p, in_order, name_left};
    int rc;

    if (!p.top || !*p.top || strchr(p.top, '/') || *p.top == '.')
        return err_set(e, "its " SESSION_META " gives no session_id that a directory could be named after");
    p.meta = packed_meta(dirfd, m, &left->extra, e);
    if (p.meta < 0)
        return -1;
    p.out = archive_out_new(fd, (int64_t)m->end_ts, e);
    rc = p.out ? tree_walk(dirfd, "", &visit, &left->n, e) : -1;
    if (!rc)
        rc = archive_out_end(p.out, e);
    archive_out_free(p.out);
    if (p.meta)
        close(p.meta);
    return rc;
}

/* ---- reading ---- */

static int take_file(struct archive_in *in, const struct packed_to *to, const char *name, struct err *e)
{
    int fd = tree_create(to->dirfd, name, to->uid, to->gid, e), rc;

    if (fd < 0)
        return -1;
    rc = archive_in_copy(in, fd, e) ? err_wrap(e, "member '%s'", name) : 0;
    close(fd);
    return rc;
}

/* Where members belong: below the one directory that all of them are in, as ours have it and most who pack a
 * directory; from the first on that is not there (`odd`), all of them are at the top. */
struct layout {
    char *top, *odd;
};

static void layout_release(struct layout *l)
{
    free(l->top);
    free(l->odd);
}

/* A member's path in the session, as far as is known by now. */
static const char *inside(struct layout *l, const char *member)
{
    const char *slash = strchr(member, '/');
    size_t n = slash ? (size_t)(slash - member) : 0;

    if (l->odd)
        return member;
    if (!l->top && n)
        l->top = mem_strndup(member, n);
    if (n && !strncmp(l->top, member, n) && !l->top[n])
        return slash + 1;
    l->odd = mem_strdup(member);
    return member;
}

/* All that is in the directory moves into a new one in it: what was taken for the top was a part. */
static int sink(const struct packed_to *to, const char *name, struct err *e)
{
    static const char room[] = ".wprof-unpacking";
    struct dir_names names = {0};
    int fd = -1, rc = 0;

    if (dir_names(&names, to->dirfd, ".", NULL) || mkdirat(to->dirfd, room, 0700) ||
        fchownat(to->dirfd, room, to->uid, to->gid, AT_SYMLINK_NOFOLLOW) ||
        (fd = openat(to->dirfd, room, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        rc = -1;
    for (size_t i = 0; i < names.list.n && !rc; i++)
        rc = renameat(to->dirfd, names.list.a[i], fd, names.list.a[i]);
    if (!rc)
        rc = renameat(to->dirfd, room, to->dirfd, name);
    if (rc)
        err_sys(e, errno, "directory '%.100s' of it", name);
    if (fd >= 0)
        close(fd);
    dir_names_release(&names);
    return rc;
}

static int take(struct archive_in *in, const struct packed_to *to, struct layout *l, const char *member,
                struct err *e)
{
    int flat = l->odd != NULL;
    const char *name = inside(l, member);

    if (!flat && l->odd && l->top && sink(to, l->top, e))
        return -1;
    return take_file(in, to, name, e);
}

static int check_layout(const struct layout *l, int dirfd, struct err *e)
{
    if (!l->top && !l->odd)
        return err_set(e, "nothing is in it");
    if (!l->odd || !faccessat(dirfd, SESSION_META, F_OK, 0))
        return 0;
    return l->top ? err_set(e,
                            "member '%.100s' is not in '%.100s' as those before, and no " SESSION_META
                            " lies beside: no session's archive",
                            l->odd, l->top)
                  : err_set(e,
                            "member '%.100s' lies in no directory, nor does a " SESSION_META
                            " beside it: no session's archive",
                            l->odd);
}

/* All that meta.json lists is as it says. */
static int check(int dirfd, struct err *e)
{
    struct buf text = {0};
    struct meta m = {0};
    int rc = io_read_file(dirfd, SESSION_META, &text, e) || meta_parse(&m, buf_str(&text), text.len, e)
                 ? err_wrap(e, "member '" SESSION_META "'")
                 : 0;

    for (size_t i = 0; i < m.artifacts.n && !rc; i++)
        if (session_check(dirfd, &m.artifacts.a[i]) != SESSION_FILE_OK)
            rc = err_set(
                e, "member '%.100s' is not what " SESSION_META " says: missing, or its SHA-256 is another",
                m.artifacts.a[i].path ? m.artifacts.a[i].path : "");
    buf_release(&text);
    meta_release(&m);
    return rc;
}

int packed_read(int fd, const struct packed_to *to, struct err *e)
{
    struct archive_limits limits = {.bytes = to->max_bytes, .ratio = RATIO};
    struct archive_in *in = archive_in_new(fd, &limits, e);
    struct layout l = {0};
    const char *member;
    int rc;

    if (!in)
        return -1;
    while ((rc = archive_in_next(in, &member, e)) > 0)
        if (take(in, to, &l, member, e)) {
            rc = -1;
            break;
        }
    if (!rc)
        rc = check_layout(&l, to->dirfd, e);
    archive_in_free(in);
    layout_release(&l);
    return rc ? -1 : to->unchecked ? 0 : check(to->dirfd, e);
}

/* The content of the member that is at hand, if that is meta.json: 1. What comes before it is read over,
 * within the archive's limits. */
static int take_meta(struct archive_in *in, const char *name, int fd, int nowhere, struct err *e)
{
    int wanted = !strcmp(name, SESSION_META);

    if (archive_in_copy(in, wanted ? fd : nowhere, e))
        return err_wrap(e, "member '%.100s'", name);
    return wanted;
}

static int find_meta(struct archive_in *in, int fd, int nowhere, struct err *e)
{
    struct layout l = {0};
    const char *member;
    int rc = 0, found = 0;

    while (!found && (rc = archive_in_next(in, &member, e)) > 0) {
        const char *name = inside(&l, member);

        /* A part of a session that is at the top has no meta.json to be taken for it. */
        found = take_meta(in, l.top && !strcmp(l.top, "extra") ? member : name, fd, nowhere, e);
    }
    layout_release(&l);
    if (!found && !rc)
        return err_set(e, "no " SESSION_META " is in it");
    return found > 0 ? 0 : -1;
}

int packed_read_meta(int fd, struct buf *out, uint64_t max, struct err *e)
{
    struct archive_limits limits = {.bytes = PACKED_AHEAD, .ratio = RATIO};
    struct archive_in *in = archive_in_new(fd, &limits, e);
    int to = memfd_create(SESSION_META, MFD_CLOEXEC), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC),
        rc = -1;
    struct stat st;

    if (in && (to < 0 || nowhere < 0))
        err_sys(e, errno, "room for " SESSION_META);
    else if (in)
        rc = find_meta(in, to, nowhere, e);
    if (!rc && (fstat(to, &st) || (uint64_t)st.st_size > max))
        rc = err_set(e, "its " SESSION_META " has more than %llu bytes", (unsigned long long)max);
    if (!rc && lseek(to, 0, SEEK_SET))
        rc = err_sys(e, errno, "memfd");
    if (!rc)
        rc = io_read_fd(to, out, e);
    archive_in_free(in);
    if (to >= 0)
        close(to);
    if (nowhere >= 0)
        close(nowhere);
    return rc;
}

/* ---- as an operand ---- */

/* By its first bytes. Much else is compressed by gzip, or may begin like an old tar: that is looked into. */
static int is_zstd(const char *head, size_t n)
{
    return n >= 4 && !memcmp(head, ZSTD_MAGIC, 4);
}

static int is_ustar(const char *head, size_t n)
{
    return n >= HEAD && !memcmp(head + USTAR_AT, USTAR_MAGIC, 5);
}

int packed_begins(const void *head, size_t n)
{
    return is_zstd(head, n) || is_ustar(head, n);
}

static int begins_as_one(int fd)
{
    char head[HEAD];
    ssize_t got = pread(fd, head, sizeof(head), 0);
    size_t n = got > 0 ? (size_t)got : 0;

    return is_zstd(head, n) ||
           (((n >= 2 && !memcmp(head, GZIP_MAGIC, 2)) || is_ustar(head, n)) && archive_is(fd));
}

/* The archive, opened; -1: something else is there. */
static int open_archive(const char *path)
{
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : dup(STDIN_FILENO);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) || S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && !begins_as_one(fd)))) {
        close(fd);
        return -1;
    }
    return fd;
}

int packed_is(const char *path)
{
    int fd = open_archive(path);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static char *room_name(void)
{
    const char *tmp = getenv("TMPDIR");

    return mem_printf("%s/wprof-unpacked-XXXXXX", tmp && *tmp ? tmp : "/var/tmp");
}

static int make_spool(struct err *e)
{
    char *name = room_name();
    int fd = mkostemp(name, O_CLOEXEC);

    if (fd < 0)
        err_sys(e, errno, "%s", name);
    else
        unlink(name);
    free(name);
    return fd;
}

int packed_spool(ssize_t (*read)(void *ctx, void *p, size_t n, struct err *e), void *ctx, struct err *e)
{
    int fd = make_spool(e), rc = fd < 0 ? -1 : 0;
    uint64_t bytes = 0;
    char piece[PIECE];
    ssize_t n;

    while (!rc && (n = read(ctx, piece, sizeof(piece), e)) != 0) {
        bytes += n > 0 ? (uint64_t)n : 0;
        if (bytes > PACKED_BYTES)
            rc = err_set(e, "more than %llu GiB come out of it", PACKED_BYTES >> 30);
        else if (n < 0 || io_write_all(fd, piece, (size_t)n, e))
            rc = -1;
    }
    if (!rc && lseek(fd, 0, SEEK_SET))
        rc = err_sys(e, errno, "lseek");
    if (rc && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static char *make_room(struct err *e)
{
    char *dir = room_name();

    if (mkdtemp(dir))
        return dir;
    err_sys(e, errno, "%s", dir);
    free(dir);
    return NULL;
}

static int unpack(int fd, const char *dir, int unchecked, struct err *e)
{
    struct packed_to to = {.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                           .uid = (uid_t)-1,
                           .gid = (gid_t)-1,
                           .max_bytes = PACKED_BYTES,
                           .unchecked = unchecked};
    int rc = to.dirfd < 0 ? err_sys(e, errno, "%s", dir) : packed_read(fd, &to, e);

    if (to.dirfd >= 0)
        close(to.dirfd);
    return rc;
}

static int open_unpacked(struct session *s, int fd, const char *name, int unchecked, struct err *e)
{
    char *dir = make_room(e);
    int sweeper = dir ? sweeper_start(dir) : -1; /* whatever ends us: nobody else would remove it */

    *s = (struct session){0};
    if (!dir || unpack(fd, dir, unchecked, e) || session_open_meta(s, dir, e)) {
        err_wrap(e, "%s", name);
        if (dir)
            session_dir_remove(dir);
        if (sweeper >= 0)
            close(sweeper);
        free(dir);
        return -1;
    }
    free(s->path);
    s->path = mem_strdup(name);
    s->unpacked = dir;
    s->sweeper = sweeper + 1;
    return 0;
}

int packed_open_fd(struct session *s, int fd, const char *name, struct err *e)
{
    return open_unpacked(s, fd, name, 0, e);
}

static int open_meta(struct session *s, const char *path, int unchecked, struct err *e)
{
    int fd = path ? open_archive(path) : -1, rc;

    if (fd < 0)
        return session_open_meta(s, path, e);
    rc = open_unpacked(s, fd, path, unchecked, e);
    close(fd);
    return rc;
}

int packed_open_meta(struct session *s, const char *path, struct err *e)
{
    return open_meta(s, path, 0, e);
}

int packed_open_damaged(struct session *s, const char *path, struct err *e)
{
    return open_meta(s, path, 1, e);
}
