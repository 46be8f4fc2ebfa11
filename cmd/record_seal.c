/* SPDX-License-Identifier: Apache-2.0 */
#include "record_seal.h"

#include "analyze/fold.h"
#include "analyze/jit_advice.h"
#include "analyze/language.h"
#include "analyze/source_lines.h"
#include "analyze/symbolize.h"
#include "analyze/timeline.h"
#include "analyze/timeline_window.h"
#include "analyze/topology_shares.h"
#include "analyze/wait_summary.h"
#include "base/log.h"
#include "base/units.h"
#include "exchange/export/export.h"
#include "model/graph_json.h"
#include "model/source_text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A metric's folded text; nothing where the session has none of it. */
static int derive_folded(const struct record_seal *p, struct session_writer *w, struct meta *m,
                         const struct store *s, const char *metric, const char *kind, const char *path,
                         struct err *e)
{
    struct fold_opts fold = {.metric = metric, .inlines = p->inlines};
    struct profile profile = {0};
    struct buf text = {0};
    int rc = 0;

    if (!fold_store(&profile, s, m->start_mono, &fold, NULL)) {
        fold_text(&profile, 0, &text);
        rc = session_add_artifact(w, m, kind, path, buf_str(&text), text.len, e);
    }
    profile_release(&profile);
    buf_release(&text);
    return rc;
}

void record_seal_graph(void *arg, struct graph *g)
{
    struct record_seal *p = arg;

    p->graph = g;
}

static int derive_topology(const struct record_seal *p, struct session_writer *w, struct meta *m,
                           const struct store *s, struct err *e)
{
    struct buf text = {0};
    int rc;

    if (!p->graph)
        return 0;
    topology_shares(p->graph, s);
    graph_json_write(p->graph, 2, &text);
    buf_addch(&text, '\n');
    rc = session_add_artifact(w, m, "topology", "topology.json", buf_str(&text), text.len, e);
    buf_release(&text);
    if (!rc && !faccessat(session_dirfd(w), TOPOLOGY_LINES, F_OK, 0))
        rc = session_note_artifact(w, m, "topology-lines", TOPOLOGY_LINES, e);
    return rc;
}

/* About 30 MB. */
enum { TIMELINE_EVENTS = 100000 };

static void note_window(struct meta *m, const struct timeline_window *part)
{
    char from[32], to[32];

    *vec_push(&m->notes) = mem_printf(
        "timeline.json has %zu of %zu events of GPUs and marks, from %s to %s; all of them: wprof export "
        "--format chrome",
        part->view.store.events.n, part->all, units_duration(from, sizeof(from), part->from),
        units_duration(to, sizeof(to), part->to));
}

/* GPUs and marks, for Holistic Trace Analysis and Perfetto; where nothing ran on a GPU there is none. */
static int derive_timeline(struct session_writer *w, struct meta *m, const struct store *s, struct err *e)
{
    const struct exporter *chrome = exporter_find("chrome", e);
    struct timeline_window part;
    struct timeline t = {0};
    struct buf text = {0};
    int rc = 0;

    if (timeline_window_init(&part, s, m, TIMELINE_EVENTS)) {
        timeline_build(&t, &part.view, &(struct timeline_opts){0});
        rc = chrome->run(&(struct export_input){.session = &part.view, .timeline = &t}, &text, e);
        if (!rc)
            rc = session_add_artifact(w, m, "timeline", "timeline.json", buf_str(&text), text.len, e);
        if (!rc && part.all > part.view.store.events.n)
            note_window(m, &part);
    }
    timeline_release(&t);
    timeline_window_release(&part);
    buf_release(&text);
    return rc;
}

static int derive_source(const struct record_seal *p, struct session_writer *w, struct meta *m,
                         const struct store *s, struct err *e)
{
    struct buf text = {0};
    int rc = 0;

    if (p->source && source_lines_read(s, &text))
        rc = session_add_artifact(w, m, "source", SOURCE_TEXT, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc;
}

/* Each line is said and noted. */
static void advise(const struct record_seal *p, struct meta *m, const struct store *s)
{
    struct buf text = {0};

    jit_advice(s, p->quality.scanned, p->quality.taken, p->done, &text);
    for (char *line = text.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        log_warn("%s", line);
        *vec_push(&m->notes) = mem_strdup(line);
    }
    buf_release(&text);
}

/* Names the frames, makes the folded texts. */
int record_seal_derive(void *arg, struct session_writer *w, struct meta *m, struct store *s, struct err *e)
{
    struct record_seal *p = arg;
    struct symbolize_opts how = {.inlines = p->inlines, .starts = 1, .same_boot = 1};
    struct symbolize_stats stats = {0};
    struct fold_opts fold = {.inlines = p->inlines};
    struct buf text = {0};
    int rc;

    if (!p->named && symbolize_store(s, &how, &stats, e))
        return err_wrap(e, "symbols");
    log_debug("symbols: %llu of %llu frames named in %.0f ms", (unsigned long long)stats.named,
              (unsigned long long)stats.frames, (double)stats.ns / 1e6);
    for (int l = 0; l < LANGUAGE_N; l++)
        if (language_name((enum language)l) && stats.languages & 1u << l)
            meta_add_language(m, language_name((enum language)l));
    quality_compute(&p->quality, s, m);
    p->wait.share = wait_summary(&p->wait.text, s, m);
    advise(p, m, s);
    rc = fold_store(&p->profile, s, m->start_mono, &fold, e);
    if (!rc) {
        fold_text(&p->profile, 0, &text);
        rc = session_add_artifact(w, m, "folded", "folded.txt", buf_str(&text), text.len, e);
    }
    if (!rc)
        rc = derive_folded(p, w, m, s, "offcpu", "offcpu-folded", "offcpu.folded.txt", e);
    if (!rc)
        rc = derive_topology(p, w, m, s, e);
    if (!rc)
        rc = derive_timeline(w, m, s, e);
    if (!rc)
        rc = derive_source(p, w, m, s, e);
    buf_release(&text);
    return rc;
}

static void say_lines(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        log_info("%.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

void record_seal_say(void *arg, const struct recorder_report *r)
{
    struct record_seal *p = arg;
    struct buf text = {0};
    char rss[32];

    summary_text(&text, r, &p->profile, &p->quality, &p->wait);
    say_lines(buf_str(&text));
    buf_release(&text);
    log_debug("sealed %.0f ms after the end; at most %s of memory", (double)r->seal_ns / 1e6,
              units_size(rss, sizeof(rss), store_counter(r->store, "own.rss_max", 0)));
}

void record_seal_release(struct record_seal *p)
{
    buf_release(&p->wait.text);
    profile_release(&p->profile);
}
