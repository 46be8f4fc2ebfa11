/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2) as tiers A and B use it. */
#include "base/mem.h"
#include "platform/perf_event.h"
#include "platform/probe_calls.h"
#include "platform/probe_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RING_PAGES = 16,
    STACK_BYTES = 8192,
    PERIOD = 1000000007, /* ns: about one sample a second, if it were enabled */
};

/* All general registers, as perf takes them for unwinding (arch/x86/include/uapi/asm/perf_regs.h). */
#if defined(__x86_64__)
#define USER_REGS 0xff0fffULL
#elif defined(__aarch64__)
#define USER_REGS 0x1ffffffffULL
#else
#define USER_REGS 0ULL
#endif

static int sys_open(struct perf_event_attr *a, pid_t pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int first_cpu(void)
{
    struct cpu_list l = {0};
    int cpu = perf_cpus_online(&l, NULL) ? 0 : (int)l.list.a[0];

    vec_release(&l.list);
    return cpu;
}

static struct perf_event_attr clock_attr(void)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = PERIOD,
        .disabled = 1,
    };
}

/* Tier B's: samples with registers and a copy of the stack, switches, mappings, names. */
static int open_process(pid_t pid, int with_kernel)
{
    struct perf_event_attr a = clock_attr();

    a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = STACK_BYTES;
    if (USER_REGS) {
        a.sample_type |= PERF_SAMPLE_REGS_USER;
        a.sample_regs_user = USER_REGS;
    }
    a.exclude_kernel = !with_kernel;
    a.exclude_hv = !with_kernel;
    a.inherit = a.mmap = a.mmap2 = a.comm = a.task = a.context_switch = a.sample_id_all = 1;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    return sys_open(&a, pid, first_cpu());
}

static int open_child(int with_kernel, int with_ring)
{
    size_t size = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    struct probe_target t;
    int fd, errnum = probe_target_start(&t);

    if (errnum)
        return errnum;
    fd = open_process(t.pid, with_kernel);
    if (fd < 0 || (with_ring && mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED))
        errnum = errno;
    probe_target_end(&t);
    return errnum;
}

int probe_call_perf_child(pid_t sibling)
{
    return open_child(0, 0);
}

int probe_call_perf_child_kernel(pid_t sibling)
{
    return open_child(1, 0);
}

int probe_call_perf_ring(pid_t sibling)
{
    return open_child(0, 1);
}

int probe_call_perf_other(pid_t sibling)
{
    if (sibling < 0)
        return PROBE_UNTRIED;
    return open_process(sibling, 0) < 0 ? errno : 0;
}

int probe_perf_open_cpu(void)
{
    struct perf_event_attr a = clock_attr();

    return sys_open(&a, -1, first_cpu());
}

int probe_call_perf_cpu(pid_t sibling)
{
    return probe_perf_open_cpu() < 0 ? errno : 0;
}

int probe_call_perf_hardware(pid_t sibling)
{
    struct pfm_event ev;
    int errnum = 0;

    if (pfm_encode("cycles", &ev, NULL)) /* without libpfm4: the kernel's own number of it */
        ev = (struct pfm_event){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
    return pfm_probe(&ev, &errnum) == PFM_OPENS_NO ? errnum : 0;
}

/* Unknown flags are refused with EINVAL before privileges are looked at. */
int probe_call_filter_perf(pid_t sibling)
{
    struct perf_event_attr a = clock_attr();

    if (syscall(SYS_perf_event_open, &a, 0, -1, -1, ~0UL) >= 0)
        return 0;
    return errno == EINVAL ? 0 : errno;
}
