/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/outside_sample.h"

#include <string.h>

/* The copied stack in front of live memory. */
struct overlay {
    const struct perf_task_sample *s;
    struct py_mem below;
};

static int overlay_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct overlay *v = ctx;

    if (addr >= v->s->regs.sp && addr - v->s->regs.sp < v->s->stack_n &&
        v->s->stack_n - (addr - v->s->regs.sp) >= n) {
        memcpy(dst, v->s->stack + (addr - v->s->regs.sp), n);
        return 0;
    }
    return py_mem_read(&v->below, addr, dst, n);
}

int outside_sample_python(struct outside *o, struct outside_thread *t, struct process *p,
                          const struct perf_task_sample *s, uint16_t *how)
{
    struct overlay v = {s, outside_memory(o, p)};
    struct py_mem mem = {overlay_read, &v, NULL};
    int rc = outside_python(o, t, p, &mem);

    *how = rc < 0 ? WIRE_PY_ERROR : 0;
    if (rc > 0)
        *how = (uint16_t)((o->python->walk.status == PY_FULL ? WIRE_PY_FULL : 0) |
                          outside_gil_held(o, t, p, &mem));
    return rc;
}

uint32_t outside_sample_stack(struct outside *o, const struct outside_thread *t, struct process *p,
                              const struct perf_task_record *rec, const void *python, uint32_t n,
                              uint16_t how, uint16_t *flags)
{
    const struct perf_task_sample *from = &rec->sample;
    struct wire_sample *s = outside_record(o, t, rec->ts);

    s->flags = (uint16_t)(WIRE_TOP | WIRE_STACK_OLD | (from->user ? WIRE_USER : 0) |
                          (from->has_user ? 0 : WIRE_NO_MM) | how);
    s->regs = from->regs;
    s->kernel_n = (uint16_t)(from->kernel_n < WIRE_KERNEL_MAX ? from->kernel_n : WIRE_KERNEL_MAX);
    s->python_n = (uint16_t)n;
    s->stack_n = from->stack_n;
    s = outside_record_add(o, from->kernel, s->kernel_n * sizeof(*from->kernel));
    outside_record_add(o, python, s->python_n * sizeof(struct py_frame));
    outside_record_add(o, from->stack, from->stack_n);
    return outside_record_end(o, p, flags);
}
