/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/io.h"
#include "base/log.h"
#include "model/session.h"
#include "model/session_dir.h"
#include "model/session_extra.h"
#include "platform/packed.h"
#include "platform/sweeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct unpack_opts {
    const char *output;
    uint64_t max_size;
    int force;
};

static const struct opt options[] = {
    OPT_STRING('o', "output", struct unpack_opts, output, "DIR",
               "the session's directory (default: wprof-WORKLOAD-ID here)"),
    OPT_FLAG(0, "force", struct unpack_opts, force, "replace DIR where it is a wprof session"),
    OPT_SIZE(0, "max-size", struct unpack_opts, max_size, "SIZE", "16G", NULL,
             "refuse an archive that holds more"),
};

/* Everything is taken out and checked in `room` before it gets its name. */
static int take(const struct unpack_opts *o, int fd, const char *room, struct session *s, struct err *e)
{
    struct packed_to to = {.max_bytes = o->max_size};
    int rc;

    if (product_owner(&to.uid, &to.gid, e))
        return -1;
    to.dirfd = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to.dirfd < 0 || fchown(to.dirfd, to.uid, to.gid))
        rc = err_sys(e, errno, "%s", room);
    else
        rc = packed_read(fd, &to, e);
    if (to.dirfd >= 0)
        close(to.dirfd);
    return rc ? rc : session_open_meta(s, room, e);
}

/* An old session in its place goes, with --force. */
static int clear(const char *dir, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(e, errno, "%s", dir);
    rc = session_dir_clear(fd, e) ? err_wrap(e, "%s", dir) : 0;
    close(fd);
    return rc;
}

static int settle(const struct unpack_opts *o, const char *room, const char *dir, struct err *e)
{
    if (o->force && clear(dir, e))
        return -1;
    if (!rename(room, dir)) /* over an empty directory, too */
        return 0;
    return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
               ? err_set(e, "%s is there already (-o names another, --force replaces a session)", dir)
               : err_sys(e, errno, "%s", dir);
}

static void say_extra(struct session *s, const char *dir)
{
    struct session_extra x;

    free(s->path);
    s->path = mem_strdup(dir);
    session_list(s, SESSION_EXTRA);
    x = session_extra_count(&s->meta);
    product_say_extra(&x);
}

static int unpack(const struct unpack_opts *o, int fd, struct err *e)
{
    char *room = mem_printf("%s.XXXXXX", o->output ? o->output : "wprof-unpacking"), *dir = NULL;
    struct session s = {0};
    int rc = mkdtemp(room) ? 0 : err_sys(e, errno, "%s", room), sweeper = rc ? -1 : sweeper_start(room);

    if (!rc) {
        rc = take(o, fd, room, &s, e);
        if (!rc) {
            dir = o->output ? mem_strdup(o->output) : session_default_dir(s.meta.workload, s.meta.session_id);
            rc = settle(o, room, dir, e);
        }
        if (rc)
            session_dir_remove(room);
        else
            say_extra(&s, dir);
    }
    if (sweeper >= 0) /* it finds nothing: the directory is gone, or has its name */
        close(sweeper);
    if (!rc)
        printf("%s\n", dir);
    session_release(&s);
    free(room);
    free(dir);
    return rc;
}

static int unpack_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct err e = {0};
    int fd, rc;

    if (argc != 1)
        return command_usage(&cmd_unpack,
                             argc ? "takes one archive, '%s' is too many" : "which archive? (- is stdin)",
                             argc ? argv[1] : "");
    fd = strcmp(argv[0], "-") ? open(argv[0], O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    rc = fd < 0 ? err_sys(&e, errno, "open") : unpack(values, fd, &e);
    if (fd >= 0)
        close(fd);
    if (rc)
        log_error("%s: %s", argv[0], e.msg);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_unpack = {
    .name = "unpack",
    .summary = "make a session's directory of what pack wrote",
    .operands = "FILE",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct unpack_opts),
    .examples = "wprof unpack 20261130-101112-0a1b2c.tar.zst\n"
                "ssh node7 wprof pack -o - run | wprof unpack -o run-of-node7 -",
    .run = unpack_run,
};
