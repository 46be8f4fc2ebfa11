/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/scan.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/lower.h"
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
    int hasty;       /* SCAN_FDS_HASTY */
    struct map same; /* hash of a text -> its offset */
    struct buf file; /* what was read last */
    const int *skip;
    size_t nskip;
    VEC(size_t) users;  /* indexes of processes that are no threads of the kernel's */
    VEC(int) of_kernel; /* pids of the kernel's threads, but for what it started as a program */
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

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return x < y ? -1 : x > y;
}

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

    if (j->hasty && strncmp(link, "/memfd:", 7) != 0 && strncmp(link, "/dev/", 5) != 0)
        return -1;
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
static int add_fd(struct job *j, int dir, int fds, const struct scan_process *p, const char *fd)
{
    struct scan_fd out = {.process = (uint32_t)(p - j->s->processes.a), .fd = atoi(fd)};
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

/* What getdents64(2) fills in. A folder of /proc that leaves so much of it empty has nothing more. */
struct entries {
    char bytes[16384];
};
enum { ENTRY_MAX = 280 };

/* Calls each() with every name that is a number, until it returns 1. -1: it cannot be read. */
static int each_number(int dir, int (*each)(void *arg, const char *name), void *arg)
{
    struct entries e;
    ssize_t n;

    do {
        n = getdents64(dir, e.bytes, sizeof(e.bytes));
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *de = (const void *)(e.bytes + at);

            if (is_number(de->d_name) && each(arg, de->d_name))
                return 0;
            at += de->d_reclen;
        }
    } while (n > (ssize_t)sizeof(e.bytes) - ENTRY_MAX);
    return n < 0 ? -1 : 0;
}

struct fd_job {
    struct job *j;
    struct scan_process *p;
    int dir, fds;
};

static int take_fd(void *arg, const char *name)
{
    struct fd_job *f = arg;

    f->p->denied = add_fd(f->j, f->dir, f->fds, f->p, name) != 0;
    return f->p->denied;
}

static void read_fds(struct job *j, int dir, struct scan_process *p)
{
    struct fd_job f = {j, p, dir, openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};

    p->first_fd = (uint32_t)j->s->fds.n;
    if (f.fds < 0 || each_number(f.fds, take_fd, &f))
        p->denied = errno == EACCES || errno == EPERM;
    if (f.fds >= 0)
        close(f.fds);
    j->s->denied += p->denied;
    p->nfds = (uint32_t)(j->s->fds.n - p->first_fd);
}

static int open_process(int proc, int pid)
{
    char name[16];

    snprintf(name, sizeof(name), "%d", pid);
    return openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* -1: it is gone. */
static int read_identity(struct job *j, int dir, int pid)
{
    struct scan_process *p = vec_push(&j->s->processes);

    *p = (struct scan_process){.pid = pid};
    if (dir >= 0 && !read_stat(j, dir, p))
        return 0;
    j->s->processes.n--;
    j->s->vanished++;
    return -1;
}

static void read_more(struct job *j, int dir, struct scan_process *p, unsigned what)
{
    what &= ~(unsigned)p->has;
    if (what & SCAN_SPACES) {
        p->net = namespace_of(dir, "ns/net");
        p->ipc = namespace_of(dir, "ns/ipc");
    }
    j->hasty = (what & SCAN_FDS_HASTY) != 0;
    if (what & (SCAN_FDS | SCAN_FDS_HASTY))
        read_fds(j, dir, p);
    p->has |= (uint8_t)(what & SCAN_FDS ? what | SCAN_FDS_HASTY : what);
}

/* What it is in, and whose it is. */
static void read_places(struct job *j, int dir, struct scan_process *p)
{
    struct stat st;

    if (!fstat(dir, &st))
        p->uid = st.st_uid;
    if (!read_at(j, dir, "cgroup"))
        p->cgroup = add_text(j, buf_str(&j->file));
    p->pidns = namespace_of(dir, "ns/pid");
}

/* Its threads are children of one of them: half of the processes of a small machine, of which nobody asks. */
static void list_kernel_threads(struct job *j, int dir, const struct scan_process *p)
{
    char name[48], *at, *end;

    snprintf(name, sizeof(name), "task/%d/children", p->pid);
    if (read_at(j, dir, name))
        return;
    at = (char *)buf_str(&j->file);
    for (long pid = strtol(at, &end, 10); end != at; pid = strtol(at, &end, 10)) {
        *vec_push(&j->of_kernel) = (int)pid;
        at = end;
    }
    if (j->of_kernel.n)
        qsort(j->of_kernel.a, j->of_kernel.n, sizeof(*j->of_kernel.a), by_value);
}

static int is_kernel_thread(struct job *j, int proc, int pid)
{
    char name[32], target[8];

    if (!j->of_kernel.n || !bsearch(&pid, j->of_kernel.a, j->of_kernel.n, sizeof(pid), by_value))
        return 0;
    snprintf(name, sizeof(name), "%d/exe", pid);
    return readlinkat(proc, name, target, sizeof(target)) < 0 && errno == ENOENT;
}

static void read_process(struct job *j, int proc, int pid, int brief)
{
    struct scan_process *p;
    int dir;

    if (is_kernel_thread(j, proc, pid))
        return;
    dir = open_process(proc, pid);
    if (!read_identity(j, dir, pid)) {
        p = &j->s->processes.a[j->s->processes.n - 1];
        if (p->kernel && !p->ppid)
            list_kernel_threads(j, dir, p);
        if (!brief && !p->kernel) {
            read_places(j, dir, p);
            read_more(j, dir, p, SCAN_SPACES | SCAN_FDS);
        }
    }
    if (dir >= 0)
        close(dir);
}

/* ---- all of them ---- */

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

struct pids {
    VEC(int) list;
};

static int take_pid(void *arg, const char *name)
{
    *vec_push(&((struct pids *)arg)->list) = atoi(name);
    return 0;
}

static int read_all(struct job *j, const char *path, int proc, int brief, struct err *e)
{
    struct pids pids = {0};
    int rc = each_number(proc, take_pid, &pids);

    if (rc)
        return err_sys(e, errno, "%s", path);
    if (pids.list.n)
        qsort(pids.list.a, pids.list.n, sizeof(*pids.list.a), by_value);
    for (size_t i = 0; i < pids.list.n; i++)
        if (!skipped(j, pids.list.a[i]))
            read_process(j, proc, pids.list.a[i], brief);
    vec_release(&pids.list);
    return 0;
}

static int open_proc(const char *root, char **path)
{
    *path = mem_printf("%s/proc", root);
    return open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void end_job(struct job *j, int proc, char *path)
{
    if (proc >= 0)
        close(proc);
    free(path);
    map_release(&j->same);
    buf_release(&j->file);
    vec_release(&j->of_kernel);
}

static int read_them(struct job *j, const char *root, int brief, struct err *e)
{
    char *path;
    int proc = open_proc(root, &path), rc;
    const char *btime;

    *j->s = (struct scan){0};
    rc = proc < 0 ? err_sys(e, errno, "%s", path) : read_all(j, path, proc, brief, e);
    if (!rc && !brief)
        read_cmdlines(j, proc);
    if (!rc && !read_at(j, proc, "stat") && (btime = strstr(buf_str(&j->file), "btime ")))
        j->s->boot_ns = strtoull(btime + 6, NULL, 10) * 1000000000u;
    end_job(j, proc, path);
    return rc;
}

int scan_read(struct scan *s, const char *root, const int *skip, size_t nskip, struct err *e)
{
    struct job j = {.s = s, .live = !*root, .skip = skip, .nskip = nskip};

    return read_them(&j, root, 0, e);
}

/* ---- in steps ---- */

int scan_begin(struct scan *s, const char *root, struct err *e)
{
    struct job j = {.s = s, .live = !*root};

    return read_them(&j, root, 1, e);
}

void scan_more(struct scan *s, const char *root, const uint8_t *of, unsigned what)
{
    struct job j = {.s = s, .live = !*root};
    char *path;
    int proc = open_proc(root, &path);

    for (size_t i = 0; proc >= 0 && i < s->processes.n; i++) {
        struct scan_process *p = &s->processes.a[i];
        int dir;

        if ((of && !of[i]) || p->kernel || !(what & ~(unsigned)p->has))
            continue;
        dir = open_process(proc, p->pid);
        if (dir < 0)
            continue;
        read_more(&j, dir, p, what);
        close(dir);
    }
    end_job(&j, proc, path);
}

static void copy_process(struct scan *part, const struct scan *s, size_t i)
{
    const struct scan_process *p = &s->processes.a[i];
    struct scan_process *copy = vec_push(&part->processes);

    *copy = *p;
    copy->first_fd = (uint32_t)part->fds.n;
    for (uint32_t k = 0; k < p->nfds; k++) {
        struct scan_fd *fd = vec_push(&part->fds);

        *fd = s->fds.a[p->first_fd + k];
        fd->process = (uint32_t)part->processes.n - 1;
    }
}

void scan_part(struct scan *part, const struct scan *s, const char *root, const uint8_t *of)
{
    struct job j = {.s = part, .live = !*root};
    char *path;
    int proc = open_proc(root, &path);

    *part = (struct scan){.denied = s->denied, .vanished = s->vanished, .boot_ns = s->boot_ns};
    vec_reserve(&part->text, s->text.n);
    if (s->text.n)
        memcpy(part->text.a, s->text.a, s->text.n);
    part->text.n = s->text.n;
    for (size_t i = 0; i < s->processes.n; i++)
        if (of[i] && !s->processes.a[i].kernel)
            copy_process(part, s, i);
    for (size_t i = 0; proc >= 0 && i < part->processes.n; i++) {
        int dir = open_process(proc, part->processes.a[i].pid);

        if (dir < 0)
            continue;
        read_places(&j, dir, &part->processes.a[i]);
        read_more(&j, dir, &part->processes.a[i], SCAN_SPACES);
        close(dir);
    }
    if (proc >= 0)
        read_cmdlines(&j, proc);
    end_job(&j, proc, path);
}

void scan_release(struct scan *s)
{
    vec_release(&s->processes);
    vec_release(&s->fds);
    vec_release(&s->text);
}

const struct scan_process *scan_find(const struct scan *s, int pid)
{
    size_t from = lower_bound(s->processes, pid, pid);

    return from < s->processes.n && s->processes.a[from].pid == pid ? &s->processes.a[from] : NULL;
}
