/* SPDX-License-Identifier: Apache-2.0 */
/* The probes that need no made-up machine (tests/cli/doctor.bats has those): names of answers, and real
 * calls, also under a real seccomp filter. */
#include "platform/probe.h"
#include "platform/probe_facts.h"

#include "base/mem.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void answers_have_names(void **state)
{
    static const int some[] = {0, EPERM, EACCES, ENOSYS, ENOENT, ENOTSUP, PROBE_KILLED};

    for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
        const char *name = probe_answer_name(some[i]);

        assert_non_null(name);
        assert_int_equal(probe_answer_parse(name, strlen(name)), some[i]);
    }
    assert_null(probe_answer_name(PROBE_UNTRIED));
    assert_int_equal(probe_answer_parse("EWHAT", 5), PROBE_UNTRIED);
    assert_int_equal(probe_answer_parse("", 0), PROBE_UNTRIED);
    assert_int_equal(probe_answer_parse("okay", 4), PROBE_UNTRIED);
}

static void answers_are_read(void **state)
{
    struct probe_calls c;

    probe_calls_parse(&c,
                      "bpf.load EPERM\nno.such.call ok\nperf.child   ok\n\nperf.cpu\nmemory.child killed");
    assert_int_equal(c.answers[PROBE_bpf_load], EPERM);
    assert_int_equal(c.answers[PROBE_perf_child], 0);
    assert_int_equal(c.answers[PROBE_perf_cpu], PROBE_UNTRIED);
    assert_int_equal(c.answers[PROBE_memory_child], PROBE_KILLED);
    assert_int_equal(c.answers[PROBE_gpu_cuda], PROBE_UNTRIED);
    assert_true(probe_ok(&c, PROBE_perf_child));
    assert_true(probe_refused(&c, PROBE_memory_child));
    assert_false(probe_refused(&c, PROBE_perf_cpu));
}

/* The filter's calls don't depend on privileges; an own child may always be read where Yama is at most 1. */
static void calls_reach_the_kernel(void **state)
{
    struct probe_facts f;
    struct probe_calls c;

    probe_facts_read(&f, "");
    probe_calls_try(&c);
    if (f.self.seccomp == 0) {
        assert_int_equal(c.answers[PROBE_filter_perf], 0);
        assert_int_equal(c.answers[PROBE_filter_memory], 0);
        if (f.sysctl.ptrace_scope < 2) {
            assert_int_equal(c.answers[PROBE_memory_child], 0);
            assert_int_equal(c.answers[PROBE_proc_syscall], 0);
        }
    }
    probe_facts_release(&f);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left behind */
    assert_int_equal(errno, ECHILD);
}

/* perf_event_open kills, process_vm_readv is refused. */
static int filter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {ARRAY_SIZE(code), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static const struct probe_item *item_of(const struct probe *p, const char *id)
{
    for (size_t i = 0; i < p->items.n; i++)
        if (!strcmp(p->items.a[i].id, id))
            return &p->items.a[i];
    return NULL;
}

/* In a process of its own; says what is wrong by its exit code. */
static int under_filter(void)
{
    const struct probe_item *seccomp;
    struct probe p;
    int wrong = 0;

    probe_run(&p, NULL);
    seccomp = item_of(&p, "seccomp");
    wrong |= p.calls.answers[PROBE_filter_perf] == PROBE_KILLED ? 0 : 1;
    wrong |= p.calls.answers[PROBE_perf_child] == PROBE_KILLED ? 0 : 2;
    wrong |= p.calls.answers[PROBE_memory_child] == EPERM ? 0 : 4;
    wrong |= p.tiers[1].state == PROBE_NO && strstr(p.tiers[1].why, "seccomp") ? 0 : 8;
    wrong |= p.tiers[2].state == PROBE_NO && strstr(p.tiers[2].why, "seccomp") ? 0 : 16;
    wrong |= strstr(seccomp->seen, "perf_event_open, process_vm_readv") ? 0 : 32;
    wrong |= seccomp->grant ? 0 : 64;
    probe_release(&p);
    return wrong;
}

static void filters_are_seen(void **state)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(filter() ? 255 : under_filter());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 255) {
        print_message("needs seccomp filters\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void items_are_whole(void **state)
{
    struct probe p;

    probe_run(&p, NULL);
    assert_true(p.items.n > 10);
    for (size_t i = 0; i < p.items.n; i++) {
        assert_non_null(p.items.a[i].id);
        assert_non_null(p.items.a[i].seen);
        if (p.items.a[i].grant)
            assert_non_null(p.items.a[i].costs);
    }
    for (size_t i = 0; i < PROBE_TIERS; i++)
        assert_non_null(p.tiers[i].why);
    probe_release(&p);
}

static void explains_as_the_tier_does(void **state)
{
    struct err e = {0};
    struct probe p;

    probe_run(&p, NULL);
    assert_int_equal(probe_explain(&e, EPERM, "load BPF"), -1);
    assert_ptr_equal(strstr(e.msg, "load BPF: Operation not permitted"), e.msg);
    if (p.tiers[0].state == PROBE_NO) {
        assert_non_null(strstr(e.msg, p.tiers[0].why));
        assert_non_null(strstr(e.msg, "wprof doctor"));
    }
    probe_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_have_names),     cmocka_unit_test(answers_are_read),
        cmocka_unit_test(calls_reach_the_kernel), cmocka_unit_test(filters_are_seen),
        cmocka_unit_test(items_are_whole),        cmocka_unit_test(explains_as_the_tier_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
