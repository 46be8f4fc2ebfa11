/* SPDX-License-Identifier: Apache-2.0 */
/* What has a time: samples, spans, metrics. */
#include "exchange/tables/job.h"

#include "model/metrics.h"

static int on_device(const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = gpu_works_get(&s->gpus, ev->attr);

    return w && gpu_on_device(w);
}

/* TABLES: none. */
static enum tables_table table_of(const struct store *s, const struct event *ev)
{
    switch (ev->kind) {
    case EVENT_SAMPLE:
        return TABLE_samples;
    case EVENT_OFFCPU:
    case EVENT_RUNQ:
    case EVENT_GIL:
    case EVENT_MARKER:
        return TABLE_spans;
    case EVENT_GPU:
        return on_device(s, ev) ? TABLE_kernels : TABLE_calls;
    case EVENT_METRIC:
        return TABLE_metrics;
    default:
        return TABLES;
    }
}

void tables_events_find(struct tables_session *in, enum tables_table table)
{
    const struct store *s = &in->s->store;

    if (in->has_events >> table & 1)
        return;
    in->has_events |= 1u << table;
    for (size_t i = 0; i < s->events.n; i++)
        if (table_of(s, &s->events.a[i]) == table)
            *vec_push(&in->events[table]) = (uint32_t)i;
}

static const struct event *event_of(const struct tables_cell *c, enum tables_table table)
{
    return &c->s->store.events.a[c->in->events[table].a[c->row]];
}

static void sample_value(struct tables_cell *c)
{
    const struct event *ev = event_of(c, TABLE_samples);

    switch (c->column) {
    case COLUMN_samples_ts:
        tables_time(c, ev->ts);
        break;
    case COLUMN_samples_task:
        tables_int(c, ev->task);
        break;
    case COLUMN_samples_stack:
        tables_int(c, ev->stack);
        break;
    case COLUMN_samples_value:
        tables_int(c, (int64_t)ev->value);
        break;
    case COLUMN_samples_event:
        tables_text(c, tables_string(c, ev->metric));
        break;
    case COLUMN_samples_cpu:
        /* Imported samples have no CPU, nor have sums. */
        if (c->s->meta.frequency && ev->value == 1 && ev->cpu != METRIC_ANY_CPU)
            tables_int(c, ev->cpu);
        break;
    case COLUMN_samples_mode:
        if (c->s->meta.frequency)
            tables_text(c, ev->flags & EVENT_USER ? "user" : "kernel");
        break;
    case COLUMN_samples_gil:
        if (ev->flags & EVENT_GIL_READ)
            tables_int(c, !!(ev->flags & EVENT_GIL_HELD));
        break;
    default:
        break;
    }
}

static const char *span_kind(const struct event *ev)
{
    return ev->kind == EVENT_OFFCPU ? "offcpu"
           : ev->kind == EVENT_RUNQ ? "runq"
           : ev->kind == EVENT_GIL  ? "gil"
                                    : "mark";
}

/* What a wait waited for; runq and marks have none. */
static const struct wait *wait_of(const struct tables_cell *c, const struct event *ev)
{
    return ev->kind == EVENT_OFFCPU || ev->kind == EVENT_GIL ? waits_get(&c->s->store.waits, ev->attr) : NULL;
}

static void wait_value(struct tables_cell *c, const struct event *ev)
{
    const struct wait *w = wait_of(c, ev);

    if (!w)
        return;
    switch (c->column) {
    case COLUMN_spans_reason:
        tables_text(c, waits_reason(w->reason));
        break;
    case COLUMN_spans_what:
        tables_text(c, tables_string(c, w->what));
        break;
    case COLUMN_spans_waker:
        tables_int(c, w->waker_task);
        break;
    case COLUMN_spans_waker_stack:
        tables_int(c, w->waker_stack);
        break;
    default:
        break;
    }
}

static void span_value(struct tables_cell *c)
{
    const struct event *ev = event_of(c, TABLE_spans);

    switch (c->column) {
    case COLUMN_spans_kind:
        tables_text(c, span_kind(ev));
        break;
    case COLUMN_spans_ts:
        tables_time(c, ev->ts);
        break;
    case COLUMN_spans_dur:
        tables_int(c, (int64_t)ev->dur);
        break;
    case COLUMN_spans_value:
        tables_int(c, (int64_t)ev->value);
        break;
    case COLUMN_spans_task:
        tables_int(c, ev->task);
        break;
    case COLUMN_spans_stack:
        tables_int(c, ev->stack);
        break;
    case COLUMN_spans_open:
        tables_int(c, !!(ev->flags & EVENT_OPEN));
        break;
    default:
        if (ev->kind == EVENT_MARKER && c->column == COLUMN_spans_what)
            tables_text(c, tables_string(c, ev->metric));
        else
            wait_value(c, ev);
        break;
    }
}

static void metric_value(struct tables_cell *c)
{
    const struct event *ev = event_of(c, TABLE_metrics);
    enum metric_id id = metrics_find(tables_string(c, ev->metric));
    const struct metric *m = id == METRIC_NONE ? NULL : metrics_get(id);

    switch (c->column) {
    case COLUMN_metrics_name:
        tables_text(c, tables_string(c, ev->metric));
        break;
    case COLUMN_metrics_unit:
        tables_text(c, m ? metrics_unit_name(m->unit) : NULL);
        break;
    case COLUMN_metrics_ts:
        tables_time(c, ev->ts);
        break;
    case COLUMN_metrics_dur:
        tables_int(c, (int64_t)ev->dur);
        break;
    case COLUMN_metrics_task:
        tables_int(c, ev->task);
        break;
    case COLUMN_metrics_cpu:
        if (m && m->of & METRIC_CPU && ev->cpu != METRIC_ANY_CPU)
            tables_int(c, ev->cpu);
        break;
    case COLUMN_metrics_value:
        tables_real(c, m && m->unit == METRIC_RATIO ? (double)ev->value / METRIC_MILLION : (double)ev->value);
        break;
    default:
        break;
    }
}

void tables_events_value(struct tables_cell *c)
{
    switch (tables_column_info(c->column)->table) {
    case TABLE_samples:
        sample_value(c);
        break;
    case TABLE_spans:
        span_value(c);
        break;
    default:
        metric_value(c);
        break;
    }
}
