/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_procs.h"

#include "base/buf.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

void cgroup_procs_release(struct cgroup_procs *g)
{
    free(g->dir);
    free(g->path);
    free(g->name);
    *g = (struct cgroup_procs){0};
}

/* Processes of other pid namespaces read 0. */
static void take_pids(const char *text, struct pid_list *out)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        long pid = strtol(at, NULL, 10);

        if (pid > 0 && pid != getpid())
            *vec_push(&out->list) = (pid_t)pid;
    }
}

/* In a threaded group (version 2) only threads can be read: EOPNOTSUPP; their processes are in a group above,
 * or are taken by their threads. */
static int read_group(int dirfd, struct pid_list *out)
{
    struct buf text = {0};
    int rc = io_read_file(dirfd, "cgroup.procs", &text, NULL);

    if (rc && !faccessat(dirfd, "cgroup.threads", R_OK, 0)) {
        buf_clear(&text);
        rc = io_read_file(dirfd, "cgroup.threads", &text, NULL);
    }
    if (!rc)
        take_pids(buf_str(&text), out);
    buf_release(&text);
    return rc;
}

static int walk(int dirfd, struct pid_list *out, int depth)
{
    int rc = read_group(dirfd, out);
    struct dirent *de;
    DIR *d;

    d = fdopendir(dirfd); /* takes it */
    if (!d) {
        close(dirfd);
        return -1;
    }
    while (depth < DEPTH_MAX && (de = readdir(d))) {
        int sub;

        if (de->d_type != DT_DIR || de->d_name[0] == '.')
            continue;
        sub = openat(dirfd, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0 && !walk(sub, out, depth + 1))
            rc = 0;
    }
    closedir(d);
    return rc;
}

int cgroup_procs_has(const char *text, const char *path)
{
    size_t n = strlen(path);

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = strchr(line, ':'); /* hierarchy:controllers:path */

        at = at ? strchr(at + 1, ':') : NULL;
        if (!at)
            return 0;
        at++;
        if (!strncmp(at, path, n) && (!at[n] || at[n] == '\n' || at[n] == '/'))
            return 1;
    }
    return 0;
}

/* By what each process says of itself. */
static int ask_all(const struct cgroup_procs *g, struct pid_list *out)
{
    struct pid_list all = {0};
    struct buf text = {0};

    proctask_processes(&all);
    for (size_t i = 0; i < all.list.n; i++) {
        buf_clear(&text);
        if (all.list.a[i] != getpid() && !proctask_read(all.list.a[i], 0, "cgroup", &text) &&
            cgroup_procs_has(buf_str(&text), g->path))
            *vec_push(&out->list) = all.list.a[i];
    }
    vec_release(&all.list);
    buf_release(&text);
    return 0;
}

int cgroup_procs_list(const struct cgroup_procs *g, struct pid_list *out)
{
    int fd;

    if (!g->dir)
        return ask_all(g, out);
    fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : walk(fd, out, 0);
}
