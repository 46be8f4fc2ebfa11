/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that look at stacks. */
#include "mcp_tools.h"

#include "analyze/fold.h"
#include "analyze/heaviest.h"
#include "analyze/tops.h"
#include "model/frames.h"
#include "model/quality.h"
#include "render/text.h"

#include <math.h>
#include <string.h>

enum { FOLDED_BYTES = 60000, STACK_BYTES = 4000 };

/* Null where nobody measured it. */
static void put_known(struct json_writer *w, const char *key, uint64_t value, int known)
{
    if (known)
        json_u64(w, key, value);
    else
        json_null(w, key);
}

/* What a session is about, and how well it was measured. */
static void put_session(struct json_writer *w, const struct session *s)
{
    struct quality q;

    json_str(w, "session_id", s->meta.session_id);
    json_str(w, "path", s->path);
    json_str(w, "workload", s->meta.workload);
    json_str(w, "kind", s->meta.kind);
    json_f64(w, "duration_s", s->meta.duration_s > 0 ? s->meta.duration_s : NAN);
    json_str(w, "state", s->meta.damage ? "damaged" : s->meta.state);
    json_str(w, "damage", s->meta.damage);
    quality_compute(&q, &s->store, &s->meta);
    json_object(w, "quality");
    put_known(w, "samples_expected", q.expected, q.expected || !meta_is_imported(&s->meta));
    json_u64(w, "samples_taken", q.taken);
    put_known(w, "samples_lost", q.lost, q.lost || !meta_is_imported(&s->meta));
    json_f64(w, "unwound_share", q.unwound_share);
    json_f64(w, "unknown_share", q.unknown_share);
    json_end_object(w);
}

static void put_metric(struct json_writer *w, const struct profile *p, const struct heaviest *h)
{
    json_str(w, "metric", p->metrics.a[0].name);
    json_str(w, "unit", p->metrics.a[0].unit);
    json_u64(w, "total", p->metrics.a[0].sum);
    json_u64(w, "stacks", h->list.n);
}

static int fold(struct profile *p, const struct session *s, const char *metric, struct err *e)
{
    struct fold_opts o = {.metric = metric};

    return fold_profile(p, s, &o, e);
}

/* ---- fetch_flamegraph ---- */

static void put_folded(struct json_writer *w, const struct profile *p)
{
    struct heaviest h = {0};
    struct buf text = {0};
    uint64_t left = p->metrics.a[0].sum, shortened = 0;
    size_t i;

    heaviest_stacks(&h, p, 0);
    for (i = 0; i < h.list.n && text.len < FOLDED_BYTES; i++) {
        shortened += (uint64_t)heaviest_text(&h.list.a[i], STACK_BYTES, &text);
        buf_addf(&text, " %llu\n", (unsigned long long)h.list.a[i].value);
        left -= h.list.a[i].value;
    }
    put_metric(w, p, &h);
    json_strn(w, "folded", buf_str(&text), text.len);
    json_u64(w, "stacks_left_out", h.list.n - i);
    json_u64(w, "value_left_out", left);
    json_u64(w, "stacks_shortened", shortened);
    buf_release(&text);
    heaviest_release(&h);
}

int mcp_fetch_flamegraph(const struct mcp_job *j, struct buf *out, struct err *e)
{
    struct json_writer w = {.out = out};
    struct profile p = {0};
    struct session s;
    int rc;

    if (mcp_roots_open(j->roots, mcp_job_text(j, "session_id"), &s, e))
        return -1;
    rc = fold(&p, &s, fold_first(&s.store), e);
    if (!rc) {
        json_object(&w, NULL);
        put_session(&w, &s);
        put_folded(&w, &p);
        json_end_object(&w);
    }
    profile_release(&p);
    session_release(&s);
    return rc;
}

/* ---- analyze_hotspot ---- */

/* What is looked at. */
struct focus {
    const char *name, *metric;
    const char *because;   /* of what `auto` chose */
    const char *kind;      /* functions of that kind alone; NULL: all */
    double python, kernel; /* shares of the metric in stacks with a Python frame, with a CUDA: frame */
};

/* The share of the metric in stacks with a frame that `is` says yes to. */
static double share_below(const struct profile *p, int (*is)(const struct profile *p, uint32_t frame))
{
    const struct profile_metric *m = &p->metrics.a[0];
    uint8_t *in = mem_calloc(p->nodes.n + 1, 1);
    uint64_t sum = 0;

    for (size_t i = 1; i < p->nodes.n; i++) {
        in[i] = in[p->nodes.a[i].parent] || is(p, p->nodes.a[i].frame);
        sum += in[i] ? m->self[i] : 0;
    }
    free(in);
    return m->sum ? (double)sum / (double)m->sum : 0;
}

static int is_python(const struct profile *p, uint32_t frame)
{
    return p->frames.a[frame].kind == FRAME_PYTHON;
}

/* AIProf's name for what the GPU runs, in stacks of the CPU. */
static int is_kernel(const struct profile *p, uint32_t frame)
{
    return !strncmp(strtab_get(&p->strings, p->frames.a[frame].func), "CUDA:", 5);
}

static void take_shares(struct focus *f, const struct profile *p)
{
    f->python = p->metrics.n ? share_below(p, is_python) : 0;
    f->kernel = p->metrics.n ? share_below(p, is_kernel) : 0;
}

static void choose(struct focus *f, const struct session *s, const char *asked)
{
    if (strcmp(asked, "auto") != 0) {
        f->name = asked;
        f->because = "asked for";
    } else if (fold_has(&s->store, "gpu")) {
        f->name = "gpu";
        f->because = "the session has work of a GPU";
    } else if (f->python >= 0.5) {
        f->name = "python";
        f->because = "at least half of the samples are in Python code";
    } else {
        f->name = "cpu";
        f->because = "no work of a GPU, and less than half of the samples in Python code";
    }
    f->metric = !strcmp(f->name, "gpu") ? "gpu" : "oncpu";
    f->kind = !strcmp(f->name, "python") ? "python" : NULL;
}

static const char *advice(const struct focus *f)
{
    if (!strcmp(f->name, "gpu"))
        return "the tool report says how busy the GPU is, and what the CPU did while it was idle";
    if (f->kernel > 0.05)
        return "over 5 % of the samples are in CUDA kernels: group small ones, or use CUDA graphs; the tool "
               "report "
               "says what is measured of it";
    return "begin with the first of by_self; the tool report says what it costs and what to do";
}

/* The column of that key; the table has it. */
static size_t column(const struct table *t, const char *key)
{
    size_t i = 0;

    while (i + 1 < t->ncolumns && strcmp(t->columns[i].key, key) != 0)
        i++;
    return i;
}

static int is_of(const struct table *t, size_t row, const char *kind)
{
    const char *of = t->cells.a[row * t->ncolumns + column(t, "kind")].text;

    return !kind || (of && !strcmp(of, kind));
}

static void put_functions(struct json_writer *w, const char *key, const struct profile *p,
                          const struct focus *f, int by_total, uint64_t top)
{
    uint64_t put = 0, left = 0;
    struct table t;
    char *more = mem_printf("%s_left_out", key);

    tops_functions(&t, p, 0, TOPS_FUNCTION, by_total, 0);
    json_array(w, key);
    for (size_t i = 0; i < table_rows(&t); i++) {
        if (!is_of(&t, i, f->kind))
            continue;
        if (put == top) {
            left++;
            continue;
        }
        put++;
        json_object(w, NULL);
        text_table_row_json(&t, i, w);
        json_end_object(w);
    }
    json_end_array(w);
    json_u64(w, more, left);
    free(more);
    table_release(&t);
}

static void put_stacks(struct json_writer *w, const struct heaviest *h, uint64_t sum, uint64_t top)
{
    struct buf text = {0};

    json_array(w, "heaviest_stacks");
    for (size_t i = 0; i < h->list.n && i < top; i++) {
        buf_clear(&text);
        heaviest_text(&h->list.a[i], STACK_BYTES, &text);
        json_object(w, NULL);
        json_strn(w, "stack", buf_str(&text), text.len);
        json_u64(w, "value", h->list.a[i].value);
        json_f64(w, "share", (double)h->list.a[i].value / (double)sum);
        json_end_object(w);
    }
    json_end_array(w);
    json_u64(w, "heaviest_stacks_left_out", h->list.n > top ? h->list.n - top : 0);
    buf_release(&text);
}

/* AIProf's two sentences. */
static void put_summary(struct json_writer *w, const struct profile *p, const struct heaviest *h,
                        const struct focus *f)
{
    struct buf text = {0};

    buf_addf(&text, "%zu unique stacks, %llu %s", h->list.n, (unsigned long long)p->metrics.a[0].sum,
             p->metrics.a[0].unit);
    json_strn(w, "summary", text.data, text.len);
    json_f64(w, "python_share", f->python);
    json_f64(w, "cuda_share", f->kernel);
    json_str(w, "advice", advice(f));
    buf_release(&text);
}

static void put_hotspots(struct json_writer *w, const struct profile *p, const struct focus *f, uint64_t top)
{
    struct heaviest h = {0};

    heaviest_stacks(&h, p, 0);
    json_str(w, "focus", f->name);
    json_str(w, "focus_because", f->because);
    put_metric(w, p, &h);
    put_summary(w, p, &h, f);
    put_functions(w, "by_self", p, f, 0, top);
    put_functions(w, "by_total", p, f, 1, top);
    put_stacks(w, &h, p->metrics.a[0].sum, top);
    heaviest_release(&h);
}

static int analyze(const struct mcp_job *j, const struct session *s, struct json_writer *w, struct err *e)
{
    struct profile cpu = {0}, other = {0}, *p = &cpu;
    struct focus f = {0};
    int rc = fold_has(&s->store, "oncpu") ? fold(&cpu, s, "oncpu", e) : 0;

    if (!rc) {
        take_shares(&f, &cpu);
        choose(&f, s, mcp_job_text(j, "focus"));
        if (strcmp(f.metric, "oncpu") != 0 || !cpu.metrics.n) {
            p = &other;
            rc = fold(p, s, f.metric, e);
            take_shares(&f, p);
        }
    }
    if (!rc)
        put_hotspots(w, p, &f, mcp_job_count(j, "top_k"));
    profile_release(&cpu);
    profile_release(&other);
    return rc;
}

int mcp_analyze_hotspot(const struct mcp_job *j, struct buf *out, struct err *e)
{
    struct json_writer w = {.out = out};
    struct session s;
    int rc;

    if (mcp_roots_open(j->roots, mcp_job_text(j, "session_id"), &s, e))
        return -1;
    json_object(&w, NULL);
    put_session(&w, &s);
    rc = analyze(j, &s, &w, e);
    json_end_object(&w);
    session_release(&s);
    return rc;
}
