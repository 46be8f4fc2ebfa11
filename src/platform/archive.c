/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/archive.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "platform/symbols.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536
#define LEVEL "6" /* the log is compressed already, and most of a session is the log */

/* It brings libxml2 and ICU with it: 3 MB and 6 million instructions that no command but those which need it
 * should pay. */
#define LIBRARY "libarchive.so.13"
#define FUNCTIONS(X)                                                                                         \
    X(clear_error)                                                                                           \
    X(entry_filetype)                                                                                        \
    X(entry_free)                                                                                            \
    X(entry_hardlink)                                                                                        \
    X(entry_new)                                                                                             \
    X(entry_pathname)                                                                                        \
    X(entry_set_filetype)                                                                                    \
    X(entry_set_mtime)                                                                                       \
    X(entry_set_pathname)                                                                                    \
    X(entry_set_perm)                                                                                        \
    X(entry_set_size)                                                                                        \
    X(error_string)                                                                                          \
    X(filter_bytes)                                                                                          \
    X(read_data_block)                                                                                       \
    X(read_free)                                                                                             \
    X(read_new)                                                                                              \
    X(read_next_header)                                                                                      \
    X(read_open_fd)                                                                                          \
    X(read_support_filter_gzip)                                                                              \
    X(read_support_filter_zstd)                                                                              \
    X(read_support_format_tar)                                                                               \
    X(write_add_filter_zstd)                                                                                 \
    X(write_close)                                                                                           \
    X(write_data)                                                                                            \
    X(write_free)                                                                                            \
    X(write_header)                                                                                          \
    X(write_new)                                                                                             \
    X(write_open_fd)                                                                                         \
    X(write_set_bytes_in_last_block)                                                                         \
    X(write_set_filter_option)                                                                               \
    X(write_set_format_gnutar)

struct api {
#define X(name) __typeof__(archive_##name) *name;
    FUNCTIONS(X)
#undef X
};

static int load(struct api *api, struct err *e)
{
#define X(name) {offsetof(struct api, name), "archive_" #name, 1},
    static const struct symbol symbols[] = {FUNCTIONS(X)};
#undef X
    const char *missing;
    void *library;
    int rc = symbols_open(&library, LIBRARY, e);

    if (rc)
        return rc > 0 ? err_set(e, "there is no " LIBRARY
                                   " (Debian: libarchive13): `tar --zstd` packs and unpacks, too")
                      : err_wrap(e, "archives");
    missing = symbols_load(api, library, symbols, ARRAY_SIZE(symbols));
    return missing ? err_set(e, LIBRARY " has no %s: it is too old", missing) : 0;
}

int archive_check(struct err *e)
{
    struct api api;

    return load(&api, e);
}

static int failed(const struct api *api, struct archive *a, const char *what, struct err *e)
{
    const char *why = api->error_string(a);

    return err_set(e, "%s: %s", what, why ? why : "libarchive gives no reason");
}

/* ---- writing ---- */

struct archive_out {
    struct api api;
    struct archive *a;
    int64_t mtime;
};

/* The compressor splits the input alike for any number of threads, but otherwise for none: one at least. */
static void use_threads(struct archive_out *o)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    char text[16];

    snprintf(text, sizeof(text), "%ld", n < 1 ? 1 : n > 16 ? 16 : n);
    o->api.write_set_filter_option(o->a, "zstd", "threads",
                                   text); /* libarchive 3.6 knows it; slower without */
    o->api.clear_error(o->a);
}

struct archive_out *archive_out_new(int fd, int64_t mtime, struct err *e)
{
    struct archive_out *o = mem_calloc(1, sizeof(*o));

    o->mtime = mtime;
    if (load(&o->api, e)) {
        free(o);
        return NULL;
    }
    o->a = o->api.write_new();
    if (!o->a) {
        err_set(e, "libarchive: no memory");
    } else if (o->api.write_set_format_gnutar(o->a) || o->api.write_add_filter_zstd(o->a) ||
               o->api.write_set_filter_option(o->a, "zstd", "compression-level", LEVEL)) {
        failed(&o->api, o->a, "zstd", e);
    } else {
        use_threads(o);
        o->api.write_set_bytes_in_last_block(o->a, 1);
        if (!o->api.write_open_fd(o->a, fd))
            return o;
        failed(&o->api, o->a, "write", e);
    }
    archive_out_free(o);
    return NULL;
}

static int add_content(struct archive_out *o, const char *name, int fd, uint64_t size, struct err *e)
{
    char chunk[CHUNK];

    for (uint64_t at = 0; at < size;) {
        size_t want = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
        ssize_t n = pread(fd, chunk, want, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "%s", name);
        if (!n)
            return err_set(e, "%s became shorter while it was read", name);
        if (o->api.write_data(o->a, chunk, (size_t)n) != n)
            return failed(&o->api, o->a, name, e);
        at += (uint64_t)n;
    }
    return 0;
}

int archive_out_add(struct archive_out *o, const char *name, int fd, struct err *e)
{
    struct archive_entry *entry = o->api.entry_new();
    struct stat st;
    int rc = 0;

    if (fstat(fd, &st)) {
        rc = err_sys(e, errno, "%s", name);
    } else {
        o->api.entry_set_pathname(entry, name);
        o->api.entry_set_filetype(entry, AE_IFREG);
        o->api.entry_set_perm(entry, 0600);
        o->api.entry_set_size(entry, st.st_size);
        o->api.entry_set_mtime(entry, o->mtime, 0);
        rc = o->api.write_header(o->a, entry) < ARCHIVE_WARN ? failed(&o->api, o->a, name, e) : 0;
    }
    o->api.entry_free(entry);
    return rc ? rc : add_content(o, name, fd, (uint64_t)st.st_size, e);
}

int archive_out_end(struct archive_out *o, struct err *e)
{
    return o->api.write_close(o->a) ? failed(&o->api, o->a, "write", e) : 0;
}

void archive_out_free(struct archive_out *o)
{
    if (o && o->a)
        o->api.write_free(o->a);
    free(o);
}

/* ---- reading ---- */

struct archive_in {
    struct api api;
    struct archive *a;
    struct archive_limits limits;
    struct map names; /* their hashes */
    uint64_t bytes;   /* unpacked until now */
};

static struct archive_in *open_tar(int fd, struct err *e)
{
    struct archive_in *in = mem_calloc(1, sizeof(*in));

    if (load(&in->api, e)) {
        free(in);
        return NULL;
    }
    in->a = in->api.read_new();
    if (!in->a)
        err_set(e, "libarchive: no memory");
    else if (in->api.read_support_filter_zstd(in->a) || in->api.read_support_filter_gzip(in->a) ||
             in->api.read_support_format_tar(in->a) || in->api.read_open_fd(in->a, fd, CHUNK))
        failed(&in->api, in->a, "no tar archive, compressed by zstd, by gzip or not at all", e);
    else
        return in;
    archive_in_free(in);
    return NULL;
}

struct archive_in *archive_in_new(int fd, const struct archive_limits *limits, struct err *e)
{
    struct archive_in *in = open_tar(fd, e);

    if (in)
        in->limits = *limits;
    return in;
}

int archive_is(int fd)
{
    struct archive_entry *entry;
    struct err e;
    struct archive_in *in = open_tar(fd, &e);
    int rc = in ? in->api.read_next_header(in->a, &entry) : ARCHIVE_FATAL;

    archive_in_free(in);
    lseek(fd, 0, SEEK_SET);
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN;
}

/* One component after another. */
static const char *wrong_name(const char *name)
{
    if (!*name || *name == '/')
        return "an absolute path";
    if (strlen(name) > ARCHIVE_NAME_MAX)
        return "a name that is too long";
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");

        if (n == 2 && !strncmp(p, "..", 2))
            return "a path that leads out of it";
        if (!n || (n == 1 && *p == '.'))
            return "a path with an empty component, or '.' as one";
        p += n + (p[n] == '/');
    }
    return NULL;
}

static const char *wrong_kind(const struct archive_in *in, struct archive_entry *entry)
{
    if (in->api.entry_hardlink(entry))
        return "a hard link";
    switch (in->api.entry_filetype(entry)) {
    case AE_IFREG:
    case AE_IFDIR:
        return NULL;
    case AE_IFLNK:
        return "a symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
        return "a device";
    default:
        return "neither file nor directory";
    }
}

/* Names from strangers go to a terminal. */
static void printable(const char *name, char out[128])
{
    size_t i = 0;

    for (; name[i] && i < 120; i++)
        out[i] = (unsigned char)name[i] < ' ' || name[i] == 127 ? '?' : name[i];
    snprintf(out + i, 128 - i, "%s", name[i] ? "..." : "");
}

static int check(struct archive_in *in, struct archive_entry *entry, const char *name, struct err *e)
{
    const char *wrong = name ? wrong_kind(in, entry) : "no name";
    uint64_t hash;
    char shown[128];

    printable(name ? name : "", shown);
    if (!wrong)
        wrong = wrong_name(name);
    if (wrong)
        return err_set(e, "member '%s' is %s: refused, a session's archive has none", shown, wrong);
    hash = hash_bytes(name, strlen(name));
    if (map_get(&in->names, hash))
        return err_set(e, "member '%s' is there twice: refused", shown);
    if (in->names.n >= ARCHIVE_FILES)
        return err_set(e, "member '%s' is one of more than %d: refused", shown, ARCHIVE_FILES);
    map_put(&in->names, hash);
    return 0;
}

/* `tar -C DIR -c .` names everything from "./" on. */
static const char *without_dot(const char *name)
{
    while (name && name[0] == '.' && name[1] == '/')
        name += 2;
    return name;
}

int archive_in_next(struct archive_in *in, const char **name, struct err *e)
{
    struct archive_entry *entry;

    for (;;) {
        int rc = in->api.read_next_header(in->a, &entry);

        if (rc == ARCHIVE_EOF)
            return 0;
        if (rc < ARCHIVE_WARN) /* a warning: its name is in no character set that this locale knows */
            return failed(&in->api, in->a, "damaged", e);
        *name = without_dot(in->api.entry_pathname(entry));
        if (*name && !**name && in->api.entry_filetype(entry) == AE_IFDIR) /* "./" itself */
            continue;
        if (check(in, entry, *name, e))
            return -1;
        if (in->api.entry_filetype(entry) == AE_IFREG)
            return 1;
    }
}

/* Not what a header says, but what comes out. */
static int within(struct archive_in *in, int64_t end, struct err *e)
{
    uint64_t packed = (uint64_t)in->api.filter_bytes(in->a, -1);
    char out[32], of[32];

    if (in->bytes > in->limits.bytes || end < 0 ||
        (uint64_t)end > in->limits.bytes) /* sparse files have ends far away */
        return err_set(e, "more than %s come out of it: refused (--max-size allows more)",
                       units_size(out, sizeof(out), in->limits.bytes));
    if (in->bytes > ARCHIVE_SMALL && in->bytes / in->limits.ratio > packed)
        return err_set(e, "%s come out of %s: refused, sessions don't shrink so much",
                       units_size(out, sizeof(out), in->bytes), units_size(of, sizeof(of), packed));
    return 0;
}

static int put(int fd, const void *p, size_t n, int64_t at, struct err *e)
{
    if (lseek(fd, at, SEEK_SET) < 0)
        return err_sys(e, errno, "seek");
    return io_write_all(fd, p, n, e);
}

int archive_in_copy(struct archive_in *in, int fd, struct err *e)
{
    const void *p;
    size_t n;
    la_int64_t at;
    int rc;

    while ((rc = in->api.read_data_block(in->a, &p, &n, &at)) == ARCHIVE_OK) {
        in->bytes += n;
        if (within(in, at + (int64_t)n, e) || put(fd, p, n, at, e))
            return -1;
    }
    return rc == ARCHIVE_EOF ? 0 : failed(&in->api, in->a, "damaged", e);
}

void archive_in_free(struct archive_in *in)
{
    if (in) {
        if (in->a)
            in->api.read_free(in->a);
        map_release(&in->names);
    }
    free(in);
}
