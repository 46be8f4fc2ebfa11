/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel and what it allows this process. */
#include "platform/probe_judge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- questions ---- */

uint64_t probe_capabilities(const struct probe_view *v)
{
    return v->facts->self.in_userns == 1 ? 0 : v->facts->self.effective;
}

static int filter_on(const struct probe_view *v)
{
    return v->facts->self.seccomp > 0;
}

static int not_there(const struct probe_view *v, enum probe_call c)
{
    return v->calls->answers[c] == ENOSYS || v->calls->answers[c] == PROBE_KILLED;
}

/* EPERM may be the kernel's own answer to who lacks the capability. */
int probe_filtered_bpf(const struct probe_view *v)
{
    return filter_on(v) && (not_there(v, PROBE_filter_bpf) || (probe_refused(v->calls, PROBE_filter_bpf) &&
                                                               caps_has(probe_capabilities(v), CAPS_BPF)));
}

int probe_filtered_perf(const struct probe_view *v)
{
    return filter_on(v) && probe_refused(v->calls, PROBE_filter_perf);
}

int probe_filtered_memory(const struct probe_view *v)
{
    return filter_on(v) && probe_refused(v->calls, PROBE_filter_memory);
}

const char *probe_word(const struct probe_view *v, enum probe_call c)
{
    const char *s = probe_answer_name(v->calls->answers[c]);

    return s ? s : "not tried";
}

/* ---- the kernel ---- */

void probe_judge_kernel(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_kernel *k = &v->facts->kernel;

    it->seen = mem_printf("%s%s%s", k->release ? k->release : "release unknown",
                          k->config ? ", configuration in " : "",
                          k->config              ? k->config
                          : k->compressed_config ? ", configuration in /proc/config.gz (not read)"
                                                 : "");
    if (v->facts->place.wsl == 1) {
        it->state = PROBE_NO;
        it->costs = mem_strdup("WSL 1 has no Linux kernel: no perf_event_open, no BPF");
        it->grant = mem_strdup(PROBE_GRANT_WSL2);
    } else if (probe_ok(v->calls, PROBE_bpf_load) && v->calls->answers[PROBE_bpf_loop] == ENOSYS) {
        it->state = PROBE_LIMITED;
        it->costs = mem_strdup("no tier A: its stack walk needs bpf_loop, which came with 5.17");
        it->grant = mem_strdup("boot a kernel of 5.17 or newer");
    } else {
        it->state = k->release ? PROBE_OK : PROBE_UNKNOWN;
    }
}

void probe_judge_btf(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_kernel *k = &v->facts->kernel;
    char size[32];

    if (k->btf_bytes != PROBE_ABSENT) {
        it->state = PROBE_OK;
        it->seen =
            mem_printf("/sys/kernel/btf/vmlinux, %s", units_size(size, sizeof(size), (uint64_t)k->btf_bytes));
        return;
    }
    it->state = PROBE_NO;
    it->seen =
        mem_printf("no /sys/kernel/btf/vmlinux%s%s", k->no_btf ? ": " : "", k->no_btf ? k->no_btf : "");
    it->costs = mem_strdup("no tier A: BPF finds the kernel's structures by its type information");
    it->grant = mem_strdup("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
}

void probe_judge_lockdown(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_kernel *k = &v->facts->kernel;

    if (!k->lockdown) {
        it->state = k->lsm_files ? PROBE_OK : PROBE_UNKNOWN;
        it->seen = mem_strdup(k->lsm_files ? "not in this kernel" : "/sys/kernel/security is not mounted");
        return;
    }
    it->seen = mem_strdup(k->lockdown);
    if (strcmp(k->lockdown, "confidentiality"))
        return;
    it->state = probe_ok(v->calls, PROBE_bpf_kernel) ? PROBE_OK : PROBE_NO;
    if (it->state == PROBE_OK)
        return;
    it->costs = mem_strdup("no tier A: BPF may not read the kernel's memory");
    it->grant = mem_strdup("boot with lockdown=integrity on the kernel's command line");
}

/* ---- privileges ---- */

void probe_judge_capabilities(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_self *s = &v->facts->self;
    uint64_t have = probe_capabilities(v);
    char missing[256];
    int n = caps_missing(have, missing, sizeof(missing));
    struct buf seen = {0};

    if (!s->known) {
        it->state = PROBE_UNKNOWN;
        it->seen = mem_strdup("/proc/self/status is not readable");
        return;
    }
    if (s->uid != PROBE_ABSENT)
        buf_addf(&seen, "user %ld, ", s->uid);
    if (!n)
        buf_addstr(&seen, "all that recording takes");
    else if (s->in_userns == 1 && s->effective)
        buf_addstr(&seen, "those of a user namespace do not count here");
    else
        buf_addf(&seen, "without %s", missing);
    if (s->no_new_privs == 1)
        buf_addstr(&seen, "; no_new_privs is set");
    it->seen = buf_detach(&seen);
    if (!n)
        return;
    if (!caps_has(have, CAPS_BPF) || !caps_has(have, CAPS_PERFMON)) {
        it->state = PROBE_NO;
        it->costs = mem_strdup("no tier A");
    } else {
        it->state = PROBE_LIMITED;
        it->costs = mem_printf(
            "%s%s%s",
            caps_has(have, CAPS_PTRACE) ? "" : "Python names and libraries of other users' processes; ",
            caps_has(have, CAPS_SYSLOG) ? "" : "names of kernel functions; ",
            caps_has(have, CAPS_RESTORE) ? "" : "symbols of deleted files; ");
        it->costs[strlen(it->costs) - 2] = '\0';
    }
    it->grant = probe_grant_capabilities(v);
}

static const char *tells(const struct probe_view *v, enum probe_call c)
{
    return probe_ok(v->calls, c) ? "yes" : probe_word(v, c);
}

static const enum probe_call bpf_calls[] = {PROBE_bpf_load, PROBE_bpf_perf, PROBE_bpf_tracing,
                                            PROBE_bpf_ringbuf};

void probe_judge_bpf(struct probe_item *it, const struct probe_view *v)
{
    size_t good = 0, tried = 0;

    for (size_t i = 0; i < ARRAY_SIZE(bpf_calls); i++) {
        good += (size_t)probe_ok(v->calls, bpf_calls[i]);
        tried += v->calls->answers[bpf_calls[i]] != PROBE_UNTRIED;
    }
    it->state = !tried ? PROBE_UNKNOWN : good == ARRAY_SIZE(bpf_calls) ? PROBE_OK : PROBE_NO;
    it->seen = mem_printf("a program loads: %s, on a perf event: %s, on a tracepoint: %s, a ring: %s",
                          tells(v, PROBE_bpf_load), tells(v, PROBE_bpf_perf), tells(v, PROBE_bpf_tracing),
                          tells(v, PROBE_bpf_ringbuf));
    if (it->state != PROBE_NO)
        return;
    it->costs = mem_strdup("no tier A");
    it->grant = probe_grant_tier_a(v);
}

/* ---- perf events ---- */

static char *paranoid_text(const struct probe_view *v)
{
    long n = v->facts->sysctl.paranoid;

    return n == PROBE_ABSENT ? mem_strdup("perf_event_paranoid: no such file")
                             : mem_printf("perf_event_paranoid %ld", n);
}

void probe_judge_perf(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_calls *c = v->calls;
    char *paranoid = paranoid_text(v);

    it->seen = mem_printf("%s; own child: %s, with its kernel side: %s, another process: %s, a whole CPU: %s",
                          paranoid, tells(v, PROBE_perf_child), tells(v, PROBE_perf_child_kernel),
                          tells(v, PROBE_perf_other), tells(v, PROBE_perf_cpu));
    free(paranoid);
    if (c->answers[PROBE_perf_child] == PROBE_UNTRIED) {
        it->state = PROBE_UNKNOWN;
    } else if (probe_ok(c, PROBE_perf_child)) {
        it->state = probe_ok(c, PROBE_perf_cpu) ? PROBE_OK : PROBE_LIMITED;
        if (it->state == PROBE_OK)
            return;
        it->costs = mem_printf("the whole machine (-a)%s",
                               probe_ok(c, PROBE_perf_child_kernel) ? "" : ", and kernel frames");
        it->grant = probe_grant_root(v);
    } else {
        it->state = PROBE_NO;
        it->costs = mem_strdup("no tiers A and B");
        it->grant = probe_filtered_perf(v) ? probe_grant_seccomp(v)
                    : c->answers[PROBE_perf_child] == ENOSYS
                        ? mem_strdup("boot a kernel built with CONFIG_PERF_EVENTS=y")
                    : v->facts->sysctl.paranoid != PROBE_ABSENT
                        ? probe_grant_sysctl(v, "kernel.perf_event_paranoid", 2)
                        : probe_grant_root(v);
    }
}

/* ---- memory of processes ---- */

static char *scope_text(const struct probe_view *v)
{
    static const char *const meanings[] = {"any process of the same user", "own children only",
                                           "CAP_SYS_PTRACE only", "nobody"};
    long n = v->facts->sysctl.ptrace_scope;

    if (n == PROBE_ABSENT)
        return mem_strdup("no Yama");
    return mem_printf("ptrace_scope %ld%s%s%s", n, n >= 0 && n <= 3 ? " (" : "",
                      n >= 0 && n <= 3 ? meanings[n] : "", n >= 0 && n <= 3 ? ")" : "");
}

void probe_judge_memory(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_calls *c = v->calls;
    char *scope = scope_text(v);

    it->seen = mem_printf(
        "%s; process_vm_readv of an own child: %s, of another process: %s, of another user's: %s", scope,
        tells(v, PROBE_memory_child), tells(v, PROBE_memory_other), tells(v, PROBE_memory_user));
    free(scope);
    if (c->answers[PROBE_memory_child] == PROBE_UNTRIED) {
        it->state = PROBE_UNKNOWN;
    } else if (!probe_ok(c, PROBE_memory_child)) {
        it->state = PROBE_NO;
        it->costs = mem_strdup("no tier C, and no Python names in tier B");
        it->grant =
            probe_filtered_memory(v)                   ? probe_grant_seccomp(v)
            : c->answers[PROBE_memory_child] == ENOSYS ? mem_strdup(PROBE_GRANT_ATTACH)
            : v->facts->sysctl.ptrace_scope == 3       ? mem_strdup("reboot: ptrace_scope 3 stays until then")
            : v->facts->sysctl.ptrace_scope == 2       ? probe_grant_sysctl(v, "kernel.yama.ptrace_scope", 1)
                                                       : probe_grant_root(v);
    } else if (probe_refused(c, PROBE_memory_other)) {
        it->state = PROBE_LIMITED;
        it->costs = mem_strdup("with -p, Python names of processes that wprof did not start");
        it->grant = v->facts->sysctl.ptrace_scope >= 1 ? probe_grant_sysctl(v, "kernel.yama.ptrace_scope", 0)
                                                       : probe_grant_root(v);
    }
}

/* ---- seccomp ---- */

/* The words of three that are there: "LEAD a, b". Owned. */
static char *list(const char *lead, const char *const words[3])
{
    const char *between = " ";
    struct buf b = {0};

    buf_addstr(&b, lead);
    for (size_t i = 0; i < 3; i++)
        if (words[i]) {
            buf_addf(&b, "%s%s", between, words[i]);
            between = ", ";
        }
    return buf_detach(&b);
}

void probe_judge_seccomp(struct probe_item *it, const struct probe_view *v)
{
    long mode = v->facts->self.seccomp;
    int bpf = probe_filtered_bpf(v), perf = probe_filtered_perf(v), memory = probe_filtered_memory(v);

    if (mode == PROBE_ABSENT || mode == 0) {
        it->state = mode == 0 ? PROBE_OK : PROBE_UNKNOWN;
        it->seen = mem_strdup(mode == 0 ? "off" : "not told by /proc/self/status");
        return;
    }
    if (v->calls->answers[PROBE_filter_perf] == PROBE_UNTRIED) {
        it->state = PROBE_UNKNOWN;
        it->seen = mem_strdup("a filter is on; what it stops was not tried");
        return;
    }
    if (!bpf && !perf && !memory) {
        it->seen =
            mem_printf("a filter is on; it lets recording's calls through%s",
                       probe_refused(v->calls, PROBE_filter_bpf) ? " (of bpf that can't be told)" : "");
        return;
    }
    it->state = bpf && perf && memory ? PROBE_NO : PROBE_LIMITED;
    it->seen = list("a filter stops", (const char *[]){bpf ? "bpf" : NULL, perf ? "perf_event_open" : NULL,
                                                       memory ? "process_vm_readv" : NULL});
    it->costs = list(bpf + perf + memory == 1 && !perf ? "no tier" : "no tiers",
                     (const char *[]){bpf || perf ? "A" : NULL, perf ? "B" : NULL, memory ? "C" : NULL});
    it->grant = probe_grant_seccomp(v);
}

/* ---- names of kernel functions ---- */

void probe_judge_symbols(struct probe_item *it, const struct probe_view *v)
{
    long restrict_ = v->facts->sysctl.kptr_restrict;
    const char *answer = v->facts->kallsyms == PROBE_KALLSYMS_ABSENT   ? "not readable"
                         : v->facts->kallsyms == PROBE_KALLSYMS_HIDDEN ? "all zeros"
                                                                       : "with addresses";

    it->seen = restrict_ == PROBE_ABSENT
                   ? mem_printf("/proc/kallsyms is %s", answer)
                   : mem_printf("kptr_restrict %ld, /proc/kallsyms is %s", restrict_, answer);
    if (v->facts->kallsyms == PROBE_KALLSYMS_SHOWN)
        return;
    it->state = PROBE_LIMITED;
    it->costs = mem_strdup("names of kernel functions");
    it->grant = v->facts->kallsyms == PROBE_KALLSYMS_ABSENT
                    ? mem_strdup("boot a kernel built with CONFIG_KALLSYMS=y")
                : restrict_ >= 2 ? probe_grant_sysctl(v, "kernel.kptr_restrict", 1)
                                 : probe_grant_capabilities(v);
}
