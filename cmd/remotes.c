/* SPDX-License-Identifier: Apache-2.0 */
#include "remotes.h"

#include "base/io.h"
#include "model/graph_json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_text(const char *path, struct buf *out, struct err *e)
{
    struct stat st;
    char *inside = NULL;
    int rc;

    if (!strcmp(path, "-"))
        return io_read_fd(0, out, e);
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        path = inside = mem_printf("%s/topology.json", path);
    rc = io_read_file(AT_FDCWD, path, out, e);
    free(inside);
    return rc;
}

static int is_taken(const struct remotes *r, const char *name)
{
    for (size_t i = 0; i < r->list.n; i++)
        if (!strcmp(r->list.a[i].name, name))
            return 1;
    return !strcmp(name, GRAPH_LOCAL);
}

static char *free_name(const struct remotes *r, const char *wanted)
{
    char *name = mem_strdup(*wanted ? wanted : "host");

    for (unsigned n = 2; is_taken(r, name); n++) {
        free(name);
        name = mem_printf("%s-%u", *wanted ? wanted : "host", n);
    }
    return name;
}

static int add(struct remotes *r, const char *arg, struct err *e)
{
    size_t n = strcspn(arg, "=/");
    int named = n && arg[n] == '=';
    const char *path = named ? arg + n + 1 : arg;
    struct graph *g = mem_calloc(1, sizeof(*g));
    char *given = named ? mem_strndup(arg, n) : NULL;
    struct buf text = {0};
    int rc;

    graph_init(g);
    rc = read_text(path, &text, e) || graph_json_read(g, buf_str(&text), text.len, e);
    if (rc) {
        graph_release(g);
        free(g);
        err_wrap(e, "--remote %s", path);
    } else {
        char *name = free_name(r, given ? given : g->host);

        *vec_push(&r->list) = (struct topo_remote){name, g};
    }
    free(given);
    buf_release(&text);
    return rc ? -1 : 0;
}

int remotes_read(struct remotes *r, const struct opt_list *from, struct err *e)
{
    for (size_t i = 0; i < from->n; i++)
        if (add(r, from->a[i], e))
            return -1;
    return 0;
}

void remotes_release(struct remotes *r)
{
    for (size_t i = 0; i < r->list.n; i++) {
        graph_release(r->list.a[i].g);
        free(r->list.a[i].g);
        free(r->list.a[i].name);
    }
    vec_release(&r->list);
}
