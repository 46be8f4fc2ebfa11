/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of austin, a sampler of Python: "P12;T13;net.py:forward:12;net.py:relu:7 100", a line a sample,
 * between lines "# mode: wall" of what is known about the run. Austin 1 writes frames as "forward
 * (net.py);L12", or "net.py:forward;L12"; from 3.6 on the interpreter stands before the thread, T0:13; from 4
 * on this is what mojo2austin makes of its binary form. The value is microseconds, or bytes (mode memory), or
 * all at once (mode full): "microseconds,idle,bytes".
 *
 * Up to 1 nothing is said of the run, threads stand as "Thread 55f5036d28f0" (pthread_self()), below "Process
 * 12" with --children, and mode full has "microseconds +memory -memory" (austin(1) of 1.0), the last not
 * above 0.
 */
#include "exchange/import/folded_line.h"
#include "exchange/import/lanes.h"
#include "exchange/import/lines.h"
#include "exchange/import/python_text.h"
#include "exchange/import/tokens.h"

#include <stdlib.h>
#include <string.h>

enum metric { METRIC_TIME, METRIC_CPU, METRIC_MEMORY, METRICS };

static const char *const metric_names[METRICS] = {"time", "cpu", "memory"};

struct austin {
    struct store *s;
    struct meta *m;
    struct import_stats *st;
    struct lanes lanes;
    struct strtab threads; /* named ones */
    struct tokens frames;  /* their text -> id */
    enum metric metric;    /* that is wanted of mode full */
    int asked;             /* for it */
    int memory, full;      /* what the mode line said, or a value of three parts */
    int python;
    struct buf about; /* "version 3.7.0, mode wall" */
};

/* ---- what is known about the run ---- */

/* "# duration: 383010" */
static void take_comment(struct austin *x, const char *s, size_t n)
{
    static const char *const told[] = {"austin",     "mode",   "interval", "sampling",
                                       "saturation", "errors", "gc"};
    char *text = mem_strndup(s, n), *key = text + strspn(text, "# "), *value = strstr(key, ": ");

    if (value) {
        *value = '\0';
        value += 2;
        if (!strcmp(key, "mode"))
            x->memory = !strcmp(value, "memory");
        if (!strcmp(key, "duration"))
            x->m->duration_s = strtod(value, NULL) / 1e6;
        for (size_t i = 0; i < ARRAY_SIZE(told); i++)
            if (!strcmp(told[i], key))
                buf_addf(&x->about, "; %s %s", i ? key : "version", value);
    }
    free(text);
}

/* ---- frames ---- */

static uint32_t marker(struct austin *x, const char *text)
{
    struct frame f = {.kind = FRAME_MARKER, .func = strtab_add(&x->s->strings, text)};

    return frames_add(&x->s->frames, &f);
}

static uint32_t kernel_frame(struct austin *x, const struct python_text *t)
{
    struct frame f = {.kind = FRAME_KERNEL, .func = strtab_addn(&x->s->strings, t->name, t->name_n)};

    return frames_add(&x->s->frames, &f);
}

/* "12" of s[0..n). */
static uint32_t line_of(const char *s, size_t n)
{
    uint64_t v;
    int rounded;

    return !folded_number(s, n, &v, &rounded) && !rounded && v <= INT32_MAX ? (uint32_t)v : 0;
}

/* "net.py:forward:12", "net.py:forward" with its line apart, "forward (net.py)" likewise. */
static void split_place(struct python_text *t, const char *s, size_t n)
{
    const char *colon, *end = s + n;

    if (!python_text_split(t, s, n))
        return;
    *t = (struct python_text){.name = s, .name_n = n, .file = ""};
    colon = memrchr(s, ':', n);
    if (!colon)
        return;
    if (colon + 1 < end && colon[1] >= '0' && colon[1] <= '9') {
        t->line = line_of(colon + 1, (size_t)(end - colon - 1));
        end = colon;
        colon = memrchr(s, ':', (size_t)(end - s));
    }
    if (!colon) {
        t->name_n = (size_t)(end - s);
        return;
    }
    t->file = s;
    t->file_n = (size_t)(colon - s);
    t->name = colon + 1;
    t->name_n = (size_t)(end - t->name);
}

static uint32_t make_frame(struct austin *x, const char *s, size_t n)
{
    const char *semicolon = memrchr(s, ';', n);
    struct python_text t;
    uint32_t id;

    if (n == strlen(":GC:") && !memcmp(s, ":GC:", n))
        return marker(x, "[garbage collection]");
    if (n == strlen(":INVALID:") && !memcmp(s, ":INVALID:", n))
        return marker(x, "[invalid frame]");
    split_place(&t, s, semicolon ? (size_t)(semicolon - s) : n);
    if (semicolon)
        t.line = line_of(semicolon + 2, (size_t)(s + n - semicolon - 2));
    if (t.file_n == strlen("kernel") && !memcmp(t.file, "kernel", t.file_n))
        return kernel_frame(x, &t);
    id = python_text_frame(x->s, &t);
    x->python |= frames_get(&x->s->frames, id)->kind == FRAME_PYTHON;
    return id;
}

static int is_line(const char *s, const char *end)
{
    if (s + 1 >= end || *s != 'L')
        return 0;
    for (s++; s < end && *s != ';'; s++)
        if (*s < '0' || *s > '9')
            return 0;
    return 1;
}

/* A frame's text; of austin 1 that of its line, too: "forward (net.py);L12". */
static size_t frame_end(const char *s, const char *end)
{
    const char *semicolon = memchr(s, ';', (size_t)(end - s)), *next;

    if (!semicolon || !is_line(semicolon + 1, end))
        return (size_t)((semicolon ? semicolon : end) - s);
    next = memchr(semicolon + 1, ';', (size_t)(end - semicolon - 1));
    return (size_t)((next ? next : end) - s);
}

static uint32_t stack_of(struct austin *x, const char *s, const char *end)
{
    uint32_t stack = 0;

    for (size_t n; s < end; s += n + 1) {
        uint32_t *known;

        n = frame_end(s, end);
        known = tokens_get(&x->frames, s, n, tokens_hash(s, n));
        if (!*known)
            *known = make_frame(x, s, n);
        stack = stacks_push(&x->s->stacks, stack, *known);
    }
    return stack;
}

/* ---- threads ---- */

/* "13", "7f5a3c", "0x7f5a", "0:13", "MainThread" */
static uint32_t tid_of(struct austin *x, const char *text)
{
    const char *colon = strchr(text, ':'), *id = colon ? colon + 1 : text;
    char *rest;
    unsigned long long v = strtoull(id, &rest, 10);

    if (*id && !*rest)
        return lanes_narrow(&x->lanes, v);
    v = strtoull(id, &rest, 16);
    if (*id && !*rest)
        return lanes_narrow(&x->lanes, v);
    return lanes_narrow(&x->lanes, 1ull << 63 | strtab_add(&x->threads, text));
}

/* "Thread 55f5036d28f0", "Process 12;Thread 55f5036d28f0". */
static int is_old(const char *s, size_t n)
{
    return (n > 7 && !memcmp(s, "Thread ", 7)) || (n > 8 && !memcmp(s, "Process ", 8));
}

/* The same as task_of(). */
static uint32_t old_task(struct austin *x, const char **s, const char *end)
{
    const char *p = *s, *to;
    uint32_t pid = 1, tid; /* 1: where it is not told */
    char *text;

    if (!memcmp(p, "Process ", 8)) {
        to = memchr(p, ';', (size_t)(end - p));
        pid = to ? line_of(p + 8, (size_t)(to - p - 8)) : 0;
        if (!pid || end - to < 8 || memcmp(to + 1, "Thread ", 7) != 0)
            return 0;
        p = to + 1;
    }
    to = memchr(p, ';', (size_t)(end - p));
    to = to ? to : end;
    text = mem_strndup(p, (size_t)(to - p));
    tid = tid_of(x, text + 7);
    lanes_name(&x->lanes, pid, tid, text);
    lanes_name(&x->lanes, pid, 0, "python");
    free(text);
    *s = to < end ? to + 1 : end;
    return lanes_task(&x->lanes, pid, tid);
}

/* "P12;T13" at *s, which goes on behind it. 0: there is none. */
static uint32_t task_of(struct austin *x, const char **s, const char *end)
{
    const char *semicolon = memchr(*s, ';', (size_t)(end - *s)), *to;
    uint32_t pid, tid;
    char *text;

    if (is_old(*s, (size_t)(end - *s)))
        return old_task(x, s, end);
    if (!semicolon || **s != 'P' || semicolon + 1 >= end || semicolon[1] != 'T')
        return 0;
    pid = line_of(*s + 1, (size_t)(semicolon - *s - 1));
    if (!pid)
        return 0;
    to = memchr(semicolon + 1, ';', (size_t)(end - semicolon - 1));
    to = to ? to : end;
    text = mem_strndup(semicolon + 1, (size_t)(to - semicolon - 1));
    tid = tid_of(x, text + 1);
    lanes_name(&x->lanes, pid, tid, text);
    free(text);
    text = mem_strndup(*s, (size_t)(semicolon - *s));
    lanes_name(&x->lanes, pid, 0, text);
    free(text);
    *s = to < end ? to + 1 : end;
    return lanes_task(&x->lanes, pid, tid);
}

/* ---- samples ---- */

static int signed_number(const char *s, const char *end, int64_t *v)
{
    int minus = s < end && *s == '-', rounded;
    uint64_t n;

    if (folded_number(s + minus, (size_t)(end - s - minus), &n, &rounded) || rounded || n > INT64_MAX)
        return -1;
    *v = minus ? -(int64_t)n : (int64_t)n;
    return 0;
}

/* "100", or "100,0,-56": what is wanted of it. */
static int value_of(struct austin *x, const char *s, const char *end, int64_t *v)
{
    const char *first = memchr(s, ',', (size_t)(end - s)), *second;
    int64_t part[3];

    if (!first)
        return signed_number(s, end, v);
    second = memchr(first + 1, ',', (size_t)(end - first - 1));
    if (!second || signed_number(s, first, &part[0]) || signed_number(first + 1, second, &part[1]) ||
        signed_number(second + 1, end, &part[2]))
        return -1;
    x->full = 1;
    *v = x->metric == METRIC_MEMORY ? part[2] : x->metric == METRIC_CPU && part[1] ? 0 : part[0];
    return 0;
}

/* "2153 0 -11548" at the end of s[0..n): what is wanted of it, and where it begins. 0: it is no such. */
static int old_full(struct austin *x, const char *s, size_t n, int64_t *v, const char **end)
{
    const char *to = s + n, *from = to;
    int64_t part[3];

    if (!is_old(s, n))
        return 0;
    for (int i = 3; i--; to = from) {
        from = memrchr(s, ' ', (size_t)(to - s));
        if (!from || signed_number(from + 1, to, &part[i]))
            return 0;
    }
    x->full = 1;
    *v = x->metric == METRIC_MEMORY ? part[1] + part[2] : part[0];
    *end = from;
    return 1;
}

static int take_sample(struct austin *x, const char *s, size_t n)
{
    const char *end = memrchr(s, ' ', n);
    struct event ev = {.kind = EVENT_SAMPLE};
    int64_t value;

    if (!end || (!old_full(x, s, n, &value, &end) && value_of(x, end + 1, s + n, &value)))
        return -1;
    ev.task = task_of(x, &s, end);
    if (!ev.task)
        return -1;
    if (value <= 0) {
        import_count(x->st, IMPORT_LEFT,
                     value ? "sample in which memory was freed|samples in which memory was freed"
                           : "sample of no weight|samples of no weight",
                     1);
        return 0;
    }
    if (__builtin_add_overflow(x->st->samples, (uint64_t)value, &x->st->samples)) {
        import_count(x->st, IMPORT_LOST, "sample beyond 64 bits in all|samples beyond 64 bits in all", 1);
        return 0;
    }
    ev.stack = stack_of(x, s, end);
    ev.value = (uint64_t)value;
    *vec_push(&x->s->events) = ev;
    import_count(x->st, IMPORT_TOOK, "sample|samples", 1);
    return 0;
}

static void take_line(struct austin *x, uint64_t number, const char *s, size_t n)
{
    if (n && *s == '#')
        take_comment(x, s, n);
    else if (n && take_sample(x, s, n))
        folded_bad_line(x->st, number, s, n);
}

static int choose_metric(struct austin *x, const char *name, struct err *e)
{
    x->asked = name != NULL;
    for (int i = 0; i < METRICS; i++)
        if (!name || !strcmp(metric_names[i], name)) {
            x->metric = (enum metric)i;
            return 0;
        }
    return err_set(e, "no metric '%s' of austin's (time, cpu, memory)", name);
}

static int describe(struct austin *x, struct err *e)
{
    if (!x->s->events.n)
        return err_set(e, "no sample in it (austin's text was expected)");
    if (x->asked && !x->full && x->memory != (x->metric == METRIC_MEMORY))
        return err_set(e, "only what austin recorded with --full has another metric");
    *vec_push(&x->m->notes) =
        mem_printf("recorded by austin%s; a sample counts as the %s it stands for", buf_str(&x->about),
                   x->full     ? x->metric == METRIC_MEMORY ? "bytes" : "microseconds"
                   : x->memory ? "bytes"
                               : "microseconds");
    if (x->full ? x->metric == METRIC_MEMORY : x->memory)
        x->st->measured = IMPORT_BYTES;
    if (x->python)
        meta_add_language(x->m, "python");
    return 0;
}

static int is_mojo(const struct buf *head)
{
    return head->len > 3 && !memcmp(head->data, "MOJ", 3) && head->data[3] < ' ';
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct austin x = {.s = s, .m = m, .st = st, .lanes = {.store = s}};
    struct lines lines;
    const char *line;
    size_t n;
    int rc = choose_metric(&x, in->event, e);

    if (is_mojo(&in->head))
        rc = err_set(e,
                     "austin's binary form, MOJO: mojo2austin (pip install austin-python) makes text of it");
    lines_init(&lines, in);
    while (!rc && (rc = lines_next(&lines, &line, &n, e)) > 0) {
        take_line(&x, lines.number, line, n);
        rc = 0;
    }
    lines_release(&lines);
    lanes_finish(&x.lanes, 0);
    if (!rc)
        rc = describe(&x, e);
    lanes_release(&x.lanes);
    strtab_release(&x.threads);
    tokens_release(&x.frames);
    buf_release(&x.about);
    return rc;
}

/* A sample of the oldest versions: a frame has its line behind it. */
static int begins_old(const char *p, const char *end)
{
    const char *eol = memchr(p, '\n', (size_t)(end - p)), *line;
    size_t n = (size_t)((eol ? eol : end) - p);

    line = is_old(p, n) ? memmem(p, n, ");L", 3) : NULL;
    return line && is_line(line + 2, line + 4);
}

/* "# austin: 3.7.0", or a sample; its binary form is said to be that. */
static int probe(const char *head, size_t n)
{
    const char *p = head, *end = head + n;

    if (is_mojo(&(struct buf){(char *)head, n, n}))
        return 1;
    if (import_holds(head, n, "# austin: ") && *head == '#')
        return 1;
    while (p < end && *p == '#') {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : end;
    }
    if (begins_old(p, end))
        return 1;
    if (end - p < 5 || *p++ != 'P' || *p < '1' || *p > '9')
        return 0;
    p += strspn(p, "0123456789");
    return p[0] == ';' && p[1] == 'T';
}

const struct importer import_austin = {
    .name = "austin",
    .summary = "austin's text, of all its versions and modes; of mode full the time, or --event cpu, memory",
    .events = 1,
    .probe = probe,
    .run = run,
};
