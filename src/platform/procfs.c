/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/procfs.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

static const char deleted[] = " (deleted)";

int procfs_parse_map(char *line, struct procfs_map *m, int *exec)
{
    char perm[8];
    unsigned maj, min;
    int at = 0;
    size_t n;

    /* proc(5): address perms offset dev inode pathname */
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 "%n", &m->start, &m->end, perm,
               &m->pgoff, &maj, &min, &m->ino, &at) < 7 ||
        strlen(perm) < 4)
        return 0;
    m->dev = makedev(maj, min);
    *exec = perm[2] == 'x';
    line += at + strspn(line + at, " ");
    n = strcspn(line, "\n");
    line[n] = '\0';
    m->path = line;
    return m->start < m->end;
}

pid_t procfs_heir(pid_t pid)
{
    char name[64];
    struct dirent *d;
    pid_t tid = 0;
    DIR *dir;

    snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
    dir = opendir(name);
    if (!dir)
        return 0;
    while (!tid && (d = readdir(dir)))
        if (atoi(d->d_name) != pid) /* "." and "..": 0 */
            tid = atoi(d->d_name);
    closedir(dir);
    return tid;
}

static int exec_maps(pid_t pid, void (*each)(void *arg, const struct procfs_map *m), void *arg, size_t *lines,
                     struct err *e)
{
    char name[64], *line = NULL;
    size_t cap = 0;
    FILE *f;
    int err;

    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    f = fopen(name, "re");
    if (!f)
        return err_sys(e, errno, "%s", name);
    for (; getline(&line, &cap, f) > 0; (*lines)++) {
        struct procfs_map m;
        int exec;

        if (procfs_parse_map(line, &m, &exec) && exec)
            each(arg, &m);
    }
    err = ferror(f) ? errno : 0;
    free(line);
    fclose(f);
    return err ? err_sys(e, err, "%s", name) : 0;
}

int procfs_exec_maps(pid_t pid, void (*each)(void *arg, const struct procfs_map *m), void *arg, struct err *e)
{
    size_t lines = 0;
    int rc = exec_maps(pid, each, arg, &lines, e);
    pid_t heir = lines ? 0 : procfs_heir(pid);

    return heir ? exec_maps(heir, each, arg, &lines, e) : rc;
}

/* The device may differ where the inode is of an overlay; a wrong file with the same inode number under the
 * same path is what would have to be there for this to be fooled. */
static int is_file(int fd, const struct procfs_map *m)
{
    struct stat st;

    return !fstat(fd, &st) && S_ISREG(st.st_mode) && (!m->ino || st.st_ino == m->ino);
}

static int try_open(const char *path, const struct procfs_map *m)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd >= 0 && !is_file(fd, m)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The file as the process, or thread, sees it. */
static int open_through(pid_t pid, const struct procfs_map *m, size_t n)
{
    char path[4096 + 64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start, m->end);
    fd = try_open(path, m);
    if (fd >= 0 || m->path[0] != '/')
        return fd;
    snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)pid, (int)n, m->path);
    return try_open(path, m);
}

int procfs_open_mapped(pid_t pid, const struct procfs_map *m)
{
    char path[4096 + 64];
    size_t n = strlen(m->path), cut = sizeof(deleted) - 1;
    pid_t heir;
    int fd;

    if (n > cut && !strcmp(m->path + n - cut, deleted))
        n -= cut;
    fd = open_through(pid, m, n);
    if (fd < 0 && (heir = procfs_heir(pid)))
        fd = open_through(heir, m, n);
    if (fd < 0 && m->path[0] == '/') { /* the process is gone, and its root with it */
        snprintf(path, sizeof(path), "%.*s", (int)n, m->path);
        fd = try_open(path, m);
    }
    return fd;
}

int procfs_cpuset(pid_t pid, struct buf *out)
{
    /* Versions 1 and 2 of cgroups. */
    static const char *const files[] = {"/sys/fs/cgroup/cpuset%s/cpuset.effective_cpus",
                                        "/sys/fs/cgroup%s/cpuset.cpus.effective"};
    struct buf path = {0}, name = {0};
    int rc = -1;

    buf_addf(&name, "/proc/%d/cpuset", (int)pid);
    if (!io_read_file(AT_FDCWD, buf_str(&name), &path, NULL) && path.len) {
        path.data[strcspn(path.data, "\n")] = '\0';
        for (size_t i = 0; rc < 0 && i < sizeof(files) / sizeof(files[0]); i++) {
            buf_clear(&name);
            buf_addf(&name, files[i], strcmp(path.data, "/") ? path.data : "");
            rc = io_read_file(AT_FDCWD, buf_str(&name), out, NULL);
        }
    }
    buf_release(&name);
    buf_release(&path);
    return rc;
}

ssize_t procfs_readv_memory(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n)
{
    ssize_t got = process_vm_readv(pid, to, n, from, n, 0);
    pid_t heir = got < 0 && errno == ESRCH ? procfs_heir(pid) : 0;

    return heir ? process_vm_readv(heir, to, n, from, n, 0) : got;
}

ssize_t procfs_read_memory(pid_t pid, uint64_t addr, void *dst, size_t n)
{
    struct iovec to = {dst, n}, from = {(void *)(uintptr_t)addr, n};

    return procfs_readv_memory(pid, &to, &from, 1);
}

int procfs_open_tmp(pid_t pid)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    char path[64];
    pid_t heir;
    int root, fd;

    snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 && (heir = procfs_heir(pid))) {
        snprintf(path, sizeof(path), "/proc/%d/root", (int)heir);
        root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (root < 0)
        return -1;
    fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
    if (fd < 0 &&
        (errno == ENOSYS || errno == EPERM)) /* Linux before 5.6, or a filter that does not know it */
        fd = openat(root, "tmp", (int)how.flags | O_NOFOLLOW);
    close(root);
    return fd;
}
