/* SPDX-License-Identifier: Apache-2.0 */
/* Pages by NUMA node, from the text of numa_maps; CPU time by node, of a process that runs. */
#include "topo/numa_maps.h"
#include "topo/numa_tasks.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_pages(void **state)
{
    struct numa_maps m = {0};

    assert_int_equal(
        numa_maps_parse(&m, "00400000 default file=/bin/N9=7 mapped=6 N1=4 N0=2 kernelpagesize_kB=4\n"
                            "7f0000000000 interleave:0-1 anon=3 dirty=3 N0=1 N12=2 kernelpagesize_kB=4\n"
                            "7f1000000000 bind:1 file=/anon_hugepage\\040(deleted) huge N1=3 "
                            "kernelpagesize_kB=2048\n"
                            "7f2000000000 default\n"
                            "7f3000000000 default heap anon=1 N1=1\n"),
        0);
    assert_int_equal(m.nodes.n, 3);
    assert_int_equal(m.nodes.a[0].node, 0);
    assert_int_equal(m.nodes.a[0].file, 2 * 4096);
    assert_int_equal(m.nodes.a[0].anon, 4096);
    assert_int_equal(m.nodes.a[1].node, 1);
    assert_int_equal(m.nodes.a[1].file, 4 * 4096 + 3 * (2 << 20));
    assert_int_equal(m.nodes.a[1].anon, 4096); /* of the smallest pages, where it is not said */
    assert_int_equal(m.nodes.a[2].node, 12);
    assert_int_equal(numa_maps_bytes(&m, 1), 4 * 4096);
    numa_maps_release(&m);
}

static void test_bad(void **state)
{
    struct numa_maps m = {0};

    assert_int_equal(numa_maps_parse(&m,
                                     "nonsense\n7f00 default N1=99999999999999999999\n7f00 default N5000=1\n"
                                     "7f00 default N1x=1\n"),
                     4);
    assert_int_equal(numa_maps_parse(&m, "7f00 default N1=1"), 0); /* cut off before the end of its line */
    assert_int_equal(numa_maps_bytes(&m, 0), 4096);
    numa_maps_release(&m);
}

/* A child that runs on one CPU alone. */
static pid_t spin_on(int cpu)
{
    pid_t pid = fork();
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (pid) { /* it is there before anybody looks */
        assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile int x = 0;; x++)
        ;
}

/* Each CPU taken for a node of its own: its time is on the one that it may use, and on no other. */
static void watch(int cpu, int others)
{
    struct topo_ctx ctx = {.root = "", .live = 1, .limits = {.duration_ns = 200000000, .max_threads = 1}};
    struct numa_tasks t = {0};
    struct scan scan = {0};
    struct err e = {0};
    pid_t pid = spin_on(cpu);
    double there = 0, elsewhere = 0;

    ctx.pids = &pid;
    ctx.npids = 1;
    ctx.scan = &scan;
    for (int try = 0; try < 50 && there <= 0; try++) { /* a busy machine may let it wait for long */
        numa_tasks_release(&t);
        scan_release(&scan);
        scan = (struct scan){0};
        assert_int_equal(scan_read(&scan, "", NULL, 0, &e), 0);
        t = (struct numa_tasks){0};
        for (int i = 0; i <= others; i++) {
            *vec_push(&t.near.nodes) = (struct hw_near_node){.id = i};
            idset_add(&t.near.nodes.a[i].cpus, (unsigned)i);
        }
        numa_tasks_choose(&t, &ctx);
        assert_int_equal(t.list.n, 1);
        assert_int_equal(t.list.a[0].of->pid, pid);
        assert_int_equal(t.list.a[0].threads.n, 1);
        numa_tasks_watch(&t, &ctx);
        for (int i = 0; i <= others; i++)
            *(i == cpu ? &there : &elsewhere) += t.list.a[0].threads.a[0].ns[i];
    }
    numa_tasks_status(&ctx, &t.list.a[0]);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(there > 0);
    assert_true(elsewhere == 0);
    assert_true(atoi(t.list.a[0].threads.a[0].cpus) == cpu);
    numa_tasks_release(&t);
    scan_release(&scan);
}

static void test_watch(void **state)
{
    cpu_set_t may;
    int cpus[2], n = 0, last = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(may), &may), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &may)) {
            last = i;
            if (n < 2)
                cpus[n++] = i;
        }
    for (int i = 0; i < n; i++)
        watch(cpus[i], last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_watch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
