/* SPDX-License-Identifier: Apache-2.0 */
/* What lies beside the logs: the text of source lines, which become one file; and what somebody put into
 * extra/, each file under its name, and where that is another recording's other file, below one that says
 * whose it is. */
#include "base/tree.h"
#include "exchange/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXTRA "extra"

enum { CHUNK = 16 << 10 };

/* ---- source lines ---- */

void merge_source_add(struct merge *m, const struct session *s)
{
    uint64_t others = 0;

    if (session_files(s) && source_text_read(&m->source, session_files(s), &others) < 0)
        m->left.files++;
    m->left.lines += others;
}

/* ---- extra/ ---- */

struct beside {
    struct merge *m;
    const struct merge_part *part;
    const struct merge_to *to;
};

/* Whether what is left of both is equal. */
static int is_equal(int a, int b)
{
    struct stat sa, sb;
    char x[CHUNK], y[CHUNK];
    ssize_t n, k = 0;

    if (fstat(a, &sa) || fstat(b, &sb) || !S_ISREG(sb.st_mode) || sa.st_size != sb.st_size)
        return 0;
    do {
        n = pread(a, x, sizeof(x), k);
        if (n < 0 || pread(b, y, sizeof(y), k) != n || memcmp(x, y, (size_t)n) != 0)
            return 0;
        k += n;
    } while (n);
    return 1;
}

/* As a directory may be called: "node1-r3". */
static char *owner_name(const struct beside *b)
{
    char *name = mem_printf("%s-r%ld", b->m->hosts.a[b->part->host].name, b->part->rank);

    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ' || (c == name && *c == '.'))
            *c = '_';
    return name;
}

/* The nth that is tried: "extra/a/b", "extra/node1-r3/a/b", "extra/node1-r3-2/a/b". */
static char *name_of(const struct beside *b, const char *path, unsigned n)
{
    char *owner, *name;

    if (!n)
        return mem_strdup(path);
    owner = owner_name(b);
    name = n == 1 ? mem_printf(EXTRA "/%s/%s", owner, path + sizeof(EXTRA))
                  : mem_printf(EXTRA "/%s-%u/%s", owner, n, path + sizeof(EXTRA));
    free(owner);
    return name;
}

enum { FREE, EQUAL, TAKEN };

static int look(const struct beside *b, const char *name, int fd)
{
    int there = openat(b->to->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;

    if (there < 0)
        return errno == ENOENT ? FREE : TAKEN;
    rc = is_equal(fd, there) ? EQUAL : TAKEN;
    close(there);
    return rc;
}

static int is_too_deep(const char *name)
{
    int depth = 0;

    for (; *name; name++)
        depth += *name == '/';
    return depth > TREE_DEPTH_MAX;
}

static int copy(struct beside *b, const char *name, int fd, struct err *e)
{
    int to = tree_create(b->to->dirfd, name, b->to->uid, b->to->gid, e), rc;

    if (to < 0)
        return -1;
    rc = tree_copy_fd(fd, to, e) ? err_wrap(e, "%s", name) : 0;
    close(to);
    if (!rc)
        *vec_push(&b->m->extra) = mem_strdup(name);
    return rc;
}

static int carry(void *ctx, int fd, const char *path, struct err *e)
{
    struct beside *b = ctx;
    char *name = NULL;
    int found = TAKEN, rc = 0;

    for (unsigned n = 0; found == TAKEN; n++) {
        free(name);
        name = name_of(b, path, n);
        found = look(b, name, fd);
        b->m->left.renamed += found == FREE && n;
    }
    if (found == FREE && is_too_deep(name))
        b->m->left.others++;
    else if (found == FREE)
        rc = copy(b, name, fd, e);
    free(name);
    return rc;
}

int merge_extra_add(struct merge *m, size_t part, const struct session *s, const struct merge_to *to,
                    struct err *e)
{
    struct beside b = {m, &m->parts.a[part], to};
    struct tree_visit visit = {carry, &b, NULL};
    int from = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (from < 0)
        return err_sys(e, errno, "%s", session_files(s));
    rc = tree_walk(from, EXTRA, &visit, &m->left.others, e);
    close(from);
    return rc ? err_wrap(e, "%s", m->parts.a[part].path) : 0;
}
