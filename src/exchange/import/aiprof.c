/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of AIProf: a directory with meta.json and, as far as its plugins wrote them, folded.txt,
 * timeline.json or torch-trace.json (Chrome's format), cupti/kernels.jsonl, flamegraph.svg and extra/. The
 * picture says nothing more than folded.txt; the kernels' lines are read where there is no trace.
 */
#include "base/dir.h"
#include "exchange/import/folded_line.h"
#include "exchange/import/import.h"
#include "exchange/import/kernel_lines.h"
#include "model/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define META_FILE "meta.json"

/* ---- files ---- */

/* Links are not followed: the directory may be a stranger's. 0: it is open; 1: there is none; -1 with `e`. */
static int open_file(int dir, const char *name, struct input *in, int *fd, struct err *e)
{
    *fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0 && errno == ENOENT)
        return 1;
    if (*fd < 0)
        return err_sys(e, errno, "%s", name);
    return input_open_fd(in, *fd, name, e);
}

static void close_file(struct input *in, int fd, struct import_stats *st)
{
    st->bytes += in->bytes;
    input_release(in);
    if (fd >= 0)
        close(fd);
}

typedef int (*read_fn)(struct input *in, struct store *s, struct meta *m, struct import_stats *st,
                       struct err *e);

/* 1: there is no such file. */
static int read_part(int dir, const char *name, read_fn read, struct store *s, struct meta *m,
                     struct import_stats *st, struct err *e)
{
    struct input in = {.own_fd = -1};
    int fd, rc = open_file(dir, name, &in, &fd, e);

    if (!rc && !in.head.len)
        rc = 1; /* plugins that found nothing leave it empty */
    if (!rc && read(&in, s, m, st, e))
        rc = err_wrap(e, "%s", name);
    close_file(&in, fd, st);
    return rc;
}

/* ---- its parts ---- */

/* Spans of the GPU are what Kineto has, too. */
static int read_trace(struct input *in, struct store *s, struct meta *m, struct import_stats *st,
                      struct err *e)
{
    const char *head = buf_str(&in->head);
    int gpu = import_holds(head, in->head.len, "\"kernel\"") || import_holds(head, in->head.len, "\"gpu_mem");

    return gpu || import_kineto.probe(head, in->head.len) ? import_kineto.run(in, s, m, st, e)
                                                          : import_chrome.run(in, s, m, st, e);
}

static void move_text(char **to, char **from)
{
    if (!*from)
        return;
    free(*to);
    *to = *from;
    *from = NULL;
}

/* What meta.json says goes before what the import thinks of it. */
static void take_meta(struct meta *m, struct meta *theirs)
{
    move_text(&m->session_id, &theirs->session_id);
    move_text(&m->host, &theirs->host);
    move_text(&m->workload, &theirs->workload);
    move_text(&m->kind, &theirs->kind);
    move_text(&m->agent_ver, &theirs->agent_ver);
    *vec_push(&m->kinds) = mem_strdup(m->kind);
    for (size_t i = 0; i < theirs->languages.n; i++)
        meta_add_language(m, theirs->languages.a[i]);
    for (size_t i = 0; i < theirs->notes.n; i++)
        *vec_push(&m->notes) = mem_strdup(theirs->notes.a[i]);
    m->pid = theirs->pid;
    m->start_ts = theirs->start_ts;
    m->end_ts = theirs->end_ts;
    m->duration_s = theirs->duration_s;
}

static int read_meta(int dir, struct meta *m, struct err *e)
{
    struct buf text = {0};
    struct meta theirs = {0};
    struct input in = {.own_fd = -1};
    int fd, rc = open_file(dir, META_FILE, &in, &fd, e);

    if (rc > 0)
        rc = err_set(e, "no %s in it: no session of AIProf", META_FILE);
    if (!rc)
        rc = input_read_all(&in, &text, e);
    input_release(&in);
    if (fd >= 0)
        close(fd);
    if (!rc && meta_parse(&theirs, buf_str(&text), text.len, e))
        rc = err_wrap(e, "%s", META_FILE);
    if (!rc)
        take_meta(m, &theirs);
    meta_release(&theirs);
    buf_release(&text);
    return rc;
}

static int is_part(const char *name)
{
    static const char *const parts[] = {META_FILE,          "folded.txt", "timeline.json",
                                        "torch-trace.json", "cupti",      "flamegraph.svg"};

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (!strcmp(parts[i], name))
            return 1;
    return 0;
}

/* What else lies there stays there, and is told. */
static void count_others(int dir, struct import_stats *st)
{
    DIR *d = dir_open(dir, ".", 0);
    struct dirent *entry;

    while ((entry = dir_next(d)))
        if (!is_part(entry->d_name))
            import_count(st, IMPORT_LEFT, "other file or folder in it|other files or folders in it", 1);
    dir_close(d);
}

static int is_of_kernels(const char *text)
{
    size_t stacks = 0;

    for (const char *p = text, *eol; *p; p = eol + (*eol == '\n')) {
        struct folded_line l;
        const char *leaf;

        eol = strchrnul(p, '\n');
        if (folded_line_split(&l, p, (size_t)(eol - p)) <= 0)
            continue;
        leaf = memrchr(l.stack, ';', l.n);
        if (strncmp(leaf ? leaf + 1 : l.stack, "CUDA:", 5) != 0)
            return 0;
        stacks++;
    }
    return stacks > 0;
}

/* Each stack of folded.txt ends in a kernel, "CUDA:gemm": it counts ns of a GPU, and no samples of a CPU. */
static int folded_is_of_kernels(int dir)
{
    struct import_stats none = {0};
    struct input in = {.own_fd = -1};
    struct buf text = {0};
    struct err e = {0};
    int fd, rc = open_file(dir, "folded.txt", &in, &fd, &e);

    if (!rc && !input_read_all(&in, &text, &e))
        rc = is_of_kernels(buf_str(&text));
    else
        rc = 0;
    close_file(&in, fd, &none);
    buf_release(&text);
    return rc;
}

/* -1 with `e`, or how many parts were there. */
static int read_parts(int dir, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    int folded = 1, trace, kernels;

    trace = read_part(dir, "torch-trace.json", read_trace, s, m, st, e);
    if (trace > 0)
        trace = read_part(dir, "timeline.json", read_trace, s, m, st, e);
    if (trace < 0)
        return -1;
    kernels = trace ? read_part(dir, "cupti/kernels.jsonl", kernel_lines_run, s, m, st, e) : 1;
    if (kernels < 0)
        return -1;
    if (s->gpus.list.n && folded_is_of_kernels(dir))
        import_count(st, IMPORT_LEFT, "folded.txt: it is the kernels' time", 1);
    else
        folded = read_part(dir, "folded.txt", import_folded.run, s, m, st, e);
    if (folded < 0)
        return -1;
    return !folded + !trace + !kernels;
}

static int run(const char *path, const char *event, struct store *s, struct meta *m, struct import_stats *st,
               struct err *e)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    (void)event; /* it has one kind of them */
    if (dir < 0)
        return err_sys(e, errno, "open");
    rc = read_meta(dir, m, e);
    if (!rc)
        rc = read_parts(dir, s, m, st, e);
    if (!rc)
        rc = err_set(e, "neither folded.txt nor timeline.json, torch-trace.json or cupti/kernels.jsonl has "
                        "anything in it");
    if (rc > 0)
        count_others(dir, st);
    close(dir);
    return rc < 0 ? -1 : 0;
}

static int probe(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (dir < 0)
        return 0;
    rc = !faccessat(dir, META_FILE, F_OK, AT_SYMLINK_NOFOLLOW) &&
         faccessat(dir, SESSION_LOG, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    close(dir);
    return rc;
}

const struct importer import_aiprof = {
    .name = "aiprof",
    .summary = "a session's directory of AIProf: meta.json, folded.txt, timeline.json ...",
    .probe_dir = probe,
    .run_dir = run,
};
