/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of PyTorch's profiler: what is taken of each kind of event, stacks, times, and what makes no sense.
 */
#include "exchange/import/ranks.h"
#include "import_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEAD                                                                                                 \
    "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 5, \"world_size\": 8},"
#define X(cat, name, tid, ts, dur, args)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name "\", \"pid\": 10, \"tid\": " #tid              \
    ", \"ts\": " #ts ", \"dur\": " #dur ", \"args\": {" args "}}"

static void import(struct imported *im, const char *text)
{
    *im = (struct imported){.rc = 0};
    imported_add(im, &import_kineto, text, strlen(text), 0, 1);
}

static void assert_stack(struct imported *im, const struct event *ev, const char *want)
{
    char *stack = imported_stack(im, ev->stack);

    assert_string_equal(stack, want);
    free(stack);
}

/* Outer spans come behind inner ones in the text, and behind the kernel: order in a file says nothing. */
static const char training[] = HEAD "\"traceEvents\": [" /* */
    X("kernel", "gemm", 7, 1000150.5, 40.25,
      "\"device\": 3, \"context\": 1, \"stream\": 7, \"correlation\": 99, \"registers per thread\": 90,"
      "\"shared memory\": 4096, \"grid\": [64, 2, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": "
      "12.5,"
      "\"graph id\": 6, \"graph node id\": 8") ","                                                  /* */
    X("cuda_runtime", "cudaLaunchKernel", 11, 1000120, 5, "\"correlation\": 99, \"cbid\": 211") "," /* */
    X("cpu_op", "aten::mm", 11, 1000110, 30, "") ","                                                /* */
    X("cpu_op", "aten::linear", 11, 1000105, 40, "") ","                                            /* */
    X("cpu_op", "other", 12, 1000000, 500, "") ","                             /* another thread's */
    X("python_function", "net/model.py(31): forward", 11, 1000100, 60, "") "," /* */
    X("user_annotation", "ProfilerStep#12", 11, 1000000, 1000,
      "") "," /* */
          "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 10, \"tid\": 0, \"args\": {\"name\": "
          "\"python3\"}},"
          "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 10, \"tid\": 11, \"args\": {\"name\": "
          "\"thread 11 (pt_main)\"}}"
          "], \"baseTimeNanoseconds\": 1700000000000000000}";

static void stacks_and_launches(void **state)
{
    struct imported im;
    const struct gpu_work *w;
    struct event *kernel, *mark = NULL;
    struct task *t;

    import(&im, training);
    assert_int_equal(im.rc, 0);
    assert_ptr_equal(im.importer, &import_kineto);
    kernel = imported_event(&im, GPU_KERNEL, 0);
    assert_non_null(kernel);
    assert_stack(&im, kernel, "ProfilerStep;forward;aten::linear;aten::mm;cudaLaunchKernel");
    assert_int_equal(kernel->stack, imported_event(&im, GPU_RUNTIME, 0)->stack);
    assert_int_equal(kernel->ts, 1700000000000000000u + 1000150500);
    assert_int_equal(kernel->dur, 40250);
    assert_int_equal(kernel->value, 99);
    w = imported_work(&im, kernel);
    assert_int_equal(w->device, 4);
    assert_int_equal(w->rank, 6);
    assert_int_equal(w->context, 1);
    assert_int_equal(w->stream, 7);
    assert_int_equal(w->registers, 90);
    assert_int_equal(w->shared, 4096);
    assert_int_equal(w->occupancy, 126);
    assert_int_equal(w->grid[0] * 100 + w->grid[1] * 10 + w->grid[2], 6421);
    assert_int_equal(w->block[0], 128);
    assert_int_equal(w->graph * 10 + w->node, 68);
    t = tasks_get(&im.store.tasks, kernel->task);
    assert_int_equal(t->tid, 11);
    assert_string_equal(strtab_get(&im.store.strings, t->comm), "pt_main");
    assert_string_equal(strtab_get(&im.store.strings, tasks_get(&im.store.tasks, t->leader)->comm),
                        "python3");
    assert_stack(&im, imported_event(&im, GPU_OPERATOR, 2), "other");
    for (size_t i = 0; i < im.store.events.n; i++)
        if (im.store.events.a[i].kind == EVENT_MARKER)
            mark = &im.store.events.a[i];
    assert_non_null(mark);
    assert_string_equal(strtab_get(&im.store.strings, mark->metric), "step 12");
    assert_int_equal(mark->dur, 1000000);
    assert_string_equal(im.meta.languages.a[0], "python");
    imported_release(&im);
}

static void python_frames_have_file_and_line(void **state)
{
    struct imported im;
    const struct frame *f;

    import(&im, training);
    for (uint32_t id = 1; (f = frames_get(&im.store.frames, id)); id++)
        if (f->kind == FRAME_PYTHON)
            break;
    assert_non_null(f);
    assert_string_equal(strtab_get(&im.store.strings, f->file), "net/model.py");
    assert_int_equal(f->line, 31);
    imported_release(&im);

    import(&im, "[" X("python_function", "nn.Module: Linear_0", 11, 5, 1, "") "]");
    f = frames_get(&im.store.frames, 1);
    assert_string_equal(strtab_get(&im.store.strings, f->func), "nn.Module: Linear_0");
    assert_int_equal(f->line, 0);
    imported_release(&im);
}

static void copies_sets_waits_and_memory(void **state)
{
    struct imported im;
    struct event *ev;

    import(
        &im, "[" /* */
        X("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 9, 20, 3,
          "\"device\": 0, \"stream\": 9, \"bytes\": 4096, \"correlation\": 4") ","                       /* */
        X("gpu_memset", "Memset (Device)", 9, 30, 1, "\"device\": 0, \"stream\": 9, \"bytes\": 64") ","  /* */
        X("cuda_sync", "Stream Sync", 9, 40, 5, "\"device\": 0, \"stream\": -1, \"correlation\": 5") "," /* */
        X("cuda_driver", "cuStreamSynchronize", 11, 39, 7, "\"correlation\": 5") ","                     /* */
        X("overhead", "Activity Buffer Request", 0, 50, 2, "") ","                                       /* */
        X("gpu_user_annotation", "step", 9, 20, 30,
          "") "," /* */
              "{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", "
              "\"pid\": 10, \"tid\": 11,"
              "\"ts\": 60, \"args\": {\"Total Allocated\": 9, \"Bytes\": -512, \"Addr\": 77, \"Device Id\": "
              "2}},"
              "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 10, \"tid\": "
              "11,"
              "\"ts\": 61, \"args\": {\"Bytes\": 1024, \"Addr\": 78, \"Device Id\": -1}}"
              "]");
    assert_int_equal(im.rc, 0);
    ev = imported_event(&im, GPU_COPY, 0);
    assert_int_equal(imported_work(&im, ev)->from, GPU_PINNED);
    assert_int_equal(imported_work(&im, ev)->to, GPU_DEVICE);
    assert_int_equal(imported_work(&im, ev)->bytes, 4096);
    assert_int_equal(ev->task, 0); /* nobody asked for it */
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "without the call that launched them"), 2);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "without a correlation id"), 1);
    ev = imported_event(&im, GPU_SYNC, 0);
    assert_int_equal(imported_work(&im, ev)->stream, UINT32_MAX);
    assert_int_equal(tasks_get(&im.store.tasks, ev->task)->tid, 11);
    assert_stack(&im, ev, "cuStreamSynchronize");
    assert_non_null(imported_event(&im, GPU_SET, 0));
    assert_non_null(imported_event(&im, GPU_DRIVER, 0));
    assert_non_null(imported_event(&im, GPU_OVERHEAD, 0));
    ev = imported_event(&im, GPU_FREE, 0);
    assert_int_equal(ev->value, 77);
    assert_int_equal(imported_work(&im, ev)->bytes, 512);
    assert_int_equal(imported_work(&im, ev)->device, 3);
    ev = imported_event(&im, GPU_ALLOC, 0);
    assert_int_equal(imported_work(&im, ev)->bytes, 1024);
    assert_int_equal(imported_work(&im, ev)->device, 0);
    imported_release(&im);
}

static void what_makes_no_sense_is_counted(void **state)
{
    struct imported im;
    struct event *ev;

    import(
        &im, "{\"traceEvents\": [" /* */
        X("kernel", "ok", 7, "100", "4.5",
          "\"correlation\": \"0x1f\", \"device\": \"1\", \"stream\": \"0x0\"") "," /* */
        X("kernel", "negative", 7, 110, -3, "") ","                                /* */
        X("kernel", "zero", 7, 110, 0, "\"correlation\": 3") ","                   /* */
        X("kernel", "null", 7, 110, null, "") ","                                  /* */
        X("kernel", "words", 7, "soon", 1, "") ","                                 /* */
        X("kernel", "huge", 7, 1e300, 1, "") ","                                   /* */
        X("kernel", "long", 7, 110, 9000000000000000000, "") ","                   /* */
        X("kernel", "", 7, 110, 1,
          "") "," /* */
              "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no dur\", \"pid\": 0, \"tid\": 7, \"ts\": 4},"
              "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"no pid\", \"ts\": 4, \"dur\": 1},"
              "{\"ph\": \"B\", \"cat\": \"cpu_op\", \"name\": \"begin\", \"pid\": 1, \"tid\": 7, \"ts\": 4},"
              "{\"ph\": \"X\", \"cat\": \"quantum\", \"name\": \"q\", \"pid\": 1, \"tid\": 7, \"ts\": 4, "
              "\"dur\": 1},"
              "{\"ph\": \"f\", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"id\": 1, \"pid\": 1, \"tid\": 7, "
              "\"ts\": 4},"
              "17, [], {}, null], \"distributedInfo\": null}");
    assert_int_equal(im.rc, 0);
    assert_int_equal(im.store.events.n, 2);
    ev = imported_event(&im, GPU_KERNEL, 0);
    assert_int_equal(ev->ts, 100000);
    assert_int_equal(ev->dur, 4500);
    assert_int_equal(ev->value, 0x1f);
    assert_int_equal(imported_work(&im, ev)->device, 2);
    assert_int_equal(imported_work(&im, ev)->stream, 0);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "in quotes"), 5);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "without length"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "negative duration"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "without a duration"), 2);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "without a time"), 2);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "out of range"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "without a name"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "without a thread"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "no span"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "no object"), 3);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "other categories"), 2);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "arrows from launch"), 1);
    imported_release(&im);
}

static void check_name(struct imported *im, uint32_t task, const char *wanted)
{
    char *name = origins_task_name(&im->store, tasks_get(&im->store.tasks, task), "?");

    assert_string_equal(name, wanted);
    free(name);
}

/* Two ranks on two hosts whose pids are the same: two processes; the one that tells no rank gets its place.
 */
static void ranks_are_told_apart(void **state)
{
    static const char other[] = "{\"traceEvents\": [" X("cpu_op", "b", 11, 7, 1, "") "," /* */
        X("kernel", "k", 7, 9, 1, "\"device\": 0, \"correlation\": 2") "]}";
    struct imported im = {.rc = 0};
    struct event *a, *b;
    struct task *ta, *tb;

    imported_add(&im, &import_kineto, training, strlen(training), 0, 2);
    assert_int_equal(im.rc, 0);
    imported_add(&im, &import_kineto, other, strlen(other), 1, 2);
    assert_int_equal(im.rc, 0);
    ranks_settle(&im.stats, &im.store, &im.meta);
    a = imported_event(&im, GPU_OPERATOR, 0);
    b = imported_event(&im, GPU_OPERATOR, 5);
    ta = tasks_get(&im.store.tasks, a->task);
    tb = tasks_get(&im.store.tasks, b->task);
    assert_int_equal(ta->tid, tb->tid);
    assert_int_not_equal(a->task, b->task);
    assert_int_not_equal(ta->leader, tb->leader);
    check_name(&im, ta->leader, "python3 [rank 5]");
    check_name(&im, tb->leader, "process [rank 1]");
    assert_int_equal(im.store.origins.list.n, 2);
    assert_int_equal(imported_work(&im, imported_event(&im, GPU_KERNEL, 0))->rank, 6);
    assert_int_equal(imported_work(&im, imported_event(&im, GPU_KERNEL, 1))->rank, 2);
    imported_release(&im);
}

/* Threads that are told by a handle, with a sign: not the process's first thread. */
static void threads_with_a_negative_id(void **state)
{
    struct imported im;

    import(&im, "[" X("cuda_runtime", "cudaEventQuery", -1029147072, 10, 50, "") "," /* */
           X("cuda_runtime", "cudaLaunchKernel", 10, 20, 5, "") "]");
    assert_int_equal(im.rc, 0);
    assert_int_equal(tasks_get(&im.store.tasks, im.store.events.a[0].task)->tid, 3265820224);
    assert_int_equal(tasks_get(&im.store.tasks, im.store.events.a[1].task)->tid, 10);
    assert_stack(&im, &im.store.events.a[1], "cudaLaunchKernel");
    imported_release(&im);
}

static void time_bases(void **state)
{
    struct imported im;

    import(&im, "[" X("kernel", "us", 7, 1661203462598738.125, 2.5, "") "]");
    assert_int_equal(im.store.events.a[0].ts, 1661203462598738125);
    assert_int_equal(im.store.events.a[0].dur, 2500);
    imported_release(&im);
    import(&im, "[" X("kernel", "ns", 7, 1661203462598738125, 2500, "") "]");
    assert_int_equal(im.store.events.a[0].ts, 1661203462598738125);
    assert_int_equal(im.store.events.a[0].dur, 2500);
    imported_release(&im);
    import(&im, "[" X("kernel", "exponent", 7, 1.5e6, 1E1, "") "]");
    assert_int_equal(im.store.events.a[0].ts, 1500000000);
    assert_int_equal(im.store.events.a[0].dur, 10000);
    imported_release(&im);
}

/* As PyTorch's profiler has written them: names that are not escaped, numbers that are none. */
static void not_quite_json(void **state)
{
    struct imported im;
    struct event *ev;

    import(&im, "{\"traceEvents\": [" X("cpu_op", "a\x01\nb", 7, 1, 100, "") "," /* */
           X("cpu_op", "torch\\cuda\\__init__.py\\user", 7, 2, 90, "") ","       /* */
           X("kernel", "k", 7, 10, 5,
             "\"stream\": 7, \"bytes\": -Infinity, \"context\": NaN, \"x\": inf") ",\n]}");
    assert_int_equal(im.rc, 0);
    assert_int_equal(im.store.events.n, 3);
    assert_stack(&im, &im.store.events.a[1], "a\x01\nb;torch\\cuda\\__init__.py\\user");
    ev = imported_event(&im, GPU_KERNEL, 0);
    assert_int_equal(imported_work(&im, ev)->stream, 7);
    assert_int_equal(imported_work(&im, ev)->bytes, 0);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "as JSON has none"), 2 + 3 + 3 + 1);
    imported_release(&im);
}

/* One event that nobody can read costs that event, also the first of a bare list. */
static void what_is_not_json_is_left_out(void **state)
{
    struct imported im;

    for (int bare = 0; bare < 2; bare++) {
        struct buf text = {0};

        buf_addf(&text, "%s%s,\n%s,%s,%s%s", bare ? "[" : "{\"traceEvents\": [",
                 X("python_function", "a = Library(\"b\", \"IMPL\")", 7, 1, 100, ""),
                 X("cpu_op", "c", 7, 1, 90, ""), X("python_function", "d \"e\" {f}", 7, 1, 100, ""),
                 X("kernel", "k", 7, 10, 5, ""), bare ? "]" : "], \"distributedInfo\": {\"rank\": 3}}");
        import(&im, text.data);
        assert_int_equal(im.rc, 0);
        assert_int_equal(im.store.events.n, 2);
        assert_int_equal(imported_work(&im, imported_event(&im, GPU_KERNEL, 0))->rank, bare ? 0 : 4);
        assert_int_equal(imported_count(&im, IMPORT_LOST, "not JSON"), 2);
        imported_release(&im);
        buf_release(&text);
    }
    import(&im, "[" X("kernel", "k", 7, 10, 5, "") ", {\"ph\": \"X\", oh}, 17]");
    assert_int_equal(im.rc, 0);
    assert_int_equal(im.store.events.n, 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "rest: it is not JSON"), 1);
    imported_release(&im);
}

/* Traces of GPU events alone, and with much before their events. */
static void what_is_one(void **state)
{
    static const char kernel[] = X("kernel", "k", 7, 10, 5, "");
    struct imported im;
    struct buf text = {0};

    import(&im, "{\"traceEvents\": [" X("kernel", "k", 7, 10, 5, "") "]}");
    assert_ptr_equal(im.importer, &import_kineto);
    imported_release(&im);
    buf_addf(&text, "{\"schemaVersion\": 1, \"config\": \"%70000d\", \"traceEvents\": [%s]}", 1, kernel);
    import(&im, text.data);
    assert_ptr_equal(im.importer, &import_kineto);
    assert_int_equal(im.store.events.n, 1);
    imported_release(&im);
    buf_release(&text);
    import(&im, "{\"traceEvents\": [" X("other", "kernel", 7, 10, 5, "") "]}");
    assert_ptr_equal(im.importer, &import_chrome);
    imported_release(&im);
    import(&im, "{\"a\": 1}");
    assert_null(im.importer);
    imported_release(&im);
}

/* Times below zero keep their distances. */
static void before_time_zero(void **state)
{
    struct imported im;

    import(&im, "[" X("kernel", "a", 7, -90, 10, "") "," /* */
           X("kernel", "b", 7, -40, 10, "") "," X("kernel", "c", 7, 50, 10, "") "]");
    assert_int_equal(im.rc, 0);
    assert_int_equal(im.store.events.a[0].ts, 0);
    assert_int_equal(im.store.events.a[1].ts, 50000);
    assert_int_equal(im.store.events.a[2].ts, 140000);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "before time 0"), 2);
    imported_release(&im);
}

static void memory_timeline(void **state)
{
    struct imported im;

    import(&im, "[[-1, 1, 512, 7], [1696966048083248105, 2, 64, 1], [1696966048083248205, 3, -64, 1],"
                "[1696966048083248305, 4, -64, 1], [5, 9, 1, 1], [\"x\", 4, 1, 1], [1, 2]]");
    assert_int_equal(im.rc, 0);
    assert_ptr_equal(im.importer, &import_kineto);
    assert_int_equal(im.store.events.n, 3);
    assert_int_equal(im.store.events.a[0].ts, 1696966048083248105);
    assert_int_equal(imported_work(&im, imported_event(&im, GPU_FREE, 0))->bytes, 64);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "unknown action"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "make no sense"), 2);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "what memory is used for"), 1);
    imported_release(&im);
}

static void a_file_that_was_cut_off(void **state)
{
    struct imported im;
    char *half = mem_strndup(training, strlen(training) * 3 / 4);

    import(&im, half);
    assert_int_equal(im.rc, 0);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "cut off"), 1);
    assert_non_null(imported_event(&im, GPU_KERNEL, 0));
    imported_release(&im);
    free(half);
    import(&im, "{\"traceEvents\": [{\"ph\": \"X\", ");
    assert_int_equal(im.rc, -1);
    imported_release(&im);
    import(&im, "{\"traceEvents\": [" X("kernel", "k", 7, 1, 1, "") " X");
    assert_int_equal(im.rc, 0); /* not cut: something else stands there */
    assert_int_equal(imported_count(&im, IMPORT_LOST, "cut off"), 0);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "not JSON"), 1);
    imported_release(&im);
    import(&im, "{\"deviceProperties\": []}");
    assert_int_equal(im.rc, -1);
    assert_non_null(strstr(im.e.msg, "traceEvents"));
    imported_release(&im);
}

/* Deeper than the limit: nothing breaks, and it is counted. */
static void deep_nesting(void **state)
{
    struct buf text = {0};
    struct imported im;

    for (int i = 0; i < 600; i++)
        buf_addf(
            &text,
            "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"f%d\", \"pid\": 1, \"tid\": 1, \"ts\": %d, "
            "\"dur\": %d}",
            i ? "," : "[", i, i, 2000 - 2 * i);
    buf_addstr(&text, "]");
    import(&im, buf_str(&text));
    assert_int_equal(im.rc, 0);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "deeper"), 600 - 512);
    assert_int_equal(im.store.events.a[599].stack, im.store.events.a[511].stack);
    assert_true(im.store.events.a[599].flags & EVENT_TRUNCATED);
    imported_release(&im);
    buf_release(&text);
}

/* As torch.autograd.profiler of PyTorch 1.x writes it, without categories: kernels lie on "CUDA functions".
 */
#define PLAIN(ph, pid, tid, name, ts, more)                                                                  \
    "{\"name\": \"" name "\", \"ph\": \"" ph "\", \"ts\": " ts ", \"tid\": " tid ", \"pid\": \"" pid         \
    " functions\", " more "\"args\": {}}, "
#define ARROW(ph, pid, tid, name, ts, id)                                                                    \
    PLAIN(ph, pid, tid, name, ts, "\"id\": " id ", \"cat\": \"cpu_to_cuda\", ")

static void without_kineto(void **state)
{
    struct imported im;
    struct event *second;

    import(&im, "[" PLAIN("X", "CPU", "1", "ProfilerStep#3", "0", "\"dur\": 100, ")        /* */
           PLAIN("X", "CPU", "1", "linear", "10.5", "\"dur\": 50, ")                       /* */
           PLAIN("X", "CPU", "1", "addmm", "10.5", "\"dur\": 40, ")                        /* */
           ARROW("s", "CPU", "1", "addmm", "10.5", "0")                                    /* */
           ARROW("f", "CUDA", "2", "gemm", "30.25", "0")                                   /* */
           PLAIN("X", "CUDA", "2", "gemm", "30.25", "\"dur\": 20, ")                       /* */
           PLAIN("X", "CPU", "\" node_id:1, thread_id:2 \"", "relu", "50", "\"dur\": 9, ") /* */
           ARROW("s", "CPU", "\" node_id:1, thread_id:2 \"", "relu", "50", "1")            /* */
           ARROW("f", "CUDA", "0", "relu_k", "60", "1")                                    /* */
           PLAIN("X", "CUDA", "0", "relu_k", "60", "\"dur\": 5, ")                         /* */
           PLAIN("X", "CUDA", "0", "unasked", "55", "\"dur\": 1, ") "]");
    assert_int_equal(im.rc, 0);
    assert_ptr_equal(im.importer, &import_kineto);
    assert_int_equal(imported_event(&im, GPU_KERNEL, 0)->ts, 30250);
    assert_int_equal(imported_work(&im, imported_event(&im, GPU_KERNEL, 0))->device, 3);
    assert_stack(&im, imported_event(&im, GPU_KERNEL, 0), "ProfilerStep;linear;addmm");
    second = imported_event(&im, GPU_KERNEL, 1);
    assert_int_equal(imported_work(&im, second)->device, 1);
    assert_stack(&im, second, "relu"); /* of a thread that is told by a text */
    assert_int_equal(imported_event(&im, GPU_KERNEL, 2)->task, 0);
    imported_release(&im);
    (void)state;
}

/* What a program numbers is one frame, and a mark. */
static void numbered_annotations(void **state)
{
    struct imported im;
    int marks = 0;

    import(&im, HEAD "\"traceEvents\": [" X("user_annotation", "iteration 7", 11, 0, 90, "") "," /* */
           X("user_annotation", "iteration 8", 11, 100, 90, "") ","                              /* */
           X("cuda_runtime", "cudaLaunchKernel", 11, 120, 5, "\"correlation\": 1") ","           /* */
           X("kernel", "k", 7, 130, 4, "\"device\": 0, \"stream\": 7, \"correlation\": 1") "]}");
    assert_int_equal(im.rc, 0);
    assert_stack(&im, imported_event(&im, GPU_KERNEL, 0), "iteration;cudaLaunchKernel");
    for (size_t i = 0; i < im.store.events.n; i++) {
        const struct event *ev = &im.store.events.a[i];

        if (ev->kind == EVENT_MARKER)
            assert_string_equal(strtab_get(&im.store.strings, ev->metric),
                                marks++ ? "iteration 8" : "iteration 7");
    }
    assert_int_equal(marks, 2);
    imported_release(&im);
    (void)state;
}

/* As AMD's traces have it: the size stands at the call alone. */
static void sizes_of_calls(void **state)
{
    struct imported im;

    import(&im, HEAD "\"traceEvents\": [" X("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 130, 4,
                                            "\"device\": 2, \"stream\": 0, \"correlation\": 1") "," /* */
           X("hip_runtime", "hipMemcpyWithStream", 11, 120, 5,
             "\"correlation\": 1, \"size\": \"2560\"") "," /* */
           X("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 140, 4,
             "\"device\": 2, \"stream\": 0, \"correlation\": 2") "," /* */
           X("hip_runtime", "hipMalloc", 11, 135, 1, "\"correlation\": 2, \"size\": \"99\"") "]}");
    assert_int_equal(im.rc, 0);
    assert_int_equal(imported_work(&im, imported_event(&im, GPU_COPY, 0))->bytes, 2560);
    assert_int_equal(imported_work(&im, imported_event(&im, GPU_COPY, 1))->bytes, 0);
    imported_release(&im);
    (void)state;
}

/* Two processes in one file, which count their calls from 1 on. */
static void processes_of_one_numbering(void **state)
{
    struct imported im;

    import(&im,
           HEAD "\"traceEvents\": [" X("cuda_runtime", "second", 12, 200, 5, "\"correlation\": 1") "," /* */
           X("cuda_runtime", "first", 11, 120, 5, "\"correlation\": 1") ","                            /* */
           X("kernel", "a", 7, 130, 4, "\"device\": 0, \"stream\": 7, \"correlation\": 1") ","         /* */
           X("kernel", "b", 7, 240, 4, "\"device\": 1, \"stream\": 7, \"correlation\": 1") "]}");
    assert_int_equal(im.rc, 0);
    assert_stack(&im, imported_event(&im, GPU_KERNEL, 0), "first");
    assert_stack(&im, imported_event(&im, GPU_KERNEL, 1), "second");
    imported_release(&im);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_of_one_numbering),
        cmocka_unit_test(sizes_of_calls),
        cmocka_unit_test(stacks_and_launches),
        cmocka_unit_test(without_kineto),
        cmocka_unit_test(numbered_annotations),
        cmocka_unit_test(python_frames_have_file_and_line),
        cmocka_unit_test(copies_sets_waits_and_memory),
        cmocka_unit_test(what_makes_no_sense_is_counted),
        cmocka_unit_test(ranks_are_told_apart),
        cmocka_unit_test(threads_with_a_negative_id),
        cmocka_unit_test(time_bases),
        cmocka_unit_test(before_time_zero),
        cmocka_unit_test(what_is_one),
        cmocka_unit_test(not_quite_json),
        cmocka_unit_test(what_is_not_json_is_left_out),
        cmocka_unit_test(memory_timeline),
        cmocka_unit_test(a_file_that_was_cut_off),
        cmocka_unit_test(deep_nesting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
