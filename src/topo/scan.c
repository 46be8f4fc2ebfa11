/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/scan.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/map.h"
#include "model/redact.h"
#include "topo/cmdlines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    MQUEUE_MAGIC = 0x19800202, /* linux/ipc/mqueue.c */
    PF_KTHREAD_BIT = 0x200000, /* linux/include/linux/sched.h */
    PATIENCE_NS = 500000000,   /* with one command line */
};

struct job {
    struct scan *s;
    int live;        /* the real /proc: symbolic links are the kernel's */
    struct map same; /* hash of a text -> its offset */
    struct buf file; /* what was read last */
    const int *skip;
    size_t nskip;
    VEC(size_t) users; /* indexes of processes that are no threads of the kernel's */
};

/* ---- texts ---- */

static uint32_t add_text(struct job *j, const char *text)
{
    size_t n = strlen(text) + 1;
    uint64_t *at = map_put(&j->same, hash_bytes(text, n));

    if (*at && !strcmp(j->s->text.a + *at, text))
        return (uint32_t)*at;
    if (!j->s->text.n)
        *vec_push(&j->s->text) = '\0'; /* offset 0: "" */
    if (n == 1)
        return 0;
    vec_reserve(&j->s->text, j->s->text.n + n);
    *at = j->s->text.n;
    memcpy(j->s->text.a + j->s->text.n, text, n);
    j->s->text.n += n;
    return (uint32_t)*at;
}

/* ---- one process ---- */

static int read_at(struct job *j, int dir, const char *name)
{
    buf_clear(&j->file);
    return io_read_file(dir, name, &j->file, NULL);
}

/* proc(5), stat: what stands behind the name in parentheses, which may hold anything. */
static int read_stat(struct job *j, int dir, struct scan_process *p)
{
    uint64_t utime = 0, stime = 0;
    char *open, *close;
    unsigned flags = 0;
    long threads = 0;

    if (read_at(j, dir, "stat"))
        return -1;
    open = strchr(buf_str(&j->file), '(');
    close = strrchr(buf_str(&j->file), ')');
    if (!open || !close || close < open ||
        sscanf(close + 1,
               " %*c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
               " %*d %*d %*d %*d %ld %*d %" SCNu64,
               &p->ppid, &flags, &utime, &stime, &threads, &p->start) != 6)
        return -1;
    *close = '\0';
    p->comm = add_text(j, open + 1);
    p->cpu_ticks = utime + stime;
    p->threads = (uint32_t)threads;
    p->kernel = (flags & PF_KTHREAD_BIT) != 0;
    return 0;
}

/* The arguments, secrets out, blanks between. */
static void take_cmdline(void *arg, size_t index, char *text, size_t n)
{
    struct job *j = arg;
    VEC(char *) argv = {0};
    struct redacted r = {0};
    struct buf line = {0};

    if (!n)
        return;
    for (char *a = text; a < text + n; a += strlen(a) + 1)
        *vec_push(&argv) = a;
    *vec_push(&argv) = NULL;
    redact_command(&r, argv.a);
    for (size_t i = 0; i < r.args.n; i++)
        buf_addf(&line, "%s%s", i ? " " : "", r.args.a[i]);
    while (line.len && strchr(" \n", line.data[line.len - 1]))
        line.data[--line.len] = '\0';
    j->s->processes.a[j->users.a[index]].cmdline = add_text(j, buf_str(&line));
    buf_release(&line);
    redacted_release(&r);
    vec_release(&argv);
}

/* "net:[4026531840]"; 0 where it may not be read. */
static uint64_t namespace_of(int dir, const char *name)
{
    char link[64];
    ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);
    char *bracket;

    if (n <= 0)
        return 0;
    link[n] = '\0';
    bracket = strchr(link, '[');
    return bracket ? strtoull(bracket + 1, NULL, 10) : 0;
}

/* ---- its descriptors ---- */

static uint64_t bracketed(const char *link, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(link, prefix, n) ? 0 : strtoull(link + n, NULL, 10);
}

/* What fdinfo says: "flags:\t0100002" (octal) and "eventfd-id: 7". */
static void read_fdinfo(struct job *j, int dir, const char *fd, struct scan_fd *out)
{
    static const uint8_t modes[] = {[O_RDONLY] = 1, [O_WRONLY] = 2, [O_RDWR] = 3};
    char name[64];
    const char *flags, *id;

    snprintf(name, sizeof(name), "fdinfo/%s", fd);
    if (read_at(j, dir, name))
        return;
    flags = strstr(buf_str(&j->file), "flags:");
    if (flags) {
        unsigned access = (unsigned)strtoul(flags + 6, NULL, 8) & O_ACCMODE;

        out->mode = access < sizeof(modes) ? modes[access] : 0;
    }
    id = strstr(buf_str(&j->file), "eventfd-id:");
    if (id && out->kind == SCAN_FD_EVENTFD)
        out->ino = strtoull(id + 11, NULL, 10);
}

static int is_uninteresting_device(const char *path)
{
    static const char *const names[] = {"null",    "zero", "full", "random",
                                        "urandom", "tty",  "ptmx", "console"};

    path += strlen("/dev/");
    if (!strncmp(path, "pts/", 4) || !strncmp(path, "tty", 3))
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!strcmp(path, names[i]))
            return 1;
    return 0;
}

/* Whatever has a path is asked what it is, without asking a server that may be gone. */
static int kind_of_path(struct job *j, int fds, const char *fd, const char *link, struct scan_fd *out)
{
    struct statx sx;
    struct statfs fs;
    int known;
    char path[64];

    known = j->live && !statx(fds, fd, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, &sx);
    if (known) {
        out->dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
        out->ino = sx.stx_ino;
    }
    if (!strncmp(link, "/memfd:", 7))
        return SCAN_FD_MEMFD;
    if (!strncmp(link, "/dev/shm/", 9))
        return SCAN_FD_SHM;
    if (!strncmp(link, "/dev/mqueue/", 12))
        return SCAN_FD_MQUEUE;
    if (known && S_ISFIFO(sx.stx_mode))
        return SCAN_FD_FIFO;
    if (!strncmp(link, "/dev/", 5) && (!known || S_ISCHR(sx.stx_mode) || S_ISBLK(sx.stx_mode)))
        return is_uninteresting_device(link) ? -1 : SCAN_FD_DEVICE;
    if (known && S_ISREG(sx.stx_mode) && !strchr(link + 1, '/')) { /* a queue's path is in its own mount */
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", fds, fd);
        if (!statfs(path, &fs) && fs.f_type == MQUEUE_MAGIC)
            return SCAN_FD_MQUEUE;
    }
    return -1;
}

/* -1: of no kind that matters. */
static int kind_of(struct job *j, int fds, const char *fd, char *link, struct scan_fd *out)
{
    out->ino = bracketed(link, "socket:[");
    if (out->ino)
        return SCAN_FD_SOCKET;
    out->ino = bracketed(link, "pipe:[");
    if (out->ino)
        return SCAN_FD_PIPE;
    if (!strcmp(link, "anon_inode:[eventfd]"))
        return SCAN_FD_EVENTFD;
    return link[0] == '/' ? kind_of_path(j, fds, fd, link, out) : -1;
}

/* -1: this process's may not be read. */
static int add_fd(struct job *j, int dir, int fds, const char *fd)
{
    struct scan_fd out = {.process = (uint32_t)j->s->processes.n - 1, .fd = atoi(fd)};
    char link[4096];
    ssize_t n = readlinkat(fds, fd, link, sizeof(link) - 1);
    struct stat st;
    int kind;

    if (n <= 0) {
        if (n < 0 && (errno == EACCES || errno == EPERM))
            return -1;
        j->s->vanished++;
        return 0;
    }
    link[n] = '\0';
    kind = kind_of(j, fds, fd, link, &out);
    if (kind < 0)
        return 0;
    out.kind = (uint8_t)kind;
    if (link[0] == '/')
        out.path = add_text(j, link);
    /* The permissions of the link are how it was opened; only the kernel's own are. */
    if (j->live && kind != SCAN_FD_SOCKET && !fstatat(fds, fd, &st, AT_SYMLINK_NOFOLLOW))
        out.mode = (uint8_t)((st.st_mode & S_IRUSR ? 1 : 0) | (st.st_mode & S_IWUSR ? 2 : 0));
    if (kind == SCAN_FD_EVENTFD || (!j->live && kind != SCAN_FD_SOCKET))
        read_fdinfo(j, dir, fd, &out);
    *vec_push(&j->s->fds) = out;
    return 0;
}

static int is_number(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0';
}

static void read_fds(struct job *j, int dir, struct scan_process *p)
{
    int fds = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fds < 0 ? NULL : fdopendir(fds);
    struct dirent *de;

    if (!d) {
        if (fds >= 0)
            close(fds);
        p->denied = errno == EACCES || errno == EPERM;
        j->s->denied += p->denied;
        return;
    }
    while (!p->denied && (de = readdir(d)))
        if (is_number(de->d_name))
            p->denied = add_fd(j, dir, fds, de->d_name) != 0;
    closedir(d);
    j->s->denied += p->denied;
    p->nfds = (uint32_t)(j->s->fds.n - p->first_fd);
}

static void read_process(struct job *j, int proc, int pid)
{
    struct scan_process *p;
    struct stat st;
    char name[16];
    int dir;

    snprintf(name, sizeof(name), "%d", pid);
    dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    p = vec_push(&j->s->processes);
    *p = (struct scan_process){.pid = pid, .first_fd = (uint32_t)j->s->fds.n};
    if (dir < 0 || read_stat(j, dir, p)) {
        j->s->processes.n--;
        j->s->vanished++;
        if (dir >= 0)
            close(dir);
        return;
    }
    if (!fstat(dir, &st))
        p->uid = st.st_uid;
    if (!p->kernel) {
        if (!read_at(j, dir, "cgroup"))
            p->cgroup = add_text(j, buf_str(&j->file));
        p->net = namespace_of(dir, "ns/net");
        p->pidns = namespace_of(dir, "ns/pid");
        p->ipc = namespace_of(dir, "ns/ipc");
        read_fds(j, dir, p);
    }
    close(dir);
}

/* ---- all of them ---- */

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return x < y ? -1 : x > y;
}

static void read_cmdlines(struct job *j, int proc)
{
    VEC(int) pids = {0};

    for (size_t i = 0; i < j->s->processes.n; i++) {
        if (j->s->processes.a[i].kernel)
            continue;
        *vec_push(&j->users) = i;
        *vec_push(&pids) = j->s->processes.a[i].pid;
    }
    j->s->stuck = cmdlines_read(proc, pids.a, pids.n, PATIENCE_NS, take_cmdline, j);
    vec_release(&pids);
    vec_release(&j->users);
}

static int skipped(const struct job *j, int pid)
{
    for (size_t i = 0; i < j->nskip; i++)
        if (j->skip[i] == pid)
            return 1;
    return 0;
}

static int read_all(struct job *j, const char *path, int proc, struct err *e)
{
    DIR *d = fdopendir(dup(proc));
    VEC(int) pids = {0};
    struct dirent *de;

    if (!d)
        return err_sys(e, errno, "%s", path);
    while ((de = readdir(d)))
        if (is_number(de->d_name))
            *vec_push(&pids) = atoi(de->d_name);
    closedir(d);
    if (pids.n)
        qsort(pids.a, pids.n, sizeof(*pids.a), by_value);
    for (size_t i = 0; i < pids.n; i++)
        if (!skipped(j, pids.a[i]))
            read_process(j, proc, pids.a[i]);
    vec_release(&pids);
    return 0;
}

int scan_read(struct scan *s, const char *root, const int *skip, size_t nskip, struct err *e)
{
    struct job j = {.s = s, .live = !*root, .skip = skip, .nskip = nskip};
    char *path = mem_printf("%s/proc", root);
    int proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    const char *btime;

    *s = (struct scan){0};
    rc = proc < 0 ? err_sys(e, errno, "%s", path) : read_all(&j, path, proc, e);
    if (!rc)
        read_cmdlines(&j, proc);
    if (!rc && !read_at(&j, proc, "stat") && (btime = strstr(buf_str(&j.file), "btime ")))
        s->boot_ns = strtoull(btime + 6, NULL, 10) * 1000000000u;
    if (proc >= 0)
        close(proc);
    free(path);
    map_release(&j.same);
    buf_release(&j.file);
    return rc;
}

void scan_release(struct scan *s)
{
    vec_release(&s->processes);
    vec_release(&s->fds);
    vec_release(&s->text);
}

const struct scan_process *scan_find(const struct scan *s, int pid)
{
    size_t from = 0, to = s->processes.n;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (s->processes.a[mid].pid < pid)
            from = mid + 1;
        else
            to = mid;
    }
    return from < s->processes.n && s->processes.a[from].pid == pid ? &s->processes.a[from] : NULL;
}
