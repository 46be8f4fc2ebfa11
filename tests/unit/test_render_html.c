/* SPDX-License-Identifier: Apache-2.0 */
/* With WPROF_PAGES=DIR every page made here is also written there: tests/browser opens them. */
#include "gpu_fixture.h"
#include "model/functions.h"
#include "render/base64.h"
#include "render/page_data.h"
#include "render/timeline_data.h"
#include "render_fixture.h"
#include "timeline_fixture.h"
#include "topology_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MAX_FILE 10000000

/* Renders, keeps a copy where asked, and gives the page for closer looks. */
static void make_page(struct fixture *x, const char *name, struct buf *out)
{
    const char *dir = getenv("WPROF_PAGES");
    char path[512];
    struct err e = {0};

    if (!x->fake.p.metrics.a[0].total)
        fake_finish(&x->fake);
    assert_int_equal(fixture_render(x, "html", out), 0);
    assert_true(out->len <= MAX_FILE);
    assert_null(strstr(out->data, "{{"));
    assert_non_null(strstr(out->data, "</html>"));
    if (!dir)
        return;
    snprintf(path, sizeof(path), "%s/%s.html", dir, name);
    if (io_replace_file(AT_FDCWD, path, out->data, out->len, &e))
        fail_msg("%s", e.msg);
}

/* The page without its style and its scripts, which are what templates/ holds anyway. */
static int golden_of_parts(const char *name, const struct buf *page)
{
    static const char *const open[] = {"<style>", "<script>"}, *const close[] = {"</style>", "</script>"};
    const char *text = page->data;
    struct buf parts = {0};
    int rc;

    while (*text) {
        const char *begin = NULL, *end = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
            const char *found = strstr(text, open[i]);

            if (!found || (begin && found > begin))
                continue;
            begin = found + strlen(open[i]);
            end = strstr(begin, close[i]);
        }
        if (!begin)
            begin = end = text + strlen(text);
        buf_add(&parts, text, (size_t)(begin - text));
        text = end;
    }
    rc = fixture_golden(name, &parts);
    buf_release(&parts);
    return rc;
}

static void a_training_run(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    make_page(&x, "train", &out);
    assert_non_null(strstr(out.data, "python3 examples/train.py --epochs 2"));
    assert_non_null(strstr(out.data, "gpu-box-7"));
    assert_non_null(strstr(out.data, "cpu-clock at 99 Hz"));
    assert_non_null(strstr(out.data, "unwound <b>99.90 %"));
    assert_null(strstr(out.data, "http://"));
    assert_null(strstr(out.data, "https://"));
    assert_int_equal(golden_of_parts("train.html", &out), 0);
    /* What there is without a script. */
    assert_non_null(strstr(strstr(out.data, "<noscript>"), "slow_transform"));
    buf_release(&out);
    fixture_close(&x);
}

static void hostile_names_stay_text(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    *vec_push(&x.meta.command) = mem_strdup(HOSTILE);
    *vec_push(&x.meta.notes) = HOSTILE;
    fake_sample(&x.fake, 10, "t:" HOSTILE ";p:" HOSTILE ";n:line\nbreak", 3);
    fake_sample(&x.fake, 20, "t:" HOSTILE ";p:\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d;n:\xe5\x87\xbd\xe6\x95\xb0",
                3);
    fake_sample(&x.fake, 30, "t:" HOSTILE ";p:\xe2\x80\xaeturned;n:\xff\xfe", 3);
    make_page(&x, "hostile", &out);
    assert_null(strstr(out.data, "<img"));
    vec_release(&x.meta.notes);
    buf_release(&out);
    fixture_close(&x);
}

static void bad_quality_is_said(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    x.quality.lost = 500;
    x.quality.unwound_share = 0.61;
    x.quality.unknown_share = 0.3;
    x.quality.cost_share = NAN;
    make_page(&x, "bad", &out);
    assert_non_null(strstr(out.data, "of the samples were lost"));
    assert_non_null(strstr(out.data, "61.0 % of the stacks reach"));
    assert_non_null(strstr(out.data, "not measured: cost"));
    buf_release(&out);
    fixture_close(&x);
}

static void an_empty_profile_says_so(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    x.quality = (struct quality){.unwound_share = NAN, .unknown_share = NAN, .cost_share = NAN};
    make_page(&x, "empty", &out);
    assert_non_null(strstr(out.data, "No samples"));
    buf_release(&out);
    fixture_close(&x);
}

static void one_sample(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fake_sample(&x.fake, 0, "t:true;n:_start", 1);
    make_page(&x, "one", &out);
    buf_release(&out);
    fixture_close(&x);
}

static void deep_recursion(void **state)
{
    struct fixture x;
    struct buf out = {0}, stack = {0};

    fixture_open(&x);
    buf_addstr(&stack, "t:app");
    for (int i = 0; i < 2000; i++)
        buf_addstr(&stack, ";n:recurse");
    fake_stack(&x.fake, buf_str(&stack), 7);
    make_page(&x, "deep", &out);
    buf_release(&out);
    buf_release(&stack);
    fixture_close(&x);
}

/* Names alone can be larger than a page may be. */
static void long_names_are_bounded(void **state)
{
    struct fixture x;
    struct buf out = {0}, name = {0};

    fixture_open(&x);
    for (int i = 0; i < 6000; i++) {
        buf_clear(&name);
        buf_addf(&name, "t:app;n:f%d", i);
        for (int k = 0; k < 400; k++)
            buf_addstr(&name, "<std::vector>");
        fake_stack(&x.fake, buf_str(&name), (uint64_t)i + 1);
    }
    make_page(&x, "names", &out);
    assert_non_null(strstr(out.data, "id=\"pruned\""));
    buf_release(&out);
    buf_release(&name);
    fixture_close(&x);
}

/* Millions of frames, heavy-tailed: more than a page holds. Made only for the browser, since it takes
 * seconds. */
static void too_many_stacks(void **state)
{
    struct fixture x;
    struct buf out = {0};
    char stack[1024];
    uint64_t r = 1;

    if (!getenv("WPROF_PAGES"))
        skip();
    fixture_open(&x);
    for (unsigned i = 0; i < 300000; i++) {
        size_t n = (size_t)sprintf(stack, "t:python3;p:main");

        r = hash_u64(r + i);
        for (unsigned d = 0; d < 24; d++)
            n += (size_t)sprintf(
                stack + n, ";%c:module_%02u.function_name_%u", "npk"[d % 3], d,
                (unsigned)(hash_u64(r >> (d < 20 ? 62 - 2 * (d % 20) : 0)) % (d < 20 ? 5 : 5000)));
        fake_stack(&x.fake, stack, 1 + (r % 1000 == 0) * 200);
    }
    make_page(&x, "many", &out);
    buf_release(&out);
    fixture_close(&x);
}

/* A second metric, where a node has weight if it ends in "wait". */
static void add_waits(struct fixture *x)
{
    struct profile *p = &x->fake.p;
    struct profile_metric m = {.name = mem_strdup("offcpu"), .unit = mem_strdup("ns")};

    m.self = mem_calloc(p->nodes.n, sizeof(*m.self));
    m.total = mem_calloc(p->nodes.n, sizeof(*m.total));
    for (size_t i = p->nodes.n; i-- > 0;) {
        const char *name = strtab_get(&p->strings, p->frames.a[p->nodes.a[i].frame].func);

        if (strlen(name) > 4 && !strcmp(name + strlen(name) - 4, "wait"))
            m.self[i] = 1000000000 + i;
        m.total[i] += m.self[i];
        if (i)
            m.total[p->nodes.a[i].parent] += m.total[i];
    }
    m.sum = m.total[0];
    *vec_push(&p->metrics) = m;
}

/* Skips the names in page data; each frame has 5 numbers and 2 a metric. */
static struct cursor skip_names(const struct buf *out, unsigned metrics)
{
    struct cursor c = cursor_init(out->data, out->len);
    uint64_t n;

    for (n = cursor_varint(&c); n; n--)
        cursor_bytes(&c, cursor_varint(&c));
    for (n = cursor_varint(&c) * (5 + 2 * metrics); n; n--)
        cursor_varint(&c);
    return c;
}

static void metrics_keep_their_sums_when_pruned(void **state)
{
    struct functions f[2] = {0};
    struct page_data_stats stats;
    struct buf out = {0};
    struct fixture x;
    struct cursor c;
    uint64_t n, sum[2] = {0};

    fixture_open(&x);
    fixture_run(&x);
    fake_stack(&x.fake, "t:idle;n:epoll_wait", 0); /* no weight in the first metric */
    fake_finish(&x.fake);
    add_waits(&x);
    for (size_t m = 0; m < 2; m++)
        functions_sum(&f[m], &x.fake.p, m);
    for (size_t boxes = 3; boxes < 40; boxes += 6) {
        buf_clear(&out);
        page_data_encode(&(struct page_data){&x.fake.p, f, boxes, 300}, &out, &stats);
        c = skip_names(&out, 2);
        sum[0] = sum[1] = 0;
        for (n = cursor_varint(&c); n; n--) {
            cursor_varint(&c);
            cursor_varint(&c);
            sum[0] += cursor_varint(&c);
            sum[1] += cursor_varint(&c);
        }
        assert_int_equal(sum[0], 1500);
        assert_true(sum[1] == x.fake.p.metrics.a[1].sum);
        assert_false(c.bad);
    }
    for (size_t m = 0; m < 2; m++)
        functions_release(&f[m]);
    buf_release(&out);
    fixture_close(&x);
}

static void two_metrics(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    fake_finish(&x.fake);
    add_waits(&x);
    make_page(&x, "metrics", &out);
    buf_release(&out);
    fixture_close(&x);
}

/* The threads of timeline_fixture.h beside the samples of the training run, over the same 10 s. */
static void add_lanes(struct world *w)
{
    world_init(w);
    w->s.meta.end_mono = FIXTURE_START + 10000 * (uint64_t)MS;
    w->s.store.tasks.list.a[1].comm = strtab_add(&w->s.store.strings, HOSTILE);
    world_wait(w, w->main, 2000, 3000, WAIT_FUTEX, "futex 0x7f00", w->worker);
    world_event(w, EVENT_RUNQ, w->main, 5000, 500);
    world_event(w, EVENT_RUNQ, w->worker, 0, 500)->flags = EVENT_PREEMPTED;
    for (unsigned i = 0; i < 20; i++)
        world_event(w, EVENT_SAMPLE, w->main, 5600 + 200 * i, 0)->stack = w->run_stack;
    world_event(w, EVENT_SAMPLE, w->worker, 3000, 0)->stack = w->load_stack;
    world_event(w, EVENT_OFFCPU, w->worker, 1500, 70)->flags = EVENT_SHORT;
    world_event(w, EVENT_MARKER, w->main, 500, 5500)->metric = world_string(w, "request 7");
    world_event(w, EVENT_MARKER, w->main, 4000, 0)->metric = world_string(w, HOSTILE);
    for (unsigned i = 0; i < 10; i++) {
        struct event *ev = world_event(w, EVENT_METRIC, 0, 1000 * i, 0);

        ev->metric = world_string(w, "load");
        ev->value = i % 4 * 100;
    }
}

static void a_page_with_a_timeline(void **state)
{
    struct timeline t;
    struct fixture x;
    struct world w;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    add_lanes(&w);
    timeline_build(&t, &w.s, &(struct timeline_opts){0});
    x.in.timeline = &t;
    x.in.view = "timeline";
    make_page(&x, "timeline", &out);
    assert_non_null(strstr(out.data, "id=\"timeline\">"));
    assert_non_null(strstr(out.data, "data-pane=\"timeline\""));
    assert_null(strstr(out.data, "<img"));
    timeline_release(&t);
    world_release(&w);
    buf_release(&out);
    fixture_close(&x);
}

/* Samples alone, and more of everything than a page holds. */
static void a_timeline_is_bounded(void **state)
{
    struct timeline_opts few = {.max_spans = 500, .max_ticks = 300, .max_points = 50, .max_lanes = 3};
    struct timeline t;
    struct fixture x;
    struct world w;
    struct buf out = {0}, numbers = {0};

    fixture_open(&x);
    fixture_run(&x);
    world_init(&w);
    w.s.meta.end_mono = FIXTURE_START + 10000 * (uint64_t)MS;
    for (uint32_t i = 0; i < 20000; i++)
        world_wait(&w, i % 4 < 2 ? w.main : w.worker, 0.5 * i, 0.3, i % 3 ? WAIT_PIPE : WAIT_SLEEP, NULL, 0);
    for (uint32_t i = 0; i < 5; i++)
        world_event(&w, EVENT_SAMPLE, world_task(&w, 200 + i, 200 + i, "other", 0), i, 0);
    timeline_build(&t, &w.s, &few);
    timeline_data_encode(&t, &numbers);
    assert_true(numbers.len < 500 * 20 + 2000);
    assert_int_equal(t.left_lanes, 4);
    x.in.timeline = &t;
    make_page(&x, "lanes", &out);
    timeline_release(&t);
    world_release(&w);
    buf_release(&out);
    buf_release(&numbers);
    fixture_close(&x);
}

/* A GPU that computes for two seconds in three, what it waits for, and who asks. */
static void a_page_with_a_gpu(void **state)
{
    const struct gpu_work kernel = {.op = GPU_KERNEL,
                                    .device = 1,
                                    .stream = 7,
                                    .grid = {8, 16, 5},
                                    .block = {128, 1, 1},
                                    .occupancy = 251};
    const uint64_t s = 1000000000;
    struct gpu_fixture f;
    struct fixture x;
    struct timeline t;
    struct buf out = {0};
    uint32_t main;

    fixture_open(&x);
    fixture_run(&x);
    gpu_fixture_init(&f, 0, 10 * s);
    main = gpu_fixture_task(&f, "python3", 0);
    gpu_fixture_gpu(&f, HOSTILE, (struct gpu_work){.op = GPU_OPERATOR}, main, s / 2, 3 * s / 2);
    gpu_fixture_launch(&f, "sgemm", kernel, main, s, s / 4, 2 * s, 4 * s);
    gpu_fixture_event(&f, EVENT_OFFCPU, main, 3 * s, 9 * s / 2)->attr =
        waits_add(&f.s.store.waits, &(struct wait){.reason = WAIT_POLL});
    gpu_fixture_launch(&f, HOSTILE, kernel, main, 19 * s / 4, s / 4, 5 * s, 7 * s);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    x.in.timeline = &t;
    x.in.view = "timeline";
    make_page(&x, "gpu", &out);
    assert_null(strstr(out.data, "<img"));
    timeline_release(&t);
    gpu_fixture_release(&f);
    buf_release(&out);
    fixture_close(&x);
}

static void samples_alone_make_a_timeline(void **state)
{
    struct timeline t;
    struct fixture x;
    struct world w;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    world_init(&w);
    w.s.meta.end_mono = FIXTURE_START + 10000 * (uint64_t)MS;
    for (unsigned i = 0; i < 900; i++)
        world_event(&w, EVENT_SAMPLE, w.main, 10.5 * i, 0)->stack = i % 3 ? w.run_stack : w.wait_stack;
    timeline_build(&t, &w.s, &(struct timeline_opts){0});
    x.in.timeline = &t;
    make_page(&x, "ticks", &out);
    timeline_release(&t);
    world_release(&w);
    buf_release(&out);
    fixture_close(&x);
}

static void page_with_topology(const char *name, struct graph *g, size_t max_nodes)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    x.in.topology = g;
    x.in.max_nodes = max_nodes;
    make_page(&x, name, &out);
    assert_non_null(strstr(out.data, "data-pane=\"topology\""));
    assert_non_null(strstr(out.data, "id=\"topology\">{"));
    assert_null(strstr(out.data, "<img"));
    buf_release(&out);
    fixture_close(&x);
    graph_release(g);
}

static void a_page_with_a_topology(void **state)
{
    struct graph g;

    topology_training(&g, HOSTILE "\n\"\xe6\x97\xa5\xe6\x9c\xac");
    page_with_topology("topology", &g, 100);
}

static void a_topology_of_thousands(void **state)
{
    struct graph g;

    topology_crowd(&g);
    page_with_topology("crowd", &g, 100);
}

/* Where nothing else was recorded, there is no tab for it. */
static void a_topology_alone(void **state)
{
    struct fixture x;
    struct graph g;
    struct buf out = {0};

    fixture_open(&x);
    topology_training(&g, "other");
    x.quality =
        (struct quality){.unwound_share = NAN, .unknown_share = NAN, .python_share = NAN, .cost_share = NAN};
    x.in.topology = &g;
    x.in.layout = "constraint";
    x.in.max_nodes = 100;
    make_page(&x, "alone", &out);
    assert_null(strstr(out.data, "data-pane=\"flame\""));
    assert_null(strstr(out.data, "not measured"));
    assert_non_null(strstr(out.data, "data-pane=\"topology\""));
    graph_release(&g);
    buf_release(&out);
    fixture_close(&x);
}

static void base64_is_padded(void **state)
{
    struct buf out = {0};

    base64_add(&out, "foobar", 6);
    buf_addch(&out, ' ');
    base64_add(&out, "foob", 4);
    buf_addch(&out, ' ');
    base64_add(&out, "fooba", 5);
    base64_add(&out, "", 0);
    /* RFC 4648, section 10. */
    assert_string_equal(out.data, "Zm9vYmFy Zm9vYg== Zm9vYmE=");
    buf_release(&out);
}

static void functions_count_recursion_once(void **state)
{
    struct functions f = {0};
    struct fake fake;
    uint32_t top[2];

    fake_init(&fake, "oncpu", "samples");
    fake_stack(&fake, "n:a;n:b;n:a;n:c", 4);
    fake_stack(&fake, "n:a;n:a", 3);
    fake_stack(&fake, "n:d;n:a", 2);
    fake_stack(&fake, "n:d", 1);
    fake_finish(&fake);
    functions_sum(&f, &fake.p, 0);
    /* Frames in the order of their first use: all, a, b, c, d. */
    assert_int_equal(f.total[1], 9);
    assert_int_equal(f.self[1], 5);
    assert_int_equal(f.total[2], 4);
    assert_int_equal(f.total[4], 3);
    assert_int_equal(functions_top(&f, top, 2), 2);
    assert_int_equal(top[0], 1);
    assert_int_equal(top[1], 3);
    functions_release(&f);
    fake_release(&fake);
}

/* Skips to the slices of page data and adds up what they hold. */
static void slices_keep_every_sample(void **state)
{
    struct functions f = {0};
    struct page_data_stats stats;
    struct buf out = {0};
    struct fixture x;
    struct cursor c;
    uint64_t n, sum = 0, slices, pairs;

    fixture_open(&x);
    fixture_run(&x);
    fake_finish(&x.fake);
    functions_sum(&f, &x.fake.p, 0);
    page_data_encode(&(struct page_data){&x.fake.p, &f, 12, 300}, &out, &stats);
    assert_true(stats.pruned_nodes > 0);
    c = skip_names(&out, 1);
    for (n = cursor_varint(&c); n; n--) {
        cursor_varint(&c);
        cursor_varint(&c);
        sum += cursor_varint(&c);
    }
    assert_int_equal(sum, 1500);
    slices = cursor_varint(&c);
    pairs = cursor_varint(&c);
    assert_true(pairs <= 300 && slices >= 32);
    assert_true(slices * stats.slice_ns >= 9990000000);
    sum = 0;
    for (; slices; slices--)
        for (n = cursor_varint(&c); n; n--) {
            cursor_varint(&c);
            sum += cursor_varint(&c);
        }
    assert_int_equal(sum, 1500);
    assert_false(c.bad);
    assert_ptr_equal(c.p, c.end);
    functions_release(&f);
    buf_release(&out);
    fixture_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_run),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(bad_quality_is_said),
        cmocka_unit_test(an_empty_profile_says_so),
        cmocka_unit_test(one_sample),
        cmocka_unit_test(deep_recursion),
        cmocka_unit_test(long_names_are_bounded),
        cmocka_unit_test(too_many_stacks),
        cmocka_unit_test(metrics_keep_their_sums_when_pruned),
        cmocka_unit_test(two_metrics),
        cmocka_unit_test(a_page_with_a_timeline),
        cmocka_unit_test(a_timeline_is_bounded),
        cmocka_unit_test(a_page_with_a_topology),
        cmocka_unit_test(a_topology_of_thousands),
        cmocka_unit_test(a_topology_alone),
        cmocka_unit_test(samples_alone_make_a_timeline),
        cmocka_unit_test(a_page_with_a_gpu),
        cmocka_unit_test(base64_is_padded),
        cmocka_unit_test(functions_count_recursion_once),
        cmocka_unit_test(slices_keep_every_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
