/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "analyze/open.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/gpu_rest.h"
#include "exchange/merge/merge.h"
#include "model/graph_json.h"
#include "model/session_dir.h"
#include "platform/clock.h"
#include "platform/packed.h"

#include <stdio.h>
#include <string.h>

struct merge_values {
    struct opt_list barriers;
    const char *output, *clocks;
    int force;
};

static const struct opt options[] = {
    OPT_STRING('o', "output", struct merge_values, output, "DIR", "the merged session's directory"),
    OPT_CHOICE('c', "clocks", struct merge_values, clocks, "HOW", "best", "best|sockets|barriers|wall",
               "how clocks of different boots are brought together"),
    OPT_LIST('b', "barrier", struct merge_values, barriers, "KIND",
             "marks of this kind are barriers: all ranks leave them together; may be given again"),
    OPT_FLAG(0, "force", struct merge_values, force, "replace DIR where it is a wprof session"),
};

static const enum clocks_how hows[] = {CLOCKS_BEST, CLOCKS_SOCKETS, CLOCKS_BARRIERS, CLOCKS_WALL};

static enum clocks_how how_of(const char *name)
{
    static const char *const names[] = {"best", "sockets", "barriers", "wall"};
    size_t i = 0;

    while (i + 1 < ARRAY_SIZE(names) && strcmp(names[i], name) != 0)
        i++;
    return hows[i];
}

/* Each session is opened again when its turn comes, but for the one on stdin: that stays unpacked. */
static int know_all(struct merge *m, int n, char **paths, struct session *piped, struct err *e)
{
    for (int i = 0; i < n; i++) {
        int is_piped = !strcmp(paths[i], "-");
        struct session s;

        if (is_piped && piped->path)
            return err_set(e, "- is there twice: stdin has one session");
        if (packed_open_meta(&s, paths[i], e))
            return -1;
        merge_know(m, is_piped ? session_files(&s) : paths[i], &s.meta);
        if (is_piped)
            *piped = s;
        else
            session_release(&s);
    }
    return merge_plan(m, e);
}

/* Its events are written again, or looked at one by one: their order is that of the log. */
static int open_part(struct session *s, const char *path, struct err *e)
{
    if (packed_open_meta(s, path, e))
        return -1;
    s->as_written = 1;
    return open_log(s, gpu_rest_take, e);
}

/* Each in turn: never are two in memory. */
static int look_at_all(struct merge *m, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < m->parts.n && !rc && merge_wants_evidence(m); i++) {
        struct session s;

        if (open_part(&s, m->parts.a[i].path, e))
            return -1;
        rc = merge_look(m, i, &s, e);
        session_release(&s);
    }
    if (!rc)
        merge_clocks(m);
    return rc;
}

/* The files that were copied are the session's like all others: listed, with their sums. */
static int note_extra(struct merge *m, struct session_writer *w, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < m->extra.n && !rc; i++)
        rc = session_note_artifact(w, &m->meta, "extra", m->extra.a[i], e);
    return rc;
}

static int add_source(struct merge *m, struct session_writer *w, struct err *e)
{
    struct buf text = {0};
    int rc = 0;

    if (m->source.lines.n) {
        source_text_write(&m->source, &text);
        rc = session_add_artifact(w, &m->meta, "source", SOURCE_TEXT, text.data, text.len, e);
    }
    buf_release(&text);
    return rc;
}

static int add_all(struct merge *m, struct session_writer *w, const struct merge_to *to, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < m->parts.n && !rc; i++) {
        struct session s;

        if (open_part(&s, m->parts.a[i].path, e))
            return -1;
        rc = merge_add(m, i, &s, e) || merge_extra_add(m, i, &s, to, e) ? -1 : 0;
        session_release(&s);
        if (!rc)
            rc = session_flush(w, e);
    }
    return rc;
}

static int add_topology(struct merge *m, struct session_writer *w, struct err *e)
{
    struct buf text = {0};
    struct graph g;
    int rc = 0;

    graph_init(&g);
    if (merge_graph(m, &g)) {
        graph_json_write(&g, 2, &text);
        buf_addch(&text, '\n');
        rc = session_add_artifact(w, &m->meta, "topology", "topology.json", text.data, text.len, e);
    }
    graph_release(&g);
    buf_release(&text);
    return rc;
}

static int write_all(struct merge *m, struct session_writer *w, const struct merge_to *to, struct err *e)
{
    int rc =
        add_all(m, w, to, e) || add_topology(m, w, e) || add_source(m, w, e) || note_extra(m, w, e) ? -1 : 0;

    if (rc)
        return -1;
    merge_finish(m);
    rc = session_reload(w, e);
    if (rc < 0)
        return -1;
    if (rc)
        merge_sums(m);
    return session_seal(w, &m->meta, e);
}

static int save(struct merge *m, const struct merge_values *o, struct err *e)
{
    struct session_create how = {.dir = o->output, .force = o->force};
    struct session_writer *w;
    struct merge_to to;
    char id[24], *extra;
    int rc;

    session_new_id(id, (double)clock_ns(CLOCK_REALTIME) / 1e9);
    m->meta.session_id = mem_strdup(id);
    m->meta.state = mem_strdup("merging");
    merge_about(m);
    if (product_owner(&how.uid, &how.gid, e))
        return -1;
    w = session_create(&how, &m->store, &m->meta, e);
    if (!w)
        return -1;
    to = (struct merge_to){session_dirfd(w), how.uid, how.gid};
    rc = write_all(m, w, &to, e);
    if (rc) {
        extra = mem_printf("%s/extra", o->output);
        session_dir_remove(extra);
        free(extra);
        session_discard(w);
    } else {
        session_writer_free(w);
    }
    return rc;
}

/* How sure the times are, where that is a question. */
static void say_clocks(const struct merge *m)
{
    for (size_t d = 1; d < m->domains.n; d++) {
        const struct clocks_offset *o = &m->domains.a[d].offset;
        const char *host = NULL;
        char error[32];

        for (size_t i = 0; i < m->parts.n; i++)
            host = m->parts.a[i].domain == d ? m->hosts.a[m->parts.a[i].host].name : host;
        if (o->error == ORIGIN_ERROR_UNKNOWN)
            log_warn("%s: nothing bounds how far its clock is apart: its times are placed by %s", host,
                     o->clock == ORIGIN_CLOCK_WALL ? "the hosts' wall clocks" : "the recordings' starts");
        else
            log_info("%s: clock placed by %s, good to %s", host, origins_clock_name(o->clock),
                     units_duration(error, sizeof(error), o->error));
    }
}

static int merge(const struct merge_values *o, int n, char **paths, struct err *e)
{
    struct merge_opts opts = {how_of(o->clocks), (const char *const *)o->barriers.a, o->barriers.n};
    struct session piped = {0};
    struct merge m;
    int rc;

    merge_init(&m, &opts);
    rc = know_all(&m, n, paths, &piped, e);
    if (!rc)
        rc = look_at_all(&m, e);
    if (!rc)
        rc = save(&m, o, e);
    if (!rc) {
        say_clocks(&m);
        log_info("%zu recordings of %zu host%s, %llu events", m.parts.n, m.hosts.n, m.hosts.n == 1 ? "" : "s",
                 (unsigned long long)m.nevents);
        printf("%s\n", o->output);
    }
    merge_release(&m);
    session_release(&piped);
    return rc;
}

static int merge_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct merge_values *o = values;
    struct err e = {0};

    if (argc < 2)
        return command_usage(&cmd_merge, "which SESSIONS? Two or more are wanted");
    if (!o->output)
        return command_usage(&cmd_merge, "where to? -o DIR names the new session's directory");
    if (!merge(o, argc, argv, &e))
        return EXIT_OK;
    log_error("%s", e.msg);
    return EXIT_FAILED;
}

const struct command cmd_merge = {
    .name = "merge",
    .summary = "make one session of many: ranks of a run, hosts of a system",
    .operands = "SESSION SESSION...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct merge_values),
    .examples = "wprof merge run-77/* -o merged && wprof show --ranks merged\n"
                "wprof merge -o both client.tar.zst server.tar.zst\n"
                "wprof merge --barrier sync run-77/* -o merged",
    .run = merge_run,
};
