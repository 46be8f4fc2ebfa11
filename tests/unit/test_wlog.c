/* SPDX-License-Identifier: Apache-2.0 */
/* The log: what goes in comes out; cut at any byte it is a prefix of itself; a flipped bit is noticed. */
#include "base/hash.h"
#include "model/column.h"
#include "model/store_compact.h"
#include "model/store_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void fill(struct store *s, int round)
{
    uint32_t libc = strtab_add(&s->strings, "/lib/libc.so.6"), work = strtab_add(&s->strings, "work");
    uint32_t file = strtab_add(&s->strings, "w.c"), stack = 0;
    struct task leader = {.pid = 10, .tid = 10, .start_ns = 1, .comm = strtab_add(&s->strings, "python3")};
    struct task thread = {.pid = 10, .tid = 11, .start_ns = 2, .leader = 1, .comm = work};
    struct module m = {
        .path = libc, .kind = MODULE_FILE, .build_id_len = 20, .build_id = {1, 2, 3}, .ino = 7, .fd = -1};
    struct frame_name names[2] = {{work, file, 12}, {libc, 0, 0}};
    uint32_t task = (tasks_add(&s->tasks, &leader), tasks_add(&s->tasks, &thread));

    for (int i = 0; i < 6; i++) {
        struct frame f = {.kind = FRAME_NATIVE, .module = frames_add_module(&s->frames, &m)};
        uint32_t id;

        f.addr = 0x1000 + 64 * (uint64_t)(i + round);
        id = frames_add(&s->frames, &f);
        if (i & 1)
            frames_set_names(&s->frames, id, names, 2);
        stack = stacks_push(&s->stacks, stack, id);
    }
    for (uint64_t i = 0; i < 20; i++)
        *vec_push(&s->events) = (struct event){.ts = 1000000000 + 1001001 * i + i % 3,
                                               .value = 1,
                                               .task = i % 2 ? task : 1,
                                               .stack = stack - (uint32_t)(i % 4),
                                               .cpu = (uint16_t)(i % 2),
                                               .flags = EVENT_ROOT,
                                               .kind = EVENT_SAMPLE};
    *vec_push(&s->events) = (struct event){
        .ts = 1000000005,
        .dur = 77,
        .value = 3,
        .metric = work,
        .attr = waits_add(
            &s->waits,
            &(struct wait){.waker_task = 2, .waker_stack = stack, .what = libc, .reason = WAIT_PIPE}),
        .kind = EVENT_OFFCPU};
    waits_add(&s->waits, &(struct wait){.reason = WAIT_SLEEP, .irq = 1});
    gpu_works_add(&s->gpus, &(struct gpu_work){.op = GPU_NONE});
    *vec_push(&s->events) =
        (struct event){.ts = 1000000007,
                       .dur = 5,
                       .value = 1ull << 40,
                       .stack = stack,
                       .attr = gpu_works_add(&s->gpus, &(struct gpu_work){.name = work,
                                                                          .context = 1,
                                                                          .stream = 1u << 31,
                                                                          .grid = {1, 2, 3},
                                                                          .block = {32, 4, 5},
                                                                          .shared = 48 << 10,
                                                                          .graph = 6,
                                                                          .node = 7 + (uint32_t)round,
                                                                          .bytes = UINT64_MAX,
                                                                          .registers = UINT16_MAX,
                                                                          .occupancy = 1001,
                                                                          .device = 8,
                                                                          .rank = 9,
                                                                          .op = GPU_KERNEL,
                                                                          .from = GPU_PINNED,
                                                                          .to = GPU_DEVICE,
                                                                          .result = 1}),
                       .kind = EVENT_GPU};
    store_set_counter(s, "cpu.taken", 20 + (uint64_t)round);
}

static struct buf slurp(int fd)
{
    struct buf b = {0};
    char page[4096];
    ssize_t n;

    lseek(fd, 0, SEEK_SET);
    while ((n = read(fd, page, sizeof(page))) > 0)
        buf_add(&b, page, (size_t)n);
    return b;
}

/* Two flushes and an end. */
static struct buf make_log(struct store *s, int best)
{
    int fd = memfd_create("log", MFD_CLOEXEC);
    struct store_log w;
    struct err e = {0};
    struct buf b;

    assert_int_equal(store_log_create(&w, fd, 3, best, &e), 0);
    fill(s, 0);
    assert_int_equal(store_log_flush(&w, s, 0, &e), 0);
    assert_int_equal(s->events.n, 0);
    fill(s, 3);
    tasks_get(&s->tasks, 2)->cpu_ns = 99;
    tasks_get(&s->tasks, 2)->is_root = 1;
    tasks_touch(&s->tasks, 2);
    assert_int_equal(store_log_flush(&w, s, 0, &e), 0);
    assert_int_equal(store_log_end(&w, s, &e), 0);
    store_log_release(&w);
    b = slurp(fd);
    close(fd);
    return b;
}

static void check_prefix(const struct store *s, const struct store *whole)
{
    assert_true(s->events.n <= whole->events.n);
    assert_true(strtab_count(&s->strings) <= strtab_count(&whole->strings));
    for (uint32_t i = 1; i <= strtab_count(&s->strings); i++)
        assert_string_equal(strtab_get(&s->strings, i), strtab_get(&whole->strings, i));
    assert_true(s->stacks.nodes.n <= whole->stacks.nodes.n);
    if (s->stacks.nodes.n)
        assert_memory_equal(s->stacks.nodes.a, whole->stacks.nodes.a,
                            s->stacks.nodes.n * sizeof(*s->stacks.nodes.a));
    for (size_t i = 0; i < s->events.n; i++) {
        assert_true(s->events.a[i].stack <= s->stacks.nodes.n);
        assert_true(s->events.a[i].task <= s->tasks.list.n);
    }
}

static void comes_out_as_it_went_in(void **state)
{
    for (int best = 0; best < 2; best++) {
        struct store s = {0}, r = {0};
        struct store_load load;
        struct err e = {0};
        struct buf b = make_log(&s, best);
        struct frame_name self;
        const struct frame_name *names;

        assert_int_equal(store_log_load(&r, -1, b.data, b.len, &load, &e), 0);
        assert_true(load.ended);
        assert_int_equal(load.good_bytes, b.len);
        assert_string_equal(load.why.msg, "");
        check_prefix(&r, &r);
        assert_int_equal(strtab_count(&r.strings), strtab_count(&s.strings));
        assert_int_equal(r.frames.list.n, s.frames.list.n);
        assert_int_equal(r.waits.list.n, s.waits.list.n);
        assert_memory_equal(r.waits.list.a, s.waits.list.a, r.waits.list.n * sizeof(*r.waits.list.a));
        assert_int_equal(r.gpus.list.n, 3);
        assert_memory_equal(r.gpus.list.a, s.gpus.list.a, r.gpus.list.n * sizeof(*r.gpus.list.a));
        assert_int_equal(gpu_works_add(&r.gpus, &s.gpus.list.a[1]), 2); /* its index comes with the first */
        assert_int_equal(r.frames.modules.n, 1);
        assert_int_equal(r.frames.modules.a[0].build_id[2], 3);
        assert_int_equal(r.frames.modules.a[0].fd, -1);
        assert_int_equal(r.stacks.nodes.n, s.stacks.nodes.n);
        assert_int_equal(r.tasks.list.n, 2);
        assert_int_equal(tasks_get(&r.tasks, 2)->cpu_ns, 99);
        assert_true(tasks_get(&r.tasks, 2)->is_root && !tasks_get(&r.tasks, 1)->is_root);
        assert_string_equal(strtab_get(&r.strings, tasks_get(&r.tasks, 1)->comm), "python3");
        assert_int_equal(store_counter(&r, "cpu.taken", 0), 23);
        assert_int_equal(frames_names(&r.frames, 2, &self, &names), 2);
        assert_int_equal(names[0].line, 12);
        assert_int_equal(frames_names(&r.frames, 1, &self, &names), 0);
        assert_int_equal(r.events.n, 44);
        for (size_t i = 1; i < r.events.n; i++)
            assert_true(r.events.a[i - 1].ts <= r.events.a[i].ts);
        assert_int_equal(r.events.a[43].ts, 1000000000 + 1001001 * 19 + 1);
        /* A loaded store takes more: the indexes come with the first add. */
        assert_int_equal(strtab_add(&r.strings, "work"), strtab_find(&s.strings, "work"));
        assert_int_equal(stacks_push(&r.stacks, 0, r.stacks.nodes.a[0].frame), 1);
        buf_release(&b);
        store_release(&s);
        store_release(&r);
    }
}

static void cut_anywhere_is_a_prefix(void **state)
{
    struct store s = {0}, whole = {0};
    struct store_load load;
    struct err e = {0};
    struct buf b = make_log(&s, 0);
    uint64_t good = 0;

    assert_int_equal(store_log_load(&whole, -1, b.data, b.len, &load, &e), 0);
    for (size_t n = 0; n < b.len; n++) {
        char *exact = mem_dup(b.data, n); /* so that ASan sees a read beyond */
        struct store r = {0};

        assert_int_equal(store_log_load(&r, -1, exact, n, &load, &e), 0);
        assert_false(load.ended);
        assert_true(load.good_bytes <= n && load.good_bytes >= good);
        good = load.good_bytes;
        check_prefix(&r, &whole);
        store_release(&r);
        free(exact);
    }
    buf_release(&b);
    store_release(&s);
    store_release(&whole);
}

static void flipped_bits_are_noticed(void **state)
{
    struct store s = {0}, whole = {0};
    struct store_load load;
    struct err e = {0};
    struct buf b = make_log(&s, 0);

    assert_int_equal(store_log_load(&whole, -1, b.data, b.len, &load, &e), 0);
    for (size_t bit = 0; bit < 8 * b.len; bit++) {
        struct store r = {0};

        b.data[bit / 8] ^= (char)(1 << bit % 8);
        e.msg[0] = '\0';
        if (store_log_load(&r, -1, b.data, b.len, &load, &e)) {
            assert_string_not_equal(e.msg, "");
        } else {
            assert_false(load.ended);
            assert_string_not_equal(load.why.msg, "");
            check_prefix(&r, &whole);
        }
        b.data[bit / 8] ^= (char)(1 << bit % 8);
        store_release(&r);
    }
    buf_release(&b);
    store_release(&s);
    store_release(&whole);
}

/* A damaged block of events costs its events; any other ends the log as ever. */
static void salvage_goes_on_behind_events(void **state)
{
    struct store s = {0}, whole = {0};
    struct store_load load;
    struct err e = {0};
    struct buf b = make_log(&s, 0);
    int fd = memfd_create("log", MFD_CLOEXEC), blocks = 0;
    uint32_t stored;

    assert_int_equal(store_log_load(&whole, -1, b.data, b.len, &load, &e), 0);
    assert_int_equal(write(fd, b.data, b.len), b.len);
    for (size_t at = WLOG_FILE_HEADER; at < b.len; at += WLOG_BLOCK_HEADER + stored) {
        char bad = (char)(b.data[at + WLOG_BLOCK_HEADER] ^ 1);
        unsigned type = (unsigned char)b.data[at + 4];
        struct store r = {0};

        memcpy(&stored, b.data + at + 12, 4);
        if (!stored)
            continue;
        assert_int_equal(pwrite(fd, &bad, 1, (off_t)(at + WLOG_BLOCK_HEADER)), 1);
        assert_int_equal(store_log_salvage(&r, fd, &load, &e), 0);
        assert_int_equal(load.lost_blocks, type == WLOG_EVENTS);
        assert_int_equal(load.ended, type == WLOG_EVENTS);
        if (type == WLOG_EVENTS) {
            assert_true(r.events.n < whole.events.n);
            assert_int_equal(r.stacks.nodes.n, whole.stacks.nodes.n);
            assert_int_equal(r.tasks.list.n, whole.tasks.list.n);
            assert_string_equal(load.why.msg, "");
            blocks++;
        } else {
            check_prefix(&r, &whole);
        }
        assert_int_equal(pwrite(fd, b.data + at + WLOG_BLOCK_HEADER, 1, (off_t)(at + WLOG_BLOCK_HEADER)), 1);
        store_release(&r);
    }
    assert_true(blocks > 0);
    close(fd);
    buf_release(&b);
    store_release(&s);
    store_release(&whole);
}

static void header(struct buf *b, unsigned major)
{
    uint8_t h[16] = {'W', 'P', 'R', 'O', 'F', 'L', 'O', 'G', (uint8_t)major};
    uint32_t crc = crc32c(0, h, 12);

    memcpy(h + 12, &crc, 4);
    buf_add(b, h, sizeof(h));
}

static void block(struct buf *b, unsigned type, unsigned version, const void *p, size_t n)
{
    uint8_t h[24] = {'W', 'B', 'L', 'K', (uint8_t)type, 0, (uint8_t)version, WLOG_STORED};
    uint32_t len = (uint32_t)n, crc = crc32c(0, p, n);

    memcpy(h + 8, &len, 4);
    memcpy(h + 12, &len, 4);
    memcpy(h + 16, &crc, 4);
    crc = crc32c(0, h, 20);
    memcpy(h + 20, &crc, 4);
    buf_add(b, h, sizeof(h));
    buf_add(b, p, n);
}

static void newer_and_foreign(void **state)
{
    struct store_load load;
    struct store s = {0};
    struct buf b = {0};
    struct err e = {0};

    header(&b, 2);
    assert_int_equal(store_log_load(&s, -1, b.data, b.len, &load, &e), -1);
    assert_non_null(strstr(e.msg, "newer"));
    assert_int_equal(store_log_load(&s, -1, "not a log at all", 16, &load, &e), -1);
    assert_non_null(strstr(e.msg, "not a wprof log"));
    buf_clear(&b);
    header(&b, 1);
    block(&b, 77, 9, "future", 6); /* unknown type: skipped, whatever its version */
    block(&b, WLOG_STRINGS, 1, "\1\1\5hello", 8);
    assert_int_equal(store_log_load(&s, -1, b.data, b.len, &load, &e), 0);
    assert_int_equal(load.skipped_blocks, 1);
    assert_string_equal(strtab_get(&s.strings, 1), "hello");
    store_release(&s);
    buf_clear(&b);
    header(&b, 1);
    block(&b, WLOG_STRINGS, 2, "\1\0\5hello", 8);
    assert_int_equal(store_log_load(&s, -1, b.data, b.len, &load, &e), -1);
    assert_non_null(strstr(e.msg, "newer"));
    store_release(&s);
    buf_release(&b);
}

/* Whole, well summed blocks that say nonsense end the log there. */
static void nonsense_ends_the_log(void **state)
{
    static const struct {
        unsigned type;
        const char *p;
        size_t n;
    } bad[] = {
        {WLOG_STRINGS, "\2\0\5hello", 8},                    /* 10 bytes wanted, 5 there */
        {WLOG_STRINGS, "\1\0\0", 3},                         /* an empty string */
        {WLOG_STRINGS, "\1\0\3a\0b", 6},                     /* a NUL */
        {WLOG_STRINGS, "\377\377\377\377\017\0\1", 7},       /* too many rows */
        {WLOG_FRAMES, "\1\0\2\0\0\0\1\0\0\0\0\0\0\0\0", 15}, /* module 1 of none */
        {WLOG_STACKS, "\1\0\0\0\0\1", 6},                    /* frame 1 of none */
        {WLOG_TASKS, "\1\2", 2},                             /* cut off */
        {WLOG_NAMES, "\1\0\1\0\1\0\0\0\0\0\0", 11},          /* frame 1 of none */
        {WLOG_COUNTERS, "\1\1\1", 3},                        /* string 1 of none */
        {WLOG_GPU, "\1\0\1\0\1", 5},                         /* string 1 of none */
        {WLOG_GPU, "\1\0\1\0\0\0\377\377\4", 9},             /* a device of 17 bits */
        {WLOG_GPU, "\1\0\1\0\0", 5},                         /* cut off */
        {WLOG_EVENTS, "\1\0\0\1\0\1\0\1", 8},                /* cut off */
        {WLOG_EVENTS, "\1\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7", 28}, /* stack 7 of none */
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct store_load load;
        struct store s = {0};
        struct buf b = {0};
        struct err e = {0};

        header(&b, 1);
        block(&b, bad[i].type, 1, bad[i].p, bad[i].n);
        block(&b, WLOG_END, 1, "", 0);
        assert_int_equal(store_log_load(&s, -1, b.data, b.len, &load, &e), 0);
        assert_false(load.ended);
        assert_int_equal(load.good_bytes, WLOG_FILE_HEADER);
        assert_string_not_equal(load.why.msg, "");
        assert_int_equal(
            s.events.n + s.stacks.nodes.n + s.frames.list.n + s.strings.offsets.n + s.gpus.list.n, 0);
        store_release(&s);
        buf_release(&b);
    }
}

static void columns_in_every_coding(void **state)
{
    static const uint64_t sets[][5] = {
        {0, 0, 0, 0, 0},
        {1, 2, 3, 4, 5},
        {UINT64_MAX, 0, UINT64_MAX, 1, 1ull << 63},
        {300, 299, 70000, 1, 9},
    };

    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        for (unsigned c = 0; c < COLUMN_CODINGS; c++) {
            struct wlog_payload p = {0};
            struct cursor cur;
            uint64_t got[5];

            column_put(&p, sets[i], 5, c == COLUMN_CONST ? COLUMN_VARINT : c);
            cur = cursor_init(p.raw.data, p.raw.len);
            column_get(&cur, got, 5);
            assert_false(cur.bad);
            assert_ptr_equal(cur.p, cur.end);
            assert_memory_equal(got, sets[i], sizeof(got));
            for (size_t n = 0; n < p.raw.len; n++) {
                cur = cursor_init(p.raw.data, n);
                column_get(&cur, got, 5);
                assert_true(cur.bad);
            }
            wlog_payload_release(&p);
        }
    }
}

/* The text of an event's stack and of its waker's, so that stores with other ids compare. */
static void spell_stack(const struct store *s, uint32_t id, struct buf *out)
{
    for (; id; id = stacks_get(&s->stacks, id)->parent) {
        const struct frame *f = frames_get(&s->frames, stacks_get(&s->stacks, id)->frame);
        const struct frame_name *names;
        struct frame_name self;
        uint32_t n = frames_names(&s->frames, stacks_get(&s->stacks, id)->frame, &self, &names);

        buf_addf(out, " %d/%llx", f->kind, (unsigned long long)f->addr);
        for (uint32_t i = 0; i < n; i++)
            buf_addf(out, "=%s@%u", strtab_get(&s->strings, names[i].func), names[i].line);
    }
}

static void spell(const struct store *s, const struct event *ev, struct buf *out)
{
    const struct wait *w = ev->kind == EVENT_OFFCPU ? waits_get(&s->waits, ev->attr) : NULL;
    const struct gpu_work *g = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;

    buf_addf(out, "%llu %llu %llu %u %u %s:", (unsigned long long)ev->ts, (unsigned long long)ev->dur,
             (unsigned long long)ev->value, ev->task, ev->flags, strtab_get(&s->strings, ev->metric));
    spell_stack(s, ev->stack, out);
    if (w) {
        buf_addf(out, " waits %u %s %u:", w->reason, strtab_get(&s->strings, w->what), w->waker_task);
        spell_stack(s, w->waker_stack, out);
    }
    if (g)
        buf_addf(out, " %s %s on %u, node %u", gpu_op_name(g->op), strtab_get(&s->strings, g->name),
                 g->device, g->node);
    buf_addch(out, '\n');
}

static void events_are_sorted(void **state)
{
    enum { N = 5000 };
    struct event *ev = mem_calloc(N, sizeof(*ev));
    uint64_t x = 12345;

    for (int by_time = 0; by_time < 2; by_time++) {
        for (size_t i = 0; i < N; i++) {
            x = hash_u64(x);
            ev[i] = (struct event){
                .ts = i % 5 ? x >> 20 : x % 100, .task = x % 7, .kind = (uint16_t)(x % 3), .value = i};
        }
        store_events_sort(ev, N, by_time);
        for (size_t i = 1; i < N; i++) {
            const struct event *a = &ev[i - 1], *b = &ev[i];

            if (!by_time && a->kind != b->kind) {
                assert_true(a->kind < b->kind);
            } else if (!by_time && a->task != b->task) {
                assert_true(a->task < b->task);
            } else {
                assert_true(a->ts < b->ts || (a->ts == b->ts && a->value < b->value));
            }
        }
    }
    store_events_sort(ev, 0, 1);
    store_events_sort(ev, 1, 1);
    free(ev);
}

static void compaction_keeps_everything(void **state)
{
    struct store s = {0}, c = {0};
    struct buf a = {0}, b = {0};

    fill(&s, 0);
    fill(&s, 2);
    store_compact(&c, &s);
    store_events_sort(s.events.a, s.events.n, 0);
    assert_int_equal(s.events.n, c.events.n);
    for (size_t i = 0; i < s.events.n; i++) {
        spell(&s, &s.events.a[i], &a);
        spell(&c, &c.events.a[i], &b);
    }
    /* Equal but for the order of events at the same time, of which there are none. */
    assert_string_equal(a.data, b.data);
    for (size_t i = 0; i < c.stacks.nodes.n; i++)
        assert_true(c.stacks.nodes.a[i].parent <= i);
    assert_int_equal(store_counter(&c, "cpu.taken", 0), 22);
    buf_release(&a);
    buf_release(&b);
    store_release(&s);
    store_release(&c);
}

/* Of an accelerator's works only those stay that an event has. */
static void compaction_leaves_out_works(void **state)
{
    struct store s = {0}, c = {0};
    struct buf a = {0}, b = {0};

    fill(&s, 0);
    fill(&s, 2);
    assert_int_equal(s.gpus.list.n, 3);
    store_compact_used(&c, &s);
    assert_int_equal(c.gpus.list.n, 2);
    store_events_sort(s.events.a, s.events.n, 0);
    for (size_t i = 0; i < s.events.n; i++)
        if (s.events.a[i].kind == EVENT_GPU)
            spell(&s, &s.events.a[i], &a);
    for (size_t i = 0; i < c.events.n; i++)
        if (c.events.a[i].kind == EVENT_GPU)
            spell(&c, &c.events.a[i], &b);
    assert_non_null(strstr(buf_str(&a), "kernel work on 8, node 9"));
    assert_string_equal(buf_str(&a), buf_str(&b));
    buf_release(&a);
    buf_release(&b);
    store_release(&s);
    store_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_out_as_it_went_in),     cmocka_unit_test(cut_anywhere_is_a_prefix),
        cmocka_unit_test(flipped_bits_are_noticed),    cmocka_unit_test(salvage_goes_on_behind_events),
        cmocka_unit_test(newer_and_foreign),           cmocka_unit_test(nonsense_ends_the_log),
        cmocka_unit_test(columns_in_every_coding),     cmocka_unit_test(events_are_sorted),
        cmocka_unit_test(compaction_keeps_everything), cmocka_unit_test(compaction_leaves_out_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
