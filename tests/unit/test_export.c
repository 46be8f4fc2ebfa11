// SPDX-License-Identifier: Apache-2.0
/* Exported profiles read back: the same totals, stacks, lines and threads, whatever was in the session. */
#include "analyze/fold.h"
#include "exchange/export/export.h"
#include "gpu_fixture.h"
#include "import_text.h"

enum { START = 1000 };

/* A library's function into which another was inlined, code without a name in it, Python above; a kernel. */
static void fill(struct gpu_fixture *f)
{
    struct store *s = &f->s.store;
    struct module lib = {.kind = MODULE_FILE, .build_id_len = 2, .build_id = {0xab, 0xcd}, .fd = -1};
    struct frame named = {.kind = FRAME_NATIVE, .addr = 0x1234},
                 bare = {.kind = FRAME_NATIVE, .addr = 0x5678};
    struct frame_name names[2] = {{.line = 7}, {.line = 3}};
    uint32_t process, thread, python, native, unnamed;

    gpu_fixture_init(f, START, START + 1000);
    f->s.meta.frequency = 99;
    process = gpu_fixture_task(f, "train", 0);
    thread = gpu_fixture_task(f, "load\"er", process);
    python = gpu_fixture_stack(f, "main;step");
    lib.path = strtab_add(&s->strings, "/lib/a \"lib\".so");
    named.module = bare.module = frames_add_module(&s->frames, &lib);
    names[0].func = strtab_add(&s->strings, "outer<int>");
    names[1].func = strtab_add(&s->strings, "inner");
    names[0].file = names[1].file = strtab_add(&s->strings, "src/a.c");
    native = frames_add(&s->frames, &named);
    frames_set_names(&s->frames, native, names, 2);
    native = stacks_push(&s->stacks, python, native);
    unnamed = stacks_push(&s->stacks, python, frames_add(&s->frames, &bare));
    gpu_fixture_event(f, EVENT_SAMPLE, process, START + 3, START + 3)->stack = native;
    gpu_fixture_event(f, EVENT_SAMPLE, process, START + 1, START + 1)->stack = unnamed;
    gpu_fixture_event(f, EVENT_SAMPLE, thread, START + 2, START + 2)->stack = native;
    f->s.store.events.a[2].value = 40;
    gpu_fixture_event(f, EVENT_SAMPLE, thread, START + 4, START + 4); /* its stack was lost */
    gpu_fixture_event(f, EVENT_OFFCPU, thread, START + 10, START + 267)->stack = python;
    gpu_fixture_gpu(f, "gemm", (struct gpu_work){.op = GPU_KERNEL, .device = 1}, thread, START + 200,
                    START + 261)
        ->stack = python;
    gpu_fixture_gpu(f, "copy", (struct gpu_work){.op = GPU_COPY, .device = 1}, thread, START + 300,
                    START + 310);
}

/* Each event of an import: its stack and value. */
static char *folded(struct imported *im)
{
    struct buf out = {0};

    for (size_t i = 0; i < im->store.events.n; i++) {
        const struct event *ev = &im->store.events.a[i];
        char *stack = imported_stack(im, ev->stack);

        buf_addf(&out, "%s %llu\n", stack, (unsigned long long)ev->value);
        free(stack);
    }
    buf_addstr(&out, "");
    return buf_detach(&out);
}

static void round_trip_of(struct gpu_fixture *f, const char *format, const char *metric, const char *want)
{
    struct export_input in = {.session = &f->s, .metric = metric};
    struct imported im = {0};
    struct buf file = {0};
    struct err e = {0};
    char *got;

    assert_int_equal(exporter_find(format, &e)->run(&in, &file, &e), 0);
    imported_add(&im, strcmp(format, "pprof") ? &import_speedscope : &import_pprof, file.data, file.len, 0,
                 1);
    assert_int_equal(im.rc, 0);
    assert_string_equal(im.importer->name, format);
    got = folded(&im);
    assert_string_equal(got, want);
    free(got);
    imported_release(&im);
    buf_release(&file);
}

static void round_trip(const char *format, const char *metric, const char *want)
{
    struct gpu_fixture f;

    fill(&f);
    round_trip_of(&f, format, metric, want);
    gpu_fixture_release(&f);
}

static void wait_for_gil(struct gpu_fixture *f, uint32_t task, uint32_t stack, const struct wait *w,
                         uint64_t from, uint64_t ns)
{
    struct event *ev = gpu_fixture_event(f, EVENT_GIL, task, from, from + ns);

    ev->stack = stack;
    ev->attr = waits_add(&f->s.store.waits, w);
}

/* One waiter; two holders, one called as its process is; a place not known, no holder known, a stack
 * lost, a sum of short waits. */
static void fill_gil(struct gpu_fixture *f)
{
    uint32_t process, worker, other, wants, holds;

    gpu_fixture_init(f, START, START + 1000);
    process = gpu_fixture_task(f, "train", 0);
    worker = gpu_fixture_task(f, "worker", process);
    other = gpu_fixture_task(f, "train", process); /* called as its process: no frame of its own */
    wants = gpu_fixture_stack(f, "main;want");
    holds = gpu_fixture_stack(f, "run;hold");
    wait_for_gil(f, process, wants,
                 &(struct wait){.reason = WAIT_GIL, .waker_task = worker, .waker_stack = holds}, START + 1,
                 70);
    wait_for_gil(f, process, wants,
                 &(struct wait){.reason = WAIT_GIL, .waker_task = other, .waker_stack = holds}, START + 100,
                 60);
    wait_for_gil(f, process, wants,
                 &(struct wait){.reason = WAIT_GIL, .waker_task = other, .waker_stack = holds}, START + 200,
                 6);
    wait_for_gil(f, process, wants, &(struct wait){.reason = WAIT_GIL, .waker_task = worker}, START + 300,
                 50);
    wait_for_gil(f, process, wants, &(struct wait){.reason = WAIT_GIL, .waker_stack = holds}, START + 400,
                 40);
    wait_for_gil(f, process, wants, &(struct wait){.reason = WAIT_GIL}, START + 500, 30);
    wait_for_gil(f, process, 0,
                 &(struct wait){.reason = WAIT_GIL, .waker_task = worker, .waker_stack = holds}, START + 600,
                 20);
    wait_for_gil(f, process, wants, &(struct wait){.reason = WAIT_GIL}, START + 700, 10);
    f->s.store.events.a[7].flags |= EVENT_SHORT;
}

#define GIL_STACKS                                                                                           \
    "main;want;[held by];train;worker;run;hold 70\n"                                                         \
    "main;want;[held by];train;run;hold 66\n"                                                                \
    "main;want;[held by];train;worker 50\n"                                                                  \
    "main;want;[held by];run;hold 40\n"                                                                      \
    "main;want;[held by];[unknown] 30\n"                                                                     \
    "[no stack];[held by];train;worker;run;hold 20\n"                                                        \
    "main;want 10\n"

/* In every format the waiter's stack goes on with who held the GIL, and where. */
static void test_gil(void **state)
{
    static const char *const formats[] = {"pprof", "speedscope"};
    struct gpu_fixture f;
    struct profile p;
    struct buf text = {0};
    struct err e = {0};

    fill_gil(&f);
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        round_trip_of(&f, formats[i], "gil", GIL_STACKS);
    assert_int_equal(fold_profile(&p, &f.s, &(struct fold_opts){.metric = "gil"}, &e), 0);
    fold_text(&p, 0, &text);
    assert_string_equal(buf_str(&text),
                        "train;[no stack];[held by];train;worker;run (t.py);hold (t.py) 20\n"
                        "train;main (t.py);want (t.py) 10\n"
                        "train;main (t.py);want (t.py);[held by];[unknown] 30\n"
                        "train;main (t.py);want (t.py);[held by];run (t.py);hold (t.py) 40\n"
                        "train;main (t.py);want (t.py);[held by];train;run (t.py);hold (t.py) 66\n"
                        "train;main (t.py);want (t.py);[held by];train;worker 50\n"
                        "train;main (t.py);want (t.py);[held by];train;worker;run (t.py);hold (t.py) 70\n");
    profile_release(&p);
    buf_release(&text);
    gpu_fixture_release(&f);
}

static void test_pprof(void **state)
{
    round_trip("pprof", NULL,
               "main;step;[a \"lib\".so+0x5678] 1\nmain;step;outer<int>;inner 40\nmain;step;outer<int>;inner "
               "1\n[no stack] 1\n");
    round_trip("pprof", "offcpu", "main;step 257\n");
    round_trip("pprof", "gpu", "main;step;CUDA:gemm 61\nCUDA:copy 10\n");
}

static void test_speedscope(void **state)
{
    round_trip("speedscope", NULL,
               "main;step;[a \"lib\".so+0x5678] 1\nmain;step;outer<int>;inner 1\nmain;step;outer<int>;inner "
               "40\n[no stack] 1\n");
    round_trip("speedscope", "offcpu", "main;step 257\n");
    round_trip("speedscope", "gpu", "main;step;CUDA:gemm 61\nCUDA:copy 10\n");
}

static void test_speedscope_threads(void **state)
{
    struct gpu_fixture f;
    struct export_input in = {.session = &f.s};
    struct buf file = {0};
    struct err e = {0};

    fill(&f);
    assert_int_equal(exporter_find("speedscope", &e)->run(&in, &file, &e), 0);
    assert_non_null(strstr(file.data, "\"name\":\"train (100)\""));
    assert_non_null(strstr(file.data, "\"name\":\"train (100) load\\\"er (101)\""));
    assert_non_null(strstr(file.data, "{\"name\":\"inner\",\"file\":\"src/a.c\",\"line\":3}"));
    buf_release(&file);
    gpu_fixture_release(&f);
}

static void test_metrics(void **state)
{
    struct gpu_fixture f;
    struct export_input in = {.session = &f.s, .metric = "runq"};
    struct buf file = {0};
    struct err e = {0};

    fill(&f);
    assert_int_equal(exporter_find("pprof", &e)->run(&in, &file, &e), -1);
    assert_non_null(strstr(e.msg, "oncpu, offcpu, gpu"));
    in.metric = "waker";
    assert_int_equal(exporter_find("speedscope", &e)->run(&in, &file, &e), -1);
    in.metric = NULL;
    in.gil = 1;
    assert_int_equal(exporter_find("pprof", &e)->run(&in, &file, &e), 0);
    buf_release(&file);
    gpu_fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pprof),
        cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_speedscope_threads),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_gil),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
