/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session_extra.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tree.h"
#include "base/units.h"
#include "base/utf8.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct listing {
    int dirfd, sums;
    const char *kind;
    const struct meta *m;
    struct meta *to;
};

static int is_listed(const struct meta *m, const char *path)
{
    for (size_t i = 0; i < m->artifacts.n; i++)
        if (m->artifacts.a[i].path && !strcmp(m->artifacts.a[i].path, path))
            return 1;
    return 0;
}

static int list_one(void *ctx, int fd, const char *path, struct err *e)
{
    struct listing *l = ctx;
    struct meta_artifact a = {0};
    struct stat st;

    if (is_listed(l->m, path))
        return 0;
    a.size = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
    if (l->sums && utf8_is(path) && io_sha256(l->dirfd, path, a.sha256, &a.size, e))
        return -1;
    a.kind = mem_strdup(l->kind);
    a.path = mem_strdup(path);
    *vec_push(&l->to->artifacts) = a;
    return 0;
}

int session_unlisted(int dirfd, const char *below, const struct meta *m, struct meta *to, int sums,
                     struct err *e)
{
    struct listing l = {dirfd, sums, below, m, to};
    struct tree_visit visit = {list_one, &l, NULL, NULL};
    uint64_t left = 0;

    return tree_walk(dirfd, below, &visit, &left, e);
}

void session_list(struct session *s, const char *below)
{
    int dirfd = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err e = {0};

    if (dirfd < 0)
        return; /* whoever reads the session says so */
    if (session_unlisted(dirfd, below, &s->meta, &s->meta, 0, &e))
        log_warn("%s: not all of %s/ is listed: %s", s->path, below, e.msg);
    close(dirfd);
}

int session_is_extra(const struct meta_artifact *a)
{
    return a->path && !strncmp(a->path, SESSION_EXTRA "/", sizeof(SESSION_EXTRA));
}

struct session_extra session_extra_count(const struct meta *m)
{
    struct session_extra x = {0};

    for (size_t i = 0; i < m->artifacts.n; i++)
        if (session_is_extra(&m->artifacts.a[i])) {
            x.n++;
            x.bytes += m->artifacts.a[i].size;
            x.unsummed += !*m->artifacts.a[i].sha256;
        }
    return x;
}

void session_extra_say(const struct session_extra *x, struct buf *out)
{
    char size[32];

    buf_addf(out, "%llu file%s, %s", (unsigned long long)x->n, x->n == 1 ? "" : "s",
             units_size(size, sizeof(size), x->bytes));
    if (x->unsummed == x->n)
        buf_addstr(out, ", without a checksum");
    else if (x->unsummed)
        buf_addf(out, "; %llu of them without a checksum", (unsigned long long)x->unsummed);
}
