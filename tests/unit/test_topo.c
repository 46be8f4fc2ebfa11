/* SPDX-License-Identifier: Apache-2.0 */
/* Running sources: those that hang, die, fail, or are refused things cost themselves and nobody else. */
#include "model/graph_ops.h"
#include "platform/clock.h"
#include "topo/runner.h"
#include "topo/topo.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int good(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    graph_edge(g, GRAPH_EDGE_OWN, graph_process(g, 1, 0, 0), graph_process(g, 2, 1, 0));
    ctx->seen = 2;
    return 0;
}

static int scanning(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    ctx->seen = ctx->scan->processes.n;
    return topo_process(ctx, g, getppid()) || topo_process(ctx, g, 1) ? 0 : err_set(e, "nobody there");
}

static int hanging(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    signal(SIGTERM, SIG_IGN);
    for (;;)
        pause();
    return 0;
}

static int crashing(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    graph_process(g, 77, 0, 0);
    raise(SIGKILL);
    return 0;
}

static int failing(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    graph_process(g, 3, 0, 0);
    return err_set(e, "broken: %s", "quite");
}

static int refused(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    ctx->denied = 4;
    ctx->vanished = 5;
    snprintf(ctx->detail, sizeof(ctx->detail), "some");
    return 0;
}

static int absent(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    ctx->state = "unavailable";
    return 0;
}

/* More than a pipe holds. */
static int large(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    for (int i = 0; i < 5000; i++)
        graph_process(g, 10000 + i, 1, 0);
    return 0;
}

static const struct topo_source sources[] = {
    {.name = "good", .collect = good},
    {.name = "scanning", .needs_scan = 1, .collect = scanning},
    {.name = "hanging", .collect = hanging},
    {.name = "hanging2", .needs_scan = 1, .collect = hanging},
    {.name = "crashing", .collect = crashing},
    {.name = "failing", .collect = failing},
    {.name = "refused", .collect = refused},
    {.name = "absent", .collect = absent},
    {.name = "large", .needs_scan = 1, .collect = large},
};

static const struct graph_coverage *cover(const struct graph *g, const char *source)
{
    for (size_t i = 0; i < g->coverage.n; i++)
        if (!strcmp(g->coverage.a[i].source, source))
            return &g->coverage.a[i];
    fail_msg("no line for %s", source);
    return NULL;
}

static void check(const struct graph *g, const char *source, const char *state, const char *detail)
{
    assert_string_equal(cover(g, source)->state, state);
    assert_string_equal(cover(g, source)->detail, detail);
}

static struct graph_node *process(const struct graph *g, const char *pid)
{
    return graph_find(g, &(struct graph_id){.kind = GRAPH_PROCESS, .field = {pid}});
}

static void test_runner(void **state)
{
    const struct topo_source *run[ARRAY_SIZE(sources)];
    struct topo_ctx ctx = {.root = "", .live = 1, .limits = {.timeout_ns = 1500000000}};
    uint64_t began = clock_monotonic();
    struct err e = {0};
    struct graph g;

    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        run[i] = &sources[i];
    graph_init(&g);
    g.time_ns = 42;
    assert_int_equal(runner_run(&g, run, ARRAY_SIZE(sources), &ctx, &e), 0);
    assert_true(clock_monotonic() - began >= ctx.limits.timeout_ns);
    check(&g, "good", "ok", "");
    check(&g, "scanning", "ok", "");
    check(&g, "hanging", "timed out", "no answer within 1.5 s");
    check(&g, "hanging2", "timed out", "no answer within 1.5 s");
    check(&g, "crashing", "failed", "ended before it was done");
    check(&g, "failing", "failed", "broken: quite");
    check(&g, "refused", "partial", "some");
    check(&g, "absent", "unavailable", "");
    check(&g, "large", "ok", "");
    assert_int_equal(cover(&g, "good")->seen, 2);
    assert_int_equal(cover(&g, "refused")->denied, 4);
    assert_int_equal(cover(&g, "refused")->vanished, 5);
    assert_true(cover(&g, "scanning")->seen >= 1);
    assert_string_equal(process(&g, "2")->source, "good");
    assert_int_equal(process(&g, "2")->first_ns, 42);
    assert_non_null(process(&g, "3"));
    assert_null(process(&g, "77"));
    assert_non_null(process(&g, "14999"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none of them is left */
    assert_int_equal(errno, ECHILD);
    graph_release(&g);
}

static void test_names(void **state)
{
    struct topo_opts o = {.seed = "socket,static,all", .without = "pipe"};
    struct err e = {0};

    assert_int_equal(topo_check(&o, &e), 0);
    o.seed = "socket,pipes";
    assert_int_equal(topo_check(&o, &e), -1);
    assert_non_null(strstr(e.msg, "no source 'pipes', did you mean pipe?"));
    o.seed = NULL;
    o.without = "static";
    assert_int_equal(topo_check(&o, &e), -1);
}

/* A tree without processes is no failure: its sources say so. */
static void test_empty_root(void **state)
{
    char dir[] = "/tmp/wprof-topo-XXXXXX";
    struct topo_opts o;
    struct graph g;
    struct err e = {0};

    assert_non_null(mkdtemp(dir));
    topo_opts_init(&o);
    o.root = dir;
    graph_init(&g);
    assert_int_equal(topo_snapshot(&g, &o, &e), 0);
    assert_string_equal(cover(&g, "process")->state, "failed");
    assert_int_equal(process(&g, "1") != NULL, 0);
    graph_release(&g);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runner),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_empty_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
