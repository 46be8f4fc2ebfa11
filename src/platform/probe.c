/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/probe.h"

#include "base/buf.h"
#include "base/mem.h"
#include "platform/bpf.h"
#include "platform/probe_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *id;
    void (*judge)(struct probe_item *it, const struct probe_view *v);
} areas[] = {
    {"kernel", probe_judge_kernel},
    {"btf", probe_judge_btf},
    {"lockdown", probe_judge_lockdown},
    {"capabilities", probe_judge_capabilities},
    {"bpf", probe_judge_bpf},
    {"perf_events", probe_judge_perf},
    {"memory", probe_judge_memory},
    {"seccomp", probe_judge_seccomp},
    {"kernel_names", probe_judge_symbols},
    {"pmu", probe_judge_pmu},
    {"container", probe_judge_container},
    {"machine", probe_judge_machine},
    {"clock", probe_judge_clock},
    {"cgroup", probe_judge_cgroup},
    {"gpu", probe_judge_gpu},
};

const char *probe_state_name(enum probe_state s)
{
    static const char *const names[] = {"ok", "limited", "no", "unknown"};

    return names[s];
}

int probe_part(enum probe_part part)
{
    switch (part) {
#define PART(id, there)                                                                                      \
    case PROBE_PART_##id:                                                                                    \
        return there;
#include "platform/probe_build.def"
#undef PART
    }
    return 0;
}

void probe_add(struct probe *p, const struct probe_item *item)
{
    *vec_push(&p->items) = *item;
}

void probe_judge(struct probe *p, const struct probe_facts *f, const struct probe_calls *c)
{
    struct probe_view v = {f, c};

    *p = (struct probe){.calls = *c};
    probe_judge_tiers(p->tiers, &v);
    for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
        struct probe_item it = {.id = areas[i].id};

        areas[i].judge(&it, &v);
        probe_add(p, &it);
    }
}

void probe_run(struct probe *p, const char *root)
{
    struct probe_facts f;
    struct probe_calls c;
    struct buf answers = {0};

    probe_facts_read(&f, root ? root : "");
    if (!root) {
        probe_calls_try(&c);
    } else {
        if (probe_read(root, "/answers", &answers))
            buf_clear(&answers);
        probe_calls_parse(&c, buf_str(&answers));
    }
    probe_judge(p, &f, &c);
    buf_release(&answers);
    probe_facts_release(&f);
}

void probe_release(struct probe *p)
{
    for (size_t i = 0; i < PROBE_TIERS; i++) {
        free(p->tiers[i].why);
        free(p->tiers[i].grant);
    }
    for (size_t i = 0; i < p->items.n; i++) {
        free(p->items.a[i].seen);
        free(p->items.a[i].costs);
        free(p->items.a[i].grant);
    }
    vec_release(&p->items);
}

static int works(const struct probe_tier *t)
{
    return t->state == PROBE_OK || t->state == PROBE_LIMITED;
}

const struct probe_tier *probe_best(const struct probe *p)
{
    for (size_t i = 0; i < PROBE_TIERS; i++)
        if (p->tiers[i].in_build && works(&p->tiers[i]))
            return &p->tiers[i];
    return NULL;
}

/* -1: it works, nothing was said. */
static int tell(struct err *e, const char *failed, const struct probe_tier *t)
{
    if (works(t))
        return -1;
    err_set(e, "%s: %s (%s%swprof doctor says more)", failed, t->why, t->grant ? t->grant : "",
            t->grant ? "; " : "");
    return 0;
}

int probe_explain(struct err *e, int errnum, const char *what)
{
    char *failed = mem_printf("%s: %s", what, strerror(errnum));
    struct probe p;

    probe_run(&p, NULL);
    if (tell(e, failed, &p.tiers[0]))
        err_set(e, "%s (-v shows the kernel's reason)", failed);
    probe_release(&p);
    free(failed);
    return -1;
}

int probe_explain_tier(struct err *e, char letter)
{
    struct err failed = *e;
    struct probe p;

    probe_run(&p, NULL);
    for (size_t i = 0; i < PROBE_TIERS; i++)
        if (p.tiers[i].letter == letter)
            tell(e, failed.msg, &p.tiers[i]);
    probe_release(&p);
    return -1;
}
