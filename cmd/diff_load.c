/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include "analyze/open.h"
#include "base/log.h"
#include "collect/gpu_rest.h"
#include "exchange/import/import.h"
#include "model/session_dir.h"
#include "platform/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which there are ---- */

static int add_folder(struct diff_paths *p, const char *path, int fd, struct err *e)
{
    struct buf names = {0};
    size_t n = session_dir_list(fd, &names);
    const char *name = buf_str(&names);

    for (size_t i = 0; i < n; i++, name += strlen(name) + 1)
        *vec_push(&p->list) = mem_printf("%s/%s", path, name);
    buf_release(&names);
    return n ? 0 : err_set(e, "%s: neither a session nor a folder of sessions", path);
}

int diff_paths_add(struct diff_paths *p, const char *path, struct err *e)
{
    int fd, rc = 0;
    struct stat st;

    if (strcmp(path, "-") != 0 && stat(path, &st)) /* an archive on stdin */
        return err_sys(e, errno, "%s", path);
    if (!strcmp(path, "-") || !S_ISDIR(st.st_mode)) {
        *vec_push(&p->list) = mem_strdup(path);
        return 0;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    if (session_dir_holds(fd, NULL))
        *vec_push(&p->list) = mem_strdup(path);
    else
        rc = add_folder(p, path, fd, e);
    close(fd);
    return rc;
}

void diff_paths_release(struct diff_paths *p)
{
    for (size_t i = 0; i < p->list.n; i++)
        free(p->list.a[i]);
    vec_release(&p->list);
}

/* ---- what is in them ---- */

/* A file of folded stacks becomes a session that is nowhere on disk. */
static int read_folded(struct session *s, const char *path, struct err *e)
{
    const struct importer *x = importer_find("folded", e);
    struct import_stats st = {0};
    struct input in;
    int rc = input_open(&in, path, e);

    if (rc) {
        input_release(&in);
        return -1;
    }
    rc = x->run(&in, &s->store, &s->meta, &st, e);
    stacks_settle(&s->store.stacks);
    input_release(&in);
    if (!rc && st.bad > st.stacks) /* a wrong path is compared with nothing */
        rc = err_set(e, "%llu of %llu lines made no sense, the first is line %llu: no folded stacks",
                     (unsigned long long)st.bad, (unsigned long long)(st.bad + st.stacks),
                     (unsigned long long)st.first_bad);
    else if (!rc && st.bad)
        log_warn("%s: %llu lines made no sense and were left out, the first is line %llu: %s", path,
                 (unsigned long long)st.bad, (unsigned long long)st.first_bad, buf_str(&st.bad_text));
    if (!rc && st.rounded)
        log_warn("%s: %llu values with a fraction were rounded", path, (unsigned long long)st.rounded);
    import_stats_release(&st);
    return rc ? err_wrap(e, "%s", path) : 0;
}

static int add_path(struct compare *c, int side, const char *path, struct err *e)
{
    struct session s = {0};
    struct stat st;
    int folded = !stat(path, &st) && S_ISREG(st.st_mode) && !packed_is(path);
    int rc = folded ? read_folded(&s, path, e) : open_session(&s, path, gpu_rest_take, e);

    if (!rc && (folded ? compare_add_stacks(c, side, &s, path, e) : compare_add(c, side, &s, path, e)))
        rc = err_wrap(e, "%s", path);
    session_release(&s);
    return rc;
}

int diff_load(struct compare *c, const struct diff_paths side[COMPARISON_SIDES], struct err *e)
{
    for (int k = 0; k < COMPARISON_SIDES; k++)
        for (size_t i = 0; i < side[k].list.n; i++)
            if (add_path(c, k, side[k].list.a[i], e))
                return -1;
    return 0;
}
