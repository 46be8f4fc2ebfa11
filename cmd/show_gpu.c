/* SPDX-License-Identifier: Apache-2.0 */
#include "show_gpu.h"
#include "show_table.h"

#include "analyze/gpu_blame.h"
#include "analyze/gpu_busy.h"
#include "analyze/gpu_calls.h"
#include "analyze/gpu_kernels.h"
#include "analyze/gpu_memory.h"
#include "analyze/gpu_ranks.h"
#include "analyze/gpu_steps.h"
#include "analyze/gpu_unseen.h"
#include "base/log.h"
#include "base/units.h"

#include <stddef.h>

static const struct {
    const char *key, *one, *many;
    size_t at;
} odd[] = {
    {"without_work", "record says nothing of what it did: left out",
     "records say nothing of what they did: left out", offsetof(struct gpu_odd, no_work)},
    {"unknown", "record did what this wprof does not know: left out",
     "records did what this wprof does not know: left out", offsetof(struct gpu_odd, unknown)},
    {"without_device", "record ran on a device that is not told", "records ran on a device that is not told",
     offsetof(struct gpu_odd, no_device)},
    {"without_time", "record took no time", "records took no time", offsetof(struct gpu_odd, no_time)},
    {"unlaunched", "record was asked for by no call that was seen",
     "records were asked for by no call that was seen", offsetof(struct gpu_odd, unlaunched)},
    {"early", "record began before the call that asked for it",
     "records began before the call that asked for them", offsetof(struct gpu_odd, early)},
};

static uint64_t odd_count(const struct gpu_odd *o, size_t i)
{
    return *(const uint64_t *)((const char *)o + odd[i].at);
}

static void put_odd(const struct gpu_odd *o, struct buf *out)
{
    int any = 0;

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        if (!odd_count(o, i))
            continue;
        buf_addf(out, "%s%llu %s\n", any ? "" : "\n", (unsigned long long)odd_count(o, i),
                 odd_count(o, i) == 1 ? odd[i].one : odd[i].many);
        any = 1;
    }
}

/* What makes the figures of devices less than all. */
static void put_unseen(const struct gpu_trace *x, struct buf *out)
{
    uint64_t lost = gpu_unseen_lost(x->s);
    struct buf b = {0};
    char ns[32];

    for (size_t i = 0; i < x->devices.n; i++) {
        if (!x->devices.a[i].unseen.list.n)
            continue;
        gpu_device_label(&x->devices.a[i], &b);
        units_duration(ns, sizeof(ns), gpu_ranges_sum(&x->devices.a[i].unseen));
        buf_addf(out, "%s: %s are not seen, neither busy nor idle: another profiler had the records\n",
                 buf_str(&b), ns);
        buf_clear(&b);
    }
    if (lost)
        buf_addf(out, "%llu records were lost: busy is at least this, idle at most\n",
                 (unsigned long long)lost);
    buf_release(&b);
}

static void put_devices(const struct gpu_trace *x, uint64_t top, const struct text_style *style,
                        struct buf *out)
{
    struct table t;

    gpu_devices_table(&t, x, 0, top);
    show_table_text(&t, "Devices: from the first to the last that ran; what runs at a time counts once",
                    style, out);
    put_unseen(x, out);
    gpu_devices_table(&t, x, 1, top);
    show_table_text(&t, "Why devices were idle; launch: from the end of the call to the start on the device",
                    style, out);
    gpu_blame_joined_table(&t, x, top);
    show_table_text(&t,
                    "What the thread did that asked for what ran next, of all time that devices were idle",
                    style, out);
}

void show_gpu_overview(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out)
{
    struct gpu_trace x;

    gpu_trace_init(&x, s);
    if (x.ran.n)
        put_devices(&x, top, style, out);
    gpu_trace_release(&x);
}

static void put_memory(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out)
{
    struct gpu_memory m;
    struct table t;

    gpu_memory_init(&m, &s->store);
    gpu_memory_table(&t, &m, s->meta.start_mono);
    show_table_text(&t, "Memory: what was allocated and freed", style, out);
    gpu_memory_askers(&t, &m, top);
    show_table_text(&t, "Who asked for memory; at the most: when the device had the most of it", style, out);
    gpu_memory_release(&m);
}

void show_gpu(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out)
{
    enum gpu_steps_from from;
    struct gpu_trace x;
    struct table t;

    gpu_trace_init(&x, s);
    if (!x.ran.n && gpu_calls_are_counted(&s->store))
        log_warn("attached to what ran already: calls are counted, times of kernels are missing (start the "
                 "program with wprof record)");
    else if (!x.ran.n)
        log_warn("nothing ran on a GPU, or nothing was recorded of it (the collector gpu does; or import a "
                 "trace)");
    put_devices(&x, top, style, out);
    gpu_ranks_table(&t, &x, top);
    show_table_text(&t, "Ranks; whose part of a collective is the shortest came last, and the others waited",
                    style, out);
    from = gpu_steps_table(&t, s, &x, top);
    show_table_text(&t,
                    from == GPU_STEPS_MARKS
                        ? "Steps: what devices did while they went on"
                        : "Periods: after so many kernels the same come again, in one order",
                    style, out);
    if (x.streams.n > x.devices.n) {
        gpu_streams_table(&t, &x, UINT32_MAX, top);
        show_table_text(&t, "Streams", style, out);
    }
    gpu_kernels_table(&t, &x, UINT32_MAX, top);
    show_table_text(&t, "Kernels, by time; alone: while nothing else ran", style, out);
    gpu_copies_table(&t, &x, UINT32_MAX);
    show_table_text(&t, "Copies and sets", style, out);
    put_memory(s, top, style, out);
    gpu_nodes_table(&t, &x, top);
    show_table_text(&t, "Nodes of graphs", style, out);
    gpu_stalls_table(&t, &x, top);
    show_table_text(&t, "Threads that stood still until a device was done", style, out);
    gpu_calls_table(&t, &x, top);
    show_table_text(&t, "Calls", style, out);
    put_odd(&x.odd, out);
    gpu_trace_release(&x);
}

/* ---- JSON ---- */

static const char *const steps_from[] = {
    [GPU_STEPS_NONE] = NULL, [GPU_STEPS_MARKS] = "marks", [GPU_STEPS_PERIOD] = "period"};

static void devices_json(const struct gpu_trace *x, uint64_t top, struct json_writer *w)
{
    struct table devices, t;

    gpu_devices_table(&devices, x, 0, 0);
    json_array(w, "devices");
    for (uint32_t d = 0; d < x->devices.n; d++) {
        json_object(w, NULL);
        text_table_row_json(&devices, d, w);
        gpu_streams_table(&t, x, d, 0);
        show_table_json(&t, "streams", w);
        gpu_kernels_table(&t, x, d, top);
        show_table_json(&t, "kernels", w);
        gpu_copies_table(&t, x, d);
        show_table_json(&t, "moves", w);
        json_end_object(w);
    }
    json_end_array(w);
    table_release(&devices);
}

static void memory_json(const struct session *s, uint64_t top, struct json_writer *w)
{
    struct gpu_memory m;
    struct table t;

    gpu_memory_init(&m, &s->store);
    gpu_memory_table(&t, &m, s->meta.start_mono);
    show_table_json(&t, "memory", w);
    gpu_memory_askers(&t, &m, top);
    show_table_json(&t, "allocations", w);
    gpu_memory_release(&m);
}

void show_gpu_json(const struct session *s, uint64_t top, struct json_writer *w)
{
    enum gpu_steps_from from;
    struct gpu_trace x;
    struct table t;

    gpu_trace_init(&x, s);
    devices_json(&x, top, w);
    gpu_ranks_table(&t, &x, 0);
    show_table_json(&t, "ranks", w);
    gpu_blame_table(&t, &x, top);
    show_table_json(&t, "idle_blame", w);
    from = gpu_steps_table(&t, s, &x, top);
    show_table_json(&t, "steps", w);
    json_str(w, "steps_from", steps_from[from]);
    gpu_nodes_table(&t, &x, top);
    show_table_json(&t, "graph_nodes", w);
    memory_json(s, top, w);
    gpu_stalls_table(&t, &x, top);
    show_table_json(&t, "stalls", w);
    gpu_calls_table(&t, &x, top);
    show_table_json(&t, "calls", w);
    json_object(w, "odd");
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
        json_u64(w, odd[i].key, odd_count(&x.odd, i));
    json_end_object(w);
    gpu_trace_release(&x);
}
