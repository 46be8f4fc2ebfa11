/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_find.h"

#include "base/buf.h"
#include "base/dir.h"
#include "base/mem.h"
#include "base/opt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_SHOWN = 8 };

static int is_folder(const struct dirent *de)
{
    return de->d_name[0] != '.' && (de->d_type == DT_DIR || de->d_type == DT_LNK);
}

/* Directories in one; where it can't be read there are none. */
static void add_folders(struct dir_names *names, const char *path)
{
    dir_names(names, AT_FDCWD, path, is_folder);
}

static int is_group(const char *dir)
{
    char *procs = mem_printf("%s/cgroup.procs", dir);
    int there = !access(procs, F_OK);

    free(procs);
    return there;
}

static int has_processes(const char *dir)
{
    struct cgroup_procs g = {.dir = (char *)dir};
    struct pid_list all = {0};
    int some = !cgroup_procs_list(&g, &all) && all.list.n;

    vec_release(&all.list);
    return some;
}

/* Keeps the first group there is, or the first with processes in it. */
static void consider(char **best, int *live, char *dir)
{
    if (*live || !is_group(dir)) {
        free(dir);
        return;
    }
    *live = has_processes(dir);
    if (*best && !*live) {
        free(dir);
        return;
    }
    free(*best);
    *best = dir;
}

/* Version 2 alone; both at once ("unified", or a name of the mount's own); version 1. */
static char *find_below(const char *root, const char *rel)
{
    struct dir_names mounts = {0};
    char *best = NULL;
    int live = 0;

    consider(&best, &live, mem_printf("%s/%s", root, rel));
    if (!is_group(root))
        add_folders(&mounts, root);
    for (size_t i = 0; i < mounts.list.n && !live; i++)
        consider(&best, &live, mem_printf("%s/%s/%s", root, mounts.list.a[i], rel));
    dir_names_release(&mounts);
    return best;
}

char *cgroup_find_dir(const char *root, const char *path)
{
    return find_below(root, path + (*path == '/'));
}

/* How much of rel is there: a length. */
static size_t there(const char *root, const char *rel)
{
    size_t n = strlen(rel);

    while (n) {
        char *part = mem_strndup(rel, n), *dir = find_below(root, part);

        free(part);
        free(dir);
        if (dir)
            return n;
        while (n && rel[n - 1] != '/')
            n--;
        while (n && rel[n - 1] == '/')
            n--;
    }
    return 0;
}

/* The groups below `dir`; where that is the root of several hierarchies, those of each. */
static void read_groups(struct dir_names *names, const char *root, const char *dir)
{
    struct dir_names mounts = {0};
    size_t kept = 0;

    if (strcmp(dir, root) != 0 || is_group(root)) {
        add_folders(names, dir);
        return;
    }
    add_folders(&mounts, root);
    for (size_t i = 0; i < mounts.list.n; i++) {
        char *mount = mem_printf("%s/%s", root, mounts.list.a[i]);

        add_folders(names, mount);
        free(mount);
    }
    dir_names_release(&mounts);
    for (size_t i = 0; i < names->list.n; i++) {
        if (kept && !strcmp(names->list.a[kept - 1], names->list.a[i]))
            free(names->list.a[i]);
        else
            names->list.a[kept++] = names->list.a[i];
    }
    names->list.n = kept;
}

static int not_found(const char *root, const char *text, const char *rel, struct err *e)
{
    size_t known = there(root, rel);
    const char *rest = rel + known + strspn(rel + known, "/"), *near;
    char *part = mem_strndup(rel, known), *dir = known ? find_below(root, part) : mem_strdup(root);
    char *word = mem_strndup(rest, strcspn(rest, "/"));
    struct dir_names names = {0};
    struct buf list = {0};

    read_groups(&names, root, dir);
    near = opt_nearest(word, (const char *const *)names.list.a, names.list.n);
    for (size_t i = 0; i < names.list.n && i < NAMES_SHOWN; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", names.list.a[i]);
    if (names.list.n > NAMES_SHOWN)
        buf_addf(&list, " and %zu more", names.list.n - NAMES_SHOWN);
    err_set(e, "--cgroup %s: no such control group: %s has no '%s'%s%s%s (%s%s)", text, dir, word,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
            list.len ? "there: " : "nothing is below it; /proc/PID/cgroup says where a process is",
            buf_str(&list));
    dir_names_release(&names);
    buf_release(&list);
    free(word);
    free(part);
    free(dir);
    return -1;
}

static int climbs(const char *rel)
{
    for (const char *at = rel; *at; at += strcspn(at, "/"), at += *at == '/')
        if (!strncmp(at, "..", 2) && (!at[2] || at[2] == '/'))
            return 1;
    return 0;
}

int cgroup_find(struct cgroup_procs *g, const char *root, const char *text, struct err *e)
{
    size_t n = strlen(root), len;
    const char *rel = text;
    char *clean;
    struct stat st;

    *g = (struct cgroup_procs){0};
    if (stat(root, &st) || !S_ISDIR(st.st_mode))
        return err_set(
            e, "--cgroup %s: no control groups are mounted at %s here; --container looks in /proc, too", text,
            root);
    if (!strncmp(rel, root, n) && (!rel[n] || rel[n] == '/'))
        rel += n;
    rel += strspn(rel, "/");
    if (climbs(rel))
        return err_set(e, "--cgroup %s: '..' leads out of the control groups", text);
    clean = mem_strdup(rel);
    for (len = strlen(clean); len && clean[len - 1] == '/'; len--)
        clean[len - 1] = '\0';
    g->dir = find_below(root, clean);
    if (!g->dir) {
        not_found(root, text, clean, e);
        free(clean);
        return -1;
    }
    g->name = mem_strdup(*clean ? strrchr(clean, '/') ? strrchr(clean, '/') + 1 : clean : "cgroup");
    free(clean);
    return 0;
}
