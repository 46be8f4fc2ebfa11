/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "base/log.h"
#include "base/units.h"
#include "exchange/import/import.h"
#include "model/graph_json.h"
#include "platform/clock.h"
#include "platform/identity.h"
#include "platform/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct import_opts {
    const char *from, *output;
    int force;
};

static const struct opt options[] = {
    OPT_CHOICE('f', "from", struct import_opts, from, "FORMAT", "auto", "auto|folded|witty|topology",
               "what FILE is; auto: by what it begins with"),
    OPT_STRING('o', "output", struct import_opts, output, "DIR", "the session's directory"),
    OPT_FLAG(0, "force", struct import_opts, force, "replace DIR where it is a wprof session"),
};

static int open_input(const char *path, struct err *e)
{
    struct stat st;
    int fd;

    if (!strcmp(path, "-"))
        return STDIN_FILENO;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
        close(fd);
        return err_set(e, "%s is a directory: stacks in a file are wanted", path);
    }
    return fd;
}

static char *workload_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return mem_strdup(!strcmp(path, "-") ? "stdin" : *base ? base : path);
}

static void describe(struct meta *m, const char *path)
{
    struct machine machine;

    machine_read(&machine);
    m->host = mem_strdup(machine.host);
    machine_release(&machine);
    m->session_id = mem_calloc(24, 1);
    m->start_ts = m->end_ts = (double)clock_ns(CLOCK_REALTIME) / 1e9;
    session_new_id(m->session_id, m->start_ts);
    m->schema_version = 1;
    m->state = mem_strdup("importing");
    m->kind = mem_strdup("imported");
    *vec_push(&m->kinds) = mem_strdup("imported");
    m->workload = workload_of(path);
    m->exit_code = -1;
}

/* What was left out is said here and stays in the session. */
static void add_notes(struct meta *m, const char *from, const char *path, const struct import_stats *st)
{
    *vec_push(&m->notes) =
        mem_printf("imported from %s (%s): %llu stack%s, %llu sample%s", strcmp(path, "-") ? path : "stdin",
                   from, (unsigned long long)st->stacks, st->stacks == 1 ? "" : "s",
                   (unsigned long long)st->samples, st->samples == 1 ? "" : "s");
    if (st->bad)
        *vec_push(&m->notes) =
            mem_printf("%llu line%s of it made no sense and %s left out, the first is line %llu",
                       (unsigned long long)st->bad, st->bad == 1 ? "" : "s", st->bad == 1 ? "was" : "were",
                       (unsigned long long)st->first_bad);
    if (st->rounded)
        *vec_push(&m->notes) =
            mem_printf("%llu values with a fraction were rounded", (unsigned long long)st->rounded);
    for (size_t i = 1; i < m->notes.n; i++)
        log_warn("%s%s%s", m->notes.a[i], i == 1 && st->bad ? ": " : "",
                 i == 1 && st->bad ? st->bad_text.data : "");
}

/* topology.json beside the events. */
static int add_topology(struct session_writer *w, struct meta *m, const struct graph *g, struct err *e)
{
    struct buf text = {0};
    int rc;

    graph_json_write(g, 2, &text);
    buf_addch(&text, '\n');
    rc = session_add_artifact(w, m, "topology", "topology.json", text.data, text.len, e);
    buf_release(&text);
    return rc;
}

/* g: NULL where it is no topology. */
static int save(const struct import_opts *o, struct store *s, const struct graph *g, struct meta *m,
                char **where, struct err *e)
{
    char *dir = o->output ? mem_strdup(o->output) : session_default_dir(m->workload, m->session_id);
    struct session_create how = {.dir = dir, .force = o->force, .uid = (uid_t)-1, .gid = (gid_t)-1};
    struct session_writer *w;
    struct identity who;
    int rc = identity_of_caller(&who, e);

    *where = dir;
    if (!rc && who.switched) {
        how.uid = who.uid;
        how.gid = who.gid;
    }
    identity_release(&who);
    if (rc)
        return -1;
    w = session_create(&how, s, m, e);
    if (!w)
        return -1;
    rc = g ? add_topology(w, m, g, e) : 0;
    if (!rc)
        rc = session_seal(w, m, e);
    if (rc)
        session_discard(w);
    else
        session_writer_free(w);
    return rc;
}

/* What a file is by its beginning; a pipe is folded text, for it can't be looked into and read again. */
static const char *guess(int fd)
{
    char head[4096];
    ssize_t n = pread(fd, head, sizeof(head) - 1, 0);

    if (n <= 0)
        return "folded";
    head[n] = '\0';
    if (head[strspn(head, " \t\r\n")] != '{')
        return "folded";
    return strstr(head, "\"wprof-topology\"") ? "topology" : "witty";
}

static void say_what(const struct importer *x, const struct import_stats *st, const struct graph *g)
{
    char size[32], count[32];

    units_size(size, sizeof(size), st->bytes);
    if (x->graph)
        log_info("%zu nodes and %zu edges from %s of text", g->nodes.n, g->edges.n, size);
    else
        log_info("%s stack%s from %s of text", units_count(count, sizeof(count), st->stacks),
                 st->stacks == 1 ? "" : "s", size);
}

static void note_topology(struct meta *m, const struct importer *x, const char *path, const struct graph *g)
{
    *vec_push(&m->kinds) = mem_strdup("topology");
    *vec_push(&m->notes) = mem_printf("imported from %s (%s): %zu nodes, %zu edges",
                                      strcmp(path, "-") ? path : "stdin", x->name, g->nodes.n, g->edges.n);
}

static int import(const struct import_opts *o, const char *path, struct err *e)
{
    int fd = open_input(path, e), rc;
    const struct importer *x =
        fd < 0 ? NULL : importer_find(strcmp(o->from, "auto") ? o->from : guess(fd), e);
    struct import_stats st = {0};
    struct store s = {0};
    struct meta m = {0};
    struct graph g;
    char *where = NULL;

    if (!x)
        return -1;
    describe(&m, path);
    graph_init(&g);
    rc = x->graph ? x->graph(fd, &g, &st, e) : x->run(fd, &s, &m, &st, e);
    if (fd != STDIN_FILENO)
        close(fd);
    if (rc) {
        err_wrap(e, "%s", path);
    } else {
        if (x->graph)
            note_topology(&m, x, path, &g);
        else
            add_notes(&m, x->name, path, &st);
        rc = save(o, &s, x->graph ? &g : NULL, &m, &where, e);
    }
    if (!rc) {
        say_what(x, &st, &g);
        printf("%s\n", where);
    }
    free(where);
    buf_release(&st.bad_text);
    graph_release(&g);
    store_release(&s);
    meta_release(&m);
    return rc;
}

static int import_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct err e = {0};

    if (argc != 1)
        return command_usage(&cmd_import,
                             argc ? "takes one FILE, '%s' is too many" : "which FILE? (- is stdin)",
                             argc ? argv[1] : "");
    if (!import(values, argv[0], &e))
        return EXIT_OK;
    log_error("%s", e.msg);
    return EXIT_FAILED;
}

const struct command cmd_import = {
    .name = "import",
    .summary = "make a session of stacks, or a topology, that another tool wrote",
    .operands = "FILE",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct import_opts),
    .examples = "wprof import out.folded\n"
                "wprof import graph.json\n"
                "perf script | stackcollapse-perf.pl | wprof import --from folded -o perf-session -",
    .run = import_run,
};
