/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/chrome.h"

#include "base/hash.h"
#include "model/session.h"

static uint64_t key_of(const struct event *ev, const struct gpu_work *work)
{
    return hash_mix(ev->value, (uint64_t)work->rank << 16 | work->device);
}

/* What an allocation takes, or gives back: recorders tell that of frees by the address alone. 0: not known.
 */
static uint64_t size_of(struct map *held, const struct event *ev, const struct gpu_work *work)
{
    uint64_t bytes = work->bytes, *at;

    if (!ev->value)
        return bytes;
    at = map_put(held, key_of(ev, work));
    if (work->op == GPU_FREE && !bytes)
        bytes = *at;
    *at = work->op == GPU_ALLOC ? bytes : 0;
    return bytes;
}

static void put(struct chrome *w, const struct session *s, const struct event *ev,
                const struct gpu_work *work, uint64_t bytes)
{
    const struct tasks *tasks = &s->store.tasks;
    const struct task *task = ev->task && ev->task <= tasks->list.n ? &tasks->list.a[ev->task - 1] : NULL;
    uint64_t start = s->meta.start_mono;

    chrome_begin(w, "i", "[memory]",
                 !task          ? 0
                 : task->ns_pid ? task->ns_pid
                                : task->pid,
                 !task          ? 0
                 : task->ns_tid ? task->ns_tid
                                : task->tid);
    json_str(&w->json, "cat", "cpu_instant_event");
    json_str(&w->json, "s", "t");
    json_f64(&w->json, "ts", chrome_us(ev->ts > start ? ev->ts - start : 0));
    json_object(&w->json, "args");
    json_i64(&w->json, "Bytes", work->op == GPU_FREE ? -(int64_t)bytes : (int64_t)bytes);
    if (ev->value)
        json_u64(&w->json, "Addr", ev->value);
    json_i64(&w->json, "Device Id", work->device ? work->device - 1 : -1);
    json_u64(&w->json, "Device Type", work->device != 0); /* of c10::DeviceType: CPU, CUDA */
    json_end_object(&w->json);
    json_end_object(&w->json);
}

void chrome_memory(struct chrome *w, const struct session *s)
{
    struct map held = {0};

    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];
        const struct gpu_work *work = ev->kind == EVENT_GPU ? gpu_works_get(&s->store.gpus, ev->attr) : NULL;
        uint64_t bytes;

        if (!work || (work->op != GPU_ALLOC && work->op != GPU_FREE))
            continue;
        bytes = size_of(&held, ev, work);
        if (bytes || work->op == GPU_ALLOC)
            put(w, s, ev, work, bytes);
        else
            w->left_frees++;
    }
    map_release(&held);
}
