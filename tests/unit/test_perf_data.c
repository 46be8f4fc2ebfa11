/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: both byte orders, files and pipes, order by time, fields of samples, damage. */
#include "import_text.h"
#include "model/zblock.h"
#include "perf_data_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void take(struct imported *im, struct pd *d, const char *event)
{
    int fd = memfd_create("perf.data", MFD_CLOEXEC);
    struct input in;

    *im = (struct imported){0};
    assert_int_equal(write(fd, d->b.data, d->b.len), d->b.len);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(input_open_fd(&in, fd, "perf.data", &im->e), 0);
    in.event = event;
    im->importer = importer_detect(&in, &im->e);
    im->rc = import_perf_data.run(&in, &im->store, &im->meta, &im->stats, &im->e);
    if (!im->rc)
        import_perf_data.unnamed(&im->store);
    input_release(&in);
    close(fd);
}

/* "comm/tid value time: stack" of each sample. */
static char *lines(struct imported *im)
{
    struct buf out = {0};

    for (size_t i = 0; i < im->store.events.n; i++) {
        const struct event *ev = &im->store.events.a[i];
        const struct task *t = tasks_get(&im->store.tasks, ev->task);
        char *stack = imported_stack(im, ev->stack);

        buf_addf(&out, "%s/%u %llu %llu: %s\n", t ? strtab_get(&im->store.strings, t->comm) : "-",
                 t ? t->tid : 0, (unsigned long long)ev->value, (unsigned long long)ev->ts, stack);
        free(stack);
    }
    buf_addstr(&out, "");
    return buf_detach(&out);
}

static void check(struct imported *im, const char *want)
{
    char *got = lines(im);

    if (im->rc)
        fail_msg("%s", im->e.msg);
    assert_string_equal(got, want);
    free(got);
}

static const uint64_t in_a[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
                                PERF_CONTEXT_USER,   0x401000,           0x7f0000001234};

static void add_processes(struct pd *d)
{
    pd_mmap(d, UINT32_MAX, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text",
            PERF_RECORD_MISC_KERNEL, 0);
    pd_comm(d, 10, 10, "my app", 0, 0);
    pd_mmap(d, 10, 0x400000, 0x2000, 0, "/no such/app", PERF_RECORD_MISC_USER, 0);
    pd_mmap(d, 10, 0x7f0000000000, 0x2000, 0, "/no such/libx.so.6 (deleted)", PERF_RECORD_MISC_USER, 0);
    pd_mmap(d, 10, 0x7f0000100000, 0x2000, 0, "//anon", PERF_RECORD_MISC_USER, 0);
}

#define KERNEL_STACK "[libx.so.6];[app];[[kernel.kallsyms]];[[kernel.kallsyms]]"

/* What was written by two CPUs, out of order, comes by time. */
static void test_both_orders(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        static const uint64_t user[] = {PERF_CONTEXT_USER, 0x401004, 0x7f0000100010, 0x99};
        struct pd d = {.big = big};
        struct imported im;

        pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
        add_processes(&d);
        pd_sample(&d, 10, 10, 3000, 7, in_a, 6);
        pd_comm(&d, 10, 11, "worker", 0, 3500);
        pd_round(&d);
        pd_sample(&d, 10, 11, 4000, 9, user, 4); /* after the name of 3500 */
        pd_fork(&d, 10, 10, 11, 10, 2000);       /* of this CPU's ring: it was before */
        pd_sample(&d, 10, 11, 2500, 8, user, 2);
        pd_round(&d);
        pd_sample(&d, 12, 12, 5000, 0, user, 0);
        pd_finish(&d);
        take(&im, &d, NULL);
        assert_ptr_equal(im.importer, &import_perf_data);
        check(&im, "my_app/11 8 2500: [app]\n"
                   "my_app/10 7 3000: " KERNEL_STACK "\n"
                   "worker/11 9 4000: [unknown];[perf-10.map];[app]\n"
                   ":12/12 1 5000: [unknown]\n");
        assert_string_equal(im.meta.event, "cpu-clock");
        assert_int_equal(tasks_get(&im.store.tasks, im.store.events.a[1].task)->cpu_ns,
                         7); /* ns, of a clock */
        assert_int_equal(imported_count(&im, IMPORT_TOOK, "sample"), 4);
        assert_int_equal(imported_count(&im, IMPORT_NOTED, "out of order"), 0);
        imported_release(&im);
        buf_release(&d.b);
    }
}

static const struct frame *leaf_frame(struct imported *im, size_t event)
{
    const struct stack_node *node = stacks_get(&im->store.stacks, im->store.events.a[event].stack);

    return frames_get(&im->store.frames, node->frame);
}

/* Addresses are the file's; only calls' frames are return addresses. */
static void test_frames(void **state)
{
    struct pd d = {0};
    struct imported im;
    const struct frame *f;

    (void)state;
    pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
    add_processes(&d);
    pd_mmap(&d, 10, 0x500000, 0x2000, 0x3000, "/no such/app", PERF_RECORD_MISC_USER, 0);
    pd_sample(&d, 10, 10, 1, 1, (const uint64_t[]){PERF_CONTEXT_USER, 0x500040}, 2);
    pd_sample(&d, 10, 10, 2, 1, in_a, 3);
    pd_finish(&d);
    take(&im, &d, NULL);
    check(&im, "my_app/10 1 1: [app]\nmy_app/10 1 2: [[kernel.kallsyms]];[[kernel.kallsyms]]\n");
    f = leaf_frame(&im, 0);
    assert_int_equal(f->addr, 0x3040);
    assert_int_equal(f->kind, FRAME_NATIVE);
    f = leaf_frame(&im, 1);
    assert_int_equal(f->addr, 0xffffffff81000010);
    assert_int_equal(f->kind, FRAME_KERNEL);
    imported_release(&im);
    buf_release(&d.b);
}

/* A new program has its own code; a child its parent's. */
static void test_exec_and_fork(void **state)
{
    static const uint64_t at[] = {PERF_CONTEXT_USER, 0x401000};
    struct pd d = {0};
    struct imported im;

    (void)state;
    pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
    add_processes(&d);
    pd_fork(&d, 20, 10, 20, 10, 100);
    pd_sample(&d, 20, 20, 200, 1, at, 2);
    pd_comm(&d, 20, 20, "ls", 1, 300);
    pd_sample(&d, 20, 20, 400, 1, at, 2);
    pd_comm(&d, 10, 10, "renamed", 0, 450); /* no new program */
    pd_sample(&d, 10, 10, 500, 1, at, 2);
    pd_finish(&d);
    take(&im, &d, NULL);
    check(&im, "my_app/20 1 200: [app]\nls/20 1 400: [unknown]\nrenamed/10 1 500: [app]\n");
    imported_release(&im);
    buf_release(&d.b);
}

static void pipe_attr(struct pd *d, uint64_t config, uint64_t id)
{
    pd_begin(d, 64, 0);
    pd_attr(d, config, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
            PD_ID_ALL | PD_FREQ, 0, 4000);
    pd_u64(d, id);
    pd_end(d);
}

static void pipe_sample(struct pd *d, uint64_t id, uint64_t time)
{
    pd_begin(d, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    pd_u64(d, id);
    pd_u64(d, 0x401000);
    pd_u32(d, 10);
    pd_u32(d, 10);
    pd_u64(d, time);
    pd_end(d);
}

/* Of a pipe's events the first that has samples is taken, though it comes later, or what is asked for. */
static void test_pipe_and_events(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct pd d = {.big = big};
        struct imported im;

        pd_pipe(&d);
        pipe_attr(&d, PERF_COUNT_SW_DUMMY, 70);
        pipe_attr(&d, PERF_COUNT_SW_CPU_CLOCK, 71);
        pipe_attr(&d, PERF_COUNT_SW_PAGE_FAULTS, 72);
        pd_begin(&d, 78, 0); /* it has a name of its own */
        pd_u64(&d, 2);
        pd_u64(&d, 71);
        pd_text(&d, "ticks:u");
        pd_end(&d);
        pipe_sample(&d, 72, 10);
        pipe_sample(&d, 71, 20);
        pipe_sample(&d, 72, 30);
        pipe_sample(&d, 99, 40);
        take(&im, &d, NULL);
        check(&im, ":10/10 1 20: [unknown]\n");
        assert_string_equal(im.meta.event, "ticks");
        assert_int_equal(imported_count(&im, IMPORT_LEFT, "other events"), 2);
        assert_int_equal(imported_count(&im, IMPORT_LOST, "not told"), 1);
        imported_release(&im);

        take(&im, &d, "page-faults");
        check(&im, ":10/10 1 10: [unknown]\n:10/10 1 30: [unknown]\n");
        imported_release(&im);
        take(&im, &d, "cycles");
        assert_int_equal(im.rc, -1);
        assert_non_null(strstr(im.e.msg, "'cycles' in it (it has: ticks, page-faults)"));
        imported_release(&im);
        buf_release(&d.b);
    }
}

#define EVERY_FIELD ((1ull << 25) - 1)

/* Every field there is, in its order; the kernel's lists of things have lengths of their own. */
static void test_all_fields(void **state)
{
    struct pd d = {0};
    struct imported im;

    (void)state;
    pd_file(&d, EVERY_FIELD & ~(uint64_t)PERF_SAMPLE_WEIGHT, PD_ID_ALL,
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED, 0);
    pd_begin(&d, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    pd_u64(&d, 70);       /* identifier */
    pd_u64(&d, 0x401000); /* ip */
    pd_u32(&d, 10);
    pd_u32(&d, 11);
    pd_u64(&d, 1234); /* time */
    pd_u64(&d, 1);    /* addr */
    pd_u64(&d, 70);   /* id */
    pd_u64(&d, 2);    /* stream */
    pd_u32(&d, 3);    /* cpu */
    pd_u32(&d, 0);
    pd_u64(&d, 250000); /* period */
    pd_u64(&d, 2);      /* read: two, times, values */
    for (int i = 0; i < 3; i++)
        pd_u64(&d, 5);
    pd_u64(&d, 2); /* chain */
    pd_u64(&d, PERF_CONTEXT_USER);
    pd_u64(&d, 0x401000);
    pd_u32(&d, 12); /* raw */
    buf_add(&d.b, "twelve bytes", 12);
    pd_u64(&d, 1); /* branches */
    for (int i = 0; i < 3; i++)
        pd_u64(&d, 6);
    pd_u64(&d, 2); /* registers: SP, IP */
    pd_u64(&d, 0x7ff000);
    pd_u64(&d, 0x402000);
    pd_u64(&d, 16); /* stack */
    pd_u64(&d, 0);
    pd_u64(&d, 0);
    pd_u64(&d, 8);
    for (int i = 0; i < 3; i++)
        pd_u64(&d, 7); /* weight, data source, transaction */
    pd_u64(&d, 2);     /* registers at the interrupt: one */
    pd_u64(&d, 8);
    for (int i = 0; i < 4; i++)
        pd_u64(&d, 9); /* physical address, cgroup, page sizes */
    pd_u64(&d, 8);     /* aux */
    pd_u64(&d, 10);
    pd_end(&d);
    pd_finish(&d);
    take(&im, &d, NULL);
    check(&im, ":11/11 250000 1234: [unknown]\n");
    assert_int_equal(im.store.events.a[0].cpu, 3);
    assert_int_equal(leaf_frame(&im, 0)->addr, 0x402000); /* the registers', walked */
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "walked here"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "branches"), 1);
    imported_release(&im);

    /* The same, one word short: not whole. */
    pd_patch(&d, d.record + 6, d.b.len - d.record - 8, 2);
    d.b.len -= 8;
    pd_finish(&d);
    take(&im, &d, NULL);
    assert_int_equal(im.rc, -1);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "not whole"), 1);
    imported_release(&im);
    buf_release(&d.b);
}

/* A fixed period is told by the event alone; a frequency is no period. */
static void test_period(void **state)
{
    (void)state;
    for (int freq = 0; freq < 2; freq++) {
        struct pd d = {0};
        struct imported im;

        pd_file(&d, PERF_SAMPLE_IP | PERF_SAMPLE_TID, freq ? PD_FREQ : 0, 0, 4000);
        pd_begin(&d, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
        pd_u64(&d, 0x401000);
        pd_u64(&d, 0);
        pd_end(&d);
        pd_finish(&d);
        take(&im, &d, NULL);
        check(&im, freq ? "swapper/0 1 0: [unknown]\n" : "swapper/0 4000 0: [unknown]\n");
        imported_release(&im);
        buf_release(&d.b);
    }
}

/* Samples that tell counters' values count as much as those went on; those that did not, not. */
static void test_values_of_counters(void **state)
{
    static const uint64_t values[3][2] = {{100, 5}, {150, 5}, {175, 9}};
    struct pd d = {0};
    struct imported im;

    (void)state;
    pd_pipe(&d);
    for (uint64_t id = 71; id < 73; id++) {
        pd_begin(&d, 64, 0);
        pd_attr(&d, id == 71 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_PAGE_FAULTS,
                PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_READ, PD_ID_ALL,
                PERF_FORMAT_GROUP | PERF_FORMAT_ID, 4000);
        pd_u64(&d, id);
        pd_end(&d);
    }
    for (uint64_t i = 0; i < 3; i++) {
        pd_begin(&d, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
        pd_u64(&d, 71);
        pd_u64(&d, i + 1);
        pd_u64(&d, 2);
        for (uint64_t k = 0; k < 2; k++) {
            pd_u64(&d, values[i][k]);
            pd_u64(&d, 71 + k);
        }
        pd_end(&d);
    }
    take(&im, &d, NULL);
    check(&im, "-/0 100 1: \n-/0 50 2: \n-/0 25 3: \n");
    imported_release(&im);
    take(&im, &d, "page-faults");
    check(&im, "-/0 5 1: \n-/0 4 3: \n");
    imported_release(&im);
    buf_release(&d.b);
}

/* One stream in pieces that end anywhere, as perf record -z writes them. */
static void test_compressed(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < 60; cut += 29) {
        struct pd d = {0}, inner = {0};
        struct zpacker *z = zpacker_new(1);
        struct buf packed = {0};
        struct imported im;

        add_processes(&inner);
        for (uint64_t i = 0; i < 40; i++)
            pd_sample(&inner, 10, 10, 100 + i, 1, in_a, 6);
        assert_int_equal(zpacker_pack(z, inner.b.data, inner.b.len, NULL, 0, &packed, NULL), 0);
        assert_true(packed.len > 60);
        pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
        pd_begin(&d, 81, 0);
        buf_add(&d.b, packed.data, cut);
        pd_end(&d);
        pd_begin(&d, 83, 0); /* with its length in front, padded */
        pd_u64(&d, packed.len - cut);
        buf_add(&d.b, packed.data + cut, packed.len - cut);
        while ((d.b.len - d.record) % 8)
            buf_addch(&d.b, 0);
        pd_end(&d);
        pd_finish(&d);
        take(&im, &d, NULL);
        assert_int_equal(im.rc, 0);
        assert_int_equal(im.store.events.n, 40);
        imported_release(&im);

        d.b.data[d.record + 30] ^= 0x55; /* damaged */
        d.b.data[d.record + 31] ^= 0x55;
        take(&im, &d, NULL);
        assert_true(im.rc || im.store.events.n <= 40);
        imported_release(&im);
        zpacker_free(z);
        buf_release(&packed);
        buf_release(&inner.b);
        buf_release(&d.b);
    }
}

static void add_feature_text(struct pd *d, const char *text)
{
    pd_u32(d, 64);
    buf_addstr(&d->b, text);
    for (size_t i = strlen(text); i < 64; i++)
        buf_addch(&d->b, 0);
}

/* What stands behind the records: the machine, the command, and lost records in between. */
static void test_features(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct pd d = {.big = big};
        struct imported im;
        size_t list;

        pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
        add_processes(&d);
        pd_sample(&d, 10, 10, 1000000000, 1, in_a, 6);
        pd_sample(&d, 10, 10, 3000000000, 1, in_a, 6);
        pd_begin(&d, PERF_RECORD_LOST, 0);
        pd_u64(&d, 0);
        pd_u64(&d, 17);
        pd_trailer(&d, 10, 10, 5);
        pd_finish(&d);
        list = d.b.len;
        pd_patch(&d, 72, 1ull << 3 | 1ull << 6 | 1ull << 7 | 1ull << 11 | 1ull << 29, 8);
        for (int i = 0; i < 10; i++)
            pd_u64(&d, 0);
        for (int i = 0; i < 5; i++) {
            size_t at = d.b.len;

            if (i == 0) {
                add_feature_text(&d, "box");
            } else if (i == 1) {
                add_feature_text(&d, "x86_64");
            } else if (i == 2) {
                pd_u32(&d, 64);
                pd_u32(&d, 48);
            } else if (i == 3) {
                pd_u32(&d, 2);
                add_feature_text(&d, "perf");
                add_feature_text(&d, "record");
            } else { /* at 1 s of the samples' clock it was 1700000000 */
                pd_u32(&d, 1);
                pd_u32(&d, 1);
                pd_u64(&d, 1700000000ull * 1000000000);
                pd_u64(&d, 1000000000);
            }
            pd_patch(&d, list + (size_t)i * 16, at, 8);
            pd_patch(&d, list + (size_t)i * 16 + 8, d.b.len - at, 8);
        }
        take(&im, &d, NULL);
        assert_int_equal(im.rc, 0);
        assert_string_equal(im.meta.host, "box");
        assert_string_equal(im.meta.machine, "x86_64");
        assert_int_equal(im.meta.ncpus, 48);
        assert_true(im.meta.start_ts > 1699999999.9 && im.meta.start_ts < 1700000000.1);
        assert_true(im.meta.end_ts > 1700000001.9 && im.meta.end_ts < 1700000002.1);
        assert_int_equal(imported_count(&im, IMPORT_NOTED, "perf lost"), 17);
        assert_int_equal(imported_count(&im, IMPORT_LOST, "header"), 0);
        imported_release(&im);
        buf_release(&d.b);
    }
}

static void refused(struct pd *d, const char *why)
{
    struct imported im;

    take(&im, d, NULL);
    assert_int_equal(im.rc, -1);
    if (!strstr(im.e.msg, why))
        fail_msg("'%s' was expected in: %s", why, im.e.msg);
    imported_release(&im);
}

static void test_refused(void **state)
{
    struct pd d = {0};

    (void)state;
    pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
    pd_finish(&d);
    refused(&d, "no sample in it");
    pd_patch(&d, 8, 96, 8);
    refused(&d, "another version of the format");
    memcpy(d.b.data, "PERFFILE", 8);
    refused(&d, "before Linux 2.6.36");
    buf_release(&d.b);

    pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
    pd_sample(&d, 1, 1, 1, 1, in_a, 6);
    pd_finish(&d);
    pd_patch(&d, 72, 1ull << 24, 8);
    pd_u64(&d, d.b.len);
    pd_u64(&d, 0);
    refused(&d, "name the directory");
    buf_release(&d.b);
}

static int has_note(const struct imported *im, const char *text)
{
    for (size_t i = 0; i < im->meta.notes.n; i++)
        if (strstr(im->meta.notes.a[i], text))
            return 1;
    return 0;
}

/* Cut off anywhere: what stands before is there, or it is refused with a reason. */
static void test_cut_off(void **state)
{
    struct pd d = {0};
    size_t whole;

    (void)state;
    pd_file(&d, PD_TYPE, PD_ID_ALL, 0, 0);
    add_processes(&d);
    pd_sample(&d, 10, 10, 100, 1, in_a, 6);
    whole = d.b.len;
    pd_sample(&d, 10, 10, 200, 1, in_a, 6);
    pd_finish(&d);
    for (size_t n = 16; n < d.b.len; n++) {
        struct pd cut = {.b = {.len = n}};
        struct imported im;

        cut.b.data = mem_dup(d.b.data, n);
        take(&im, &cut, NULL);
        assert_int_equal(im.rc, n >= whole ? 0 : -1);
        assert_int_equal(im.store.events.n, n >= whole);
        assert_true(!im.rc || im.e.msg[0]);
        imported_release(&im);
        free(cut.b.data);
    }
    pd_patch(&d, whole + 6, 4, 2); /* a record of four bytes */
    {
        struct imported im;

        take(&im, &d, NULL);
        assert_int_equal(im.store.events.n, 1);
        assert_true(has_note(&im, "too short to be one"));
        imported_release(&im);
    }
    buf_release(&d.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_orders),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_exec_and_fork),
        cmocka_unit_test(test_pipe_and_events),
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_period),
        cmocka_unit_test(test_values_of_counters),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
