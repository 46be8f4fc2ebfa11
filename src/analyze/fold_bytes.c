/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fold_bytes.h"

#include "analyze/gpu_memory.h"
#include "analyze/gpu_trace.h"

/* The step at which each pool holds the most; SIZE_MAX: it never held anything. */
static size_t *find_peaks(const struct gpu_memory *m)
{
    size_t *peak = mem_alloc(m->pools.n * sizeof(*peak));

    for (size_t i = 0; i < m->pools.n; i++)
        peak[i] = SIZE_MAX;
    for (size_t i = 0; i < m->steps.n; i++) {
        const struct gpu_memory_step *s = &m->steps.a[i];

        if (peak[s->pool] == SIZE_MAX && !s->frees && s->used == m->pools.a[s->pool].peak)
            peak[s->pool] = i;
    }
    return peak;
}

static void set(uint8_t *bits, const struct gpu_memory_step *s, int there)
{
    uint8_t bit = (uint8_t)(1 << s->event % 8);

    bits[s->event / 8] = (uint8_t)(there ? bits[s->event / 8] | bit : bits[s->event / 8] & ~bit);
}

uint8_t *fold_bytes_at_peak(const struct store *s)
{
    uint8_t *there = mem_calloc(s->events.n / 8 + 1, 1);
    struct gpu_memory m;
    size_t *peak;

    gpu_memory_init(&m, s);
    peak = find_peaks(&m);
    for (size_t i = 0; i < m.steps.n; i++) {
        const struct gpu_memory_step *x = &m.steps.a[i];

        if (peak[x->pool] == SIZE_MAX || i > peak[x->pool])
            continue;
        if (!x->frees)
            set(there, x, 1);
        else if (x->of)
            set(there, &m.steps.a[x->of - 1], 0);
    }
    gpu_memory_release(&m);
    free(peak);
    return there;
}

void fold_bytes_label(const struct gpu_work *w, struct buf *out)
{
    struct gpu_device d = {.rank = w->rank, .device = w->device};

    buf_addch(out, '[');
    if (d.rank || d.device) {
        gpu_device_label(&d, out);
        buf_addch(out, ' ');
    }
    if (w->to != GPU_PLACE_UNKNOWN && w->to < GPU_PLACES)
        buf_addf(out, "%s ", gpu_place_name(w->to));
    buf_addstr(out, "memory]");
}
