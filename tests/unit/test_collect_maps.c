/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping tracking without a kernel: what mappings and records mean, and where slices go. */
#include "base/mem.h"
#include "platform/perf_event.h"
#include "platform/procfs.h"
#include "unwind/process.h"
#include "unwind/slices.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- mappings ---- */

static struct mapping map_of(uint64_t start, uint64_t end, uint32_t file)
{
    return (struct mapping){.start = start, .end = end, .bias = start, .file = file};
}

static void enter(struct process *p, uint64_t start, uint64_t end, uint32_t file)
{
    struct mapping m = map_of(start, end, file);

    process_map(p, &m);
}

static uint32_t file_at(const struct process *p, uint64_t addr)
{
    const struct mapping *m = process_lookup(p, addr);

    return m ? m->file : 0;
}

static struct process *a_process(struct processes *ps)
{
    struct wire_task t = {.tgid = 7, .tid = 7, .ns_tgid = 3, .own_tgid = 1, .start = 9};

    return processes_add(ps, &t);
}

static void test_mappings(void **state)
{
    struct processes ps = {0};
    struct process *p = a_process(&ps);

    enter(p, 0x5000, 0x6000, 2);
    enter(p, 0x1000, 0x3000, 1);
    enter(p, 0x9000, 0xa000, 3);
    assert_int_equal(p->maps.n, 3);
    assert_int_equal(file_at(p, 0xfff), 0);
    assert_int_equal(file_at(p, 0x1000), 1);
    assert_int_equal(file_at(p, 0x2fff), 1);
    assert_int_equal(file_at(p, 0x3000), 0);
    assert_int_equal(file_at(p, 0x5800), 2);
    assert_int_equal(file_at(p, 0x9fff), 3);
    assert_int_equal(p->epoch, 0); /* nothing changed its meaning */
    processes_release(&ps);
}

static void test_overlaps(void **state)
{
    struct processes ps = {0};
    struct process *p = a_process(&ps);

    enter(p, 0x1000, 0x9000, 1);
    p->dirty = 0;
    enter(p, 0x3000, 0x5000, 2); /* into the middle: both ends stay */
    assert_int_equal(p->maps.n, 3);
    assert_int_equal(p->dirty, 1);
    assert_int_equal(p->epoch, 1); /* addresses have become another file's */
    assert_int_equal(file_at(p, 0x2fff), 1);
    assert_int_equal(file_at(p, 0x3000), 2);
    assert_int_equal(file_at(p, 0x4fff), 2);
    assert_int_equal(file_at(p, 0x5000), 1);
    assert_int_equal(process_lookup(p, 0x5000)->bias, 0x1000); /* the rest is where it was */
    enter(p, 0, 0x10000, 3);                                   /* over them all */
    assert_int_equal(p->maps.n, 1);
    assert_int_equal(file_at(p, 0x4000), 3);
    processes_release(&ps);
}

static void test_known_again(void **state)
{
    struct processes ps = {0};
    struct process *p = a_process(&ps);

    enter(p, 0x1000, 0x3000, 1);
    p->dirty = 0;
    enter(p, 0x1000, 0x3000, 1); /* as a second look into /proc finds it */
    assert_int_equal(p->maps.n, 1);
    assert_int_equal(p->dirty, 0);
    assert_int_equal(p->epoch, 0);
    processes_release(&ps);
}

static void test_fork_and_exec(void **state)
{
    struct wire_task child = {.tgid = 8, .tid = 8, .ns_tgid = 4, .start = 10};
    struct processes ps = {0};
    struct process *p = a_process(&ps), *c;

    enter(p, 0x1000, 0x3000, 1);
    c = processes_add(&ps, &child);
    process_copy_maps(c, p);
    process_unmap_all(p);
    assert_int_equal(file_at(p, 0x1000), 0);
    assert_int_equal(file_at(c, 0x1000), 1);
    assert_ptr_equal(processes_find_ns(&ps, 4), c);
    processes_remove(&ps, p);
    assert_null(processes_find(&ps, 7));
    assert_ptr_equal(processes_find(&ps, 8), c);
    processes_release(&ps);
}

/* ---- slices ---- */

static void test_slices(void **state)
{
    struct wire_mapping room[128], m[40] = {{.start = 1, .end = 2}};
    struct slices s;
    uint32_t a, b, c;

    slices_init(&s, room, 128);
    a = slices_put(&s, m, 3, 0);
    b = slices_put(&s, m, 40, 0); /* 64 places */
    assert_int_equal(slices_get(&s, a)->n, 3);
    assert_int_equal(slices_get(&s, b)->first, 32);
    assert_int_not_equal(slices_get(&s, a)->number, slices_get(&s, b)->number);
    assert_int_equal(slices_put(&s, m, 40, 0), 0); /* full */
    slices_ref(&s, a);                             /* a fork's child */
    slices_unref(&s, a, 5);
    c = slices_put(&s, m, 1, 6 + SLICES_REST_NS);
    assert_int_equal(slices_get(&s, c)->first, 96);
    slices_unref(&s, a, 10);                       /* the last reference */
    assert_int_equal(slices_put(&s, m, 1, 11), 0); /* a walk may still be in it */
    c = slices_put(&s, m, 2, 10 + SLICES_REST_NS);
    assert_int_equal(c, a);
    assert_int_equal(slices_get(&s, c)->n, 2);
    slices_unref(&s, 0, 0); /* none */
    slices_release(&s);
}

/* ---- records ---- */

struct record {
    uint8_t bytes[256];
    size_t n;
};

static void put(struct record *r, const void *p, size_t n)
{
    memcpy(r->bytes + r->n, p, n);
    r->n += n;
}

static void put32(struct record *r, uint32_t v)
{
    put(r, &v, 4);
}

static void put64(struct record *r, uint64_t v)
{
    put(r, &v, 8);
}

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
    struct perf_event_header h = {.type = type, .misc = misc};

    *r = (struct record){{0}, 0};
    put(r, &h, sizeof(h));
}

static void end(struct record *r, uint64_t time)
{
    uint16_t size;

    put32(r, 11);
    put32(r, 12);
    put64(r, time);
    size = (uint16_t)r->n;
    memcpy(r->bytes + 6, &size, 2);
}

static void mmap2(struct record *r, uint16_t misc, uint32_t prot, const void *identity)
{
    begin(r, PERF_RECORD_MMAP2, misc);
    put32(r, 11);
    put32(r, 12);
    put64(r, 0x400000);
    put64(r, 0x2000);
    put64(r, 0x1000);
    put(r, identity, 24);
    put32(r, prot);
    put32(r, MAP_PRIVATE);
    put(r, "/bin/prog\0\0\0\0\0\0", 16);
    end(r, 77);
}

/* In memory that ends where the record does, for ASan and valgrind to see what goes beyond. */
static void parse_copy(const uint8_t *p, size_t n)
{
    uint8_t *copy = mem_dup(p, n);
    struct perf_record out;

    assert_int_equal(perf_record_parse(copy, n, &out), 0);
    free(copy);
}

static void test_mmap2(void **state)
{
    struct {
        uint32_t maj, min;
        uint64_t ino, generation;
    } inode = {8, 1, 4242, 0};
    uint8_t id[24] = {20, 0, 0, 0, 0xab, 0xcd};
    struct perf_record out;
    struct record r;

    mmap2(&r, 0, PROT_READ | PROT_EXEC, &inode);
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 1);
    assert_int_equal(out.kind, PERF_KIND_MMAP);
    assert_int_equal(out.ts, 77);
    assert_int_equal(out.pid, 11);
    assert_int_equal(out.start, 0x400000);
    assert_int_equal(out.len, 0x2000);
    assert_int_equal(out.pgoff, 0x1000);
    assert_int_equal(out.ino, 4242);
    assert_int_equal(out.dev, makedev(8, 1));
    assert_int_equal(out.build_id_len, 0);
    assert_string_equal(out.path, "/bin/prog");

    mmap2(&r, 1 << 14, PROT_EXEC, id); /* PERF_RECORD_MISC_MMAP_BUILD_ID */
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 1);
    assert_int_equal(out.build_id_len, 20);
    assert_int_equal(out.build_id[1], 0xcd);
    assert_int_equal(out.ino, 0);

    mmap2(&r, 0, PROT_READ, &inode); /* data */
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 0);
    mmap2(&r, 0, PROT_EXEC, &inode);
    for (size_t n = 0; n < r.n - 22; n++) /* cut off before the path's end */
        parse_copy(r.bytes, n);
}

static void test_other_records(void **state)
{
    struct perf_record out;
    struct record r;

    begin(&r, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put32(&r, 11);
    put32(&r, 12);
    put(&r, "prog\0\0\0\0", 8);
    end(&r, 5);
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 1);
    assert_int_equal(out.kind, PERF_KIND_EXEC);
    assert_int_equal(out.pid, 11);
    r.bytes[5] = 0; /* the upper half of misc: only a new name, no exec */
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 0);

    begin(&r, PERF_RECORD_LOST, 0);
    put64(&r, 1);
    put64(&r, 42);
    end(&r, 6);
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 1);
    assert_int_equal(out.kind, PERF_KIND_LOST);
    assert_int_equal(out.lost, 42);

    begin(&r, 999, 0);
    end(&r, 6);
    assert_int_equal(perf_record_parse(r.bytes, r.n, &out), 0);
}

/* ---- text files ---- */

static void test_maps_lines(void **state)
{
    char line[] = "7f0000001000-7f0000003000 r-xp 00001000 08:02 135 /usr/lib/a b.so (deleted)\n";
    char anonymous[] = "7f0000001000-7f0000003000 rw-p 00000000 00:00 0 \n";
    char backwards[] = "3000-1000 r-xp 00000000 00:00 0\n";
    char garbage[] = "no mapping\n";
    struct procfs_map m;
    int exec;

    assert_int_equal(procfs_parse_map(line, &m, &exec), 1);
    assert_int_equal(m.start, 0x7f0000001000);
    assert_int_equal(m.end, 0x7f0000003000);
    assert_int_equal(m.pgoff, 0x1000);
    assert_int_equal(m.ino, 135);
    assert_int_equal(m.dev, makedev(8, 2));
    assert_int_equal(exec, 1);
    assert_string_equal(m.path, "/usr/lib/a b.so (deleted)");
    assert_int_equal(procfs_parse_map(anonymous, &m, &exec), 1);
    assert_int_equal(exec, 0);
    assert_string_equal(m.path, "");
    assert_int_equal(procfs_parse_map(backwards, &m, &exec), 0);
    assert_int_equal(procfs_parse_map(garbage, &m, &exec), 0);
}

static void test_cpus(void **state)
{
    struct cpu_list l = {0};

    assert_int_equal(perf_parse_cpus("0-2,8\n", &l), 0);
    assert_int_equal(l.list.n, 4);
    assert_int_equal(l.list.a[2], 2);
    assert_int_equal(l.list.a[3], 8);
    assert_int_equal(perf_parse_cpus("3-1", &l), -1);
    assert_int_equal(perf_parse_cpus("x", &l), -1);
    assert_int_equal(perf_parse_cpus("1,-1", &l), -1);
    assert_int_equal(perf_parse_cpus("0-99999999", &l), -1);
    assert_int_equal(perf_parse_cpus("1;2", &l), -1);
    vec_release(&l.list);
}

static void test_cpuset(void **state)
{
    struct cpu_list l = {0};
    struct buf b = {0};

    if (procfs_cpuset(getpid(), &b) == 0) { /* where cgroups are mounted in the usual place */
        assert_int_equal(perf_parse_cpus(buf_str(&b), &l), 0);
        assert_true(l.list.n > 0);
    }
    assert_int_equal(procfs_cpuset(-1, &b), -1);
    buf_release(&b);
    vec_release(&l.list);
}

static void test_primes(void **state)
{
    assert_int_equal(perf_next_prime(0), 2);
    assert_int_equal(perf_next_prime(8), 11);
    assert_int_equal(perf_next_prime(9), 11);
    assert_int_equal(perf_next_prime(1001001), 1001003);
    for (uint64_t hz = 1; hz <= 10000; hz *= 10) { /* the period is a thousandth off at most */
        uint64_t want = 1000000000 / hz, p = perf_next_prime(want);

        assert_true(p - want < 1 + want / 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mappings),      cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_known_again),   cmocka_unit_test(test_fork_and_exec),
        cmocka_unit_test(test_slices),        cmocka_unit_test(test_mmap2),
        cmocka_unit_test(test_other_records), cmocka_unit_test(test_maps_lines),
        cmocka_unit_test(test_cpus),          cmocka_unit_test(test_cpuset),
        cmocka_unit_test(test_primes),
    };

    return cmocka_run_group_tests_name("collect: mappings", tests, NULL, NULL);
}
