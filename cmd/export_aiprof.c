/* SPDX-License-Identifier: Apache-2.0 */
#include "export_aiprof.h"

#include "analyze/fold.h"
#include "analyze/timeline.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/log.h"
#include "base/tree.h"
#include "exchange/export/aiprof.h"
#include "exchange/export/export.h"
#include "render/renderer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the directory ---- */

static int make_directory(const char *dir, struct err *e)
{
    int fd;

    if (mkdir(dir, 0700) && errno != EEXIST)
        return err_sys(e, errno, "%s", dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "%s", dir);
    if (dir_is_empty(fd))
        return fd;
    close(fd);
    return err_set(e, "%s is not empty: a session's directory is made new", dir);
}

static int write_file(int dir, const char *name, struct buf *text, struct err *e)
{
    int rc = text->len ? io_replace_file(dir, name, text->data, text->len, e) : 0;

    buf_release(text);
    return rc;
}

/* ---- what lies in extra/ ---- */

static int copy_file(void *ctx, int fd, const char *path, struct err *e)
{
    const int *dir = ctx;
    int to = tree_create(*dir, path, (uid_t)-1, (gid_t)-1, e), rc = to < 0 ? -1 : tree_copy_fd(fd, to, e);

    if (to >= 0)
        close(to);
    return rc;
}

/* Links and devices stay behind. */
static int copy_extra(const struct session *s, int to, struct err *e)
{
    struct tree_visit visit = {copy_file, &to, NULL};
    int from = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    uint64_t left = 0;

    if (from < 0)
        return err_sys(e, errno, "%s", session_files(s));
    rc = tree_walk(from, "extra", &visit, &left, e);
    close(from);
    if (left)
        log_warn("%llu of extra/ are left out: only regular files travel", (unsigned long long)left);
    return rc;
}

/* ---- its files ---- */

static int write_profile(struct session *s, const struct cut *only, int dir, struct err *e)
{
    struct fold_opts fold = {.metric = fold_first(&s->store), .had = only ? only->had : 0};
    const struct renderer_ops *svg = renderer_find("svg");
    struct profile p = {0};
    struct quality q = {0};
    struct render_input in = {.profile = &p, .meta = &s->meta, .quality = &q, .view = "cpu"};
    struct buf text = {0};
    int rc = fold_profile(&p, s, &fold, e);

    quality_compute(&q, &s->store, &s->meta);
    if (!rc) {
        fold_text(&p, 0, &text);
        rc = write_file(dir, "folded.txt", &text, e);
    }
    rc = rc || svg->render(&in, &text, e) || write_file(dir, "flamegraph.svg", &text, e) ? -1 : 0;
    profile_release(&p);
    buf_release(&text);
    return rc;
}

static int write_timeline(struct session *s, const struct cut *only, int dir, struct err *e)
{
    struct timeline_opts all = {.cut = only};
    struct timeline t = {0};
    struct export_input in = {.session = s, .timeline = &t};
    struct buf text = {0};
    int rc;

    if (!timeline_has(s))
        return 0;
    timeline_build(&t, s, &all);
    rc = export_chrome.run(&in, &text, e) || write_file(dir, "timeline.json", &text, e) ? -1 : 0;
    timeline_release(&t);
    buf_release(&text);
    return rc;
}

static int write_kernels(const struct session *s, int dir, struct err *e)
{
    struct buf text = {0};

    aiprof_kernels(s, &text);
    if (text.len && mkdirat(dir, "cupti", 0700)) {
        buf_release(&text);
        return err_sys(e, errno, "cupti");
    }
    return write_file(dir, "cupti/kernels.jsonl", &text, e);
}

int export_aiprof_directory(struct session *s, const struct cut *only, const char *dir, struct err *e)
{
    struct buf meta = {0};
    int fd = make_directory(dir, e), rc;

    if (fd < 0)
        return -1;
    aiprof_meta(s, &meta);
    rc = write_profile(s, only, fd, e) || write_timeline(s, only, fd, e) || write_kernels(s, fd, e) ||
                 copy_extra(s, fd, e) || write_file(fd, "meta.json", &meta, e)
             ? -1
             : 0;
    close(fd);
    buf_release(&meta);
    return rc ? err_wrap(e, "%s", dir) : 0;
}
