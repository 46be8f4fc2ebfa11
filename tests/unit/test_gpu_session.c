/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With WPROF_SESSION=DIR: prints the GPU events and marks of that session for tests/cli/gpu_agent.bats, one a
 * line: op|name|device|stream|ts|dur|value|thread|stack, the root first, "function (file:line)" joined by ;
 * Without: that reading an agent's log holds together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/gpu_log.h"
#include "model/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing a session ---- */

static void print_frame(const struct store *s, uint32_t id)
{
    struct frame_name self;
    const struct frame_name *names;
    uint32_t n = frames_names(&s->frames, id, &self, &names);

    for (uint32_t i = 0; i < n; i++) {
        const char *file = strtab_get(&s->strings, names[i].file), *slash = strrchr(file, '/');

        printf(";%s", strtab_get(&s->strings, names[i].func));
        if (*file)
            printf(" (%s:%u)", slash ? slash + 1 : file, names[i].line);
    }
}

static void print_stack(const struct store *s, uint32_t stack)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);

    if (!n)
        return;
    print_stack(s, n->parent);
    print_frame(s, n->frame);
}

static int print_session(const char *path)
{
    struct session s;
    struct err e = {0};

    if (session_open(&s, path, &e)) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    for (size_t i = 0; i < s.store.events.n; i++) {
        const struct event *ev = &s.store.events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s.store.gpus, ev->attr) : NULL;
        const struct task *t = tasks_get(&s.store.tasks, ev->task);

        if (!w && ev->kind != EVENT_MARKER)
            continue;
        printf("%s|%s|%d|%u|%llu|%llu|%llu|%s|", w ? gpu_op_name(w->op) : "mark",
               strtab_get(&s.store.strings, w ? w->name : ev->metric), w ? w->device - 1 : -1,
               w ? w->stream : 0, (unsigned long long)ev->ts, (unsigned long long)ev->dur,
               (unsigned long long)ev->value, t ? strtab_get(&s.store.strings, t->comm) : "-");
        print_stack(&s.store, ev->stack);
        printf("\n");
    }
    session_release(&s);
    return 0;
}

/* ---- a log, item by item ---- */

static void number(struct buf *b, uint64_t v)
{
    buf_add_varint(b, v);
}

static void item(struct buf *b, enum gpu_item what, const uint64_t *fields, size_t n)
{
    buf_addch(b, (char)what);
    for (size_t i = 0; i < n; i++)
        number(b, fields[i]);
}

#define ITEM(b, what, ...)                                                                                   \
    item(b, what, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static void text(struct buf *b, const char *s)
{
    buf_addch(b, GPU_TEXT);
    number(b, strlen(s));
    buf_addstr(b, s);
}

static uint32_t a_task(void *arg, struct gpu_log *l, uint32_t tid)
{
    return tid == 77 ? 1 : 0;
}

/* A process whose clock is 1000 behind at 5000, and 1100 at 15000. */
static void begin(struct buf *b)
{
    ITEM(b, GPU_HELLO, GPU_WIRE_VERSION, 42, 1, 0);
    ITEM(b, GPU_CLOCK, 5000, 6000, 10);
    ITEM(b, GPU_CLOCK, 15000, 16100, 30);
    text(b, "_Z3addPf");
    text(b, "add.py");
    ITEM(b, GPU_WORK, GPU_KERNEL, 1, 1, 1, 7, 2, 1, 1, 64, 1, 1, 100, 32, 0, 0, 0, 0, 0, 0, 0);
    ITEM(b, GPU_CODE, 0x0308, 10, 1, 2, 0);
    ITEM(b, GPU_FRAME, 0, 1, zigzag(-1));
    ITEM(b, GPU_STACK, 0, 1);
    ITEM(b, GPU_LAUNCH, zigzag(9), 77, 1);
}

static void a_kernel_is_whose_launch_it_was(void **state)
{
    struct store s = {0};
    struct gpu_log l;
    struct buf b = {0};
    const struct event *ev;

    gpu_log_init(&l, &s);
    l.task = a_task;
    begin(&b);
    ITEM(&b, GPU_RAN, zigzag(0), zigzag(10000), 300, 1);
    ITEM(&b, GPU_RAN, zigzag(1), zigzag(100), 300, 1);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(l.damaged, 0);
    assert_int_equal(s.events.n, 2);
    ev = &s.events.a[0];
    assert_int_equal(ev->ts, 11050);
    assert_int_equal(ev->dur, 300);
    assert_int_equal(ev->value, 9);
    assert_int_equal(ev->task, 1);
    assert_int_not_equal(ev->stack, 0);
    assert_string_equal(strtab_get(&s.strings, gpu_works_get(&s.gpus, ev->attr)->name), "add");
    assert_int_equal(s.events.a[1].stack, 0); /* of a launch that is not known */
    assert_int_equal(l.unasked, 1);
    buf_release(&b);
    gpu_log_release(&l);
    store_release(&s);
}

static void what_is_outside_is_counted(void **state)
{
    struct store s = {0};
    struct gpu_log l;
    struct buf b = {0};

    gpu_log_init(&l, &s);
    l.begin = 10000;
    l.end = 20000;
    begin(&b);
    ITEM(&b, GPU_RAN, zigzag(0), zigzag(7000), 300, 1);
    ITEM(&b, GPU_RAN, zigzag(0), zigzag(30000), 300, 1);
    ITEM(&b, GPU_RAN, zigzag(0), zigzag(-25000), 300, 1);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(l.outside, 2);
    assert_int_equal(s.events.n, 1);
    buf_release(&b);
    gpu_log_release(&l);
    store_release(&s);
}

/* Any byte of a block may be any other. */
static void damage_does_no_harm(void **state)
{
    struct buf b = {0};

    begin(&b);
    ITEM(&b, GPU_RAN, zigzag(0), zigzag(10000), 300, 1);
    for (size_t i = 0; i < b.len; i++)
        for (unsigned v = 0; v < 256; v += 17) {
            struct store s = {0};
            struct gpu_log l;
            char was = b.data[i];

            gpu_log_init(&l, &s);
            b.data[i] = (char)v;
            gpu_log_block(&l, b.data, b.len);
            b.data[i] = was;
            assert_true(s.events.n <= 1);
            gpu_log_release(&l);
            store_release(&s);
        }
    buf_release(&b);
}

static void a_reset_voids_ids(void **state)
{
    struct store s = {0};
    struct gpu_log l;
    struct buf b = {0};

    gpu_log_init(&l, &s);
    begin(&b);
    ITEM(&b, GPU_RESET, 0);
    b.len--; /* it has no fields */
    ITEM(&b, GPU_RAN, zigzag(0), zigzag(10000), 300, 1);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(l.damaged, 1);
    assert_int_equal(s.events.n, 0);
    buf_release(&b);
    gpu_log_release(&l);
    store_release(&s);
}

static void a_gap_is_marked(void **state)
{
    struct store s = {0};
    struct gpu_log l;
    struct buf b = {0};

    gpu_log_init(&l, &s);
    begin(&b);
    ITEM(&b, GPU_STATE, GPU_TAKEN, 0, 9000);
    ITEM(&b, GPU_STATE, GPU_RETAKEN, 10, 12000);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(s.events.n, 1);
    assert_int_equal(s.events.a[0].kind, EVENT_MARKER);
    assert_int_equal(s.events.a[0].ts, 9000);
    assert_int_equal(s.events.a[0].dur, 3000);
    buf_release(&b);
    gpu_log_release(&l);
    store_release(&s);
}

/* A flush tells when it began behind all that it hands over. */
static void a_flush_is_here_once_it_has_counted(void **state)
{
    struct store s = {0};
    struct gpu_log l;
    struct buf b = {0};

    (void)state;
    gpu_log_init(&l, &s);
    begin(&b);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(l.told_to, 0);
    buf_clear(&b);
    ITEM(&b, GPU_COUNTS, 1, 5, 16100);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(l.told_to, 16100);
    buf_clear(&b);
    ITEM(&b, GPU_CLOCK, 25000, 26100, 30);
    gpu_log_block(&l, b.data, b.len);
    assert_int_equal(l.told_to, 16100);
    buf_release(&b);
    gpu_log_release(&l);
    store_release(&s);
}

/* Each process counts the devices that it may use from 0 on; UUIDs tell which they are. */
static void devices_have_one_number(void **state)
{
    const uint8_t a[GPU_UUID_BYTES] = "a", b[GPU_UUID_BYTES] = "b", c[GPU_UUID_BYTES] = "c";
    struct gpu_devices d = {0};

    (void)state;
    assert_int_equal(gpu_devices_find(&d, 0, a), 0);
    assert_int_equal(gpu_devices_find(&d, 0, b), 1); /* another one, which its process calls 0 */
    assert_int_equal(gpu_devices_find(&d, 3, a), 0);
    assert_int_equal(gpu_devices_find(&d, 3, c), 3);
    assert_int_equal(gpu_devices_find(&d, 3, NULL), 3);
    assert_int_equal(gpu_devices_find(&d, 2, NULL), 2);
    assert_int_equal(gpu_devices_find(&d, 2, NULL), 2);
    gpu_devices_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_whose_launch_it_was),
        cmocka_unit_test(what_is_outside_is_counted),
        cmocka_unit_test(damage_does_no_harm),
        cmocka_unit_test(a_reset_voids_ids),
        cmocka_unit_test(a_gap_is_marked),
        cmocka_unit_test(a_flush_is_here_once_it_has_counted),
        cmocka_unit_test(devices_have_one_number),
    };
    const char *session = getenv("WPROF_SESSION");

    return session ? print_session(session) : cmocka_run_group_tests(tests, NULL, NULL);
}
