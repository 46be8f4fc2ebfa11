/* SPDX-License-Identifier: Apache-2.0 */
#include "model/spare.h"

#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int spare_open(int dirfd, size_t bytes)
{
    int fd = openat(dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* linkat(2): a file of O_TMPFILE gets a name by way of /proc, without any privilege. */
static int give_name(int fd, int dirfd, const char *path)
{
    char *tmp = mem_printf("%s.tmp", path), proc[32];
    int rc;

    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
    unlinkat(dirfd, tmp, 0);
    rc = linkat(AT_FDCWD, proc, dirfd, tmp, AT_SYMLINK_FOLLOW) || renameat(dirfd, tmp, dirfd, path) ? -1 : 0;
    free(tmp);
    return rc;
}

int spare_write(int *fd, int dirfd, const char *path, const void *p, size_t n, uid_t uid, gid_t gid,
                struct err *e)
{
    int rc = lseek(*fd, 0, SEEK_SET) < 0 ? err_sys(e, errno, "seek") : io_write_all(*fd, p, n, e);

    if (!rc && ftruncate(*fd, (off_t)n))
        rc = err_sys(e, errno, "truncate");
    if (!rc && fchown(*fd, uid, gid))
        rc = err_sys(e, errno, "chown to %u:%u", (unsigned)uid, (unsigned)gid);
    if (!rc && give_name(*fd, dirfd, path))
        rc = err_sys(e, errno, "rename");
    close(*fd);
    *fd = -1;
    return rc ? err_wrap(e, "%s", path) : 0;
}
