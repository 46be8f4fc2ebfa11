/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wprof --+-- a source that needs no scan
 *         +-- the stage: reads /proc once --+-- a source that uses it (the pages are shared)
 *                                           +-- another
 * Each source has a pipe to wprof, which reads them all until they end or the time is up. Whoever is made has
 * the parent's death as its own.
 */
#include "topo/runner.h"

#include "base/io.h"
#include "model/graph_json.h"
#include "model/graph_ops.h"
#include "platform/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
    const struct topo_source *source;
    int in, out; /* the pipe; -1: closed */
    struct buf got;
};

struct runner {
    struct run *runs;
    size_t n;
    VEC(pid_t) children;
};

/* ---- in the children ---- */

static void child_begin(struct runner *r, const struct run *own)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < SIGRTMIN; s++)
        signal(s, SIG_DFL);
    for (size_t i = 0; i < r->n; i++) {
        if (r->runs[i].in >= 0)
            close(r->runs[i].in);
        r->runs[i].in = -1;
        if (own && &r->runs[i] != own)
            close(r->runs[i].out); /* or its reader would wait for us */
    }
}

static void add_text(struct buf *b, const char *s)
{
    buf_add_varint(b, strlen(s));
    buf_addstr(b, s);
}

/* What a source sends: how it went, what was seen, the graph. */
static void source_main(struct runner *r, const struct run *run, const struct graph *like,
                        struct topo_ctx *ctx)
{
    uint64_t began = clock_monotonic();
    struct buf out = {0};
    struct err e = {0};
    struct graph g;
    int rc;

    child_begin(r, run);
    graph_init(&g);
    g.time_ns = like->time_ns;
    g.source = graph_text(&g, run->source->name);
    rc = run->source->collect(ctx, &g, &e);
    buf_add_varint(&out, rc != 0);
    add_text(&out, rc ? e.msg : ctx->detail);
    add_text(&out, ctx->state ? ctx->state : ctx->denied ? "partial" : "ok");
    buf_add_varint(&out, ctx->seen);
    buf_add_varint(&out, ctx->denied);
    buf_add_varint(&out, ctx->vanished);
    buf_add_varint(&out, clock_monotonic() - began);
    graph_pack(&g, &out);
    _exit(io_write_all(run->out, out.data, out.len, NULL) ? 1 : 0);
}

static int start(struct runner *r, struct run *run, const struct graph *like, const struct topo_ctx *ctx)
{
    pid_t pid = fork();

    if (!pid) {
        struct topo_ctx own = *ctx;

        source_main(r, run, like, &own);
    }
    if (pid > 0)
        *vec_push(&r->children) = pid;
    return pid < 0 ? -1 : 0;
}

static void stage_main(struct runner *r, const struct graph *like, struct topo_ctx *ctx)
{
    struct scan scan;
    struct err e = {0};

    child_begin(r, NULL);
    if (ctx->live)
        *vec_push(&r->children) = getpid();
    if (ctx->live && ctx->own)
        *vec_push(&r->children) = ctx->own;
    scan_read(&scan, ctx->root, r->children.a, ctx->live ? r->children.n : 0,
              &e); /* without a /proc it is empty, and the sources say so */
    ctx->scan = &scan;
    vec_clear(&r->children);
    for (size_t i = 0; i < r->n; i++) {
        if (r->runs[i].source->needs_scan)
            start(r, &r->runs[i], like, ctx);
    }
    for (size_t i = 0; i < r->n; i++)
        close(r->runs[i].out);
    for (size_t i = 0; i < r->children.n; i++)
        waitpid(r->children.a[i], NULL, 0);
    _exit(0);
}

/* ---- in wprof ---- */

static int open_pipes(struct runner *r, struct err *e)
{
    for (size_t i = 0; i < r->n; i++) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC))
            return err_sys(e, errno, "topology: a pipe to each source");
        r->runs[i].in = fds[0];
        r->runs[i].out = fds[1];
    }
    return 0;
}

static int start_all(struct runner *r, const struct graph *like, const struct topo_ctx *ctx, struct err *e)
{
    int staged = 0, rc = 0;

    for (size_t i = 0; i < r->n && !rc; i++) {
        if (r->runs[i].source->needs_scan && !ctx->scan)
            staged = 1;
        else
            rc = start(r, &r->runs[i], like, ctx);
    }
    if (staged && !rc) {
        pid_t pid = fork();

        if (!pid) {
            struct topo_ctx own = *ctx;

            stage_main(r, like, &own);
        }
        if (pid > 0)
            *vec_push(&r->children) = pid;
        rc = pid < 0 ? -1 : 0;
    }
    if (rc)
        err_sys(e, errno, "topology: fork");
    for (size_t i = 0; i < r->n; i++) {
        close(r->runs[i].out);
        r->runs[i].out = -1;
    }
    return rc;
}

/* 1: there may be more. */
static int take(struct run *run)
{
    char chunk[65536];
    ssize_t n = read(run->in, chunk, sizeof(chunk));

    if (n > 0)
        buf_add(&run->got, chunk, (size_t)n);
    if (n > 0 || (n < 0 && errno == EINTR))
        return 1;
    close(run->in);
    run->in = -1;
    return 0;
}

static void take_all(struct runner *r, uint64_t deadline)
{
    struct pollfd *fds = mem_calloc(r->n + 1, sizeof(*fds));

    for (;;) {
        uint64_t now = clock_monotonic();
        size_t open = 0;

        for (size_t i = 0; i < r->n; i++) {
            fds[i] = (struct pollfd){.fd = r->runs[i].in, .events = POLLIN};
            open += r->runs[i].in >= 0;
        }
        if (!open || now >= deadline)
            break;
        if (poll(fds, r->n, (int)((deadline - now) / 1000000) + 1) < 0 && errno != EINTR)
            break;
        for (size_t i = 0; i < r->n; i++)
            if (r->runs[i].in >= 0 && fds[i].revents)
                take(&r->runs[i]);
    }
    free(fds);
}

static int is_any_open(const struct runner *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->runs[i].in >= 0)
            return 1;
    return 0;
}

/*
 * Whoever still runs is out of time, unless all have answered: then the stage is about to end, having waited
 * for its own, who would else be left to a container's first process, which may not wait for them. What hangs
 * in the kernel may not end at once: it is not waited for.
 */
static void end_all(struct runner *r)
{
    enum { POLITE = 50, TRIES = 100 };
    int polite = is_any_open(r) ? 0 : POLITE;

    for (size_t i = 0; i < r->children.n; i++) {
        for (int tries = 0; tries < TRIES && waitpid(r->children.a[i], NULL, WNOHANG) == 0; tries++) {
            if (tries >= polite)
                kill(r->children.a[i], SIGKILL);
            usleep(tries ? 2000 : 200);
        }
    }
    vec_release(&r->children);
}

static char *get_text(struct cursor *c)
{
    size_t n = (size_t)cursor_varint(c);
    const char *p = cursor_bytes(c, n);

    return mem_strndup(p ? p : "", p ? n : 0);
}

static void out_of_time(struct graph *g, const struct run *run, const struct topo_ctx *ctx)
{
    char detail[64];

    snprintf(detail, sizeof(detail), "no answer within %.1f s", (double)ctx->limits.timeout_ns / 1e9);
    graph_cover(g, &(struct graph_coverage){.source = run->source->name,
                                            .state = "timed out",
                                            .detail = detail,
                                            .duration_ns = ctx->limits.timeout_ns});
}

static void merge_one(struct graph *g, const struct run *run)
{
    struct cursor c = cursor_init(run->got.data, run->got.len);
    int failed = (int)cursor_varint(&c);
    char *detail = get_text(&c), *state = get_text(&c);
    struct graph_coverage cover = {.source = run->source->name,
                                   .state = failed ? "failed" : state,
                                   .detail = detail,
                                   .seen = cursor_varint(&c),
                                   .denied = cursor_varint(&c),
                                   .vanished = cursor_varint(&c),
                                   .duration_ns = cursor_varint(&c)};
    struct err e = {0};

    if (c.bad || graph_unpack(g, c.p, (size_t)(c.end - c.p), &e)) {
        cover.state = "failed";
        cover.detail = "ended before it was done";
    }
    graph_cover(g, &cover);
    free(detail);
    free(state);
}

int runner_run(struct graph *g, const struct topo_source *const *sources, size_t n,
               const struct topo_ctx *like, struct err *e)
{
    struct runner r = {.runs = mem_calloc(n + 1, sizeof(struct run)), .n = n};
    uint64_t deadline = clock_monotonic() + like->limits.timeout_ns + like->limits.duration_ns;
    int rc;

    for (size_t i = 0; i < n; i++)
        r.runs[i] = (struct run){.source = sources[i], .in = -1, .out = -1};
    rc = open_pipes(&r, e);
    if (!rc)
        rc = start_all(&r, g, like, e);
    if (!rc)
        take_all(&r, deadline);
    end_all(&r);
    for (size_t i = 0; i < n; i++) {
        if (!rc && r.runs[i].in >= 0)
            out_of_time(g, &r.runs[i], like);
        else if (!rc)
            merge_one(g, &r.runs[i]);
        if (r.runs[i].in >= 0)
            close(r.runs[i].in);
        if (r.runs[i].out >= 0)
            close(r.runs[i].out);
        buf_release(&r.runs[i].got);
    }
    free(r.runs);
    return rc;
}

void runner_run_here(struct graph *g, const struct topo_source *source, const struct topo_ctx *like)
{
    uint64_t began = clock_monotonic();
    struct topo_ctx ctx = *like;
    struct err e = {0};
    struct graph own;
    int failed;

    graph_init(&own);
    own.time_ns = g->time_ns;
    own.source = graph_text(&own, source->name);
    failed = source->collect(&ctx, &own, &e) != 0;
    graph_merge(g, &own, GRAPH_BESIDE, NULL);
    graph_cover(g, &(struct graph_coverage){.source = source->name,
                                            .state = failed       ? "failed"
                                                     : ctx.state  ? ctx.state
                                                     : ctx.denied ? "partial"
                                                                  : "ok",
                                            .detail = failed ? e.msg : ctx.detail,
                                            .seen = ctx.seen,
                                            .denied = ctx.denied,
                                            .vanished = ctx.vanished,
                                            .duration_ns = clock_monotonic() - began});
    graph_release(&own);
}
