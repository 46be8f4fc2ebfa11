/* SPDX-License-Identifier: Apache-2.0 */
/* From what was read and tried to what it means. No file is read and no call made here. */
#ifndef WPROF_PLATFORM_PROBE_JUDGE_H
#define WPROF_PLATFORM_PROBE_JUDGE_H

#include "platform/caps.h"
#include "platform/probe.h"
#include "platform/probe_facts.h"

struct probe_view {
    const struct probe_facts *facts;
    const struct probe_calls *calls;
};

/* Fills the tiers and appends the items. */
void probe_judge(struct probe *p, const struct probe_facts *f, const struct probe_calls *c);

/* ---- the parts ---- */

void probe_judge_tiers(struct probe_tier tiers[PROBE_TIERS], const struct probe_view *v);

/* Each fills all but the id. */
void probe_judge_kernel(struct probe_item *it, const struct probe_view *v);
void probe_judge_btf(struct probe_item *it, const struct probe_view *v);
void probe_judge_lockdown(struct probe_item *it, const struct probe_view *v);
void probe_judge_capabilities(struct probe_item *it, const struct probe_view *v);
void probe_judge_bpf(struct probe_item *it, const struct probe_view *v);
void probe_judge_perf(struct probe_item *it, const struct probe_view *v);
void probe_judge_memory(struct probe_item *it, const struct probe_view *v);
void probe_judge_seccomp(struct probe_item *it, const struct probe_view *v);
void probe_judge_symbols(struct probe_item *it, const struct probe_view *v);
void probe_judge_pmu(struct probe_item *it, const struct probe_view *v);
void probe_judge_container(struct probe_item *it, const struct probe_view *v);
void probe_judge_machine(struct probe_item *it, const struct probe_view *v);
void probe_judge_clock(struct probe_item *it, const struct probe_view *v);
void probe_judge_cgroup(struct probe_item *it, const struct probe_view *v);
void probe_judge_gpu(struct probe_item *it, const struct probe_view *v);

/* ---- questions that several of them ask ---- */

/* Capabilities that count: in a user namespace of its own, none does for BPF, perf and kernel symbols. */
uint64_t probe_capabilities(const struct probe_view *v);
/* Does a seccomp filter keep that call from the kernel? Only where a filter is on. */
int probe_filtered_bpf(const struct probe_view *v);
int probe_filtered_perf(const struct probe_view *v);
int probe_filtered_memory(const struct probe_view *v);
/* What comes first of what hinders a call: "EPERM", for a sentence. */
const char *probe_word(const struct probe_view *v, enum probe_call c);

/* ---- probe_grant.c: what to type, by where we are; owned ---- */

#define PROBE_GRANT_ATTACH "boot a kernel built with CONFIG_CROSS_MEMORY_ATTACH=y"
#define PROBE_GRANT_WSL2   "wsl --set-version DISTRIBUTION 2"

char *probe_grant_root(const struct probe_view *v);         /* for all of tier A: sudo where that works */
char *probe_grant_capabilities(const struct probe_view *v); /* once, for ever */
char *probe_grant_tier_a(const struct probe_view *v);       /* what tier A wants here; NULL: nothing known */
char *probe_grant_seccomp(const struct probe_view *v);
char *probe_grant_sysctl(const struct probe_view *v, const char *key, int value);

#endif
