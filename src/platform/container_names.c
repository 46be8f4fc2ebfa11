/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/container_names.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void container_names_release(struct container_names *n)
{
    for (size_t i = 0; i < n->list.n; i++) {
        struct container_name *x = &n->list.a[i];

        free(x->id);
        free(x->name);
        free(x->image);
        free(x->label);
        free(x->pod);
        free(x->pod_namespace);
        free(x->pod_uid);
    }
    vec_release(&n->list);
}

const struct container_name *container_names_find(const struct container_names *n, const char *id)
{
    for (size_t i = 0; i < n->list.n; i++)
        if (!strcmp(n->list.a[i].id, id))
            return &n->list.a[i];
    return NULL;
}

const char *container_names_of(const struct container_names *n, const char *id)
{
    const struct container_name *found = container_names_find(n, id);

    return found ? found->name : NULL;
}

static char *copy(const char *s)
{
    return s && *s ? mem_strdup(s) : NULL;
}

static struct container_name *add(struct container_names *n, const char *id, const char *name,
                                  const char *engine)
{
    struct container_name *x;

    if (!id || !name || !*name)
        return NULL;
    x = vec_push(&n->list);
    *x = (struct container_name){.id = mem_strdup(id), .name = mem_strdup(name), .engine = engine};
    return x;
}

/* How the kubelet has Docker and CRI-O call them: "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT". */
static void add_kubelet_name(struct container_name *x)
{
    char *words[6], *text, *rest;
    size_t n = 0;

    if (strncmp(x->name, "k8s_", 4) != 0)
        return;
    rest = text = mem_strdup(x->name);
    while (n < ARRAY_SIZE(words) && (words[n] = strsep(&rest, "_")))
        n++;
    if (n == ARRAY_SIZE(words)) {
        x->label = copy(words[1]);
        x->pod = copy(words[2]);
        x->pod_namespace = copy(words[3]);
        x->pod_uid = copy(words[4]);
    }
    free(text);
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
    struct container_name *x = add(n, id, name && *name == '/' ? name + 1 : name, "docker");

    if (!x)
        return;
    x->image = copy(json_get_str(json_get(root, "Config"), "Image", NULL));
    add_kubelet_name(x);
}

/* Kubernetes' annotations by the plug-in for it, and nerdctl's. The container that holds a pod's namespaces
 * has no name of its own. */
static void containerd(struct container_names *n, const char *id, const struct json_value *root)
{
    const struct json_value *notes = json_get(root, "annotations");
    const char *type = json_get_str(notes, "io.kubernetes.cri.container-type", "");
    const char *name = json_get_str(notes, "io.kubernetes.cri.container-name", NULL);
    struct container_name *x;

    name = name ? name : !strcmp(type, "sandbox") ? "pause" : json_get_str(notes, "nerdctl/name", NULL);
    x = add(n, id, name, "containerd");
    if (!x)
        return;
    x->image = copy(json_get_str(notes, "io.kubernetes.cri.image-name", NULL));
    x->pod = copy(json_get_str(notes, "io.kubernetes.cri.sandbox-name", NULL));
    x->pod_namespace = copy(json_get_str(notes, "io.kubernetes.cri.sandbox-namespace", NULL));
    x->pod_uid = copy(json_get_str(notes, "io.kubernetes.cri.sandbox-uid", NULL));
}

typedef void (*reader)(struct container_names *n, const char *id, const struct json_value *root);

/* dir/ID/file for every ID. */
static void read_each(struct container_names *n, const char *dir, const char *file, reader read)
{
    DIR *d = dir_open(AT_FDCWD, dir, 0);
    struct dirent *de;

    while ((de = dir_next(d))) {
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
    dir_close(d);
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
    DIR *d = dir_open(AT_FDCWD, tasks, 0);
    struct dirent *de;

    while ((de = dir_next(d))) {
        char *dir = de->d_name[0] == '.' ? NULL : mem_printf("%s/%s", tasks, de->d_name);

        if (dir)
            read_each(n, dir, "config.json", containerd);
        free(dir);
    }
    dir_close(d);
    free(tasks);
}

/* "metadata" is JSON in a text: {"image-name": ...}. */
static char *image_in(const char *metadata)
{
    struct json_doc *doc = metadata ? json_parse(metadata, strlen(metadata), NULL) : NULL;
    char *image = copy(doc ? json_get_str(json_root(doc), "image-name", NULL) : NULL);

    json_free(doc);
    return image;
}

/* A list of {"id", "names", "metadata"}: Podman's and CRI-O's. */
static void read_storage(struct container_names *n, const char *dir)
{
    char *path = mem_printf("%s/overlay-containers/containers.json", dir);
    struct json_doc *doc = read_json(path);
    const struct json_value *list = doc ? json_root(doc) : NULL;

    for (const struct json_value *x = list ? list->child : NULL; x; x = x->next) {
        const struct json_value *names = json_get(x, "names");

        for (const struct json_value *name = names ? names->child : NULL; name; name = name->next) {
            struct container_name *got =
                name->type == JSON_STRING ? add(n, json_get_str(x, "id", NULL), name->str, "") : NULL;

            if (!got)
                continue;
            got->image = image_in(json_get_str(x, "metadata", NULL));
            add_kubelet_name(got);
        }
    }
    json_free(doc);
    free(path);
}

void container_names_read_home(struct container_names *n, const char *root, const char *home)
{
    char *dir = mem_printf("%s%s/.local/share/containers/storage", root, home);

    read_storage(n, dir);
    free(dir);
}

void container_names_read(struct container_names *n, const char *root)
{
    char *storage = mem_printf("%s/var/lib/containers/storage", root);

    read_docker(n, root);
    read_storage(n, storage);
    read_containerd(n, root);
    free(storage);
}
