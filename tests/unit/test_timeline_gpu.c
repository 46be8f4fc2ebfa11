/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of GPUs and of calls. */
#include "analyze/timeline.h"
#include "analyze/timeline_window.h"
#include "gpu_fixture.h"

#define KERNEL(s) ((struct gpu_work){.op = GPU_KERNEL, .device = 3, .context = 1, .stream = (s)})

/* "kernel k 100-200 ..." of one row. */
static char *say(const struct timeline *t, const char *lane, unsigned depth)
{
    struct buf out = {0};

    for (size_t i = 0; i < t->lanes.n; i++) {
        const struct timeline_lane *l = &t->lanes.a[i];

        if (strcmp(strtab_get(&t->stacks.strings, l->name), lane) != 0)
            continue;
        for (uint32_t k = l->first; k < l->first + l->n; k++) {
            const struct timeline_span *s = &t->spans.a[k];

            if (s->depth == depth)
                buf_addf(&out, "%s%s %s %llu-%llu", out.len ? ", " : "", timeline_state_name(s->state),
                         strtab_get(&t->stacks.strings, s->name), (unsigned long long)s->start,
                         (unsigned long long)s->end);
        }
        return out.data ? buf_detach(&out) : mem_strdup("");
    }
    fail_msg("no lane %s", lane);
    return NULL;
}

static void expect(const struct timeline *t, const char *lane, unsigned depth, const char *text)
{
    char *got = say(t, lane, depth);

    assert_string_equal(got, text);
    free(got);
}

static const struct timeline_span *span(const struct timeline *t, unsigned state, uint64_t start)
{
    for (size_t i = 0; i < t->spans.n; i++)
        if (t->spans.a[i].state == state && t->spans.a[i].start == start)
            return &t->spans.a[i];
    fail_msg("no span at %llu", (unsigned long long)start);
    return NULL;
}

static uint32_t world(struct gpu_fixture *f)
{
    uint32_t main;

    gpu_fixture_init(f, 1000, 4000);
    main = gpu_fixture_task(f, "python3", 0);
    gpu_fixture_gpu(f, "aten::mm", (struct gpu_work){.op = GPU_OPERATOR}, main, 1010, 1100);
    gpu_fixture_launch(f, "k", KERNEL(7), main, 1020, 10, 1100, 1200);
    gpu_fixture_launch(f, "l", KERNEL(7), main, 1040, 10, 1150, 1250); /* both at a time: a graph's */
    gpu_fixture_event(f, EVENT_OFFCPU, main, 1260, 1500)->attr =
        waits_add(&f->s.store.waits, &(struct wait){.reason = WAIT_POLL});
    gpu_fixture_launch(f, "ncclKernel", KERNEL(9), main, 1600, 5, 1620, 1700);
    gpu_fixture_gpu(f, "cudaStreamSynchronize", (struct gpu_work){.op = GPU_RUNTIME}, main, 1610, 1705);
    gpu_fixture_launch(f, "Memcpy DtoH",
                       (struct gpu_work){.op = GPU_COPY, .device = 3, .context = 1, .stream = 9}, main, 1710,
                       5, 1800, 1810);
    return main;
}

static void lanes_of_a_gpu(void **state)
{
    struct gpu_fixture f;
    struct timeline t;

    world(&f);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    assert_int_equal(t.processes.n, 3);
    assert_true(t.processes.a[1].device);
    assert_int_equal(t.processes.a[1].pid, 2);
    assert_string_equal(strtab_get(&t.stacks.strings, t.processes.a[1].name), "GPU");
    /* The most of the gap up to 1620 the host was off the CPU, of that up to 1800 it waited for the launch.
     */
    expect(&t, "idle", 0, "idle: host off CPU  250-620, idle: launching cudaLaunchKernel 700-800");
    expect(&t, "stream 7", 0, "kernel k 100-200");
    expect(&t, "stream 7", 1, "kernel l 150-250");
    expect(&t, "stream 9", 0, "communication ncclKernel 620-700, copy Memcpy DtoH 800-810");
    expect(&t, "calls", 0,
           "operator aten::mm 10-100, call cudaLaunchKernel 600-605, waiting for the GPU "
           "cudaStreamSynchronize 610-705, "
           "call cudaLaunchKernel 710-715");
    expect(&t, "calls", 1, "call cudaLaunchKernel 20-30, call cudaLaunchKernel 40-50");
    assert_string_equal(strtab_get(&t.stacks.strings, t.lanes.a[0].name), "idle");
    assert_int_equal(t.lanes.a[0].process, 1);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

/* Time by state of all lanes of devices, as a page adds it up. */
static void sum_up(const struct timeline *t, uint64_t ns[TIMELINE_STATES])
{
    memset(ns, 0, TIMELINE_STATES * sizeof(*ns));
    for (uint32_t i = 0; i < t->spans.n; i++) {
        const struct timeline_span *s = &t->spans.a[i];
        const struct timeline_part *parts;
        size_t n = timeline_parts(t, i, &parts);

        for (size_t k = 0; k < n; k++)
            ns[parts[k].state] += parts[k].ns;
        if (!n && s->merged)
            ns[s->state] += (s->end - s->start) * (s->share[0] * 256u + s->share[1]) / 65535;
        else if (!n)
            ns[s->state] += s->end - s->start;
    }
}

static void gaps_have_parts(void **state)
{
    uint64_t ns[TIMELINE_STATES];
    struct gpu_fixture f;
    struct timeline t;

    (void)state;
    world(&f);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    sum_up(&t, ns);
    /* before 1620 it ran until 1260 and from 1500 to 1600; before 1800 until 1710 */
    assert_int_equal(ns[TIMELINE_IDLE + TIMELINE_IDLE_BLOCKED], 240);
    assert_int_equal(ns[TIMELINE_IDLE + TIMELINE_IDLE_RAN], 10 + 100 + 10);
    assert_int_equal(ns[TIMELINE_IDLE + TIMELINE_IDLE_LAUNCH], 20 + 90);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

/* What short spans of several states become tells how much of each it is. */
static void merged_spans_have_parts(void **state)
{
    struct gpu_work copy = {.op = GPU_COPY, .device = 3, .context = 1, .stream = 7};
    uint64_t whole[TIMELINE_STATES], merged[TIMELINE_STATES];
    struct gpu_fixture f;
    struct timeline t;

    (void)state;
    gpu_fixture_init(&f, 0, 50000000);
    gpu_fixture_task(&f, "python3", 0);
    for (uint64_t i = 0; i < 500; i++) {
        gpu_fixture_launch(&f, "k", KERNEL(7), 1, i * 100000 + 10, 10, i * 100000 + 1000, i * 100000 + 30000);
        gpu_fixture_launch(&f, "m", copy, 1, i * 100000 + 31000, 10, i * 100000 + 40000, i * 100000 + 60000);
    }
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    sum_up(&t, whole);
    timeline_release(&t);
    timeline_build(&t, &f.s, &(struct timeline_opts){.max_spans = 300});
    assert_true(t.merged_spans > 1000);
    sum_up(&t, merged);
    assert_int_equal(whole[TIMELINE_KERNEL], 500 * 29000);
    assert_int_equal(whole[TIMELINE_IDLE + TIMELINE_IDLE_UNSEEN],
                     merged[TIMELINE_IDLE + TIMELINE_IDLE_UNSEEN]);
    for (unsigned s = TIMELINE_KERNEL; s <= TIMELINE_COPY; s++)
        assert_in_range(merged[s], whole[s] - whole[s] / 1000, whole[s] + whole[s] / 1000);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

/* As PyTorch's profiler tells of annotations on the device: of no thread, one within the other. */
static void annotations_on_a_gpu(void **state)
{
    struct gpu_work on = {.op = GPU_OPERATOR, .device = 3, .stream = 7}, other = on;
    struct gpu_fixture f;
    struct timeline t;

    (void)state;
    world(&f);
    gpu_fixture_gpu(&f, "forward", on, 0, 1100, 1700);
    gpu_fixture_gpu(&f, "all_reduce", on, 0, 1620, 1700);
    gpu_fixture_gpu(&f, "step", on, 0, 1750, 1810);
    other.device = 2; /* where nothing ran */
    gpu_fixture_gpu(&f, "elsewhere", other, 0, 1100, 1200);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    assert_string_equal(strtab_get(&t.stacks.strings, t.lanes.a[1].name), "annotations");
    assert_int_equal(t.lanes.a[1].kind, TIMELINE_RANGES);
    assert_int_equal(t.lanes.a[1].process, 1);
    expect(&t, "annotations", 0, "operator forward 100-700, operator step 750-810");
    expect(&t, "annotations", 1, "operator all_reduce 620-700");
    expect(&t, "stream 7", 0, "kernel k 100-200");
    timeline_release(&t);
    gpu_fixture_release(&f);
}

static void what_ran_points_at_its_call(void **state)
{
    const struct timeline_span *k, *copy;
    struct gpu_fixture f;
    struct timeline t;

    world(&f);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    k = span(&t, TIMELINE_KERNEL, 150);
    assert_true(k->launch);
    assert_int_equal(t.spans.a[k->launch - 1].start, 40);
    assert_int_equal(t.spans.a[k->launch - 1].state, TIMELINE_CALL);
    assert_int_equal(k->correlation, 2);
    assert_int_equal(t.spans.a[k->launch - 1].correlation, 2);
    copy = span(&t, TIMELINE_COPY, 800);
    assert_int_equal(t.spans.a[copy->launch - 1].start, 710);
    assert_int_equal(t.works.a[copy->work - 1].op, GPU_COPY);
    assert_int_equal(t.spans.a[copy->launch - 1].launch, 0);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

/* On a page, what overlaps too much shares rows, calls too deep are left out and counted; short ones of no
 * length merge into what they are. */
static void pages_are_bounded(void **state)
{
    struct gpu_fixture f;
    struct timeline t;
    uint32_t main;

    gpu_fixture_init(&f, 0, 1000000000);
    main = gpu_fixture_task(&f, "python3", 0);
    for (uint64_t i = 0; i < 12; i++)
        gpu_fixture_gpu(&f, "nested", (struct gpu_work){.op = GPU_OPERATOR}, main, 100 + i, 1000 - i);
    for (uint64_t i = 0; i < 500; i++) {
        gpu_fixture_gpu(&f, "empty", (struct gpu_work){.op = GPU_RUNTIME}, main, 2000 + i, 2000 + i);
        gpu_fixture_gpu(&f, "k", KERNEL((uint32_t)(i % 2)), main, 3000 + 10 * i, 3000 + 10 * i + 400);
    }
    timeline_build(&t, &f.s, &(struct timeline_opts){.max_spans = 100});
    assert_int_equal(t.left_calls, 12 - 8);
    assert_true(t.spans.n <= 100);
    assert_true(t.merged_spans > 900);
    for (size_t i = 0; i < t.lanes.n; i++)
        assert_true(t.lanes.a[i].depth <= 8);
    for (size_t i = 0; i < t.spans.n; i++)
        assert_true(t.spans.a[i].state >= TIMELINE_KERNEL);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

/* Of very many the middle is kept, span by span; elsewhere spans tell for how much they stand. */
static void the_middle_of_very_many(void **state)
{
    struct timeline_opts o = {.max_spans = 100};
    uint64_t covered = 0, apart = 0;
    struct gpu_fixture f;
    struct timeline t;

    (void)state;
    gpu_fixture_init(&f, 0, 400000000);
    gpu_fixture_task(&f, "python3", 0);
    for (uint64_t i = 0; i < 4000; i++) /* a quarter of the time */
        gpu_fixture_gpu(&f, "k", KERNEL(7), 1, i * 100000 + 1, i * 100000 + 25001);
    timeline_build(&t, &f.s, &o);
    assert_true(t.resolution > 0 && t.apart_to > t.apart_from);
    assert_true(t.spans.n <= 110);
    for (size_t i = 0; i < t.spans.n; i++) {
        const struct timeline_span *s = &t.spans.a[i];

        if (s->state != TIMELINE_KERNEL)
            continue;
        if (s->start < t.apart_to && s->end > t.apart_from) {
            assert_int_equal(s->merged, 0);
            assert_int_equal(s->end - s->start, 25000);
            apart++;
        }
        covered +=
            s->merged ? (s->end - s->start) * (s->share[0] * 256u + s->share[1]) / 65535 : s->end - s->start;
    }
    assert_in_range(apart, 10, 50);
    assert_in_range(covered, 4000 * 25000 / 1000 * 999, 4000 * 25000 / 1000 * 1001);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

static void ranks_have_gpus_of_their_own(void **state)
{
    struct gpu_fixture f;
    struct timeline t;

    gpu_fixture_init(&f, 0, 1000);
    gpu_fixture_gpu(&f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = 1}, 0, 100, 200);
    gpu_fixture_gpu(&f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = 8}, 0, 100, 200);
    gpu_fixture_gpu(&f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = 8, .context = 2}, 0,
                    100, 200);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    assert_true(t.many_ranks);
    assert_int_equal(t.rank, 0);
    assert_int_equal(t.processes.n, 3);
    assert_string_equal(strtab_get(&t.stacks.strings, t.processes.a[2].name), "rank 7 GPU");
    expect(&t, "stream 0, context 2", 0, "kernel k 100-200");
    timeline_release(&t);
    gpu_fixture_release(&f);
}

/* Samples and waits stay out; of too many events those in the middle are there. */
static void a_window_of_it(void **state)
{
    struct timeline_window w;
    struct gpu_fixture f;
    uint32_t main = world(&f);

    gpu_fixture_event(&f, EVENT_SAMPLE, main, 1300, 1300);
    gpu_fixture_event(&f, EVENT_MARKER, main, 1005, 1900);
    assert_true(timeline_window_init(&w, &f.s.store, &f.s.meta, 0));
    assert_int_equal(w.all, 1 + 2 * 4 + 1 + 1);
    assert_int_equal(w.view.store.events.n, w.all);
    assert_int_equal(w.from, 5);
    timeline_window_release(&w);
    assert_true(timeline_window_init(&w, &f.s.store, &f.s.meta, 3));
    assert_int_equal(w.all, 11);
    assert_int_equal(w.view.store.events.n, 3);
    assert_true(w.from > 5 && w.to < 800 && w.from <= w.to);
    for (size_t i = 1; i < 3; i++)
        assert_true(w.view.store.events.a[i - 1].ts <= w.view.store.events.a[i].ts);
    timeline_window_release(&w);
    gpu_fixture_release(&f);
    gpu_fixture_init(&f, 0, 10); /* calls alone need no timeline of GPUs */
    gpu_fixture_gpu(&f, "cudaMalloc", (struct gpu_work){.op = GPU_RUNTIME}, 0, 1, 2);
    assert_false(timeline_window_init(&w, &f.s.store, &f.s.meta, 0));
    timeline_window_release(&w);
    gpu_fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_of_a_gpu),          cmocka_unit_test(gaps_have_parts),
        cmocka_unit_test(merged_spans_have_parts), cmocka_unit_test(what_ran_points_at_its_call),
        cmocka_unit_test(pages_are_bounded),       cmocka_unit_test(ranks_have_gpus_of_their_own),
        cmocka_unit_test(a_window_of_it),          cmocka_unit_test(annotations_on_a_gpu),
        cmocka_unit_test(the_middle_of_very_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
