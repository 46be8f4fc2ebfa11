/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the offcpu collector: stacks kept until a span is over, the kernel's frames, classes and names
 * of waits. */
#include "analyze/waits_top.h"
#include "base/mem.h"
#include "collect/offcpu_pending.h"
#include "collect/wait_class.h"
#include "collect/wait_holders.h"
#include "collect/wait_kernel.h"
#include "platform/kallsyms.h"
#include "platform/netlink.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- stacks that wait ---- */

static struct wire_sample *record(uint32_t kernel_n, uint32_t rest)
{
    size_t size = sizeof(struct wire_sample) + (kernel_n + rest) * sizeof(uint64_t);
    struct wire_sample *s = mem_calloc(1, size);
    uint64_t *words = (uint64_t *)(s + 1);

    s->head.size = (uint32_t)size;
    s->kernel_n = (uint16_t)kernel_n;
    for (uint32_t i = 0; i < kernel_n + rest; i++)
        words[i] = i;
    return s;
}

static void copies_leave_out_inner_frames(void **state)
{
    struct buf b = {0};

    for (uint32_t skip = 0; skip < 8; skip++) {
        struct wire_sample *s = record(5, 3);
        uint32_t cut = skip < 5 ? skip : 5; /* no more than there are */
        const struct wire_sample *c;

        offcpu_copy(&b, s, skip);
        c = (const struct wire_sample *)b.data;
        assert_int_equal(c->kernel_n, 5 - cut);
        assert_int_equal(c->head.size, s->head.size - 8 * cut);
        assert_int_equal(b.len, c->head.size);
        assert_int_equal(((const uint64_t *)(c + 1))[0], cut);
        assert_int_equal(((const uint64_t *)(c + 1))[7 - cut], 7);
        free(s);
    }
    buf_release(&b);
}

static void threads_come_and_go(void **state)
{
    struct offcpu_threads t = {0};

    for (uint32_t tid = 1; tid <= 1000; tid++) {
        struct wire_sample *s = record(1, tid % 50);

        offcpu_copy(&offcpu_pending_get(&t, tid)->blocked, s, 0);
        free(s);
    }
    assert_ptr_equal(offcpu_pending_get(&t, 7), offcpu_pending_find(&t, 7));
    for (uint32_t tid = 1; tid <= 1000; tid += 2)
        offcpu_pending_drop(&t, tid);
    offcpu_pending_drop(&t, 5000);
    assert_null(offcpu_pending_find(&t, 7));
    assert_int_equal(((struct wire_sample *)offcpu_pending_find(&t, 8)->blocked.data)->head.size,
                     sizeof(struct wire_sample) + 9 * 8);
    offcpu_threads_release(&t);
}

/* ---- the kernel's frames ---- */

/* Where the kernel's own frames end, by names as compilers change them. */
static void kernel_functions_of_a_fixture(void **state)
{
    static const char text[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81001000 t __schedule.constprop.0\n"
                               "ffffffff81001800 T schedule\n"
                               "ffffffff81002000 t try_to_wake_up.isra.0\n"
                               "ffffffff81002100 t finish_task_switch.isra.0\n"
                               "ffffffff81003000 T asm_sysvec_apic_timer_interrupt\n"
                               "ffffffff81003020 T after\n"
                               "ffffffff81004000 t __schedule.constprop.0.cold\n"
                               "ffffffff81004010 t try_to_wake_up.isra.0.cold\n"
                               "ffffffff81004020 t __schedule_delayed.part.0\n"
                               "ffffffff81005000 T _etext\n"
                               "ffffffffc0001000 t __schedule\t[some_module]\n";
    char dir[] = "/tmp/wprof-test-offcpu-XXXXXX", path[64];
    struct wait_kernel k;
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/kallsyms", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    wait_kernel_init(&k, dir);
    assert_int_equal(k.schedule.start, 0xffffffff81001000);
    assert_int_equal(k.schedule.end, 0xffffffff81001800);
    assert_int_equal(k.wake.start, 0xffffffff81002000);
    assert_int_equal(k.wake.end, 0xffffffff81002100);
    assert_int_equal(k.entries.n, 1);
    wait_kernel_release(&k);
    unlink(path);
    rmdir(dir);
}

static void inner_frames_and_interrupts(void **state)
{
    struct wait_kernel k = {.schedule = {0x1000, 0x1800}, .wake = {0x2000, 0x2100}};
    const uint64_t switched[] = {0xffff0000, 0x9000, 0x1234, 0x1700, 0x3000};
    const uint64_t woken[] = {0x9000, 0x2080, 0x5010, 0x6000};

    *vec_push(&k.entries) = (struct kernel_range){0x5000, 0x5020};
    assert_int_equal(wait_kernel_inner(&k.schedule, switched, 5), 2);
    assert_int_equal(wait_kernel_inner(&k.schedule, woken, 4), 0); /* not in it: nothing is left out */
    assert_int_equal(wait_kernel_inner(&k.wake, woken, 4), 1);
    assert_true(wait_kernel_interrupted(&k, woken, 4));
    assert_false(wait_kernel_interrupted(&k, woken, 2));
    assert_false(wait_kernel_interrupted(&k, switched, 5));
    wait_kernel_release(&k);
}

struct found {
    char text[256];
    size_t n;
};

static void note(void *arg, const char *name, uint64_t start, uint64_t end)
{
    struct found *f = arg;

    f->n += (size_t)snprintf(f->text + f->n, sizeof(f->text) - f->n, "%s %llx-%llx\n", name,
                             (unsigned long long)start, (unsigned long long)end);
}

static void functions_end_where_the_next_symbol_is(void **state)
{
    char text[] = "0000000000000000 T hidden\n"
                  "ffffffff81000000 T _text\n"
                  "ffffffff81000010 t first\n"
                  "ffffffff81000010 t alias\n"
                  "ffffffff81000020 D data\n"
                  "ffffffff81000030 T second\n"
                  "ffffffffc0000000 t of_module\t[nf]\n"
                  "ffffffffc0000010 t cut off";
    struct found f = {.n = 0};

    kallsyms_functions(text, strlen(text), note, &f);
    assert_string_equal(f.text, "_text ffffffff81000000-ffffffff81000010\n"
                                "first ffffffff81000010-ffffffff81000020\n"
                                "second ffffffff81000030-ffffffffc0000000\n");
}

/* ---- classes ---- */

static void calls_have_classes(void **state)
{
    struct wire_off_config c;

    wait_classes(&c);
    assert_int_equal(c.of_syscall[SYS_futex], WAIT_FUTEX);
    assert_int_equal(c.of_syscall[SYS_poll] & (WIRE_OFF_REASONS - 1), WAIT_POLL);
    assert_true(c.of_syscall[SYS_read] & WIRE_OFF_FD);
    assert_int_equal(c.of_mode[S_IFIFO >> 12], WAIT_PIPE);
    assert_int_equal(c.of_mode[S_IFSOCK >> 12], WAIT_SOCKET);
    assert_int_equal(c.of_mode[S_IFCHR >> 12], 0);
    for (int i = 0; i < WIRE_OFF_SYSCALLS; i++)
        assert_true((c.of_syscall[i] & (WIRE_OFF_REASONS - 1)) != WAIT_UNKNOWN);
    assert_string_equal(wait_syscall(SYS_openat), "openat");
    assert_null(wait_syscall(-1));
}

/* ---- ends of pipes and sockets ---- */

static uint64_t inode(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static void pipe_ends_have_holders(void **state)
{
    struct wait_holders h = {0};
    pid_t self = getpid();
    size_t first;
    int p[2];

    assert_int_equal(pipe(p), 0);
    assert_int_equal(wait_holders_read(&h, inode(p[0]), &self, 1, 1), 1);
    assert_int_equal(wait_holders_of(&h, inode(p[0]), &first), 2);
    assert_int_equal(h.list.a[first].pid, self);
    assert_int_equal(h.list.a[first].modes | h.list.a[first + 1].modes, HOLDER_READS | HOLDER_WRITES);
    assert_int_not_equal(h.list.a[first].modes, h.list.a[first + 1].modes);
    assert_int_equal(wait_holders_of(&h, 1, &first), 0);
    assert_int_equal(wait_holders_read(&h, inode(p[0]), &self, 1, 2), 0); /* just read */
    wait_holders_release(&h);
    close(p[0]);
    close(p[1]);
}

static void sockets_have_peers(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct net_socket *s, *peer;
    struct net_sockets n = {0};
    socklen_t size = sizeof(a);
    int u[2], l, t[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, u), 0);
    l = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(l, (struct sockaddr *)&a, size) | listen(l, 1) |
                         getsockname(l, (struct sockaddr *)&a, &size),
                     0);
    t[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(t[0], (struct sockaddr *)&a, size), 0);
    t[1] = accept(l, NULL, NULL);
    if (net_sockets_read_unix(&n, NULL) || net_sockets_read_tcp(&n, NULL)) {
        net_sockets_release(&n);
        skip(); /* a kernel without sock_diag */
    }
    for (int kind = 0; kind < 2; kind++) {
        const int *fds = kind ? t : u;

        s = net_sockets_find(&n, (uint32_t)inode(fds[0]));
        assert_non_null(s);
        peer = net_sockets_peer(&n, s);
        assert_non_null(peer);
        assert_int_equal(peer->ino, inode(fds[1]));
    }
    s = net_sockets_find(&n, (uint32_t)inode(t[0]));
    assert_int_equal(s->peer_port, ntohs(a.sin_port));
    assert_null(net_sockets_peer(&n, net_sockets_find(&n, (uint32_t)inode(l))));
    net_sockets_release(&n);
    for (int i = 0; i < 2; i++) {
        close(u[i]);
        close(t[i]);
    }
    close(l);
}

/* ---- the table ---- */

static uint32_t named(struct store *s, uint8_t kind, const char *func)
{
    struct frame f = {.kind = kind, .func = strtab_add(&s->strings, func)};

    return frames_add(&s->frames, &f);
}

static void waits_are_summed_by_what_and_whom(void **state)
{
    struct session x = {0};
    struct store *s = &x.store;
    struct task ping = {.pid = 5, .tid = 5, .start_ns = 1, .comm = strtab_add(&s->strings, "ping")};
    uint32_t in = stacks_push(&s->stacks, stacks_push(&s->stacks, 0, named(s, FRAME_PYTHON, "take")),
                              named(s, FRAME_KERNEL, "schedule"));
    struct wait w = {
        .reason = WAIT_PIPE, .what = strtab_add(&s->strings, "pipe:[1]"), .waker_task = 1, .waker_stack = in};
    struct table t;

    tasks_add(&s->tasks, &ping);
    for (int i = 0; i < 3; i++)
        *vec_push(&s->events) = (struct event){.dur = 10,
                                               .value = 1,
                                               .task = 1,
                                               .stack = in,
                                               .attr = waits_add(&s->waits, &w),
                                               .kind = EVENT_OFFCPU};
    w = (struct wait){.reason = WAIT_SLEEP, .irq = 1};
    *vec_push(&s->events) = (struct event){.dur = 70,
                                           .value = 4,
                                           .task = 1,
                                           .attr = waits_add(&s->waits, &w),
                                           .flags = EVENT_SHORT,
                                           .kind = EVENT_OFFCPU};
    *vec_push(&s->events) = (struct event){.dur = 1000, .value = 1, .task = 1, .kind = EVENT_RUNQ};
    waits_top(&t, &x, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_string_equal(t.cells.a[5].text, "sleep");
    assert_string_equal(t.cells.a[8].text, "[irq]");
    assert_int_equal(t.cells.a[4].count, 4);
    assert_int_equal(t.cells.a[t.ncolumns + 2].count, 30);
    assert_string_equal(t.cells.a[t.ncolumns + 6].text, "pipe:[1]");
    assert_string_equal(t.cells.a[t.ncolumns + 7].text, "take");
    assert_string_equal(t.cells.a[t.ncolumns + 8].text, "ping");
    table_release(&t);
    waits_top(&t, &x, 1);
    assert_int_equal(table_rows(&t), 1);
    assert_int_equal(t.left_out, 1);
    table_release(&t);
    store_release(s);
}

/* One waits for what the other sends, which sleeps, then runs. */
static void waits_tell_what_the_other_end_was(void **state)
{
    struct session x = {0};
    struct store *s = &x.store;
    struct task task = {.pid = 5, .tid = 5, .start_ns = 1, .comm = strtab_add(&s->strings, "server")};
    uint32_t serve = stacks_push(&s->stacks, 0, named(s, FRAME_PYTHON, "serve"));
    struct wait asks = {.reason = WAIT_SOCKET, .waker_task = 2}, sleeps = {.reason = WAIT_SLEEP, .irq = 1};
    const struct table_column *last;
    struct table t;

    tasks_add(&s->tasks, &task);
    task.tid = 6;
    tasks_add(&s->tasks, &task);
    *vec_push(&s->events) = (struct event){
        .dur = 100, .value = 1, .task = 1, .attr = waits_add(&s->waits, &asks), .kind = EVENT_OFFCPU};
    *vec_push(&s->events) = (struct event){.dur = 80,
                                           .value = 1,
                                           .task = 2,
                                           .stack = serve,
                                           .attr = waits_add(&s->waits, &sleeps),
                                           .kind = EVENT_OFFCPU};
    *vec_push(&s->events) =
        (struct event){.ts = 90, .value = 1, .task = 2, .stack = serve, .kind = EVENT_SAMPLE};
    waits_top(&t, &x, 1);
    last = &t.columns[t.ncolumns - 1];
    assert_string_equal(last->key, "state");
    assert_string_equal(t.cells.a[t.ncolumns - 2].text, "serve 100.0 %");
    assert_string_equal(t.cells.a[t.ncolumns - 1].text, "asleep");
    table_release(&t);
    asks.irq = 1; /* an interrupt brought what it had sent */
    s->events.a[0].attr = waits_add(&s->waits, &asks);
    waits_top(&t, &x, 1);
    assert_string_equal(t.cells.a[8].text, "[irq] for server");
    assert_string_equal(t.cells.a[t.ncolumns - 1].text, "asleep");
    table_release(&t);
    s->events.a[1].dur = 30;
    waits_top(&t, &x, 1);
    assert_string_equal(t.cells.a[t.ncolumns - 1].text, "running");
    table_release(&t);
    store_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_leave_out_inner_frames),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(inner_frames_and_interrupts),
        cmocka_unit_test(kernel_functions_of_a_fixture),
        cmocka_unit_test(functions_end_where_the_next_symbol_is),
        cmocka_unit_test(calls_have_classes),
        cmocka_unit_test(pipe_ends_have_holders),
        cmocka_unit_test(sockets_have_peers),
        cmocka_unit_test(waits_are_summed_by_what_and_whom),
        cmocka_unit_test(waits_tell_what_the_other_end_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
