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

#include <string.h>

enum { DEPTH_MAX = 1 << 16 };

struct header {
    const char *comm;
    size_t comm_n, who_n; /* "comm", "comm pid/tid" */
    uint64_t pid, tid, ts, period;
    int pid_told, period_told;
    uint16_t cpu;
    const char *event;
    size_t event_n;   /* without the modifiers; 0: not told */
    const char *rest; /* behind the event: a frame, or nothing */
};

struct perf_script {
    struct store *s;
    struct meta *m;
    struct import_stats *st;
    struct perf_frames frames;
    struct tokens tasks;               /* "comm pid/tid" -> task id */
    VEC(struct perf_frames_run) lines; /* of the sample that is read, the innermost first */
    struct event sample;
    int open, java;
    int whole;      /* the sample's only frame stood behind its event */
    int asked;      /* for event_name */
    uint32_t event; /* strtab: the first one; the others are left out */
    struct buf event_name;
    struct strtab others;
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

/* "27409/28744" or "3244", up to a space. */
static int pids(const char *p, const char *end, struct header *h)
{
    h->pid = 0;
    if (number(&p, end, &h->tid))
        return -1;
    if (p < end && *p == '/') {
        p++;
        h->pid = h->tid;
        h->pid_told = 1;
        if (number(&p, end, &h->tid))
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

/* "cycles:uppp:" is cycles, "sched:sched_switch:" all of it. */
static int event_of(const char *p, const char *end, struct header *h)
{
    const char *colon;

    if (end - p < 2 || end[-1] != ':')
        return -1;
    end--;
    colon = memrchr(p, ':', (size_t)(end - p));
    if (colon && colon > p && strspn(colon + 1, "ukhGHpPSDWeI") >= (size_t)(end - colon - 1))
        end = colon;
    h->event = p;
    h->event_n = (size_t)(end - p);
    return 0;
}

/* [cpu] time: period event: -- as far as they are there. 0: an event or a time is. */
static int fields(const char *p, const char *end, struct header *h)
{
    int found = -1;
    uint64_t v;

    h->rest = end;
    while (p < end) {
        const char *to, *digits;

        p = skip_space(p, end);
        to = token_end(p, end);
        digits = p;
        if (*p == '[' && to > p + 2) {
            digits++;
            if (!number(&digits, to, &v))
                h->cpu = (uint16_t)v;
        } else if (!time_of(p, to, &h->ts)) {
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

    *h = (struct header){.comm = comm, .period = 1};
    for (p = token_end(p, end); p < end; p = token_end(p, end)) {
        const char *gap = p;

        p = skip_space(p, end);
        if (p < end && !pids(p, token_end(p, end), h) && !fields(token_end(p, end), end, h)) {
            h->comm_n = (size_t)(gap - comm);
            h->who_n = (size_t)(token_end(p, end) - comm);
            return 0;
        }
    }
    return -1;
}

/* ---- samples ---- */

/* By "comm pid/tid" as it stands in the line. */
static uint32_t task_of(struct perf_script *x, const struct header *h, const char *comm)
{
    uint32_t pid = (uint32_t)h->pid, tid = (uint32_t)h->tid;
    /* pid: of a process of its own, so that no frame of a thread is made. */
    struct task t = {.pid = tid, .tid = tid, .ns_pid = h->pid_told ? pid : tid, .ns_tid = tid};
    uint32_t *known = tokens_get(&x->tasks, h->comm, h->who_n, tokens_hash(h->comm, h->who_n));

    if (!*known) {
        t.own_pid = h->pid_told ? pid : TASK_PID_UNKNOWN;
        t.comm = strtab_add(&x->s->strings, comm);
        t.leader = (uint32_t)x->s->tasks.list.n + 1;
        t.image = t.leader; /* makes it unlike any other */
        *known = tasks_add(&x->s->tasks, &t);
    }
    return *known;
}

/* One event is taken, the first or that asked for, whatever its modifiers. */
static int is_other_event(struct perf_script *x, const struct header *h)
{
    if (!h->event_n)
        return x->asked;
    if (!x->event_name.len)
        buf_add(&x->event_name, h->event, h->event_n);
    if (h->event_n != x->event_name.len || memcmp(h->event, x->event_name.data, h->event_n) != 0) {
        strtab_addn(&x->others, h->event, h->event_n);
        return 1;
    }
    if (!x->event)
        x->event = strtab_add(&x->s->strings, x->event_name.data);
    return 0;
}

/* "cycles, instructions" */
static void others_text(const struct perf_script *x, struct buf *out)
{
    for (uint32_t i = 1; i <= strtab_count(&x->others); i++)
        buf_addf(out, "%s%s", i > 1 ? ", " : "", strtab_get(&x->others, i));
}

/* What is known at the end. */
static int describe(struct perf_script *x, struct err *e)
{
    struct buf others = {0};
    int rc = 0;

    others_text(x, &others);
    if (!x->s->events.n && others.len)
        rc = err_set(e, "no sample of the event '%s' in it (it has: %s)", x->event_name.data, others.data);
    else if (!x->s->events.n)
        rc = err_set(e, "no sample in it (what `perf script` prints was expected)");
    if (!rc && x->event && !x->m->event)
        x->m->event = mem_strdup(x->event_name.data);
    if (!rc)
        *vec_push(&x->m->notes) =
            mem_printf("recorded by perf; a sample counts as often as its event's period says%s%s",
                       others.len ? "; other events in it (--event): " : "", buf_str(&others));
    buf_release(&others);
    return rc;
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
            stack = stacks_push(&x->s->stacks, stack, ids[k]);
    }
    x->sample.stack = stack;
    *vec_push(&x->s->events) = x->sample;
    import_count(x->st, IMPORT_TOOK, "sample|samples", 1);
    if (!stack)
        import_count(x->st, IMPORT_NOTED, "without a stack", 1);
}

static void take_frame(struct perf_script *x, const char *line, size_t n)
{
    struct perf_frames_run run;

    if (!x->open || x->lines.n == DEPTH_MAX)
        return;
    if (!perf_frames_get(&x->frames, line, n, x->java, &run))
        *vec_push(&x->lines) = run;
    else
        import_count(x->st, IMPORT_LOST, "line that is no frame|lines that are no frames", 1);
}

static void begin_sample(struct perf_script *x, const struct header *h, const char *end)
{
    char comm[256];
    size_t n = h->comm_n < sizeof(comm) - 1 ? h->comm_n : sizeof(comm) - 1;

    finish_sample(x);
    vec_clear(&x->lines);
    if (is_other_event(x, h)) {
        import_count(x->st, IMPORT_LEFT, "sample of another event|samples of other events", 1);
        return;
    }
    memcpy(comm, h->comm, n);
    comm[n] = '\0';
    for (char *p = comm; *p; p++)
        if (*p == ' ')
            *p = '_';
    x->open = 1;
    x->java = !strncmp(comm, "java", 4);
    x->sample = (struct event){.ts = h->ts,
                               .value = h->period,
                               .task = task_of(x, h, comm),
                               .metric = x->event,
                               .cpu = h->cpu,
                               .kind = EVENT_SAMPLE};
    x->whole = h->rest < end || h->period_told;
    if (h->rest < end)
        take_frame(x, h->rest, (size_t)(end - h->rest));
}

static void take_line(struct perf_script *x, const char *line, size_t n)
{
    struct header h;

    if (!n || skip_space(line, line + n) == line + n)
        finish_sample(x);
    else if (*line == '#')
        perf_about_line(x->m, line, n);
    else if (*line != '\t' && !parse_header(line, n, &h))
        begin_sample(x, &h, line + n);
    else if (*line == ' ' || *line == '\t')
        take_frame(x, line, n);
    else
        import_count(x->st, IMPORT_LOST, "line that is no frame|lines that are no frames", 1);
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct perf_script x = {.s = s, .m = m, .st = st, .asked = in->event != NULL, .frames = {.store = s}};
    struct lines lines;
    const char *line;
    size_t n;
    int rc;

    buf_addstr(&x.event_name, in->event ? in->event : "");
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
        rc = describe(&x, e);
    lines_release(&lines);
    perf_frames_release(&x.frames);
    tokens_release(&x.tasks);
    vec_release(&x.lines);
    buf_release(&x.event_name);
    strtab_release(&x.others);
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
