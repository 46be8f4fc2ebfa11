/* SPDX-License-Identifier: Apache-2.0 */
#include "export_aiprof.h"

#include "analyze/fold.h"
#include "analyze/timeline.h"
#include "base/dir.h"
#include "base/io.h"
#include "exchange/export/aiprof.h"
#include "exchange/export/export.h"
#include "render/renderer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 16 };

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

static int copy_tree(int from, int to, const char *name, int depth, struct err *e);

static int copy_file(int from, int to, const char *name, struct err *e)
{
    int fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;
    struct buf text = {0};

    if (fd < 0)
        return err_sys(e, errno, "%s", name);
    rc = io_read_fd(fd, &text, e);
    close(fd);
    if (!rc)
        rc = io_replace_file(to, name, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc;
}

static int copy_entry(int from, int to, const struct dirent *de, int depth, struct err *e)
{
    struct stat st;

    if (fstatat(from, de->d_name, &st, AT_SYMLINK_NOFOLLOW))
        return err_sys(e, errno, "%s", de->d_name);
    if (S_ISDIR(st.st_mode))
        return copy_tree(from, to, de->d_name, depth + 1, e);
    return S_ISREG(st.st_mode) ? copy_file(from, to, de->d_name, e) : 0;
}

/* The directory `name` of `from`, into `to`; links and devices stay behind. Without it there is nothing to
 * do.
 */
static int copy_tree(int from, int to, const char *name, int depth, struct err *e)
{
    DIR *d = depth > DEPTH_MAX ? NULL : dir_open(from, name, O_NOFOLLOW);
    struct dirent *de;
    int out, rc = 0;

    if (!d)
        return 0;
    if (mkdirat(to, name, 0700) && errno != EEXIST)
        rc = err_sys(e, errno, "%s", name);
    out = rc ? -1 : openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (out >= 0 && !rc && (de = dir_next(d)))
        rc = copy_entry(dirfd(d), out, de, depth, e);
    if (out >= 0)
        close(out);
    dir_close(d);
    return rc ? err_wrap(e, "%s", name) : 0;
}

static int copy_extra(const struct session *s, int to, struct err *e)
{
    int from = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        rc = from < 0 ? 0 : copy_tree(from, to, "extra", 0, e);

    if (from >= 0)
        close(from);
    return rc;
}

/* ---- its files ---- */

/* What the picture and folded.txt show: samples; without any, what ran on GPUs, or else waits. */
static const char *metric_of(const struct store *s)
{
    return fold_has(s, "oncpu")    ? "oncpu"
           : fold_has(s, "gpu")    ? "gpu"
           : fold_has(s, "offcpu") ? "offcpu"
                                   : "oncpu";
}

static int write_profile(struct session *s, const struct cut *only, int dir, struct err *e)
{
    struct fold_opts fold = {.metric = metric_of(&s->store), .had = only ? only->had : 0};
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
