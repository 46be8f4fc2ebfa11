/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/finish.h"

#include "platform/procfs.h"
#include "unwind/jit_runtime.h"

/* How far a stack may reach: what RLIMIT_STACK mostly is. */
#define STACK_SPAN (8ull << 20)

struct finish {
    struct track *track;
    struct process *process;
    uint64_t stack; /* where the copied stack begins, when it isn't to be trusted beyond; else 0 */
};

static int find_map(void *ctx, uint64_t pc, struct walk_map *out)
{
    struct finish *f = ctx;
    const struct mapping *m = process_lookup(f->process, pc);
    struct code_file *file;

    if (!m && track_rescan(f->track, f->process))
        m = process_lookup(f->process, pc);
    if (!m)
        return -1;
    file = modules_get(track_modules(f->track), m->file);
    *out = (struct walk_map){.start = m->start, .end = m->end, .bias = m->bias, .module = m->file};
    if (file) {
        out->lazy = modules_lazy(file);
        out->frame_pointers = file->runtime == JIT_V8 ? WALK_FP_BUT_LEAVES : WALK_FP_UNKNOWN;
    } else {
        out->frame_pointers = process_jit_keeps_fp(f->process) ? WALK_FP_KEPT : WALK_FP_UNKNOWN;
        out->java = f->process->runtime == JIT_JVM;
    }
    return 0;
}

static int read_live(void *ctx, uint64_t addr, void *dst, uint32_t size)
{
    struct finish *f = ctx;

    if (f->stack && addr - f->stack < STACK_SPAN)
        return -1;
    if (f->process->gone || !f->process->ns_tgid)
        return -1;
    return procfs_read_memory((pid_t)f->process->ns_tgid, addr, dst, size) == (ssize_t)size ? 0 : -1;
}

void finish_walk(struct track *t, struct process *p, const struct wire_sample *s, const uint8_t *stack,
                 struct walk_frame *frames, struct walk_result *res)
{
    static const struct walk_user_ops ops = {.map = find_map, .read = read_live};
    struct finish f = {t, p, s->flags & WIRE_STACK_OLD ? s->regs.sp : 0};
    struct walk_stack st = {stack, s->regs.sp, s->stack_n};

    walk_user(&ops, &f, &st, &s->regs, !!(s->flags & WIRE_TOP), frames, FINISH_DEPTH, res);
    for (uint32_t i = 0; i < res->n; i++)
        if (frames[i].module != UINT32_MAX)
            track_want_table(t, frames[i].module);
}
