/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `perf script` prints: for each sample a line that says whose it is, of which event, when, and below it
 * the frames, the innermost first, up to an empty line. Fields may be missing; a sample's only frame may
 * stand behind its event. A process is its comm, whatever its threads are called.
 */
#include "exchange/import/import.h"
#include "exchange/import/lines.h"
#include "exchange/import/perf_about.h"
#include "exchange/import/perf_frames.h"
#include "exchange/import/perf_samples.h"

#include <string.h>

enum { DEPTH_MAX = 1 << 16 };

struct header {
    const char *comm;
    size_t comm_n, who_n; /* "comm", "comm pid/tid" */
    struct perf_who ids;
    uint64_t ts, period;
    int period_told;
    uint16_t cpu;
    const char *event;
    size_t event_n;   /* without the modifiers; 0: not told */
    const char *rest; /* behind the event: a frame, or nothing */
    int record;       /* no sample: what perf script --show-*-events prints */
};

struct perf_script {
    struct perf_samples out;
    struct perf_frames frames;
    VEC(struct perf_frames_run) lines; /* of the sample that is read, the innermost first */
    struct event sample;
    int open, java;
    int whole; /* the sample's only frame stood behind its event */
    int asked; /* for an event: samples that tell none are not of it */
};

/* ---- the line of a sample ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static const char *token_end(const char *p, const char *end)
{
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    return p;
}

static int number(const char **p, const char *end, uint64_t *v)
{
    const char *from = *p;

    for (*v = 0; *p < end && **p >= '0' && **p <= '9' && *p - from < 18; ++*p)
        *v = *v * 10 + (uint64_t)(**p - '0');
    return *p > from ? 0 : -1;
}

/* "27409/28744" or "3244", up to a space; "-1" of a thread that was gone, whose comm is ":-1". */
static int pids(const char *p, const char *end, int is_gone, struct perf_who *who)
{
    *who = (struct perf_who){0};
    if (is_gone && (end - p == 2 || (end - p == 5 && !memcmp(p, "-1/", 3))) && !memcmp(end - 2, "-1", 2)) {
        who->pid = who->tid = UINT32_MAX;
        return 0;
    }
    if (number(&p, end, &who->tid))
        return -1;
    if (p < end && *p == '/') {
        p++;
        who->pid = who->tid;
        who->pid_told = 1;
        if (number(&p, end, &who->tid))
            return -1;
    }
    return p == end ? 0 : -1;
}

/* "184694.229097:" */
static int time_of(const char *p, const char *end, uint64_t *ns)
{
    uint64_t s, unit = 1000000000;

    if (number(&p, end, &s) || p == end || *p++ != '.' || s > INT64_MAX / 4 / unit)
        return -1;
    *ns = s * unit;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        unit /= 10;
        *ns += unit * (uint64_t)(*p - '0');
    }
    return p + 1 == end && *p == ':' ? 0 : -1;
}

/* "cycles:uppp:" */
static int event_of(const char *p, const char *end, struct header *h)
{
    if (end - p < 2 || end[-1] != ':')
        return -1;
    h->event = p;
    h->event_n = perf_event_bare(p, (size_t)(end - 1 - p));
    return 0;
}

/* "PERF_RECORD_SWITCH OUT", "PERF_RECORD_COMM exec: a:1/1" */
static int is_record(const char *p, const char *end)
{
    return end - p > 12 && !memcmp(p, "PERF_RECORD_", 12);
}

/* [cpu] time: period event: -- as far as they are there, in this order. 0: an event or a time is. A number
 * before a CPU or time is no period: it is the id, and what was taken for one is a part of the comm. */
static int fields(const char *p, const char *end, struct header *h)
{
    int found = -1;
    uint64_t v;

    h->rest = end;
    h->period = 1;
    h->period_told = 0;
    while (p < end) {
        const char *to, *digits;

        p = skip_space(p, end);
        to = token_end(p, end);
        digits = p;
        if (is_record(p, to)) {
            h->record = 1;
            return 0;
        }
        if (*p == '[' && to > p + 2) {
            if (h->period_told)
                return -1;
            digits++;
            if (!number(&digits, to, &v))
                h->cpu = (uint16_t)v;
        } else if (!time_of(p, to, &h->ts)) {
            if (h->period_told)
                return -1;
            found = 0;
        } else if (!number(&digits, to, &v) && digits == to) {
            h->period = v ? v : 1;
            h->period_told = 1;
        } else if (!event_of(p, to, h)) {
            h->rest = skip_space(to, end);
            return 0;
        } else {
            return found;
        }
        p = to;
    }
    return found;
}

/* "comm pid[/tid] ...": the comm may have spaces and numbers in it, the first number with the rest behind it
 * is the pid. 0: it is one. */
static int parse_header(const char *line, size_t n, struct header *h)
{
    const char *end = line + n, *p = skip_space(line, end), *comm = p;
    int is_gone = end - comm > 4 && !memcmp(comm, ":-1 ", 4);

    *h = (struct header){.comm = comm, .period = 1};
    for (p = token_end(p, end); p < end; p = token_end(p, end)) {
        const char *gap = p;

        p = skip_space(p, end);
        if (p < end && !pids(p, token_end(p, end), is_gone, &h->ids) && !fields(token_end(p, end), end, h)) {
            h->comm_n = (size_t)(gap - comm);
            h->who_n = (size_t)(token_end(p, end) - comm);
            return 0;
        }
    }
    return -1;
}

/* ---- samples ---- */

/* One event is taken, the first or that asked for, whatever its modifiers. */
static int is_other_event(struct perf_script *x, const struct header *h)
{
    struct perf_samples *out = &x->out;

    if (!h->event_n)
        return x->asked;
    if (!out->event_name.len)
        buf_add(&out->event_name, h->event, h->event_n);
    if (h->event_n != out->event_name.len || memcmp(h->event, out->event_name.data, h->event_n) != 0)
        return 1;
    if (!out->event)
        out->event = strtab_add(&out->s->strings, out->event_name.data);
    return 0;
}

static void finish_sample(struct perf_script *x)
{
    uint32_t stack = 0;

    if (!x->open)
        return;
    x->open = 0;
    for (size_t i = x->lines.n; i-- > 0;) {
        const struct perf_frames_run *run = &x->lines.a[i];
        const uint32_t *ids = run->n == 1 ? &run->at : x->frames.pool.a + run->at;

        for (uint32_t k = 0; k < run->n; k++)
            stack = stacks_push(&x->out.s->stacks, stack, ids[k]);
    }
    x->sample.stack = stack;
    perf_samples_add(&x->out, &x->sample);
}

static void take_frame(struct perf_script *x, const char *line, size_t n)
{
    struct perf_frames_run run;

    if (!x->open || x->lines.n == DEPTH_MAX)
        return;
    if (!perf_frames_get(&x->frames, line, n, x->java, &run))
        *vec_push(&x->lines) = run;
    else
        import_count(x->out.st, IMPORT_LOST, "line that is no frame|lines that are no frames", 1);
}

/* Behind the event: a stack's only line, or what a tracepoint tells. */
static void take_rest(struct perf_script *x, const char *rest, size_t n)
{
    struct perf_frames_run run;

    if (!perf_frames_get(&x->frames, rest, n, x->java, &run))
        *vec_push(&x->lines) = run;
    else
        import_count(x->out.st, IMPORT_LEFT, "tracepoint's own fields|tracepoints' own fields", 1);
}

static void begin_sample(struct perf_script *x, const struct header *h, const char *end)
{
    finish_sample(x);
    vec_clear(&x->lines);
    if (h->record) {
        import_count(x->out.st, IMPORT_LEFT, PERF_SAMPLES_RECORD, 1);
        return;
    }
    if (is_other_event(x, h)) {
        perf_samples_other(&x->out, h->event, h->event_n, 1);
        return;
    }
    x->open = 1;
    x->java = h->comm_n >= 4 && !memcmp(h->comm, "java", 4);
    x->sample = (struct event){.ts = h->ts,
                               .value = h->period,
                               .task = perf_samples_task(&x->out, h->comm, h->who_n, h->comm_n, &h->ids),
                               .metric = x->out.event,
                               .cpu = h->cpu,
                               .kind = EVENT_SAMPLE};
    x->whole = h->rest < end || h->period_told;
    if (h->rest < end)
        take_rest(x, h->rest, (size_t)(end - h->rest));
}

static void take_line(struct perf_script *x, const char *line, size_t n)
{
    struct header h;

    if (!n || skip_space(line, line + n) == line + n)
        finish_sample(x);
    else if (*line == '#')
        perf_about_line(x->out.m, line, n);
    else if (*line != '\t' && !parse_header(line, n, &h))
        begin_sample(x, &h, line + n);
    else if (*line == ' ' || *line == '\t')
        take_frame(x, line, n);
    else
        import_count(x->out.st, IMPORT_LOST, "line that is no frame|lines that are no frames", 1);
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct perf_script x = {.asked = in->event != NULL, .frames = {.store = s}};
    struct lines lines;
    const char *line;
    size_t n;
    int rc;

    perf_samples_init(&x.out, s, m, st, in->event);
    lines_init(&lines, in);
    while ((rc = lines_next(&lines, &line, &n, e)) > 0)
        take_line(&x, line, n);
    /* The last sample where no empty line ends it. stackcollapse-perf.pl leaves it out and inferno takes it:
     * out with those of old perfs, which tell no period, and in with the others, as their files want it. */
    if (x.open && !x.whole)
        import_count(st, IMPORT_LOST, "sample that was cut off, at the end|samples that were cut off", 1);
    else
        finish_sample(&x);
    if (!rc)
        rc = perf_samples_describe(&x.out, "what `perf script` prints was expected", e);
    lines_release(&lines);
    perf_frames_release(&x.frames);
    vec_release(&x.lines);
    perf_samples_release(&x.out);
    return rc;
}

/* A sample's line, and behind it a frame, an empty line or another sample's. */
static int probe(const char *head, size_t n)
{
    const char *p = head, *end = head + n, *eol;
    struct header h;
    struct perf_frames_run run;
    struct store s = {0};
    struct perf_frames frames = {.store = &s};
    int headers = 0, others = 0;

    for (; p < end && (eol = memchr(p, '\n', (size_t)(end - p))) && headers + others < 40; p = eol + 1) {
        size_t k = (size_t)(eol - p);

        k -= k && p[k - 1] == '\r';
        if (!k || *p == '#')
            continue;
        if (*p != '\t' && !parse_header(p, k, &h))
            headers++;
        else
            others += perf_frames_get(&frames, p, k, 0, &run) != 0;
    }
    perf_frames_release(&frames);
    store_release(&s);
    return headers > others;
}

const struct importer import_perf_script = {
    .name = "perf-script",
    .summary = "what perf script prints: samples with their time, the first event of several",
    .events = 1,
    .probe = probe,
    .run = run,
};
