/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to record, and what hinders each: the first reason that would have to go. */
#include "platform/probe_judge.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void verdict(struct probe_tier *t, enum probe_state state, char *why, char *grant)
{
    t->state = state;
    t->why = why;
    t->grant = grant;
}

static void untried(struct probe_tier *t)
{
    verdict(t, PROBE_UNKNOWN, mem_strdup("the kernel's answers are not known"), NULL);
}

/* ---- A ---- */

static const enum probe_call needed_by_a[] = {PROBE_bpf_load,   PROBE_bpf_ringbuf, PROBE_bpf_loop,
                                              PROBE_bpf_kernel, PROBE_bpf_tracing, PROBE_perf_cpu,
                                              PROBE_bpf_perf};

static enum probe_call first_refused(const struct probe_view *v, const enum probe_call *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!probe_ok(v->calls, calls[i]))
            return calls[i];
    return PROBE_CALLS;
}

static void a_works(struct probe_tier *t, const struct probe_view *v)
{
    char missing[256];

    if (caps_missing(probe_capabilities(v), missing, sizeof(missing)))
        verdict(t, PROBE_LIMITED,
                mem_printf("native, Python and kernel stacks; less of it without %s", missing),
                probe_grant_capabilities(v));
    else
        verdict(t, PROBE_OK, mem_strdup("native, Python and kernel stacks of any process"), NULL);
}

static void a_lacks_capabilities(struct probe_tier *t, const struct probe_view *v)
{
    char missing[256];

    if (v->facts->self.in_userns == 1) {
        verdict(t, PROBE_NO,
                mem_strdup("the capabilities of a user namespace do not count for BPF and perf events"),
                probe_grant_root(v));
        return;
    }
    caps_missing(probe_capabilities(v), missing, sizeof(missing));
    verdict(t, PROBE_NO, mem_printf("missing %s", missing), probe_grant_root(v));
}

/* Debian's and Ubuntu's kernels refuse all events above a level of paranoia to who lacks CAP_SYS_ADMIN. */
static void a_paranoid(struct probe_tier *t, const struct probe_view *v)
{
    verdict(
        t, PROBE_NO,
        mem_printf("perf_event_paranoid %ld refuses events even with CAP_PERFMON", v->facts->sysctl.paranoid),
        probe_grant_sysctl(v, "kernel.perf_event_paranoid", 2));
}

static void judge_a(struct probe_tier *t, const struct probe_view *v)
{
    const struct probe_kernel *k = &v->facts->kernel;
    enum probe_call first = first_refused(v, needed_by_a, ARRAY_SIZE(needed_by_a));
    uint64_t have = probe_capabilities(v);

    if (first == PROBE_CALLS)
        a_works(t, v);
    else if (v->calls->answers[PROBE_bpf_load] == PROBE_UNTRIED)
        untried(t);
    else if (v->facts->place.wsl == 1)
        verdict(t, PROBE_NO, mem_strdup("WSL 1 has no Linux kernel"), mem_strdup(PROBE_GRANT_WSL2));
    else if (v->calls->answers[PROBE_bpf_load] == ENOSYS && !probe_filtered_bpf(v))
        verdict(t, PROBE_NO, mem_strdup("this kernel has no bpf(2)"),
                mem_strdup("boot a kernel built with CONFIG_BPF_SYSCALL=y"));
    else if (k->btf_bytes == PROBE_ABSENT)
        verdict(t, PROBE_NO,
                mem_printf("kernel %s has no type information, /sys/kernel/btf/vmlinux",
                           k->release ? k->release : ""),
                mem_strdup("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y"));
    else if (!caps_has(have, CAPS_BPF) || !caps_has(have, CAPS_PERFMON))
        a_lacks_capabilities(t, v);
    else if (probe_filtered_bpf(v) || probe_filtered_perf(v))
        verdict(
            t, PROBE_NO,
            mem_printf("a seccomp filter stops %s", probe_filtered_bpf(v) ? "bpf(2)" : "perf_event_open(2)"),
            probe_grant_seccomp(v));
    else if (first == PROBE_bpf_loop)
        verdict(t, PROBE_NO, mem_printf("kernel %s has no bpf_loop", k->release ? k->release : ""),
                mem_strdup("boot a kernel of 5.17 or newer"));
    else if (first == PROBE_bpf_kernel)
        verdict(t, PROBE_NO,
                mem_printf("BPF may not read the kernel's memory (lockdown is %s)",
                           k->lockdown ? k->lockdown : "unknown"),
                mem_strdup("boot with lockdown=integrity on the kernel's command line"));
    else if (first == PROBE_perf_cpu && v->facts->sysctl.paranoid > 2)
        a_paranoid(t, v);
    else
        verdict(t, PROBE_NO, mem_printf("%s gives %s", probe_call_name(first), probe_word(v, first)), NULL);
}

char *probe_grant_tier_a(const struct probe_view *v)
{
    struct probe_tier a = {0};

    judge_a(&a, v);
    free(a.why);
    return a.grant;
}

/* ---- B ---- */

static void judge_b(struct probe_tier *t, const struct probe_view *v)
{
    const struct probe_calls *c = v->calls;
    int memory = c->answers[PROBE_memory_child] == PROBE_UNTRIED || probe_ok(c, PROBE_memory_child);

    if (c->answers[PROBE_perf_child] == PROBE_UNTRIED)
        untried(t);
    else if (probe_ok(c, PROBE_perf_child) && !probe_ok(c, PROBE_perf_ring))
        verdict(t, PROBE_NO, mem_printf("a perf ring can't be mapped: %s", probe_word(v, PROBE_perf_ring)),
                probe_grant_sysctl(v, "kernel.perf_event_mlock_kb", 2048));
    else if (probe_ok(c, PROBE_perf_child) && probe_ok(c, PROBE_perf_child_kernel))
        verdict(t, memory ? PROBE_OK : PROBE_LIMITED,
                mem_strdup(memory ? "native, Python and kernel stacks of the command"
                                  : "native and kernel stacks of the command, without Python's names"),
                NULL);
    else if (probe_ok(c, PROBE_perf_child))
        verdict(t, PROBE_LIMITED,
                mem_strdup(memory ? "native and Python stacks of the command, without kernel frames"
                                  : "native stacks of the command, without Python's names and kernel frames"),
                probe_grant_sysctl(v, "kernel.perf_event_paranoid", 1));
    else if (probe_filtered_perf(v))
        verdict(t, PROBE_NO, mem_strdup("a seccomp filter stops perf_event_open(2)"), probe_grant_seccomp(v));
    else if (c->answers[PROBE_perf_child] == ENOSYS)
        verdict(t, PROBE_NO, mem_strdup("this kernel has no perf events"), NULL);
    else if (v->facts->sysctl.paranoid != PROBE_ABSENT)
        verdict(t, PROBE_NO,
                mem_printf("perf_event_paranoid %ld: %s", v->facts->sysctl.paranoid,
                           probe_word(v, PROBE_perf_child)),
                probe_grant_sysctl(v, "kernel.perf_event_paranoid", 2));
    else
        verdict(t, PROBE_NO, mem_printf("perf_event_open gives %s", probe_word(v, PROBE_perf_child)), NULL);
}

/* ---- C ---- */

static void judge_c(struct probe_tier *t, const struct probe_view *v)
{
    const struct probe_calls *c = v->calls;

    if (c->answers[PROBE_memory_child] == PROBE_UNTRIED)
        untried(t);
    else if (probe_ok(c, PROBE_memory_child))
        verdict(t, PROBE_LIMITED,
                mem_printf("Python stacks and what threads wait for, by looking from outside%s",
                           probe_ok(c, PROBE_proc_syscall) ? "" : "; not where blocked threads are"),
                NULL);
    else if (probe_filtered_memory(v))
        verdict(t, PROBE_NO, mem_strdup("a seccomp filter stops process_vm_readv(2)"),
                probe_grant_seccomp(v));
    else if (c->answers[PROBE_memory_child] == ENOSYS)
        verdict(t, PROBE_NO, mem_strdup("this kernel has no process_vm_readv"),
                mem_strdup(PROBE_GRANT_ATTACH));
    else
        verdict(t, PROBE_NO,
                mem_printf("process_vm_readv of an own child gives %s", probe_word(v, PROBE_memory_child)),
                v->facts->sysctl.ptrace_scope == 2   ? probe_grant_sysctl(v, "kernel.yama.ptrace_scope", 1)
                : v->facts->sysctl.ptrace_scope == 3 ? mem_strdup("reboot: ptrace_scope 3 stays until then")
                                                     : probe_grant_root(v));
}

static const struct {
    char letter;
    const char *name;
    enum probe_part part;
    void (*judge)(struct probe_tier *t, const struct probe_view *v);
} tiers_known[PROBE_TIERS] = {
    {'A', "BPF", PROBE_PART_tier_a, judge_a},
    {'B', "perf events", PROBE_PART_tier_b, judge_b},
    {'C', "from outside", PROBE_PART_tier_c, judge_c},
};

void probe_judge_tiers(struct probe_tier tiers[PROBE_TIERS], const struct probe_view *v)
{
    for (size_t i = 0; i < PROBE_TIERS; i++) {
        tiers[i] = (struct probe_tier){.letter = tiers_known[i].letter,
                                       .name = tiers_known[i].name,
                                       .in_build = probe_part(tiers_known[i].part)};
        tiers_known[i].judge(&tiers[i], v);
    }
}
