/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on accelerators, and what was asked of them. */
#include "exchange/tables/job.h"

static void three(struct tables_cell *c, const uint32_t *v)
{
    if (!v[0])
        return;
    buf_clear(c->text);
    buf_addf(c->text, "%ux%ux%u", v[0], v[1], v[2]);
    tables_text(c, c->text->data);
}

static void place(struct tables_cell *c, unsigned place)
{
    if (place)
        tables_text(c, gpu_place_name(place));
}

static void kernel_only(struct tables_cell *c, const struct gpu_work *w)
{
    switch (c->column) {
    case COLUMN_kernels_grid:
        three(c, w->grid);
        break;
    case COLUMN_kernels_block:
        three(c, w->block);
        break;
    case COLUMN_kernels_registers:
        tables_int(c, w->registers);
        break;
    case COLUMN_kernels_shared:
        tables_int(c, w->shared);
        break;
    case COLUMN_kernels_occupancy:
        if (w->occupancy)
            tables_real(c, (w->occupancy - 1) / 1000.0);
        break;
    default:
        break;
    }
}

static void work_value(struct tables_cell *c, const struct gpu_work *w)
{
    int moves = w->op == GPU_COPY || w->op == GPU_SET;

    switch (c->column) {
    case COLUMN_kernels_device:
        if (w->device)
            tables_int(c, w->device - 1);
        break;
    case COLUMN_kernels_context:
        tables_int(c, w->context);
        break;
    case COLUMN_kernels_stream:
        tables_int(c, w->stream);
        break;
    case COLUMN_kernels_rank:
        if (w->rank)
            tables_int(c, w->rank - 1);
        break;
    case COLUMN_kernels_bytes:
        if (moves)
            tables_int(c, (int64_t)w->bytes);
        break;
    case COLUMN_kernels_source:
        if (w->op == GPU_COPY)
            place(c, w->from);
        break;
    case COLUMN_kernels_target:
        if (moves)
            place(c, w->to);
        break;
    case COLUMN_kernels_graph:
        if (w->graph)
            tables_int(c, w->graph);
        break;
    default:
        if (w->op == GPU_KERNEL)
            kernel_only(c, w);
        break;
    }
}

static void call_value(struct tables_cell *c, const struct gpu_work *w)
{
    if (c->column == COLUMN_calls_bytes && w->bytes)
        tables_int(c, (int64_t)w->bytes);
    else if (c->column == COLUMN_calls_failed)
        tables_int(c, w->result);
}

/* What both have. */
static int shared_value(struct tables_cell *c, const struct event *ev, const struct gpu_work *w)
{
    int numbered = w->op != GPU_ALLOC && w->op != GPU_FREE && ev->value;

    switch (c->column) {
    case COLUMN_kernels_op:
    case COLUMN_calls_op:
        tables_text(c, gpu_op_name(w->op));
        return 1;
    case COLUMN_kernels_name:
    case COLUMN_calls_name:
        tables_text(c, tables_string(c, w->name));
        return 1;
    case COLUMN_kernels_ts:
    case COLUMN_calls_ts:
        tables_time(c, ev->ts);
        return 1;
    case COLUMN_kernels_dur:
    case COLUMN_calls_dur:
        tables_int(c, (int64_t)ev->dur);
        return 1;
    case COLUMN_kernels_task:
    case COLUMN_calls_task:
        tables_int(c, ev->task);
        return 1;
    case COLUMN_kernels_stack:
    case COLUMN_calls_stack:
        tables_int(c, ev->stack);
        return 1;
    case COLUMN_kernels_correlation:
    case COLUMN_calls_correlation:
        if (numbered)
            tables_int(c, (int64_t)ev->value);
        return 1;
    default:
        return 0;
    }
}

void tables_gpu_value(struct tables_cell *c)
{
    enum tables_table table = tables_column_info(c->column)->table;
    const struct event *ev = &c->s->store.events.a[c->in->events[table].a[c->row]];
    const struct gpu_work *w = gpu_works_get(&c->s->store.gpus, ev->attr);

    if (!w || shared_value(c, ev, w))
        return;
    if (table == TABLE_kernels)
        work_value(c, w);
    else
        call_value(c, w);
}
