/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include "base/io.h"
#include "base/log.h"
#include "model/session_dir.h"
#include "platform/identity.h"
#include "platform/packed.h"

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

size_t product_rows(void)
{
    return screen().ws_row;
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

int product_owner(uid_t *uid, gid_t *gid, struct err *e)
{
    struct identity who;
    int rc = identity_of_caller(&who, e);

    *uid = !rc && who.switched ? who.uid : (uid_t)-1;
    *gid = !rc && who.switched ? who.gid : (gid_t)-1;
    identity_release(&who);
    return rc;
}

/* The mode and owner that the file has, or that a new one gets. */
static int dress(int fd, const struct stat *old, struct err *e)
{
    mode_t mask = umask(0);
    uid_t uid;
    gid_t gid;

    umask(mask);
    if (fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask))
        return err_sys(e, errno, "chmod");
    if (geteuid()) /* nobody but root gives files away */
        return 0;
    if (old)
        return fchown(fd, old->st_uid, old->st_gid) ? err_sys(e, errno, "chown") : 0;
    if (product_owner(&uid, &gid, e))
        return -1;
    return fchown(fd, uid, gid) ? err_sys(e, errno, "chown to %u:%u", (unsigned)uid, (unsigned)gid) : 0;
}

/* In place: what is no regular file, or lies in a directory where no other may be made. */
static int open_over(struct product_file *f, const char *path, struct err *e)
{
    f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return f->fd < 0 ? err_sys(e, errno, "%s", path) : 0;
}

static int open_beside(struct product_file *f, struct err *e)
{
    f->tmp = mem_printf("%s.XXXXXX", f->path);
    f->fd = mkostemp(f->tmp, O_CLOEXEC);
    if (f->fd >= 0)
        return 0;
    free(f->tmp);
    f->tmp = NULL;
    return errno == ENOSPC || errno == EDQUOT ? err_sys(e, errno, "%s", f->path) : open_over(f, f->path, e);
}

int product_open(struct product_file *f, const char *path, struct err *e)
{
    struct stat st;

    *f = (struct product_file){.fd = -1};
    if (!*path)
        return err_set(e, "the file's name is empty");
    f->there = !stat(path, &f->old);
    if (f->there && S_ISDIR(f->old.st_mode))
        return err_set(e, "%s is a directory: a file's name is wanted", path);
    f->path = f->there ? realpath(path, NULL) : NULL;
    if (!f->path)
        f->path = mem_strdup(path);
    if (f->there && (!S_ISREG(f->old.st_mode) || access(path, W_OK)))
        return open_over(f, path, e);
    if (!f->there && !lstat(path, &st)) /* a symlink to what is not there yet */
        return open_over(f, path, e);
    return open_beside(f, e);
}

int product_add(struct product_file *f, const struct buf *text, struct err *e)
{
    return io_write_all(f->fd, text->data, text->len, e) ? err_wrap(e, "%s", f->path) : 0;
}

int product_close(struct product_file *f, int rc, struct err *e)
{
    if (!rc && f->tmp && dress(f->fd, f->there ? &f->old : NULL, e))
        rc = err_wrap(e, "%s", f->path);
    if (f->fd >= 0 && close(f->fd) && !rc)
        rc = err_sys(e, errno, "%s: close", f->path);
    if (!rc && f->tmp && rename(f->tmp, f->path))
        rc = err_sys(e, errno, "%s: rename", f->path);
    if (rc && f->tmp)
        unlink(f->tmp);
    free(f->tmp);
    free(f->path);
    return rc ? -1 : 0;
}

int product_write(const char *path, const struct buf *text, struct err *e)
{
    struct product_file f;
    int rc = product_open(&f, path, e);

    if (!rc)
        rc = product_add(&f, text, e);
    return product_close(&f, rc, e);
}

void product_print(const struct buf *text)
{
    if (text->len && page(text))
        fwrite(text->data, 1, text->len, stdout);
}

int product_is_whole(const struct session *s, int dirfd, struct err *e)
{
    int recording = 0;

    if (session_dir_holds(dirfd, &recording) && recording)
        return err_set(e, "it is still being recorded: wait until it is sealed");
    for (size_t i = 0; i < s->meta.artifacts.n; i++)
        if (session_check(dirfd, &s->meta.artifacts.a[i]) != SESSION_FILE_OK)
            return err_set(
                e,
                "%s is missing or was changed: `wprof verify` tells more, --repair there makes a whole one",
                s->meta.artifacts.a[i].path);
    if (s->meta.state && !strcmp(s->meta.state, "recording"))
        log_warn("%s was never sealed, its recorder was killed: on another machine its functions have no "
                 "names. `wprof verify --repair` makes a whole one here",
                 s->path);
    return 0;
}

void product_say_extra(const struct session_extra *x)
{
    struct buf text = {0};

    if (!x->n)
        return;
    session_extra_say(x, &text);
    log_info(SESSION_EXTRA "/: %s", buf_str(&text));
    buf_release(&text);
}

void product_say_left(const struct packed_left *left)
{
    product_say_extra(&left->extra);
    if (left->n)
        log_warn("left out, for only regular files travel: %s", buf_str(&left->names));
}
