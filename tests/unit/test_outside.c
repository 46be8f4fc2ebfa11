/* SPDX-License-Identifier: Apache-2.0 */
/* Our own child before and after it becomes the command, as tiers B and C see it. */
#include "collect/outside.h"
#include "platform/clock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct run {
    struct store store;
    struct meta meta;
    struct record_ctx ctx;
    struct outside o;
    pid_t child;
    int gate, end; /* a byte opens the first; the command lives until the second is closed */
};

static int set_up(void **state)
{
    struct run *r = calloc(1, sizeof(*r));
    int gate[2], end[2];
    struct err e;
    char c;

    *state = r;
    if (pipe2(gate, O_CLOEXEC) || pipe2(end, O_CLOEXEC))
        return -1;
    r->child = fork();
    if (!r->child) {
        close(gate[1]);
        close(end[1]);
        dup2(end[0], STDIN_FILENO);
        if (read(gate[0], &c, 1) == 1)
            execlp("cat", "cat", (char *)NULL);
        _exit(1);
    }
    close(gate[0]);
    close(end[0]);
    r->gate = gate[1];
    r->end = end[1];
    r->ctx = (struct record_ctx){.store = &r->store, .meta = &r->meta, .frequency = 99, .launched = 1};
    *vec_push(&r->ctx.targets) = r->child;
    return outside_init(&r->o, &r->ctx, &e) || outside_follow(&r->o, &e);
}

static int tear_down(void **state)
{
    struct run *r = *state;

    close(r->gate);
    close(r->end);
    waitpid(r->child, NULL, 0);
    outside_release(&r->o);
    vec_release(&r->ctx.targets);
    store_release(&r->store);
    meta_release(&r->meta);
    free(r);
    return 0;
}

static int is_of_us(pid_t pid)
{
    struct stat own, its;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    assert_int_equal(stat("/proc/self/exe", &own), 0);
    assert_int_equal(stat(path, &its), 0);
    return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

static void let_it_exec(struct run *r)
{
    const struct timespec ms = {0, 1000000};

    assert_int_equal(write(r->gate, "x", 1), 1);
    for (int i = 0; i < 20000 && is_of_us(r->child); i++)
        nanosleep(&ms, NULL);
    assert_false(is_of_us(r->child));
}

static int left_out(struct run *r, uint64_t n)
{
    return outside_before_exec(&r->o, outside_find(&r->o, (uint32_t)r->child), n);
}

static void samples_before_its_exec_are_left_out(void **state)
{
    struct run *r = *state;

    assert_false(left_out(r, 1)); /* the recording has not begun */
    outside_begin(&r->o);
    assert_true(left_out(r, 2));
    outside_scan(&r->o);
    assert_true(left_out(r, 3));
    let_it_exec(r);
    outside_scan(&r->o);
    assert_false(left_out(r, 4));
    outside_counters(&r->o);
    assert_int_equal(store_counter(&r->store, "cpu.before_exec", 99), 5);
}

static void what_is_the_command_when_recording_begins_counts(void **state)
{
    struct run *r = *state;

    let_it_exec(r);
    outside_scan(&r->o);
    outside_begin(&r->o);
    assert_false(left_out(r, 1));
}

static void nothing_of_what_was_not_launched_is_left_out(void **state)
{
    struct run *r = *state;

    r->ctx.launched = 0;
    outside_begin(&r->o);
    assert_false(left_out(r, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_before_its_exec_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_the_command_when_recording_begins_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_of_what_was_not_launched_is_left_out, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
