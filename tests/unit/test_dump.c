/* SPDX-License-Identifier: Apache-2.0 */
/* What a dump reads of /proc, its words, and the link of `record --sudo`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "record/link.h"
#include "render/dump.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- words ---- */

static uint32_t push(struct store *s, uint32_t parent, uint8_t kind, const char *func, const char *file)
{
    struct frame f = {
        .kind = kind, .func = strtab_add(&s->strings, func), .file = strtab_add(&s->strings, file)};

    return stacks_push(&s->stacks, parent, frames_add(&s->frames, &f));
}

static void place_is_the_programs_own(void **state)
{
    struct dump d = {0};
    struct buf b = {0};
    uint32_t own = push(&d.store, 0, FRAME_PYTHON, "train", "/home/a/train.py"),
             lib = push(&d.store, own, FRAME_PYTHON, "recv",
                        "/usr/lib/python3.11/multiprocessing/connection.py"),
             in = push(&d.store, lib, FRAME_NATIVE, "read", NULL);

    assert_true(dump_add_place(&d, in, &b));
    assert_string_equal(buf_str(&b), "train (train.py)");
    buf_clear(&b);
    lib = push(&d.store, 0, FRAME_PYTHON, "_bootstrap", "/usr/lib/python3.11/threading.py");
    assert_true(dump_add_place(&d, push(&d.store, lib, FRAME_KERNEL, "futex_wait", NULL), &b));
    assert_string_equal(buf_str(&b), "_bootstrap (threading.py)");
    buf_clear(&b);
    assert_true(dump_add_place(&d, push(&d.store, 0, FRAME_KERNEL, "kthreadd", NULL), &b));
    assert_string_equal(buf_str(&b), "kthreadd");
    buf_clear(&b);
    assert_false(dump_add_place(&d, 0, &b));
    buf_release(&b);
    dump_release(&d);
}

static void names_are_safe_for_a_terminal(void **state)
{
    struct dump d = {0};
    struct dump_thread t = {.pid = 7, .tid = 8, .comm = strtab_add(&d.store.strings, "a\033[2Jb")};
    struct buf b = {0};

    dump_add_thread(&d, &t, &b);
    assert_string_equal(buf_str(&b), "a?[2Jb[7/8]");
    buf_clear(&b);
    dump_add_process(&d, 99, &b);
    assert_string_equal(buf_str(&b), "process 99");
    buf_release(&b);
    dump_release(&d);
}

/* ---- the link ---- */

static void messages_cross_whole_and_with_descriptors(void **state)
{
    char name[LINK_NAME];
    int listener = link_listen(name, NULL), here, there, fds[LINK_FDS], pipes[2];
    struct buf b = {0};
    pid_t pid;
    uid_t uid;
    char c;

    assert_true(listener >= 0);
    here = link_connect(name, NULL);
    assert_true(here >= 0);
    there = accept(listener, NULL, NULL);
    assert_int_equal(link_peer(there, &pid, &uid), 0);
    assert_int_equal(pid, getpid());
    assert_int_equal(uid, geteuid());

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(link_send(here, LINK_HELLO, "ab\0c", 4, (int[LINK_FDS]){pipes[1], pipes[0]}), 0);
    assert_int_equal(link_send(here, LINK_READY, NULL, 0, NULL), 0);
    assert_int_equal(link_receive(there, &b, fds), LINK_HELLO);
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.data, "ab\0c", 4);
    assert_int_equal(write(fds[0], "x", 1), 1);
    assert_int_equal(read(pipes[0], &c, 1), 1);
    assert_int_equal(link_receive(there, &b, NULL), LINK_READY);
    assert_int_equal(b.len, 0);
    close(here);
    assert_int_equal(link_receive(there, &b, NULL), -1);
    assert_int_equal(link_send(there, LINK_READY, NULL, 0, NULL), -1);
    buf_release(&b);
    for (int i = 0; i < LINK_FDS; i++) {
        close(fds[i]);
        close(pipes[i]);
    }
    close(there);
    close(listener);
}

static void names_that_are_none(void **state)
{
    struct err e = {0};

    assert_int_equal(link_connect("", &e), -1);
    assert_int_equal(link_connect("6e6f626f6479", &e), -1);
    assert_true(strlen(e.msg) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place_is_the_programs_own),
        cmocka_unit_test(names_are_safe_for_a_terminal),
        cmocka_unit_test(messages_cross_whole_and_with_descriptors),
        cmocka_unit_test(names_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
