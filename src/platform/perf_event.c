/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/perf_event.h"

#include "base/io.h"
#include "base/mem.h"
#include "platform/clock.h"
#include "platform/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
    RING_PAGES = 16,    /* a power of two; what 300 libraries loaded at once fill */
    RECORD_MAX = 65536, /* perf_event_header.size has 16 bits */
    TRAILER = 16,       /* sample_id: pid, tid, time */
};

/* From include/uapi/linux/perf_event.h of 5.12 on; older headers lack it. */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

static int perf_open(struct perf_event_attr *a, int cpu)
{
    return (int)syscall(SYS_perf_event_open, a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A CPU's number, and *p behind it. -1: there is none. No machine has a million CPUs. */
static long parse_cpu(const char **p)
{
    char *end;
    unsigned long n;

    if (**p < '0' || **p > '9')
        return -1;
    n = strtoul(*p, &end, 10);
    *p = end;
    return n < 1u << 20 ? (long)n : -1;
}

int perf_parse_cpus(const char *text, struct cpu_list *out)
{
    const char *p = text;

    while (*p && *p != '\n') {
        long from = parse_cpu(&p), to = from;

        if (*p == '-') {
            p++;
            to = parse_cpu(&p);
        }
        if (from < 0 || to < from)
            return -1;
        for (; from <= to; from++)
            *vec_push(&out->list) = (uint32_t)from;
        if (*p != ',')
            return *p && *p != '\n' ? -1 : 0;
        p++;
    }
    return 0;
}

static int read_cpus(const char *path, struct cpu_list *out, struct err *e)
{
    struct buf b = {0};
    int rc = io_read_file(AT_FDCWD, path, &b, e);

    if (!rc && (perf_parse_cpus(buf_str(&b), out) < 0 || !out->list.n))
        rc = err_set(e, "%s: not a list of CPUs", path);
    buf_release(&b);
    return rc;
}

int perf_cpus_online(struct cpu_list *out, struct err *e)
{
    return read_cpus("/sys/devices/system/cpu/online", out, e);
}

uint32_t perf_cpus_possible(void)
{
    struct cpu_list all = {0};
    uint32_t n = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

    if (!read_cpus("/sys/devices/system/cpu/possible", &all, NULL))
        n = all.list.a[all.list.n - 1] + 1;
    vec_release(&all.list);
    return n;
}

int perf_open_own_timer(uint64_t period_ns)
{
    struct perf_event_attr a = {
        .size = sizeof(a),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
    };

    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int perf_keeps_rate(const struct pfm_event *ev)
{
    return ev->time || (ev->type == PERF_TYPE_HARDWARE && (ev->config == PERF_COUNT_HW_CPU_CYCLES ||
                                                           ev->config == PERF_COUNT_HW_REF_CPU_CYCLES ||
                                                           ev->config == PERF_COUNT_HW_INSTRUCTIONS));
}

uint64_t perf_next_prime(uint64_t n)
{
    if (n <= 2)
        return 2;
    for (n |= 1;; n += 2) {
        uint64_t d = 3;

        while (d * d <= n && n % d)
            d += 2;
        if (d * d > n)
            return n;
    }
}

static int cannot_open(struct err *e, int errnum, const char *event, uint32_t cpu)
{
    char what[256];

    if (errnum == ENOENT || errnum == EOPNOTSUPP || errnum == ENODEV)
        return err_set(e,
                       "the event %s cannot be counted here: there is no PMU for it (-e cpu-clock samples by "
                       "time; wprof events lists what there is)",
                       event);
    if (errnum != EPERM && errnum != EACCES && errnum != ENOSYS)
        return err_sys(e, errnum, "open the event %s on CPU %u", event, cpu);
    snprintf(what, sizeof(what), "open the event %s", event);
    return probe_explain(e, errnum, what);
}

int perf_open_sampler(const struct pfm_event *ev, double hz, uint32_t cpu, uint64_t *period, struct err *e)
{
    struct perf_event_attr a = {
        .size = sizeof(a),
        .type = ev->type,
        .config = ev->config,
        .config1 = ev->config1,
        .config2 = ev->config2,
        .exclude_user = ev->exclude_user,
        .exclude_kernel = ev->exclude_kernel,
        .exclude_hv = ev->exclude_hv,
        .exclude_guest = ev->exclude_guest,
        .precise_ip = ev->precise,
        .disabled = 1,
    };
    int fd;

    *period = 0;
    if (ev->time)
        a.sample_period = *period = perf_next_prime((uint64_t)(1e9 / hz));
    else {
        a.freq = 1;
        a.sample_freq = (uint64_t)hz;
    }
    fd = perf_open(&a, (int)cpu);
    if (fd < 0)
        return cannot_open(e, errno, ev->name, cpu);
    return fd;
}

int perf_ring_open(struct perf_ring *r, uint32_t cpu, struct err *e)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr a = {
        .size = sizeof(a),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .exclude_kernel = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = RING_PAGES / 4 * 4096,
    };
    struct clock_ahead ahead;

    clock_ahead_read(&ahead);
    *r = (struct perf_ring){
        .fd = perf_open(&a, (int)cpu), .size = RING_PAGES * page, .ahead = ahead.monotonic};
    if (r->fd < 0)
        return err_sys(e, errno, "open a perf event for mappings on CPU %u", cpu);
    r->base = mmap(NULL, page + r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->base == MAP_FAILED) {
        r->base = NULL;
        err_sys(e, errno, "map a perf ring (sysctl kernel.perf_event_mlock_kb bounds it)");
        perf_ring_close(r);
        return -1;
    }
    r->copy = mem_alloc(RECORD_MAX);
    return 0;
}

void perf_ring_close(struct perf_ring *r)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (r->base)
        munmap(r->base, page + r->size);
    if (r->fd >= 0)
        close(r->fd);
    free(r->copy);
    *r = (struct perf_ring){.fd = -1};
}

/* PERF_RECORD_MMAP2: pid, tid, addr, len, pgoff, 24 bytes of identity, prot, flags, filename. */
static int parse_mmap2(const uint8_t *p, size_t n, uint16_t misc, struct perf_record *out)
{
    struct body {
        uint32_t pid, tid;
        uint64_t addr, len, pgoff;
        union {
            struct {
                uint32_t maj, min;
                uint64_t ino, generation;
            };
            struct {
                uint8_t build_id_size, pad[3];
                uint8_t build_id[20];
            };
        };
        uint32_t prot, flags;
    } b;

    if (n < sizeof(b) + 1 + TRAILER || !memchr(p + sizeof(b), '\0', n - sizeof(b) - TRAILER))
        return 0;
    memcpy(&b, p, sizeof(b));
    if (!(b.prot & PROT_EXEC))
        return 0;
    out->kind = PERF_KIND_MMAP;
    out->pid = b.pid;
    out->tid = b.tid;
    out->start = b.addr;
    out->len = b.len;
    out->pgoff = b.pgoff;
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        out->build_id_len = b.build_id_size > 20 ? 20 : b.build_id_size;
        memcpy(out->build_id, b.build_id, out->build_id_len);
    } else {
        out->dev = makedev(b.maj, b.min);
        out->ino = b.ino;
    }
    out->path = (const char *)p + sizeof(b);
    return 1;
}

int perf_record_parse(const uint8_t *p, size_t n, struct perf_record *out)
{
    struct perf_event_header h;

    *out = (struct perf_record){0};
    if (n < sizeof(h) + TRAILER)
        return 0;
    memcpy(&h, p, sizeof(h));
    memcpy(&out->ts, p + n - 8, 8);
    p += sizeof(h);
    n -= sizeof(h);
    switch (h.type) {
    case PERF_RECORD_MMAP2:
        return parse_mmap2(p, n, h.misc, out);
    case PERF_RECORD_COMM:
        if (!(h.misc & PERF_RECORD_MISC_COMM_EXEC) || n < 8)
            return 0;
        out->kind = PERF_KIND_EXEC;
        memcpy(&out->pid, p, 4);
        memcpy(&out->tid, p + 4, 4);
        return 1;
    case PERF_RECORD_LOST: /* id, lost */
        if (n < 16)
            return 0;
        out->kind = PERF_KIND_LOST;
        memcpy(&out->lost, p + 8, 8);
        return 1;
    default:
        return 0;
    }
}

const uint8_t *perf_ring_raw(struct perf_ring *r, size_t *n)
{
    struct perf_event_mmap_page *meta = (struct perf_event_mmap_page *)r->base;
    const uint8_t *data = r->base + sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&meta->data_head, __ATOMIC_ACQUIRE);
    size_t at = r->tail & (r->size - 1);
    struct perf_event_header h = {0};

    *n = 0;
    if (r->tail < head)
        memcpy(&h, data + at, sizeof(h)); /* records are 8-byte aligned: a header never wraps */
    if (r->tail < head && h.size < sizeof(h))
        r->tail = head; /* not ours to make sense of: skip what is there */
    else if (r->tail < head) {
        size_t first = at + h.size > r->size ? r->size - at : h.size;

        /* Copied, since the kernel may reuse the place once the tail has moved. */
        memcpy(r->copy, data + at, first);
        memcpy(r->copy + first, data, h.size - first);
        r->tail += h.size;
        *n = h.size;
    }
    __atomic_store_n(&meta->data_tail, r->tail, __ATOMIC_RELEASE);
    return *n ? r->copy : NULL;
}

int perf_ring_next(struct perf_ring *r, struct perf_record *out)
{
    const uint8_t *p;
    size_t n;

    while ((p = perf_ring_raw(r, &n)))
        if (perf_record_parse(p, n, out)) {
            out->ts += (uint64_t)r->ahead;
            return 1;
        }
    return 0;
}
