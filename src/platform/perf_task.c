/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/perf_task.h"

#include "base/mem.h"
#include "platform/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RECORD_MAX = 65536,
    TRAILER = 16, /* sample_id: pid, tid, time */
    /*
     * Pages of a ring. An ordinary user gets what sysctl kernel.perf_event_mlock_kb allows, 516 by default,
     * which counts for each CPU: 512 KiB and the page before them, 30 samples with 16 KiB of stack. Who may
     * have more (CAP_IPC_LOCK) takes it: threads that begin by the hundred fill that before we get a CPU
     * ourselves.
     */
    RING_PAGES = 128,
    RING_PAGES_MIN = 16,
    RING_PAGES_MAX = 1024,
    ALL_PAGES_MAX = 16384, /* of all rings: 64 MiB */
};

/* Registers by number, arch/x86/include/uapi/asm/perf_regs.h. Samples have them in rising order. */
enum { REG_BP = 6, REG_SP = 7, REG_IP = 8, REG_R10 = 18, REG_R13 = 21 };

#define REGS (1ull << REG_BP | 1ull << REG_SP | 1ull << REG_IP | 1ull << REG_R10 | 1ull << REG_R13)
enum { REGS_N = 5 };

/* More of the stack where there are few samples: what crosses is some 6 MB a second and CPU at most. */
static uint32_t stack_bytes(uint64_t hz)
{
    return hz <= 250 ? 32768 : hz <= 1000 ? 16384 : 8192;
}

int perf_task_init(struct perf_task *t, const struct pfm_event *ev, uint64_t hz, struct err *e)
{
    struct cpu_list cpus = {0};
    struct clock_ahead ahead;

    clock_ahead_read(&ahead);
    *t = (struct perf_task){.event = *ev,
                            .frequency = hz,
                            .stack_bytes = stack_bytes(hz),
                            .kernel = !ev->exclude_kernel,
                            .ahead = ahead.monotonic};
    if (ev->time)
        t->period = perf_next_prime(1000000000u / hz);
    if (perf_cpus_online(&cpus, e) < 0)
        return -1;
    for (size_t i = 0; i < cpus.list.n; i++)
        *vec_push(&t->cpus) = cpus.list.a[i];
    vec_release(&cpus.list);
    return 0;
}

void perf_task_release(struct perf_task *t)
{
    for (size_t i = 0; i < t->fds.n; i++)
        close(t->fds.a[i]);
    for (size_t i = 0; i < t->rings.n; i++)
        perf_ring_close(&t->rings.a[i]);
    vec_release(&t->fds);
    vec_release(&t->rings);
    vec_release(&t->cpus);
}

static int open_event(const struct perf_task *t, pid_t tid, uint32_t cpu, int kernel)
{
    const struct pfm_event *ev = &t->event;
    struct perf_event_attr a = {
        .size = sizeof(a),
        .type = ev->type,
        .config = ev->config,
        .config1 = ev->config1,
        .config2 = ev->config2,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                       (kernel ? PERF_SAMPLE_CALLCHAIN : 0),
        .sample_regs_user = REGS,
        .sample_stack_user = t->stack_bytes,
        .exclude_callchain_user = 1,
        .exclude_user = ev->exclude_user,
        .exclude_kernel = !kernel,
        .exclude_hv = !kernel || ev->exclude_hv,
        .exclude_guest = ev->exclude_guest,
        .disabled = 1,
        .inherit = 1,
        .sample_id_all = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .context_switch = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .wakeup_events = 1, /* Python's part is read from outside, while it is fresh */
    };

    if (t->period)
        a.sample_period = t->period;
    else {
        a.freq = 1;
        a.sample_freq = t->frequency;
    }
    return (int)syscall(SYS_perf_event_open, &a, tid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A power of two. */
static size_t most_pages(const struct perf_task *t)
{
    size_t pages = RING_PAGES_MAX;

    while (pages > RING_PAGES && pages * t->cpus.n > ALL_PAGES_MAX)
        pages /= 2;
    return pages;
}

static int map_ring(struct perf_task *t, int fd, struct err *e)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_ring r = {.fd = fd};

    for (size_t pages = most_pages(t); pages >= RING_PAGES_MIN; pages /= 2) {
        r.size = pages * page;
        r.base = mmap(NULL, page + r.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (r.base == MAP_FAILED)
            continue;
        r.copy = mem_alloc(RECORD_MAX);
        *vec_push(&t->rings) = r;
        return 0;
    }
    err_sys(e, errno, "map a perf ring (sysctl kernel.perf_event_mlock_kb bounds it)");
    close(fd);
    return -1;
}

int perf_task_add(struct perf_task *t, pid_t tid, struct err *e)
{
    for (size_t i = 0; i < t->cpus.n; i++) {
        int fd = open_event(t, tid, t->cpus.a[i], t->kernel);

        if (fd < 0 && t->kernel && (errno == EACCES || errno == EPERM)) {
            t->kernel = 0;
            if (i || t->rings.n)
                return err_sys(e, EACCES, "open the event %s", t->event.name);
            fd = open_event(t, tid, t->cpus.a[i], 0);
        }
        if (fd < 0)
            return err_sys(e, errno, "open the event %s on thread %d", t->event.name, (int)tid);
        if (i == t->rings.n) {
            if (map_ring(t, fd, e) < 0)
                return -1;
            continue;
        }
        *vec_push(&t->fds) = fd;
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, t->rings.a[i].fd) < 0)
            return err_sys(e, errno, "share a perf ring");
    }
    return 0;
}

void perf_task_enable(struct perf_task *t, int on)
{
    unsigned long how = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

    for (size_t i = 0; i < t->rings.n; i++)
        ioctl(t->rings.a[i].fd, how, 0);
    for (size_t i = 0; i < t->fds.n; i++)
        ioctl(t->fds.a[i], how, 0);
}

/* ---- records ---- */

struct bytes {
    const uint8_t *p;
    size_t n;
};

static int take(struct bytes *b, void *out, size_t n)
{
    if (b->n < n)
        return -1;
    memcpy(out, b->p, n);
    b->p += n;
    b->n -= n;
    return 0;
}

/* nr, then addresses, of which those above PERF_CONTEXT_MAX only say whose the next ones are. */
static int take_kernel(struct bytes *b, struct perf_task_sample *s)
{
    uint64_t n;

    if (take(b, &n, 8) || n > b->n / 8)
        return -1;
    s->kernel = (const uint64_t *)b->p;
    s->kernel_n = (uint32_t)n;
    if (n && s->kernel[0] >= PERF_CONTEXT_MAX) {
        s->kernel++;
        s->kernel_n--;
    }
    b->p += n * 8;
    b->n -= n * 8;
    return 0;
}

static int take_regs(struct bytes *b, struct perf_task_sample *s)
{
    uint64_t abi, r[REGS_N];

    if (take(b, &abi, 8))
        return -1;
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return 0;
    if (take(b, r, sizeof(r)))
        return -1;
    s->has_user = abi == PERF_SAMPLE_REGS_ABI_64;
    s->regs = (struct walk_regs){.bp = r[0], .sp = r[1], .ip = r[2], .r10 = r[3], .r13 = r[4]};
    return 0;
}

static int take_stack(struct bytes *b, struct perf_task_sample *s)
{
    uint64_t n, used;

    if (take(b, &n, 8))
        return -1;
    if (!n)
        return 0;
    if (n > b->n || b->n - n < 8)
        return -1;
    memcpy(&used, b->p + n, 8);
    s->stack = b->p;
    s->stack_n = (uint32_t)(used < n ? used : n);
    return 0;
}

static int parse_sample(const struct perf_task *t, struct bytes b, uint16_t misc,
                        struct perf_task_record *out)
{
    struct perf_task_sample *s = &out->sample;

    if (take(&b, &out->pid, 4) || take(&b, &out->tid, 4) || take(&b, &out->ts, 8) ||
        (t->kernel && take_kernel(&b, s)) || take_regs(&b, s) || take_stack(&b, s))
        return 0;
    s->user = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
    if (s->user)
        s->kernel_n = 0;
    out->kind = PERF_TASK_SAMPLE;
    return 1;
}

static int parse_switch(uint16_t misc, struct perf_task_record *out)
{
    out->kind = !(misc & PERF_RECORD_MISC_SWITCH_OUT)          ? PERF_TASK_IN
                : (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) ? PERF_TASK_TAKEN
                                                               : PERF_TASK_OUT;
    return 1;
}

/* pid, ppid, tid, ptid, time */
static int parse_birth(struct bytes b, enum perf_task_kind kind, struct perf_task_record *out)
{
    if (take(&b, &out->pid, 4) || take(&b, &out->ppid, 4) || take(&b, &out->tid, 4) ||
        take(&b, &out->ptid, 4))
        return 0;
    out->kind = kind;
    return 1;
}

/* pid, tid, the name */
static int parse_comm(struct bytes b, struct perf_task_record *out)
{
    if (take(&b, &out->pid, 4) || take(&b, &out->tid, 4) || b.n < TRAILER + 1 ||
        !memchr(b.p, '\0', b.n - TRAILER))
        return 0;
    out->name = (const char *)b.p;
    out->kind = PERF_TASK_COMM;
    return 1;
}

static int parse_record(const struct perf_task *t, const uint8_t *p, size_t n, struct perf_task_record *out)
{
    struct perf_event_header h;
    struct bytes b = {p + sizeof(h), n - sizeof(h)};

    *out = (struct perf_task_record){0};
    if (n < sizeof(h) + TRAILER)
        return 0;
    memcpy(&h, p, sizeof(h));
    if (h.type == PERF_RECORD_SAMPLE)
        return parse_sample(t, b, h.misc, out);
    memcpy(&out->pid, p + n - TRAILER, 4);
    memcpy(&out->tid, p + n - TRAILER + 4, 4);
    memcpy(&out->ts, p + n - TRAILER + 8, 8);
    if (h.type == PERF_RECORD_SWITCH)
        return parse_switch(h.misc, out);
    if (h.type == PERF_RECORD_FORK)
        return parse_birth(b, PERF_TASK_FORK, out);
    if (h.type == PERF_RECORD_EXIT)
        return parse_birth(b, PERF_TASK_EXIT, out);
    if (perf_record_parse(p, n, &out->code)) {
        if (h.type == PERF_RECORD_COMM && !parse_comm(b, out)) /* both: a new image and its name */
            return 0;
        out->kind = PERF_TASK_CODE;
        return 1;
    }
    if (h.type == PERF_RECORD_COMM)
        return parse_comm(b, out);
    if (h.type == PERF_RECORD_LOST_SAMPLES) {
        out->kind = PERF_TASK_CODE;
        out->code = (struct perf_record){.kind = PERF_KIND_LOST, .ts = out->ts};
        return !take(&b, &out->code.lost, 8);
    }
    return 0;
}

int perf_task_parse(const struct perf_task *t, const uint8_t *p, size_t n, struct perf_task_record *out)
{
    if (!parse_record(t, p, n, out))
        return 0;
    out->ts += (uint64_t)t->ahead;
    out->code.ts += (uint64_t)t->ahead;
    return 1;
}
