/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include "base/io.h"
#include "platform/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct winsize screen(void)
{
    struct winsize w = {0};

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
        w = (struct winsize){0};
    return w;
}

int product_color(void)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

size_t product_width(void)
{
    return screen().ws_col;
}

static int is_long(const struct buf *text)
{
    size_t lines = 0, rows = screen().ws_row;

    for (size_t i = 0; i < text->len; i++)
        lines += text->data[i] == '\n';
    return rows && lines + 1 > rows;
}

static int page(const struct buf *text)
{
    const char *pager = getenv("PAGER");
    void (*before)(int);
    FILE *f;

    if (!is_long(text) || (pager && (!*pager || !strcmp(pager, "cat"))))
        return -1;
    setenv("LESS", "FRX", 0);
    f = popen(pager ? pager : "less", "we");
    if (!f)
        return -1;
    before = signal(SIGPIPE, SIG_IGN); /* quitting the pager early is no failure */
    fwrite(text->data, 1, text->len, f);
    if (pclose(f) == 127 << 8) {
        signal(SIGPIPE, before);
        return -1;
    }
    signal(SIGPIPE, before);
    return 0;
}

/* In place: what is no regular file, or lies in a directory where no other may be made. */
static int write_over(const char *path, const struct buf *text, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), rc;

    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    rc = io_write_all(fd, text->data, text->len, e);
    if (close(fd) && !rc)
        rc = err_sys(e, errno, "close");
    return rc ? err_wrap(e, "%s", path) : 0;
}

/* The mode and owner that the file has, or that a new one gets. */
static int dress(int fd, const struct stat *old, struct err *e)
{
    struct identity who;
    mode_t mask = umask(0);
    int rc = 0;

    umask(mask);
    if (fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask))
        return err_sys(e, errno, "chmod");
    if (geteuid()) /* nobody but root gives files away */
        return 0;
    if (old)
        return fchown(fd, old->st_uid, old->st_gid) ? err_sys(e, errno, "chown") : 0;
    if (identity_of_caller(&who, e))
        rc = -1;
    else if (who.switched && fchown(fd, who.uid, who.gid))
        rc = err_sys(e, errno, "chown to %u:%u", (unsigned)who.uid, (unsigned)who.gid);
    identity_release(&who);
    return rc;
}

static int write_beside(const char *path, const struct stat *old, const struct buf *text, struct err *e)
{
    char *tmp = mem_printf("%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC), rc;

    if (fd < 0) {
        free(tmp);
        return errno == ENOSPC || errno == EDQUOT ? err_sys(e, errno, "%s", path) : write_over(path, text, e);
    }
    rc = io_write_all(fd, text->data, text->len, e) || dress(fd, old, e);
    if (close(fd) && !rc)
        rc = err_sys(e, errno, "close");
    if (!rc && rename(tmp, path))
        rc = err_sys(e, errno, "rename");
    if (rc)
        unlink(tmp);
    free(tmp);
    return rc ? err_wrap(e, "%s", path) : 0;
}

int product_write(const char *path, const struct buf *text, struct err *e)
{
    struct stat st;
    int there, rc;
    char *real;

    if (!*path)
        return err_set(e, "the file's name is empty");
    there = !stat(path, &st);
    if (there && S_ISDIR(st.st_mode))
        return err_set(e, "%s is a directory: a file's name is wanted", path);
    if (there && (!S_ISREG(st.st_mode) || access(path, W_OK)))
        return write_over(path, text, e);
    real = there ? realpath(path, NULL) : NULL;
    if (!there && !lstat(path, &st)) /* a symlink to what is not there yet */
        return write_over(path, text, e);
    rc = write_beside(real ? real : path, there ? &st : NULL, text, e);
    free(real);
    return rc;
}

void product_print(const struct buf *text)
{
    if (text->len && page(text))
        fwrite(text->data, 1, text->len, stdout);
}
