/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_logs.h"

#include "base/dir.h"
#include "model/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY SESSION_AGENTS

enum { GIVE = 1 << 16, PAGE = 4096 }; /* bytes: given back at once, and aligned to */
enum { PATIENCE = 4, FILES = 4096 };

int gpu_logs_init(struct gpu_logs *g, struct store *s, int session_dir, struct err *e)
{
    struct stat st;

    *g = (struct gpu_logs){.store = s, .dir = -1, .parent = session_dir};
    gpu_tasks_init(&g->tasks, s);
    if (mkdirat(session_dir, DIRECTORY, 0700) && errno != EEXIST)
        return err_sys(e, errno, DIRECTORY);
    g->dir = openat(session_dir, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (g->dir < 0)
        return err_sys(e, errno, DIRECTORY);
    if (!fstat(session_dir, &st) && st.st_uid != geteuid() && fchown(g->dir, st.st_uid, st.st_gid))
        return err_sys(e, errno, DIRECTORY);
    return 0;
}

int gpu_logs_open(struct gpu_logs *g, struct store *s, int session_dir)
{
    *g = (struct gpu_logs){.store = s, .parent = session_dir, .stays = 1};
    gpu_tasks_init(&g->tasks, s);
    g->tasks.past = 1;
    g->dir = openat(session_dir, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return g->dir < 0 ? -1 : 0;
}

static int is_known(const struct gpu_logs *g, const char *name)
{
    for (size_t i = 0; i < g->files.n; i++)
        if (!strcmp(g->files.a[i]->name, name))
            return 1;
    return 0;
}

static uint32_t find_task(void *arg, struct gpu_log *l, uint32_t tid)
{
    struct gpu_logs *g = arg;

    return gpu_tasks_find(&g->tasks, l->pid, l->pid_space, tid);
}

static void open_one(struct gpu_logs *g, const char *name)
{
    int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = g->stays ? -1 : openat(g->dir, name, O_RDWR | flags);
    struct gpu_logs_file *f;
    struct stat st;

    if (fd < 0)
        fd = openat(g->dir, name, O_RDONLY | flags);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || g->files.n == FILES) {
        g->strange++;
        if (fd >= 0)
            close(fd);
        return;
    }
    f = mem_calloc(1, sizeof(*f));
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->fd = fd;
    gpu_log_init(&f->log, g->store);
    f->log.task = find_task;
    f->log.arg = g;
    f->log.shared = &g->devices;
    *vec_push(&g->files) = f;
}

static void look_for_new(struct gpu_logs *g)
{
    DIR *d = dir_open(g->dir, ".", 0);
    struct dirent *de;

    while ((de = dir_next(d))) {
        size_t n = strlen(de->d_name);

        if (n > 5 && n < 64 && !strcmp(de->d_name + n - 5, ".wlog") && !is_known(g, de->d_name))
            open_one(g, de->d_name);
    }
    dir_close(d);
}

void gpu_logs_release(struct gpu_logs *g)
{
    if (g->dir >= 0 && !g->stays)
        look_for_new(g); /* what came where nothing was read */
    for (size_t i = 0; i < g->files.n; i++) {
        struct gpu_logs_file *f = g->files.a[i];

        if (g->dir >= 0 && !g->stays)
            unlinkat(g->dir, f->name, 0);
        wlog_reader_release(&f->reader);
        gpu_log_release(&f->log);
        close(f->fd);
        free(f);
    }
    vec_release(&g->files);
    gpu_tasks_release(&g->tasks);
    gpu_devices_release(&g->devices);
    if (g->dir >= 0) {
        close(g->dir);
        if (!g->stays)
            unlinkat(g->parent, DIRECTORY, AT_REMOVEDIR);
    }
    g->dir = -1;
}

/* A task that another collector enters later would be another one than ours: that has its time. */
static int is_met(struct gpu_logs *g, struct gpu_logs_file *f, int last)
{
    return last || !f->log.pid || gpu_tasks_know(&g->tasks, f->log.pid, f->log.pid_space) ||
           f->waited++ >= PATIENCE;
}

/* Where the file system can't, the file grows. */
static void give_back(struct gpu_logs_file *f)
{
    uint64_t to = f->reader.pos / PAGE * PAGE;

    if (to < f->given + GIVE)
        return;
    fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)f->given, (off_t)(to - f->given));
    f->given = to;
}

static void read_blocks(struct gpu_logs *g, struct gpu_logs_file *f, int last)
{
    struct wlog_block b;
    struct stat st;
    int rc = 0;

    if (!f->opened) {
        f->opened = !wlog_open(&f->reader, f->fd, NULL, 0, NULL) && f->reader.pos;
    }
    if (fstat(f->fd, &st))
        return;
    if (!f->opened) {
        f->unread = (uint64_t)st.st_size;
        return;
    }
    f->reader.size = (uint64_t)st.st_size;
    while (is_met(g, f, last) && (rc = wlog_next(&f->reader, &b, NULL)) > 0)
        if (b.type == GPU_WIRE_BLOCK)
            gpu_log_block(&f->log, b.p, b.n);
    f->unread = f->reader.size - f->reader.pos;
    if (g->give)
        give_back(f);
}

void gpu_logs_read(struct gpu_logs *g, uint64_t begin, uint64_t end, int last)
{
    look_for_new(g);
    for (size_t i = 0; i < g->files.n; i++) {
        struct gpu_log *l = &g->files.a[i]->log;

        l->begin = begin;
        l->end = end;
        read_blocks(g, g->files.a[i], last);
        if (last)
            gpu_log_end(l, end ? end : l->told_to);
    }
}
