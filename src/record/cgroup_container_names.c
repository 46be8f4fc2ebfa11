/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_container_names.h"

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void container_names_release(struct container_names *n)
{
    for (size_t i = 0; i < n->list.n; i++) {
        free(n->list.a[i].id);
        free(n->list.a[i].name);
    }
    vec_release(&n->list);
}

const char *container_names_of(const struct container_names *n, const char *id)
{
    for (size_t i = 0; i < n->list.n; i++)
        if (!strcmp(n->list.a[i].id, id))
            return n->list.a[i].name;
    return NULL;
}

static void add(struct container_names *n, const char *id, const char *name)
{
    if (id && name && *name)
        *vec_push(&n->list) = (struct container_name){mem_strdup(id), mem_strdup(name)};
}

static struct json_doc *read_json(const char *path)
{
    struct buf text = {0};
    struct json_doc *doc = NULL;

    if (!io_read_file(AT_FDCWD, path, &text, NULL))
        doc = json_parse(buf_str(&text), text.len, NULL);
    buf_release(&text);
    return doc;
}

/* "/web" */
static void docker(struct container_names *n, const char *id, const struct json_value *root)
{
    const char *name = json_get_str(root, "Name", NULL);

    add(n, id, name && *name == '/' ? name + 1 : name);
}

static void containerd(struct container_names *n, const char *id, const struct json_value *root)
{
    static const char *const keys[] = {"io.kubernetes.cri.container-name", "nerdctl/name"};
    const struct json_value *notes = json_get(root, "annotations");

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        add(n, id, json_get_str(notes, keys[i], NULL));
}

typedef void (*reader)(struct container_names *n, const char *id, const struct json_value *root);

/* dir/ID/file for every ID. */
static void read_each(struct container_names *n, const char *dir, const char *file, reader read)
{
    DIR *d = opendir(dir);
    struct dirent *de;

    while (d && (de = readdir(d))) {
        struct json_doc *doc;
        char *path;

        if (de->d_name[0] == '.')
            continue;
        path = mem_printf("%s/%s/%s", dir, de->d_name, file);
        doc = read_json(path);
        if (doc)
            read(n, de->d_name, json_root(doc));
        json_free(doc);
        free(path);
    }
    if (d)
        closedir(d);
}

static void read_docker(struct container_names *n, const char *root)
{
    char *dir = mem_printf("%s/var/lib/docker/containers", root);

    read_each(n, dir, "config.v2.json", docker);
    free(dir);
}

static void read_containerd(struct container_names *n, const char *root)
{
    char *tasks = mem_printf("%s/run/containerd/io.containerd.runtime.v2.task", root);
    DIR *d = opendir(tasks);
    struct dirent *de;

    while (d && (de = readdir(d))) {
        char *dir = de->d_name[0] == '.' ? NULL : mem_printf("%s/%s", tasks, de->d_name);

        if (dir)
            read_each(n, dir, "config.json", containerd);
        free(dir);
    }
    if (d)
        closedir(d);
    free(tasks);
}

/* A list of {"id", "names"}. */
static void read_storage(struct container_names *n, const char *root)
{
    char *path = mem_printf("%s/var/lib/containers/storage/overlay-containers/containers.json", root);
    struct json_doc *doc = read_json(path);
    const struct json_value *list = doc ? json_root(doc) : NULL;

    for (const struct json_value *x = list ? list->child : NULL; x; x = x->next) {
        const struct json_value *names = json_get(x, "names");

        for (const struct json_value *name = names ? names->child : NULL; name; name = name->next)
            if (name->type == JSON_STRING)
                add(n, json_get_str(x, "id", NULL), name->str);
    }
    json_free(doc);
    free(path);
}

void container_names_read(struct container_names *n, const char *root)
{
    read_docker(n, root);
    read_storage(n, root);
    read_containerd(n, root);
}
