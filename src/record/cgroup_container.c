/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_container.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "record/cgroup_container_names.h"
#include "record/cgroup_find.h"

#include <dirent.h>
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

static int is_hex(const char *s, size_t n)
{
    return strspn(s, "0123456789abcdef") >= n;
}

/* ---- paths ---- */

/*
 * One component. Ids: "<64 hex>", "docker-<id>.scope", "cri-containerd-<id>.scope", "crio-<id>.scope",
 * "libpod-<id>.scope"; what watches one ("libpod-conmon-<id>.scope") is not it.
 */
static int component_id(const char *c, size_t n, char id[256])
{
    static const char scope[] = ".scope";
    size_t tail = sizeof(scope) - 1;

    if (n > tail && !memcmp(c + n - tail, scope, tail))
        n -= tail;
    if (n < CONTAINER_ID || !is_hex(c + n - CONTAINER_ID, CONTAINER_ID))
        return 0;
    if (n > CONTAINER_ID && c[n - CONTAINER_ID - 1] != '-')
        return 0;
    if (memmem(c, n, "conmon", 6))
        return 0;
    memcpy(id, c + n - CONTAINER_ID, CONTAINER_ID);
    id[CONTAINER_ID] = '\0';
    return 1;
}

/* "lxc.payload.NAME", "machine-NAME.scope", or below "lxc". */
static int component_name(const char *before, const char *c, size_t n, char name[256])
{
    static const char payload[] = "lxc.payload.", machine[] = "machine-", scope[] = ".scope";
    size_t head;

    if (n > sizeof(payload) - 1 && !memcmp(c, payload, sizeof(payload) - 1)) {
        head = sizeof(payload) - 1;
    } else if (n > sizeof(machine) + sizeof(scope) && !memcmp(c, machine, sizeof(machine) - 1) &&
               !memcmp(c + n - (sizeof(scope) - 1), scope, sizeof(scope) - 1)) {
        head = sizeof(machine) - 1;
        n -= sizeof(scope) - 1;
    } else if (before && !strncmp(before, "lxc/", 4) && n) {
        head = 0;
    } else {
        return 0;
    }
    if (n - head >= 256)
        return 0;
    memcpy(name, c + head, n - head);
    name[n - head] = '\0';
    return 1;
}

int cgroup_container_of(const char *path, size_t n, size_t *end, char id[256])
{
    const char *before = NULL;
    int got = 0;

    for (size_t at = 0; at < n;) {
        size_t len;

        at += path[at] == '/';
        for (len = 0; at + len < n && path[at + len] != '/';)
            len++;
        if (component_id(path + at, len, id) || component_name(before, path + at, len, id)) {
            *end = at + len;
            got = 1;
        }
        before = len ? path + at : before;
        at += len ? len : 1;
    }
    return got;
}

/* ---- those that run ---- */

static void add(struct found_list *f, const char *id, const char *path, size_t n)
{
    for (size_t i = 0; i < f->list.n; i++)
        if (!strcmp(f->list.a[i].id, id))
            return;
    *vec_push(&f->list) = (struct found){.id = mem_strdup(id),
                                         .path = mem_strndup(path, n),
                                         .by_name = strlen(id) != CONTAINER_ID || !is_hex(id, CONTAINER_ID)};
}

static void add_lines(struct found_list *f, const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *path = strchr(line, ':');
        char id[256];
        size_t end;

        path = path ? strchr(path + 1, ':') : NULL;
        if (path && cgroup_container_of(path + 1, strcspn(path + 1, "\n"), &end, id))
            add(f, id, path + 1, end);
    }
}

static void find_all(struct found_list *f, const char *root)
{
    char *proc = mem_printf("%s/proc", root);
    struct buf text = {0};
    DIR *d = opendir(proc);
    struct dirent *de;

    while (d && (de = readdir(d))) {
        char *path;

        if (de->d_name[0] < '1' || de->d_name[0] > '9')
            continue;
        path = mem_printf("%s/%s/cgroup", proc, de->d_name);
        buf_clear(&text);
        if (!io_read_file(AT_FDCWD, path, &text, NULL))
            add_lines(f, buf_str(&text));
        free(path);
    }
    if (d)
        closedir(d);
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
