/* SPDX-License-Identifier: Apache-2.0 */
/* Raw stacks into the store, over made-up processes and modules. */
#include "base/mem.h"
#include "collect/intern.h"
#include "collect/who.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BIAS = 0x555500000000, START = 0x555500001000 };

struct fixture {
    struct store store;
    struct modules modules;
    struct processes processes;
    struct process *p;
    struct intern intern;
};

static void setup(struct fixture *f)
{
    struct code_file file = {
        .path = mem_strdup("/bin/prog"), .fd = -1, .kind = MODULE_FILE, .dev = 1, .ino = 2};
    struct wire_task t = {.tgid = 7, .tid = 7, .start = 9};
    struct mapping m = {.start = START, .end = START + 0x1000, .bias = BIAS, .file = 1};
    struct mapping jit = {.start = 0x1000, .end = 0x2000};

    *f = (struct fixture){0};
    *vec_push(&f->modules.list) = mem_dup(&file, sizeof(file));
    f->p = processes_add(&f->processes, &t);
    process_map(f->p, &m);
    process_map(f->p, &jit);
    intern_init(&f->intern, &f->store, &f->modules);
}

static void teardown(struct fixture *f)
{
    intern_release(&f->intern);
    processes_release(&f->processes);
    modules_release(&f->modules);
    store_release(&f->store);
}

static void push(struct fixture *f, uint8_t kind, int exact, uint64_t addr)
{
    *intern_push(&f->intern) = (struct raw_frame){.kind = kind, .exact = (uint8_t)exact, .addr = addr};
}

/* The frame `depth` above the innermost one. */
static const struct frame *frame_of(const struct store *s, uint32_t stack, int depth)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);

    while (n && depth--)
        n = stacks_get(&s->stacks, n->parent);
    return n ? frames_get(&s->frames, n->frame) : NULL;
}

static uint32_t take(struct fixture *f)
{
    intern_begin(&f->intern);
    push(f, FRAME_KERNEL, 1, 0xffffffff81000010);
    push(f, FRAME_KERNEL, 0, 0xffffffff81000020);
    push(f, FRAME_NATIVE, 1, START + 0x10);
    push(f, FRAME_NATIVE, 0, START + 0x1000); /* a call was the mapping's last instruction */
    push(f, FRAME_NATIVE, 0, 0x1800);
    push(f, FRAME_NATIVE, 0, 0x99990000);
    return intern_end(&f->intern, f->p);
}

static void test_kinds(void **state)
{
    struct fixture f;
    uint32_t id;

    setup(&f);
    id = take(&f);
    assert_int_equal(frame_of(&f.store, id, 0)->kind, FRAME_KERNEL);
    assert_int_equal(frame_of(&f.store, id, 0)->flags, 0);
    assert_int_equal(frame_of(&f.store, id, 1)->flags, FRAME_RETURN);
    assert_int_equal(frame_of(&f.store, id, 2)->kind, FRAME_NATIVE);
    assert_int_equal(frame_of(&f.store, id, 2)->addr, START - BIAS + 0x10); /* the file's own addresses */
    assert_int_equal(frame_of(&f.store, id, 3)->addr, START - BIAS + 0x1000);
    assert_int_equal(frame_of(&f.store, id, 3)->module, frame_of(&f.store, id, 2)->module);
    assert_string_equal(
        strtab_get(&f.store.strings, frames_module(&f.store.frames, frame_of(&f.store, id, 2)->module)->path),
        "/bin/prog");
    assert_int_equal(frame_of(&f.store, id, 4)->kind, FRAME_JIT);
    assert_int_equal(frame_of(&f.store, id, 5)->module, 0); /* in no mapping: unknown, not dropped */
    assert_null(frame_of(&f.store, id, 6));
    teardown(&f);
}

static void test_same_again(void **state)
{
    struct fixture f;
    struct mapping other = {.start = START, .end = START + 0x1000, .bias = BIAS + 0x1000, .file = 1};
    uint32_t id;

    setup(&f);
    id = take(&f);
    assert_int_equal(take(&f), id);
    process_map(f.p, &other); /* now the same addresses are another part of the file */
    assert_int_not_equal(take(&f), id);
    assert_int_equal(frame_of(&f.store, take(&f), 2)->addr, START - BIAS - 0x1000 + 0x10);
    teardown(&f);
}

static void test_marker(void **state)
{
    struct fixture f;
    uint32_t id;

    setup(&f);
    intern_begin(&f.intern);
    push(&f, FRAME_NATIVE, 1, START);
    *intern_push(&f.intern) =
        (struct raw_frame){.kind = FRAME_MARKER, .frame = intern_marker(&f.intern, "[truncated]")};
    id = intern_end(&f.intern, f.p);
    assert_int_equal(frame_of(&f.store, id, 1)->kind, FRAME_MARKER); /* pushed last: the root */
    assert_string_equal(strtab_get(&f.store.strings, frame_of(&f.store, id, 1)->func), "[truncated]");
    teardown(&f);
}

/* Of short threads the first that is told may be whom they woke as they ended. */
static void test_ended_before(void **state)
{
    struct wire_task t = {.tgid = 7, .tid = 8, .start = 20, .leader_start = 10, .comm = "worker"};
    struct store s = {0};
    struct who w = {.store = &s};
    const struct task *task;

    who_ended(&w, &t, 2000, 90);
    assert_int_equal(who_find(&w, 8, 20), 0); /* nothing was recorded of it: it is not entered for that */
    task = tasks_get(&s.tasks, who_task(&w, &t, 100));
    assert_int_equal(task->cpu_ns, 2000);
    assert_int_equal(task->last_ns, 90);
    assert_int_equal(task->first_ns, 90);
    t.start = 30; /* the same tid, another thread, which goes on */
    task = tasks_get(&s.tasks, who_task(&w, &t, 110));
    assert_int_equal(task->last_ns, 0);
    who_ended(&w, &t, 3000, 120);
    assert_int_equal(tasks_get(&s.tasks, who_find(&w, 8, 30))->cpu_ns, 3000);
    for (uint32_t i = 0; i < WHO_GONE + 1; i++) { /* of so many, the first is forgotten */
        t.tid = 100 + i;
        who_ended(&w, &t, 1, 200 + i);
    }
    assert_int_equal(w.gone.n, WHO_GONE);
    t.tid = 100;
    assert_int_equal(tasks_get(&s.tasks, who_task(&w, &t, 9999))->last_ns, 0);
    t.tid = 101;
    assert_int_equal(tasks_get(&s.tasks, who_task(&w, &t, 9999))->last_ns, 201);
    t.tid = 100 + WHO_GONE;
    assert_int_equal(tasks_get(&s.tasks, who_task(&w, &t, 9999))->last_ns, 200 + WHO_GONE);
    who_release(&w);
    store_release(&s);
}

static void test_tasks(void **state)
{
    struct wire_task thread = {.tgid = 7, .tid = 8, .start = 20, .leader_start = 10, .comm = "worker"};
    struct wire_task lead = {.tgid = 7, .tid = 7, .start = 10, .leader_start = 10, .comm = "main"};
    struct store s = {0};
    struct who w = {.store = &s};
    uint32_t id = who_task(&w, &thread, 5), leader = tasks_get(&s.tasks, id)->leader;

    assert_int_not_equal(leader, id); /* entered with its thread */
    assert_int_equal(tasks_get(&s.tasks, leader)->tid, 7);
    assert_int_equal(tasks_get(&s.tasks, leader)->leader, leader);
    assert_int_equal(who_task(&w, &lead, 6), leader);
    assert_string_equal(strtab_get(&s.strings, tasks_get(&s.tasks, leader)->comm), "main");
    memcpy(thread.comm, "renamed", 8);
    assert_int_equal(who_task(&w, &thread, 7), id);
    assert_string_equal(strtab_get(&s.strings, tasks_get(&s.tasks, id)->comm), "renamed");
    thread.start = 30; /* the same tid, another thread */
    assert_int_not_equal(who_task(&w, &thread, 8), id);
    who_release(&w);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_same_again),   cmocka_unit_test(test_marker),
        cmocka_unit_test(test_tasks), cmocka_unit_test(test_ended_before),
    };

    return cmocka_run_group_tests_name("collect: stacks", tests, NULL, NULL);
}
