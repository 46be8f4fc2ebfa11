/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `py-spy record --format raw` writes: folded stacks whose frames are "forward (net.py:12)" or, of
 * libraries, "gemm (libblas.so)". With --subprocesses a stack begins with its processes, the outermost first,
 * with --threads its thread follows: `process 12:"python train.py"`, `thread (0x7F5A)`,
 * `thread (13): MainThread`.
 */
#include "exchange/import/folded_line.h"
#include "exchange/import/lanes.h"
#include "exchange/import/lines.h"
#include "exchange/import/python_text.h"
#include "exchange/import/tokens.h"

#include <stdlib.h>
#include <string.h>

enum { NO_PROCESS = 1 /* the pid of threads whose process is not told */, PROBED = 50 /* lines */ };

static const char process_begin[] = "process ", thread_begin[] = "thread (";

struct pyspy {
    struct store *s;
    struct import_stats *st;
    struct lanes lanes;
    struct tokens frames; /* their text -> id */
    uint32_t pid, tid;    /* of the stack that is read; 0: not told */
    int python;
};

static int begins(const char *s, size_t n, const char *with)
{
    size_t k = strlen(with);

    return n > k && !memcmp(s, with, k);
}

/* A command line may have any `;` in it: up to the quote before one, or at the end. */
static size_t frame_end(const char *s, size_t n)
{
    const char *end;

    if (begins(s, n, process_begin)) {
        end = memmem(s, n, "\";", 2);
        return end ? (size_t)(end + 1 - s) : n;
    }
    end = memchr(s, ';', n);
    return end ? (size_t)(end - s) : n;
}

/* `process 12:"python train.py"`: 0, or -1: it is none. */
static int take_process(struct pyspy *x, const char *s, size_t n)
{
    char *text = mem_strndup(s + strlen(process_begin), n - strlen(process_begin)), *rest, *quote;
    unsigned long pid = strtoul(text, &rest, 10);
    uint32_t parent = x->pid;

    if (rest == text || *rest != ':' || !pid || pid > INT32_MAX) {
        free(text);
        return -1;
    }
    x->pid = (uint32_t)pid;
    rest += rest[1] == '"' ? 2 : 1;
    quote = strrchr(rest, '"');
    if (quote)
        *quote = '\0';
    lanes_name(&x->lanes, x->pid, 0, *rest ? rest : "python");
    if (parent) {
        uint32_t above = lanes_task(&x->lanes, parent, parent), id = lanes_task(&x->lanes, x->pid, x->pid);

        tasks_get(&x->s->tasks, id)->parent = above;
    }
    free(text);
    return 0;
}

/* `thread (0x7F5A): MainThread` */
static int take_thread(struct pyspy *x, const char *s, size_t n)
{
    char *text = mem_strndup(s + strlen(thread_begin), n - strlen(thread_begin)), *rest, *name;
    unsigned long long tid = strtoull(text, &rest, 0);
    int rc = rest == text || *rest != ')' ? -1 : 0;

    if (!rc) {
        x->pid = x->pid ? x->pid : NO_PROCESS;
        x->tid = lanes_narrow(&x->lanes, tid);
        *rest = '\0';
        name = mem_printf("thread %s", text);
        lanes_name(&x->lanes, x->pid, x->tid, !strncmp(rest + 1, ": ", 2) && rest[3] ? rest + 3 : name);
        free(name);
    }
    free(text);
    return rc;
}

static uint32_t frame_of(struct pyspy *x, const char *s, size_t n)
{
    uint32_t *known = tokens_get(&x->frames, s, n, tokens_hash(s, n));
    struct python_text t = {.name = s, .name_n = n, .file = ""};

    if (!*known) {
        python_text_split(&t, s, n);
        *known = python_text_frame(x->s, &t);
        x->python |= frames_get(&x->s->frames, *known)->kind == FRAME_PYTHON;
    }
    return *known;
}

static void take_stack(struct pyspy *x, const struct folded_line *l)
{
    struct event ev = {.kind = EVENT_SAMPLE, .value = l->value};
    const char *s = l->stack, *end = s + l->n;
    size_t n;

    x->pid = x->tid = 0;
    for (; s <= end; s += n + 1) {
        n = frame_end(s, (size_t)(end - s));
        if (!ev.stack && begins(s, n, process_begin) && !take_process(x, s, n))
            continue;
        if (!ev.stack && begins(s, n, thread_begin) && !take_thread(x, s, n))
            continue;
        ev.stack = stacks_push(&x->s->stacks, ev.stack, frame_of(x, s, n));
    }
    if (x->pid)
        ev.task = lanes_task(&x->lanes, x->pid, x->tid ? x->tid : x->pid);
    *vec_push(&x->s->events) = ev;
}

static int take_line(struct pyspy *x, uint64_t number, const char *s, size_t n, struct err *e)
{
    struct folded_line l;
    int rc = folded_line_split(&l, s, n);

    if (rc < 0)
        folded_bad_line(x->st, number, s, n);
    if (rc <= 0)
        return 0;
    if (__builtin_add_overflow(x->st->samples, l.value, &x->st->samples))
        return err_set(e, "the counts up to line %llu add up to more than 64 bits can hold",
                       (unsigned long long)number);
    take_stack(x, &l);
    x->st->stacks++;
    x->st->rounded += (uint64_t)l.rounded;
    return 0;
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct pyspy x = {.s = s, .st = st, .lanes = {.store = s}};
    struct lines lines;
    const char *line;
    size_t n;
    int rc;

    lines_init(&lines, in);
    lanes_name(&x.lanes, NO_PROCESS, 0, "python");
    while ((rc = lines_next(&lines, &line, &n, e)) > 0) {
        rc = take_line(&x, lines.number, line, n, e);
        if (rc)
            break;
    }
    lines_release(&lines);
    lanes_finish(&x.lanes, 0);
    if (!rc && !st->stacks)
        rc = err_set(e, "no stack in it (what py-spy record --format raw writes was expected)");
    if (!rc && x.python)
        meta_add_language(m, "python");
    lanes_release(&x.lanes);
    tokens_release(&x.frames);
    return rc;
}

/* ---- the probe ---- */

/* 1: a process or a thread, or a frame of Python with its line; 0: nothing against it; -1: what a stack
 * begins with is no frame of py-spy's. */
static int probe_line(const char *s, size_t n)
{
    struct folded_line l;
    int rc = folded_line_split(&l, s, n), sure = 0;
    size_t k;

    if (rc <= 0)
        return 0;
    for (const char *p = l.stack, *end = p + l.n; p <= end; p += k + 1) {
        struct python_text t;

        k = frame_end(p, (size_t)(end - p));
        if ((begins(p, k, process_begin) && memchr(p, '"', k)) ||
            (begins(p, k, thread_begin) && memchr(p, ')', k)))
            sure = 1;
        else if (!python_text_split(&t, p, k))
            sure |= t.line && python_text_is_file(t.file, t.file_n);
        else if (p == l.stack)
            return -1;
    }
    return sure;
}

static int probe(const char *head, size_t n)
{
    const char *p = head, *end = head + n;
    int sure = 0;

    for (int i = 0; i < PROBED && p < end; i++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        int rc;

        if (!eol && n >= INPUT_HEAD)
            break;
        eol = eol ? eol : end;
        rc = probe_line(p, (size_t)(eol - p));
        if (rc < 0)
            return 0;
        sure |= rc;
        p = eol + 1;
    }
    return sure;
}

const struct importer import_pyspy = {
    .name = "pyspy",
    .summary = "what py-spy record --format raw writes: folded stacks with files and lines",
    .probe = probe,
    .run = run,
};
