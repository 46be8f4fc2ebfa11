/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/wait_holders.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/lower.h"
#include "platform/bpf.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AGAIN_NS 1000000000ull /* at most that often: it costs some us a descriptor */
#define TRUSTED_NS    4000000000ull /* a list that could tell */

enum { WHOLE_READS_MAX = 4, FDS_MAX = 4096 /* of one process */ };

void wait_holders_release(struct wait_holders *h)
{
    vec_release(&h->list);
}

/* The inode in "pipe:[123]" or "socket:[123]", else 0. */
static uint64_t inode_of(const char *link)
{
    if (!strncmp(link, "pipe:[", 6))
        return strtoull(link + 6, NULL, 10);
    return strncmp(link, "socket:[", 8) ? 0 : strtoull(link + 8, NULL, 10);
}

/* A link's permissions tell how its file is open. */
static uint8_t modes_of(int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
        return 0;
    return (st.st_mode & S_IRUSR ? HOLDER_READS : 0) | (st.st_mode & S_IWUSR ? HOLDER_WRITES : 0);
}

static void read_process(struct wait_holders *h, pid_t pid)
{
    char path[64], link[64];
    struct dirent *d;
    int left = FDS_MAX;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    if (!dir)
        return;
    while ((d = readdir(dir)) && left--) {
        ssize_t n = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);
        uint64_t ino;

        if (n <= 0)
            continue;
        link[n] = '\0';
        ino = inode_of(link);
        if (ino)
            *vec_push(&h->list) = (struct wait_holder){
                ino, pid, *link == 's' ? HOLDER_READS | HOLDER_WRITES : modes_of(dirfd(dir), d->d_name)};
    }
    closedir(dir);
}

static int by_inode(const void *pa, const void *pb)
{
    const struct wait_holder *a = pa, *b = pb;

    if (a->ino != b->ino)
        return a->ino < b->ino ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static void sort(struct wait_holders *h)
{
    if (h->list.n)
        qsort(h->list.a, h->list.n, sizeof(*h->list.a), by_inode);
}

static int read_by_bpf(struct wait_holders *h, int all_of_them)
{
    struct bpfside_holders all = {0};
    struct err e = {0};
    int rc = bpfside_holders(h->bpf, all_of_them, &all, &e);

    for (size_t i = 0; !rc && i < all.list.n; i++) {
        const struct wire_holder *w = &all.list.a[i];

        if (w->ns_tgid)
            *vec_push(&h->list) = (struct wait_holder){w->ino, (pid_t)w->ns_tgid, (uint8_t)w->modes};
    }
    vec_release(&all.list);
    if (rc) { /* it won't go better the next time */
        log_debug("%s", e.msg);
        h->bpf = NULL;
    }
    return rc;
}

int wait_holders_read(struct wait_holders *h, uint64_t ino, const pid_t *pids, size_t n, uint64_t now)
{
    uint64_t of = hash_bytes(pids, n * sizeof(*pids)), age = now - h->read_ns;
    size_t first;

    if (h->read_ns &&
        (age < READ_AGAIN_NS || (age < TRUSTED_NS && of == h->of && wait_holders_of(h, ino, &first))))
        return 0;
    h->read_ns = now;
    h->of = of;
    vec_clear(&h->list);
    if (!h->bpf || read_by_bpf(h, 0))
        for (size_t i = 0; i < n; i++)
            read_process(h, pids[i]);
    sort(h);
    return 1;
}

int wait_holders_read_all(struct wait_holders *h, uint64_t now)
{
    struct dirent *d;
    DIR *dir = NULL;

    if (h->whole_reads >= WHOLE_READS_MAX)
        return 0;
    h->whole_reads++;
    h->read_ns = now;
    vec_clear(&h->list);
    if (h->bpf && !read_by_bpf(h, 1)) {
        sort(h);
        return 1;
    }
    dir = opendir("/proc");
    if (!dir)
        return 0;
    while ((d = readdir(dir)))
        if (isdigit((unsigned char)d->d_name[0]))
            read_process(h, atoi(d->d_name));
    closedir(dir);
    sort(h);
    return 1;
}

size_t wait_holders_of(const struct wait_holders *h, uint64_t ino, size_t *first)
{
    size_t lo = lower_bound(h->list, ino, ino), n = 0;

    *first = lo;
    while (lo + n < h->list.n && h->list.a[lo + n].ino == ino)
        n++;
    return n;
}
