/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "analyze/language.h"
#include "analyze/symbolize.h"
#include "base/log.h"
#include "base/units.h"
#include "exchange/import/import.h"
#include "exchange/import/ranks.h"
#include "model/graph_json.h"
#include "platform/clock.h"
#include "platform/packed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct import_opts {
    const char *from, *event, *host, *output;
    int force;
};

static const struct opt options[] = {
    OPT_CHOICE('f', "from", struct import_opts, from, "FORMAT", NULL,
               "perf-script|perf-data|folded|pprof|speedscope|cpuprofile|callgrind|pyspy|austin|aiprof|"
               "kineto|chrome|"
               "nsys|witty|topology",
               "what FILE is (default: what it begins like)"),
    OPT_STRING('e', "event", struct import_opts, event, "NAME",
               "of several events or kinds of values, the one to take (default: the first)"),
    OPT_STRING(0, "host", struct import_opts, host, "NAME",
               "where it was recorded (default: what FILE says, else none)"),
    OPT_STRING('o', "output", struct import_opts, output, "DIR", "the session's directory"),
    OPT_FLAG(0, "force", struct import_opts, force, "replace DIR where it is a wprof session"),
};

static char *workload_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return mem_strdup(!strcmp(path, "-") ? "stdin" : *base ? base : path);
}

static void describe(struct meta *m, const char *path)
{
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

/* One more thing to know about it: said now, and in the session. */
static void note(struct meta *m, char *text)
{
    log_warn("%s", text);
    *vec_push(&m->notes) = text;
}

static void note_lines(struct meta *m, const struct import_stats *st)
{
    if (st->bad) {
        char *text = mem_printf("%llu line%s of it made no sense and %s left out, the first is line %llu",
                                (unsigned long long)st->bad, st->bad == 1 ? "" : "s",
                                st->bad == 1 ? "was" : "were", (unsigned long long)st->first_bad);

        log_warn("%s: %s", text, buf_str(&st->bad_text));
        *vec_push(&m->notes) = text;
    }
    if (st->rounded)
        note(m, mem_printf("%llu values with a fraction were rounded", (unsigned long long)st->rounded));
}

static void note_counts(struct meta *m, const struct import_stats *st, enum import_fate fate,
                        const char *what)
{
    struct buf text = {0};

    import_counts_text(st, fate, &text);
    if (text.len && fate == IMPORT_LOST)
        note(m, mem_printf("%s: %s", what, text.data));
    else if (text.len)
        *vec_push(&m->notes) = mem_printf("%s: %s", what, text.data);
    buf_release(&text);
}

/* What was left out is said here and stays in the session. */
static void add_notes(struct meta *m, const struct importer *x, const struct import_stats *st)
{
    if (st->stacks)
        *vec_push(&m->notes) = mem_printf("taken (%s): %llu stack%s, %llu sample%s", x->name,
                                          (unsigned long long)st->stacks, st->stacks == 1 ? "" : "s",
                                          (unsigned long long)st->samples, st->samples == 1 ? "" : "s");
    note_counts(m, st, IMPORT_TOOK, "taken");
    note_counts(m, st, IMPORT_NOTED, "of these");
    note_counts(m, st, IMPORT_LEFT, "left out");
    note_counts(m, st, IMPORT_LOST, "not taken, for it makes no sense");
    note_lines(m, st);
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
    struct session_create how = {.dir = dir, .force = o->force};
    struct session_writer *w;
    int rc;

    *where = dir;
    if (product_owner(&how.uid, &how.gid, e))
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

/* ---- what is read ---- */

struct import {
    const struct importer *importer;
    struct import_stats stats;
    struct store store;
    struct meta meta;
    struct graph graph;
};

static void import_init(struct import *im, const char *path)
{
    *im = (struct import){0};
    describe(&im->meta, path);
    graph_init(&im->graph);
}

static void import_release(struct import *im)
{
    import_stats_release(&im->stats);
    graph_release(&im->graph);
    store_release(&im->store);
    meta_release(&im->meta);
}

/* Whether x is what these are. count: of how many files this is one. */
static int choose(struct import *im, const struct import_opts *o, const struct importer *x, const char *name,
                  unsigned count, struct err *e)
{
    if (!x)
        return -1;
    if (o->event && !x->events)
        return err_set(e, "%s: --event: files of %s have one kind of values", name, x->name);
    if (im->importer && x != im->importer)
        return err_set(e, "%s is %s and those before are %s: files of one format make a session", name,
                       x->name, im->importer->name);
    if (count > 1 && !x->many)
        return err_set(e, "%s: of the format %s, one file makes a session", name, x->name);
    im->importer = x;
    return 0;
}

static int read_input(struct import *im, struct input *in, struct err *e)
{
    const struct importer *x = im->importer;
    int rc;

    if (!x->run && !x->graph)
        return err_set(e, "%s: of the format %s, a directory is wanted", in->name, x->name);
    rc =
        x->graph ? x->graph(in, &im->graph, &im->stats, e) : x->run(in, &im->store, &im->meta, &im->stats, e);
    im->stats.bytes += in->bytes;
    if (rc)
        return err_wrap(e, "%s", in->name);
    if (input_damage(in))
        note(&im->meta, mem_printf("%s: %s: what stands before is here", in->name, input_damage(in)));
    return 0;
}

static int read_one(struct import *im, const struct import_opts *o, struct input *in, unsigned count,
                    struct err *e)
{
    const struct importer *x = o->from ? importer_find(o->from, e) : importer_detect(in, e);

    return choose(im, o, x, in->name, count, e) ? -1 : read_input(im, in, e);
}

/* dir: where it lies; path: what it is called. */
static int read_dir(struct import *im, const struct import_opts *o, const char *dir, const char *path,
                    unsigned count, struct err *e)
{
    const struct importer *x = o->from ? importer_find(o->from, e) : importer_detect_dir(dir, e);

    if (choose(im, o, x, path, count, e))
        return -1;
    if (!x->run_dir)
        return err_set(e, "%s is a directory: of the format %s, a file is wanted", path, x->name);
    if (x->run_dir(dir, o->event, &im->store, &im->meta, &im->stats, e))
        return err_wrap(e, "%s", path);
    return 0;
}

/* A session's directory in an archive, which is read from `fd`. */
static int read_packed(struct import *im, const struct import_opts *o, int fd, const char *path,
                       unsigned count, struct err *e)
{
    struct session s;
    int rc = packed_open_fd(&s, fd, path, e);

    if (rc)
        return rc;
    rc = read_dir(im, o, session_files(&s), path, count, e);
    session_release(&s);
    return rc;
}

/* An archive of a directory is wanted, or may be, and not a file of the format that --from asks for. */
static int wants_packed(const struct import_opts *o)
{
    const struct importer *x = o->from ? importer_find(o->from, NULL) : NULL;

    return !o->from || (x && !x->run);
}

/* The archive, opened; -1: it is something else. */
static int open_packed(const struct import_opts *o, const char *path)
{
    struct stat st;

    return wants_packed(o) && !stat(path, &st) && S_ISREG(st.st_mode) && packed_is(path)
               ? open(path, O_RDONLY | O_CLOEXEC)
               : -1;
}

/* From a pipe, what gzip made of it unpacked: as a file without a name first. */
static int read_piped(struct import *im, const struct import_opts *o, struct input *in, unsigned count,
                      struct err *e)
{
    int fd = packed_spool(input_read, in, e), rc;

    if (fd < 0)
        return err_wrap(e, "%s", in->name);
    rc = read_packed(im, o, fd, in->name, count, e);
    close(fd);
    return rc;
}

static int read_file(struct import *im, const struct import_opts *o, const char *path, unsigned index,
                     unsigned count, struct err *e)
{
    struct input in;
    struct stat st;
    int piped = !strcmp(path, "-"), fd = piped ? -1 : open_packed(o, path), rc;

    if (!piped && !stat(path, &st) && S_ISDIR(st.st_mode))
        return read_dir(im, o, path, path, count, e);
    if (fd >= 0) {
        rc = read_packed(im, o, fd, path, count, e);
        close(fd);
        return rc;
    }
    rc = input_open(&in, path, e);
    in.event = o->event;
    in.index = index;
    in.count = count;
    if (!rc && piped && wants_packed(o) && packed_begins(in.head.data, in.head.len))
        rc = read_piped(im, o, &in, count, e);
    else if (!rc)
        rc = read_one(im, o, &in, count, e);
    input_release(&in);
    return rc;
}

/* ---- what is said of it ---- */

/* When it was, by the events: those with a time. */
static void set_times(struct import *im)
{
    uint64_t first = UINT64_MAX, last = 0;
    struct meta *m = &im->meta;

    for (size_t i = 0; i < im->store.events.n; i++) {
        const struct event *ev = &im->store.events.a[i];

        if (ev->kind == EVENT_SAMPLE && !ev->ts)
            continue;
        first = ev->ts < first ? ev->ts : first;
        last = ev->ts + ev->dur > last ? ev->ts + ev->dur : last;
    }
    if (first >= last)
        return;
    m->start_mono = first;
    m->end_mono = last;
    if (m->duration_s > 0) /* the file said how long it took */
        return;
    m->duration_s = (double)(last - first) / 1e9;
    if (first > IMPORT_EPOCH) { /* else it counts from elsewhere */
        m->start_ts = (double)first / 1e9;
        m->end_ts = (double)last / 1e9;
    }
}

static void say_counts(const struct import *im, const char *size)
{
    static const char *const before[IMPORT_FATES] = {"", "of these: ", "left out: ", NULL};

    for (unsigned fate = IMPORT_TOOK; fate < IMPORT_LOST; fate++) {
        struct buf text = {0};

        import_counts_text(&im->stats, (enum import_fate)fate, &text);
        if (text.len)
            log_info("%s%s%s%s", before[fate], text.data, fate == IMPORT_TOOK ? " from " : "",
                     fate == IMPORT_TOOK ? size : "");
        buf_release(&text);
    }
}

static void say_what(const struct import *im)
{
    char size[32], count[32];

    units_size(size, sizeof(size), im->stats.bytes);
    if (im->importer->graph)
        log_info("%zu nodes and %zu edges from %s of text", im->graph.nodes.n, im->graph.edges.n, size);
    if (im->stats.stacks || (!im->importer->graph && !im->stats.counts.n))
        log_info("%s stack%s from %s of text", units_count(count, sizeof(count), im->stats.stacks),
                 im->stats.stacks == 1 ? "" : "s", size);
    if (!im->importer->graph)
        say_counts(im, size);
}

static void describe_content(struct import *im)
{
    struct meta *m = &im->meta;

    if (im->importer->graph) {
        *vec_push(&m->kinds) = mem_strdup("topology");
        *vec_push(&m->notes) = mem_printf("imported (%s): %zu nodes, %zu edges", im->importer->name,
                                          im->graph.nodes.n, im->graph.edges.n);
        return;
    }
    if (im->store.gpus.list.n)
        *vec_push(&m->kinds) = mem_strdup("gpu");
    set_times(im);
    import_counts_store(&im->stats, &im->store);
    add_notes(m, im->importer, &im->stats);
}

/* Names of frames that came raw, from the files here that are the recorded ones. */
static int look_up_names(struct import *im, struct err *e)
{
    struct symbolize_opts how = {.inlines = 1}; /* as perf script has them */
    struct symbolize_stats stats;
    char count[32];

    if (symbolize_store(&im->store, &how, &stats, e))
        return err_wrap(e, "symbols");
    for (int l = 0; l < LANGUAGE_N; l++)
        if (language_name((enum language)l) && stats.languages & 1u << l)
            meta_add_language(&im->meta, language_name((enum language)l));
    if (stats.inlined)
        log_info("%s name%s of inlined functions: --inlines (-i) of the views shows them",
                 units_count(count, sizeof(count), stats.inlined), stats.inlined == 1 ? "" : "s");
    im->importer->unnamed(&im->store);
    return 0;
}

static void set_host(struct meta *m, const char *host)
{
    free(m->host);
    m->host = mem_strdup(host);
}

static int import(const struct import_opts *o, int n, char **paths, struct err *e)
{
    struct import im;
    char *where = NULL;
    int rc = 0;

    import_init(&im, paths[0]);
    for (int i = 0; i < n && !rc; i++) {
        *vec_push(&im.meta.notes) =
            mem_printf("imported from %s", strcmp(paths[i], "-") ? paths[i] : "stdin");
        rc = read_file(&im, o, paths[i], (unsigned)i, (unsigned)n, e);
    }
    if (!rc)
        ranks_settle(&im.stats, &im.store, &im.meta);
    if (!rc && o->host)
        set_host(&im.meta, o->host);
    if (!rc && im.importer->unnamed)
        rc = look_up_names(&im, e);
    if (!rc) {
        describe_content(&im);
        rc = save(o, &im.store, im.importer->graph ? &im.graph : NULL, &im.meta, &where, e);
    }
    if (!rc) {
        say_what(&im);
        printf("%s\n", where);
    }
    free(where);
    import_release(&im);
    return rc;
}

static int import_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct import_opts *o = values;
    const struct importer *x = o->from ? importer_find(o->from, NULL) : NULL;
    struct err e = {0};

    if (!argc)
        return command_usage(&cmd_import, "which FILE? (- is stdin)");
    if (argc > 1 && x && !x->many)
        return command_usage(&cmd_import, "--from %s takes one FILE, '%s' is too many", x->name, argv[1]);
    if (!import(o, argc, argv, &e))
        return EXIT_OK;
    log_error("%s", e.msg);
    return EXIT_FAILED;
}

const struct command cmd_import = {
    .name = "import",
    .summary = "make a session of what another tool wrote: stacks, GPU traces, a topology",
    .operands = "FILE...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct import_opts),
    .examples = "wprof import out.folded\n"
                "wprof import trace_rank*.json.gz\n"
                "wprof import graph.json\n"
                "perf script | wprof import -o perf-session -\n"
                "wprof import --event cache-misses perf.txt\n"
                "wprof import perf.data",
    .run = import_run,
};
