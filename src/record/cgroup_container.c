/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_container.h"

#include "base/buf.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "platform/container_names.h"
#include "platform/container_path.h"
#include "record/cgroup_find.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8, SHORT_ID = 12 };

struct found {
    char *id, *path;  /* owned */
    const char *name; /* of `names`; NULL: not known */
    int by_name;      /* the id is a name */
};

struct found_list {
    VEC(struct found) list;
};

/* ---- those that run ---- */

static void add(struct found_list *f, const struct container_path *c, const char *path)
{
    for (size_t i = 0; i < f->list.n; i++)
        if (!strcmp(f->list.a[i].id, c->id))
            return;
    *vec_push(&f->list) =
        (struct found){.id = mem_strdup(c->id), .path = mem_strndup(path, c->end), .by_name = c->by_name};
}

static void add_lines(struct found_list *f, const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *path = strchr(line, ':');
        struct container_path c;

        path = path ? strchr(path + 1, ':') : NULL;
        if (path && container_path_parse(path + 1, strcspn(path + 1, "\n"), &c))
            add(f, &c, path + 1);
    }
}

static void find_all(struct found_list *f, const char *root)
{
    char *proc = mem_printf("%s/proc", root);
    struct buf text = {0};
    DIR *d = dir_open(AT_FDCWD, proc, 0);
    struct dirent *de;

    while ((de = dir_next(d))) {
        char *path;

        if (de->d_name[0] < '1' || de->d_name[0] > '9')
            continue;
        path = mem_printf("%s/%s/cgroup", proc, de->d_name);
        buf_clear(&text);
        if (!io_read_file(AT_FDCWD, path, &text, NULL))
            add_lines(f, buf_str(&text));
        free(path);
    }
    dir_close(d);
    free(proc);
    buf_release(&text);
}

static void release(struct found_list *f)
{
    for (size_t i = 0; i < f->list.n; i++) {
        free(f->list.a[i].id);
        free(f->list.a[i].path);
    }
    vec_release(&f->list);
}

/* ---- choosing ---- */

static void list_them(const struct found_list *f, const char *prefix, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < f->list.n; i++) {
        const struct found *x = &f->list.a[i];

        if (strncmp(x->id, prefix, strlen(prefix)) != 0)
            continue;
        if (n++ >= SHOWN)
            continue;
        buf_addf(out, "%s%.*s", out->len ? ", " : "", x->by_name ? 255 : SHORT_ID, x->id);
        if (x->name)
            buf_addf(out, " (%s)", x->name);
    }
    if (n > SHOWN)
        buf_addf(out, " and %zu more", n - SHOWN);
}

static const struct found *choose(const struct found_list *f, const char *text, struct err *e)
{
    const struct found *by_id = NULL;
    struct buf list = {0};
    size_t n = 0;

    for (size_t i = 0; i < f->list.n; i++) {
        const struct found *x = &f->list.a[i];

        if (!strcmp(x->id, text) || (x->name && !strcmp(x->name, text)))
            return x;
        if (!x->by_name && !strncmp(x->id, text, strlen(text))) {
            by_id = x;
            n++;
        }
    }
    if (n == 1 && *text)
        return by_id;
    list_them(f, n && *text ? text : "", &list);
    if (n && *text)
        err_set(e, "--container %s: several containers begin so: %s", text, buf_str(&list));
    else if (f->list.n)
        err_set(e,
                "--container %s: none of that id or name runs here (there are: %s; names are read from the "
                "engines' "
                "files, which takes root)",
                text, buf_str(&list));
    else
        err_set(e,
                "--container %s: no container's processes are in /proc here: none runs, or this is inside of "
                "one; -p PID and "
                "--cgroup PATH take what is seen",
                text);
    buf_release(&list);
    return NULL;
}

int cgroup_container(struct cgroup_procs *g, const char *root, const char *text, struct err *e)
{
    char *groups = mem_printf("%s/sys/fs/cgroup", root);
    struct container_names names = {0};
    struct found_list all = {0};
    const struct found *x;

    *g = (struct cgroup_procs){0};
    find_all(&all, root);
    container_names_read(&names, root);
    for (size_t i = 0; i < all.list.n; i++)
        all.list.a[i].name = container_names_of(&names, all.list.a[i].id);
    x = choose(&all, text, e);
    if (x) {
        g->path = mem_strdup(x->path);
        g->dir = cgroup_find_dir(groups, x->path);
        g->name = x->name      ? mem_strdup(x->name)
                  : x->by_name ? mem_strdup(x->id)
                               : mem_strndup(x->id, SHORT_ID);
    }
    release(&all);
    container_names_release(&names);
    free(groups);
    return x ? 0 : -1;
}
