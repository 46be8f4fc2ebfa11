/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/stack.h"

#include <string.h>

/* The parts of a record, checked against its size. */
struct parts {
    const uint64_t *kernel;
    const struct wire_native *native;
    const struct py_frame *python;
    const uint8_t *stack;
};

void stack_taker_init(struct stack_taker *k, struct store *s, struct meta *m, struct bpfside *b,
                      struct track *t)
{
    intern_init(&k->intern, s);
    k->intern.track = t;
    k->track = t;
    k->bpf = b;
    k->meta = m;
}

void stack_taker_release(struct stack_taker *k)
{
    intern_release(&k->intern);
}

static int split(const struct wire_sample *s, struct parts *p)
{
    size_t need = sizeof(*s) + s->kernel_n * sizeof(*p->kernel) + s->native_n * sizeof(*p->native) +
                  s->python_n * sizeof(*p->python) + s->stack_n;

    p->kernel = (const uint64_t *)(s + 1);
    p->native = (const struct wire_native *)(p->kernel + s->kernel_n);
    p->python = (const struct py_frame *)(p->native + s->native_n);
    p->stack = (const uint8_t *)(p->python + s->python_n);
    return need <= s->head.size && s->native_n <= WIRE_NATIVE_MAX ? 0 : -1;
}

/* The native frames into k->frames; status as of the whole walk. */
static enum walk_status native_part(struct stack_taker *k, struct process *p, const struct wire_sample *s,
                                    const struct parts *parts, uint16_t *flags)
{
    struct walk_result res;
    uint32_t n = s->native_n;

    for (uint32_t i = 0; i < n; i++) {
        const struct wire_native *f = &parts->native[i];

        k->frames[i] = (struct walk_frame){
            .ip = f->ip & ~WIRE_IP_EXACT, .sp = f->sp, .is_return = !(f->ip & WIRE_IP_EXACT)};
    }
    k->n = n;
    if (s->flags & WIRE_SCANNED)
        *flags |= EVENT_SCANNED;
    if (s->flags & WIRE_FRAMEPTR)
        *flags |= EVENT_FRAMEPTR;
    if (s->status == WALK_ROOT || s->status == WALK_FULL)
        return s->status;
    /* The frame where it stopped is there already, unless it was in no mapping: the finishing walk gives it
     * again. */
    if (n && k->frames[n - 1].ip == s->regs.ip && k->frames[n - 1].sp == s->regs.sp)
        n--;
    finish_walk(k->track, p, s, parts->stack, k->frames + n, &res);
    k->n = n + res.n;
    *flags |= EVENT_FINISHED;
    if (res.flags & WALK_F_SCANNED)
        *flags |= EVENT_SCANNED;
    if (res.flags & WALK_F_FP)
        *flags |= EVENT_FRAMEPTR;
    if (k->n > WIRE_NATIVE_MAX && res.status != WALK_ROOT)
        k->n = WIRE_NATIVE_MAX;
    return res.flags & WALK_F_TRUNCATED ? WALK_FULL : res.status;
}

static void push_kernel(struct intern *n, const struct wire_sample *s, const struct parts *parts)
{
    for (uint32_t i = 0; i < s->kernel_n; i++)
        *intern_push(n) = (struct raw_frame){.kind = FRAME_KERNEL, .exact = i == 0, .addr = parts->kernel[i]};
}

static void push_user(struct stack_taker *k)
{
    for (uint32_t i = 0; i < k->n; i++)
        *intern_push(&k->intern) = (struct raw_frame){
            .kind = FRAME_NATIVE, .exact = !k->frames[i].is_return, .addr = k->frames[i].ip};
}

static void push_marker(struct stack_taker *k, uint32_t *marker, const char *text)
{
    if (!*marker)
        *marker = intern_marker(&k->intern, text);
    *intern_push(&k->intern) = (struct raw_frame){.kind = FRAME_MARKER, .frame = *marker};
}

static void user_part(struct stack_taker *k, struct process *p, const struct wire_sample *s,
                      const struct parts *parts, uint16_t *flags)
{
    enum walk_status st = native_part(k, p, s, parts, flags);

    push_user(k);
    if (st == WALK_ROOT)
        *flags |= EVENT_ROOT;
    if (st == WALK_FULL) {
        *flags |= EVENT_TRUNCATED;
        push_marker(k, &k->truncated, "[truncated]");
    }
}

uint32_t stack_take(struct stack_taker *k, struct process *p, const struct wire_sample *s, uint16_t *flags)
{
    struct parts parts;

    *flags = s->flags & WIRE_USER ? EVENT_USER : 0;
    intern_begin(&k->intern);
    if (split(s, &parts) < 0) {
        k->nostack++;
        push_marker(k, &k->lost, "[stack lost]");
        return intern_end(&k->intern, p);
    }
    push_kernel(&k->intern, s, &parts);
    if (!p ||
        s->flags & WIRE_NO_MM) /* there is no user stack, or no longer: what the kernel does is all of it */
        *flags |= EVENT_ROOT;
    else
        user_part(k, p, s, &parts, flags);
    if (!k->intern.raw.n) {
        k->nostack++;
        push_marker(k, &k->lost, "[stack lost]");
    }
    return intern_end(&k->intern, p);
}

void stack_forked(struct stack_taker *k, struct process *child, const struct process *parent)
{
    (void)k, (void)child, (void)parent;
}

void stack_execed(struct stack_taker *k, struct process *p)
{
    (void)k, (void)p;
}

void stack_mapped(struct stack_taker *k, struct process *p, uint32_t file, const struct mapping *m)
{
    (void)k, (void)p, (void)file, (void)m;
}

void stack_pycode(struct stack_taker *k, const struct wire_pycode *r)
{
    (void)k, (void)r;
}
