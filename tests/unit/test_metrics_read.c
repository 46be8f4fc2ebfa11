/* SPDX-License-Identifier: Apache-2.0 */
/* What the metrics are read from, on trees made for it (tests/fsroot/metrics). */
#include "base/mem.h"
#include "platform/cgroup.h"
#include "platform/cpufreq.h"
#include "platform/procstat.h"
#include "platform/procuse.h"
#include "platform/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/wprof-metrics-XXXXXX";

/* A tree, unpacked and opened as a root. */
static int unpack(const char *name)
{
    char command[256], path[128];
    int root;

    snprintf(command, sizeof(command), "tests/fsroot/unpack tests/fsroot/metrics/%s.tree %s/%s", name, dir,
             name);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    root = sysfile_root(path);
    assert_true(root >= 0);
    return root;
}

static void read_group(const char *tree, struct cgroup_figures *f)
{
    int root = unpack(tree);
    struct cgroup c;
    struct err e = {0};

    assert_int_equal(cgroup_open(&c, root, 42, &e), 0);
    cgroup_read(&c, f);
    cgroup_close(&c);
    close(root);
}

static void version_2(void **state)
{
    struct cgroup_figures f;

    read_group("cgroup-v2", &f);
    assert_int_equal(f.has, CGROUP_HAS_CPU | CGROUP_HAS_QUOTA | CGROUP_HAS_MEMORY | CGROUP_HAS_MEMORY_MAX |
                                CGROUP_HAS_HIGH | CGROUP_HAS_FAILS | CGROUP_HAS_OOM_KILLS |
                                CGROUP_HAS_PRESSURE);
    assert_int_equal(f.cpu_ns, 5000000000);
    assert_true(f.cpus == 1.5); /* the tightest is above */
    assert_int_equal(f.periods, 80);
    assert_int_equal(f.throttled_periods, 7);
    assert_int_equal(f.throttled_ns, 123456000);
    assert_int_equal(f.memory, 1048576);
    assert_int_equal(f.memory_max, 8589934592);
    assert_int_equal(f.high, 3);
    assert_int_equal(f.fails, 4);
    assert_int_equal(f.oom_kills, 2);
    assert_int_equal(f.pressure_cpu_ns, 1000000);
    assert_int_equal(f.pressure_memory_ns, 2000000);
    assert_int_equal(f.pressure_io_ns, 3000000);
}

static void version_1(void **state)
{
    struct cgroup_figures f;

    read_group("cgroup-v1", &f);
    assert_int_equal(f.has, CGROUP_HAS_CPU | CGROUP_HAS_QUOTA | CGROUP_HAS_MEMORY | CGROUP_HAS_MEMORY_MAX |
                                CGROUP_HAS_FAILS | CGROUP_HAS_OOM_KILLS);
    assert_int_equal(f.cpu_ns, 123456789);
    assert_true(f.cpus == 0.25);
    assert_int_equal(f.periods, 20);
    assert_int_equal(f.throttled_periods, 19);
    assert_int_equal(f.throttled_ns, 777000000);
    assert_int_equal(f.memory, 2097152);
    assert_int_equal(f.memory_max, 4194304);
    assert_int_equal(f.fails, 5);
    assert_int_equal(f.oom_kills, 6);
}

static void containers(void **state)
{
    struct cgroup_figures f;

    read_group("container-v1", &f); /* the path begins where the mount does */
    assert_int_equal(f.has, CGROUP_HAS_CPU | CGROUP_HAS_QUOTA | CGROUP_HAS_MEMORY | CGROUP_HAS_MEMORY_MAX);
    assert_int_equal(f.cpu_ns, 55);
    assert_true(f.cpus == 2);
    assert_int_equal(f.throttled_ns, 3);
    assert_int_equal(f.memory_max, 8192);
    read_group("container-v2", &f); /* its own is the root of what it sees */
    assert_int_equal(f.has, CGROUP_HAS_CPU | CGROUP_HAS_QUOTA | CGROUP_HAS_MEMORY | CGROUP_HAS_MEMORY_MAX);
    assert_int_equal(f.cpu_ns, 7000);
    assert_true(f.cpus == 0.5);
    assert_int_equal(f.periods, 9);
    assert_int_equal(f.memory, 12288);
}

static void groups_that_tell_nothing(void **state)
{
    struct cgroup_figures f;
    struct err e = {0};
    struct cgroup c;
    int root = unpack("cgroup-outside");

    assert_int_equal(cgroup_open(&c, root, 42, &e), -1); /* above what is mounted */
    cgroup_close(&c);
    assert_int_equal(cgroup_open(&c, root, 43, &e), -1);
    assert_non_null(strstr(e.msg, "/proc/43/cgroup"));
    cgroup_close(&c);
    close(root);
    read_group("cgroup-root", &f); /* what all are in is the machine */
    assert_int_equal(f.has, 0);
    read_group("hostile", &f);
    assert_int_equal(f.has & ~CGROUP_HAS_CPU, 0);
}

static void cgroup_texts(void **state)
{
    struct buf a = {0}, b = {0};
    double cpus;

    assert_int_equal(cgroup_parse_path("3:cpuacct,cpu:/x\n", "cpu", &a), 0);
    assert_string_equal(buf_str(&a), "/x");
    buf_clear(&a);
    assert_int_equal(cgroup_parse_path("3:cpuacct,cpuset:/x\n", "cpu", &a), -1);
    assert_int_equal(cgroup_parse_path("3:cpu:/x:y\n0::/z", "", &a), 0);
    assert_string_equal(buf_str(&a), "/z");
    buf_clear(&a);
    assert_int_equal(
        cgroup_parse_mount("1 2 0:3 /r\\040s /a\\040b rw - cgroup cgroup rw,memory\n", "memory", &a, &b), 0);
    assert_string_equal(buf_str(&a), "/r s");
    assert_string_equal(buf_str(&b), "/a b");
    assert_int_equal(cgroup_parse_max("max 100000\n", &cpus), -1);
    assert_int_equal(cgroup_parse_max("200000 100000\n", &cpus), 0);
    assert_true(cpus == 2);
    buf_release(&a);
    buf_release(&b);
}

static void the_machine(void **state)
{
    int root = unpack("machine");
    struct procstat_pressure p;
    struct procstat_memory mem;
    struct cpufreq rates = {0};
    struct procstat s = {0};
    struct procstat_vm vm;
    struct buf b = {0};
    uint64_t ns;

    assert_int_equal(sysfile_read_path(root, "proc/stat", &b), 0);
    assert_int_equal(procstat_parse(b.data, &s), 0);
    assert_int_equal(s.all.user, 10200000000); /* with nice; guests are in them */
    assert_int_equal(s.all.system, 3000000000);
    assert_int_equal(s.all.irq, 130000000);
    assert_int_equal(s.all.iowait, 500000000);
    assert_int_equal(s.all.steal, 80000000);
    assert_int_equal(s.cpus.n, 2);
    assert_int_equal(s.cpus.a[1].cpu, 3);
    assert_int_equal(s.switches, 123456);
    assert_int_equal(s.running, 3);
    assert_int_equal(s.blocked, 1);
    assert_int_equal(sysfile_read_path(root, "proc/meminfo", &b), 0);
    assert_int_equal(procstat_parse_memory(b.data, &mem), 0);
    assert_int_equal(mem.available, 8192000000);
    assert_int_equal(mem.swap_total - mem.swap_free, 512000000);
    assert_int_equal(sysfile_read_path(root, "proc/vmstat", &b), 0);
    assert_int_equal(procstat_parse_vm(b.data, &vm), 0);
    assert_int_equal(vm.faults, 5000);
    assert_int_equal(vm.major_faults, 60);
    assert_int_equal(vm.paged_out, 204800);
    assert_int_equal(vm.swapped_in, 3 * sysconf(_SC_PAGESIZE));
    assert_int_equal(sysfile_read_path(root, "proc/schedstat", &b), 0);
    assert_int_equal(procstat_parse_delay(b.data, &ns), 0);
    assert_int_equal(ns, 7000);
    assert_int_equal(sysfile_read_path(root, "proc/pressure/cpu", &b), 0);
    assert_int_equal(procstat_parse_pressure(b.data, &p), 0);
    assert_int_equal(p.some_ns, 11000);
    assert_int_equal(sysfile_read_path(root, "proc/pressure/io", &b), -1); /* no PSI */
    assert_int_equal(errno, ENOENT);
    assert_int_equal(cpufreq_read(root, &rates), 2); /* CPUs may be missing in between */
    assert_int_equal(rates.list.a[0].hz, 2600000000);
    assert_int_equal(rates.list.a[1].cpu, 3);
    cpufreq_release(&rates);
    procstat_release(&s);
    buf_release(&b);
    close(root);
}

static void a_machine_that_tells_little(void **state)
{
    int root = unpack("machine-bare");
    struct procstat_memory mem;
    struct cpufreq rates = {0};
    struct procstat s = {0};
    struct buf b = {0};

    assert_int_equal(sysfile_read_path(root, "proc/stat", &b), 0);
    assert_int_equal(procstat_parse(b.data, &s), 0);
    assert_int_equal(s.all.user, 30000000);
    assert_int_equal(s.cpus.n, 0);
    assert_int_equal(sysfile_read_path(root, "proc/meminfo", &b), 0);
    assert_int_equal(procstat_parse_memory(b.data, &mem), -1);
    assert_int_equal(cpufreq_read(root, &rates), 2); /* no cpufreq: cpuinfo */
    assert_int_equal(rates.list.a[0].hz, 2600500000);
    assert_int_equal(rates.list.a[1].cpu, 2);
    cpufreq_release(&rates);
    procstat_release(&s);
    buf_release(&b);
    close(root);
}

static void malformed_figures(void **state)
{
    static const char *const stats[] = {"",
                                        "cpu",
                                        "cpu \n",
                                        "cpu  1 2 3\nctxt 1\nprocs_running 1\nprocs_blocked 1\n",
                                        "intr 1\ncpu  1 2 3 4\n",
                                        "cpu0 1 2 3 4\nctxt x\n"};
    struct procstat s = {0};
    struct procstat_pressure p;
    struct procstat_vm vm;
    struct procuse use;
    struct procuse_io io;
    struct procuse_switches sw;
    uint64_t v;

    for (size_t i = 0; i < ARRAY_SIZE(stats); i++)
        assert_int_equal(procstat_parse(stats[i], &s), -1);
    assert_int_equal(procstat_parse_pressure("full avg10=0 total=5\n", &p), -1);
    assert_int_equal(procstat_parse_pressure("some avg10=0\ntotal=5\n", &p), -1);
    assert_int_equal(procstat_parse_vm("pgfault 1\n", &vm), -1);
    assert_int_equal(procstat_parse_delay("cpu0 1 2 3\n", &v), -1);
    assert_int_equal(procuse_parse("1 (x", &use), -1);
    assert_int_equal(procuse_parse("1 (x) S 1 2", &use), -1);
    assert_int_equal(procuse_parse_io("rchar: 1\nwchar: 2\n", &io), -1);
    assert_int_equal(procuse_parse_switches("voluntary_ctxt_switches:\t5\n", &sw), -1);
    assert_int_equal(sysfile_key("ab 1\na 2\n", "a", &v), 0);
    assert_int_equal(v, 2);
    assert_int_equal(sysfile_key("a -2\n", "a", &v), -1);
    procstat_release(&s);
}

static void a_process(void **state)
{
    static const char stat[] =
        "42 (evil ) name) R 1 42 42 0 -1 4194304 100 0 7 0 250 50 30 20 20 0 3 0 5000 "
        "1000000 25 18446744073709551615 1 1 140000 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";
    struct procuse_switches sw;
    struct procuse_io io;
    struct procuse use;
    uint64_t swap;

    assert_int_equal(procuse_parse(stat, &use), 0);
    assert_int_equal(use.state, 'R');
    assert_int_equal(use.minor_faults, 100);
    assert_int_equal(use.major_faults, 7);
    assert_int_equal(use.user_ns, 2500000000);
    assert_int_equal(use.system_ns, 500000000);
    assert_int_equal(use.children_ns, 500000000);
    assert_int_equal(use.threads, 3);
    assert_int_equal(use.start_ns, 50000000000);
    assert_int_equal(use.rss, 25 * sysconf(_SC_PAGESIZE));
    assert_int_equal(
        procuse_parse_io("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
                         "cancelled_write_bytes: 7\n",
                         &io),
        0);
    assert_int_equal(io.in + 10 * io.out + 100 * io.read + 1000 * io.written, 6521);
    assert_int_equal(procuse_parse_switches(
                         "Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t8\n", &sw),
                     0);
    assert_int_equal(sw.voluntary, 9);
    assert_int_equal(sw.involuntary, 8);
    assert_int_equal(procuse_parse_swap("VmSwap:\t      12 kB\n", &swap), 0);
    assert_int_equal(swap, 12288);
}

/* Files are read again by the same descriptor, whatever their size. */
static void files_that_change(void **state)
{
    char path[128];
    struct buf b = {0};
    int fd;
    FILE *f;

    snprintf(path, sizeof(path), "%s/changes", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 20000; i++)
        fputs("line\n", f);
    fclose(f);
    fd = sysfile_open(AT_FDCWD, path);
    assert_int_equal(sysfile_read(fd, &b), 0);
    assert_int_equal(b.len, 100000);
    f = fopen(path, "w");
    fputs("7\n", f);
    fclose(f);
    assert_int_equal(sysfile_read(fd, &b), 0);
    assert_string_equal(b.data, "7\n");
    close(fd);
    buf_release(&b);
}

static int setup(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(containers),
        cmocka_unit_test(groups_that_tell_nothing),
        cmocka_unit_test(cgroup_texts),
        cmocka_unit_test(the_machine),
        cmocka_unit_test(a_machine_that_tells_little),
        cmocka_unit_test(malformed_figures),
        cmocka_unit_test(a_process),
        cmocka_unit_test(files_that_change),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
