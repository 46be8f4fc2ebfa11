/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/log.h"
#include "base/units.h"
#include "model/session.h"
#include "platform/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pack_opts {
    const char *output;
};

static const struct opt options[] = {
    OPT_STRING('o', "output", struct pack_opts, output, "FILE",
               "the archive; - is stdout (default: ID.tar.zst here)"),
};

static int write_archive(const struct session *s, int dirfd, const char *name, uint64_t *size, struct err *e)
{
    struct product_file f;
    struct packed_left left = {0};
    struct stat st;
    int rc;

    if (!strcmp(name, "-")) {
        rc = packed_write(dirfd, &s->meta, STDOUT_FILENO, &left, e);
    } else {
        rc = product_open(&f, name, e);
        if (!rc)
            rc = packed_write(dirfd, &s->meta, f.fd, &left, e);
        *size = !rc && !fstat(f.fd, &st) ? (uint64_t)st.st_size : 0;
        rc = product_close(&f, rc, e);
    }
    if (!rc)
        product_say_left(&left);
    buf_release(&left.names);
    return rc;
}

static int pack(const struct pack_opts *o, const struct session *s, struct err *e)
{
    char *name = o->output ? mem_strdup(o->output) : mem_printf("%s.tar.zst", s->meta.session_id), text[32];
    int dirfd = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    uint64_t size = 0;

    rc = dirfd < 0 ? err_sys(e, errno, "open") : product_is_whole(s, dirfd, e);
    if (!rc && !strcmp(name, "-") && isatty(STDOUT_FILENO))
        rc = err_set(e, "an archive is not for a terminal: -o FILE, or a pipe");
    if (!rc)
        rc = write_archive(s, dirfd, name, &size, e);
    if (!rc && strcmp(name, "-") != 0) {
        log_info("%s", units_size(text, sizeof(text), size));
        printf("%s\n", name);
    }
    if (dirfd >= 0)
        close(dirfd);
    free(name);
    return rc;
}

static int pack_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct session s;
    struct err e = {0};
    int rc;

    if (argc > 1)
        return command_usage(&cmd_pack, "takes one session, '%s' is too many", argv[1]);
    if (packed_open_meta(&s, argc ? argv[0] : NULL, &e)) {
        log_error("%s", e.msg);
        return EXIT_FAILED;
    }
    if (!argc)
        log_info("session: %s (the newest here)", s.path);
    rc = pack(values, &s, &e);
    if (rc)
        log_error("%s: %s", s.path, e.msg);
    session_release(&s);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_pack = {
    .name = "pack",
    .summary = "put a session into one file, to send it elsewhere",
    .operands = "[SESSION]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct pack_opts),
    .examples = "wprof pack\n"
                "wprof pack -o slow.tar.zst wprof-train.py-20261130-101112-0a1b2c\n"
                "wprof pack -o - | ssh desk wprof show -",
    .run = pack_run,
};
