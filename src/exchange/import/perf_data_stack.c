/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_stack.h"

#include <linux/perf_event.h>
#include <string.h>

#define CONTEXT_USER_DEFERRED ((uint64_t)-640) /* a cookie follows */

enum { ABI_64 = 2 };

/* Bits of regs_user: enum perf_event_x86_regs of <asm/perf_regs.h>. */
enum { REG_BP = 6, REG_SP = 7, REG_IP = 8, REG_R10 = 18, REG_R13 = 21 };

void perf_stack_release(struct perf_stack *x)
{
    vec_release(&x->frames);
}

static void push(struct perf_stack *x, struct process *p, uint64_t ip, enum perf_mode mode, int is_return)
{
    *vec_push(&x->frames) = perf_maps_frame(x->maps, p, ip, mode, is_return);
}

/* What follows a marker runs in its mode. */
static enum perf_mode mode_of(uint64_t marker)
{
    switch (marker) {
    case PERF_CONTEXT_KERNEL:
        return PERF_MODE_KERNEL;
    case PERF_CONTEXT_USER:
        return PERF_MODE_USER;
    case PERF_CONTEXT_HV:
        return PERF_MODE_HYPERVISOR;
    case PERF_CONTEXT_GUEST:
    case PERF_CONTEXT_GUEST_KERNEL:
    case PERF_CONTEXT_GUEST_USER:
        return PERF_MODE_GUEST;
    }
    return PERF_MODE_UNKNOWN;
}

/* The first address in each mode is where it was, those after it are where calls return to. */
static void add_chain(struct perf_stack *x, struct process *p, const struct perf_sample *s,
                      enum perf_mode mode, int without_user)
{
    struct perf_words w;
    int first = 1;

    if (!s->chain)
        return;
    w = perf_words_init(s->chain, (size_t)s->chain_n * 8, x->maps->f->big);
    while (perf_words_left(&w) >= 8) {
        uint64_t ip = perf_u64(&w);

        if (ip == CONTEXT_USER_DEFERRED) {
            (void)perf_u64(&w);
            x->stats.deferred++;
        } else if (ip >= PERF_CONTEXT_MAX) {
            mode = mode_of(ip);
            first = 1;
        } else if (mode != PERF_MODE_USER || !without_user) {
            push(x, p, ip, mode, !first);
            first = 0;
        }
    }
}

/* ---- copied stacks ---- */

struct walk {
    struct perf_stack *x;
    struct process *p;
};

static int find_map(void *ctx, uint64_t pc, struct walk_map *out)
{
    struct walk *w = ctx;

    return perf_maps_walk(w->x->maps, w->p, pc, out);
}

static int is_walkable(const struct perf_file *f, const struct perf_sample *s)
{
    const char *arch = f->about.arch;

    return s->regs_abi == ABI_64 && !f->big && (!arch || !strcmp(arch, "x86_64"));
}

/* The frames of the user's side by the registers and the copy of the stack. 0: there are none. */
static size_t add_walk(struct perf_stack *x, struct process *p, const struct perf_attr *a,
                       const struct perf_sample *s, struct walk_frame frames[WALK_USER_DEPTH])
{
    static const struct walk_user_ops ops = {.map = find_map};
    const struct perf_file *f = x->maps->f;
    struct walk_regs regs = {
        .ip = perf_sample_reg(f, a, s, REG_IP),
        .sp = perf_sample_reg(f, a, s, REG_SP),
        .bp = perf_sample_reg(f, a, s, REG_BP),
        .r10 = perf_sample_reg(f, a, s, REG_R10),
        .r13 = perf_sample_reg(f, a, s, REG_R13),
    };
    struct walk_stack stack = {s->stack, regs.sp, (size_t)s->stack_n};
    struct walk w = {x, p};
    struct walk_result res;

    if (!regs.ip || !regs.sp)
        return 0;
    walk_user(&ops, &w, &stack, &regs, 1, frames, WALK_USER_DEPTH, &res);
    x->stats.walked++;
    x->stats.ended += res.status != WALK_ROOT;
    return res.n;
}

static void add_user(struct perf_stack *x, struct process *p, const struct perf_attr *a,
                     const struct perf_sample *s)
{
    struct walk_frame frames[WALK_USER_DEPTH];
    size_t n = add_walk(x, p, a, s, frames);

    for (size_t i = 0; i < n; i++)
        push(x, p, frames[i].ip, PERF_MODE_USER, frames[i].is_return);
}

/* ---- both ---- */

static uint32_t push_all(struct perf_stack *x)
{
    uint32_t stack = 0;

    for (size_t i = x->frames.n; i-- > 0;)
        stack = stacks_push(&x->maps->s->stacks, stack, x->frames.a[i]);
    return stack;
}

uint32_t perf_stack_of(struct perf_stack *x, const struct perf_attr *a, const struct perf_sample *s,
                       enum perf_mode mode)
{
    struct process *p = perf_maps_process(x->maps, s->pid);
    int copied = s->regs_abi && a->sample_type & PERF_SAMPLE_STACK_USER;
    int walks = copied && is_walkable(x->maps->f, s);

    vec_clear(&x->frames);
    x->stats.branches += s->has_branches != 0;
    x->stats.unwalked += copied && !walks;
    add_chain(x, p, s, mode, walks);
    if (walks)
        add_user(x, p, a, s);
    if (!x->frames.n && s->ip_told)
        push(x, p, s->ip, mode, 0);
    return push_all(x);
}
