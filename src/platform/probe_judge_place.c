/* SPDX-License-Identifier: Apache-2.0 */
/* The machine and what lies between it and this process. */
#include "platform/probe_judge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/self.h"

#include <errno.h>
#include <string.h>

void probe_judge_pmu(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_place *p = &v->facts->place;
    int answer = v->calls->answers[PROBE_perf_hardware];
    const char *names = *p->pmus ? p->pmus : "none";

    it->seen = mem_printf("PMUs: %s; the event cycles opens: %s", names,
                          answer == 0 ? "yes" : probe_word(v, PROBE_perf_hardware));
    it->state = answer == 0 ? PROBE_OK : answer == PROBE_UNTRIED ? PROBE_UNKNOWN : PROBE_LIMITED;
    if (it->state != PROBE_LIMITED)
        return;
    it->costs = mem_strdup("hardware events (cycles, cache misses); cpu-clock stands in");
    if (*p->pmus && (answer == EACCES || answer == EPERM))
        it->grant = probe_filtered_perf(v) ? probe_grant_seccomp(v) : probe_grant_root(v);
    else if (p->hypervisor)
        it->grant = mem_strdup(
            "give the virtual machine a PMU (libvirt: <pmu state='on'/>; a metal or larger cloud instance)");
}

static const char *const container_names[] = {
    [PROBE_NO_CONTAINER] = "none",
    [PROBE_DOCKER] = "Docker",
    [PROBE_PODMAN] = "Podman",
    [PROBE_KUBERNETES] = "Kubernetes",
    [PROBE_OTHER_CONTAINER] = "of another kind",
};

void probe_judge_container(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_place *p = &v->facts->place;
    const struct probe_self *s = &v->facts->self;
    struct buf b = {0};

    buf_addstr(&b, container_names[p->container]);
    if (p->container_why)
        buf_addf(&b, " (%s%s)", p->container_why,
                 p->container == PROBE_NO_CONTAINER ? " is there, but all namespaces are the machine's" : "");
    if (s->in_pidns == 1)
        buf_addstr(&b, ", a pid namespace of its own");
    if (p->pid_level > 0)
        buf_addf(&b, ", %ld levels of them below /proc's", p->pid_level);
    if (s->in_userns == 1)
        buf_addstr(&b, ", a user namespace of its own");
    it->seen = buf_detach(&b);
    if (p->container == PROBE_NO_CONTAINER || s->in_pidns != 1)
        return;
    it->state = PROBE_LIMITED;
    it->costs = mem_strdup("with -a, symbols of processes outside of it");
}

void probe_judge_machine(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_place *p = &v->facts->place;

    if (p->wsl) {
        it->seen = mem_printf("WSL %d", p->wsl);
        it->state = p->wsl == 1 ? PROBE_NO : PROBE_OK;
        if (p->wsl == 1) {
            it->costs = mem_strdup("everything: there is no Linux kernel to ask");
            it->grant = mem_strdup(PROBE_GRANT_WSL2);
        }
    } else {
        it->seen = p->hypervisor ? mem_printf("a virtual machine (%s)", p->hypervisor)
                                 : mem_strdup("no hypervisor seen");
    }
}

/* Those that vDSO code reads without entering the kernel (arch/x86/include/asm/vdso/clocksource.h; arm64,
 * riscv). */
static const char *const fast_clocks[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                          "arch_sys_counter", "riscv_clocksource"};

void probe_judge_clock(struct probe_item *it, const struct probe_view *v)
{
    const char *clock = v->facts->place.clock;

    it->seen = mem_strdup(clock ? clock : "unknown");
    it->state = clock ? PROBE_LIMITED : PROBE_UNKNOWN;
    for (size_t i = 0; clock && i < ARRAY_SIZE(fast_clocks); i++)
        if (!strcmp(clock, fast_clocks[i]))
            it->state = PROBE_OK;
    if (it->state == PROBE_LIMITED)
        it->costs = mem_strdup("each reading of the clock enters the kernel: a little more overhead");
}

void probe_judge_cgroup(struct probe_item *it, const struct probe_view *v)
{
    int version = v->facts->place.cgroup;

    it->seen = version ? mem_printf("version %d", version) : mem_strdup("not mounted");
    it->state = version ? PROBE_OK : PROBE_UNKNOWN;
}

static const char *there(const struct probe_view *v, enum probe_call call)
{
    return v->calls->answers[call] == PROBE_UNTRIED ? "?" : probe_ok(v->calls, call) ? "yes" : "no";
}

/* What keeps it from being recorded, of what was found out. */
static void judge_gpu_parts(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_place *p = &v->facts->place;

    if (!probe_ok(v->calls, PROBE_gpu_cuda)) {
        it->state = PROBE_NO;
        it->costs = mem_strdup("what runs on the GPU: libcuda is not found");
        it->grant = mem_strdup("install the NVIDIA driver (in a container: --gpus all)");
    } else if (v->calls->answers[PROBE_gpu_agent] > 0) {
        it->state = PROBE_NO;
        it->costs =
            mem_strdup("what runs on the GPU: " SELF_AGENT " is not beside wprof nor in ../lib/wprof");
        it->grant = mem_strdup("install wprof with it (make install, make portable)");
    } else if (p->gpu_admin > 0 && v->facts->self.uid) {
        it->state = PROBE_LIMITED;
        it->costs = mem_strdup("what runs on the GPU: its driver lets administrators profile alone");
        it->grant =
            mem_strdup("options nvidia NVreg_RestrictProfilingToAdminUsers=0 (modprobe.d), or run as root");
    }
}

void probe_judge_gpu(struct probe_item *it, const struct probe_view *v)
{
    const struct probe_place *p = &v->facts->place;
    int tried = v->calls->answers[PROBE_gpu_cuda] != PROBE_UNTRIED;
    struct buf b = {0};

    if (p->gpus)
        buf_addf(&b, "%ld of NVIDIA, ", p->gpus);
    if (p->nvidia)
        buf_addf(&b, "driver %s, ", p->nvidia);
    buf_addf(&b, "libcuda: %s, libnvidia-ml: %s", there(v, PROBE_gpu_cuda), there(v, PROBE_gpu_nvml));
    if (probe_ok(v->calls, PROBE_gpu_cuda))
        buf_addf(&b, ", libcupti: %s, " SELF_AGENT ": %s",
                 probe_ok(v->calls, PROBE_gpu_cupti) ? "yes" : "the program's own, if any",
                 there(v, PROBE_gpu_agent));
    it->seen = buf_detach(&b);
    if (!tried)
        it->state = PROBE_UNKNOWN;
    else if (!p->gpus && !p->nvidia && !probe_ok(v->calls, PROBE_gpu_cuda))
        it->state = PROBE_NO; /* costs nothing: there is none */
    else
        judge_gpu_parts(it, v);
}
