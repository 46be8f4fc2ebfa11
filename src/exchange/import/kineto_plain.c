/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch writes that was built without Kineto, and torch.autograd.profiler of old (torch/autograd,
 * export_chrome_trace): a list of spans without categories, pid "CPU functions" and a thread's number, or pid
 * "CUDA functions" and a device's, times since the profiler's start. An arrow cpu_to_cuda leads from where a
 * function begins to where its kernel does.
 */
#include "exchange/import/kineto.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define HOST    "CPU functions"
#define DEVICES "CUDA functions"

enum { PID = 1 << 30 }; /* of the process, which is not told: no kernel gives such a one */

int kineto_is_plain(const struct kineto *k)
{
    const struct buf *pid = &k->r.ev.pid_text;

    return pid->len && (trace_is(pid, HOST) || trace_is(pid, DEVICES));
}

/* A thread is a number from 0 or 1 on, or a text where it is another process's. */
static uint32_t task_of(struct kineto *k)
{
    const struct trace_event *ev = &k->r.ev;
    uint32_t tid = trace_u32(&ev->tid);

    if (ev->tid_text.len)
        tid = lanes_narrow(&k->lanes, hash_bytes(ev->tid_text.data, ev->tid_text.len) | 1ull << 63);
    return lanes_task(&k->lanes, PID, tid ? tid : PID);
}

static void take_function(struct kineto *k, struct event *ev)
{
    const char *name = buf_str(&k->r.ev.name);
    struct gpu_work w = {.op = GPU_OPERATOR, .name = strtab_add(&k->s->strings, name)};
    struct frame f = {.kind = FRAME_NATIVE, .func = w.name};
    uint32_t mark;

    lanes_name(&k->lanes, PID, 0, HOST);
    ev->task = task_of(k);
    ev->attr = kineto_work(k, &w);
    if (!strstr(name, "::") && kineto_numbered(k, &f.func, &mark)) /* no operator of PyTorch's own */
        f.kind = FRAME_MARKER;
    if (!k->frames.a[ev->attr])
        k->frames.a[ev->attr] = frames_add(&k->s->frames, &f);
    *vec_push(&k->plain.functions) =
        (struct kineto_function){.task = ev->task, .name = w.name, .ts = ev->ts, .event = k->s->events.n};
    *vec_push(&k->s->events) = *ev;
    import_count(k->r.st, IMPORT_TOOK, "operator|operators", 1);
    if (f.kind == FRAME_MARKER)
        kineto_mark(k, ev);
}

/* Without streams: all of a device lie in one. */
static void take_kernel(struct kineto *k, struct event *ev)
{
    const char *name = buf_str(&k->r.ev.name);
    struct gpu_work w = {.op = GPU_KERNEL, .name = strtab_add(&k->s->strings, name)};
    const struct trace_number *device = &k->r.ev.tid;

    if (!strncmp(name, "Memcpy", strlen("Memcpy")))
        w.op = GPU_COPY;
    else if (!strncmp(name, "Memset", strlen("Memset")))
        w.op = GPU_SET;
    kineto_set_places(&w, name);
    w.stream = UINT32_MAX;
    if (trace_has(device) && device->whole >= 0 && device->whole < UINT16_MAX)
        w.device = (uint16_t)(device->whole + 1);
    ev->attr = kineto_work(k, &w);
    *vec_push(&k->plain.kernels) = (struct kineto_arrow){
        .device = w.device, .ts = ev->ts, .seq = k->plain.kernels.n, .event = k->s->events.n};
    *vec_push(&k->s->events) = *ev;
    import_count(k->r.st, IMPORT_TOOK,
                 w.op == GPU_KERNEL ? "kernel|kernels"
                 : w.op == GPU_COPY ? "copy|copies"
                                    : "memset|memsets",
                 1);
}

static void take_arrow(struct kineto *k, int begins)
{
    struct event ev = {0};
    struct kineto_arrow a = {.id = trace_u64(&k->r.ev.id) + 1, .seq = k->plain.ends.n};

    if (!trace_has(&k->r.ev.id)) {
        import_count(k->r.st, IMPORT_LOST, "arrow without an id|arrows without an id", 1);
        return;
    }
    if (trace_reader_time(&k->r, &ev, 1))
        return;
    if (begins) {
        *map_put(&k->plain.begins, a.id) = k->plain.launches.n + 1;
        *vec_push(&k->plain.launches) = (struct kineto_function){
            .task = task_of(k), .name = strtab_add(&k->s->strings, buf_str(&k->r.ev.name)), .ts = ev.ts};
    } else {
        a.ts = ev.ts;
        a.device = (uint16_t)(trace_u32(&k->r.ev.tid) + 1);
        *vec_push(&k->plain.ends) = a;
    }
}

void kineto_plain(struct kineto *k)
{
    struct event ev = {.kind = EVENT_GPU};
    int device = trace_is(&k->r.ev.pid_text, DEVICES);
    char phase = k->r.ev.phase;

    if (phase == 's' || phase == 'f') {
        take_arrow(k, phase == 's');
    } else if (phase != 'X') {
        import_count(k->r.st, IMPORT_LEFT, "event of other categories|events of other categories", 1);
    } else if (!trace_reader_time(&k->r, &ev, 0)) {
        if (device)
            take_kernel(k, &ev);
        else
            take_function(k, &ev);
    }
}

/* ---- who asked for what ---- */

static int by_device(const void *x, const void *y)
{
    const struct kineto_arrow *a = x, *b = y;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->ts != b->ts) /* as they are in the file: signed */
        return (int64_t)a->ts < (int64_t)b->ts ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int by_thread(const void *x, const void *y)
{
    const struct kineto_function *a = x, *b = y;

    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* The kernel has the thread and the stack of the function at whose beginning its arrow begins. */
static void give_launch(struct kineto *k, struct event *ev, uint64_t id)
{
    const uint64_t *at = map_get(&k->plain.begins, id);
    const struct kineto_function *begin = at ? &k->plain.launches.a[*at - 1] : NULL, *f;

    if (!begin)
        return;
    f = bsearch(begin, k->plain.functions.a, k->plain.functions.n, sizeof(*f), by_thread);
    ev->value = id;
    ev->task = begin->task;
    ev->stack = f ? k->s->events.a[f->event].stack : 0;
}

void kineto_plain_launches(struct kineto *k)
{
    struct kineto_plain *p = &k->plain;
    size_t at = 0;

    if (!p->kernels.n || !p->ends.n || !p->functions.n)
        return;
    qsort(p->kernels.a, p->kernels.n, sizeof(*p->kernels.a), by_device);
    qsort(p->ends.a, p->ends.n, sizeof(*p->ends.a), by_device);
    qsort(p->functions.a, p->functions.n, sizeof(*p->functions.a), by_thread);
    /* An arrow ends where its kernel begins, or shortly before. */
    for (size_t i = 0; i < p->kernels.n && at < p->ends.n; i++) {
        const struct kineto_arrow *kernel = &p->kernels.a[i], *end;

        while (at < p->ends.n && p->ends.a[at].device < kernel->device)
            at++;
        end = &p->ends.a[at];
        if (at == p->ends.n || end->device != kernel->device || (int64_t)end->ts > (int64_t)kernel->ts)
            continue;
        give_launch(k, &k->s->events.a[kernel->event], end->id);
        at++;
    }
}

void kineto_plain_release(struct kineto *k)
{
    vec_release(&k->plain.functions);
    vec_release(&k->plain.kernels);
    vec_release(&k->plain.launches);
    map_release(&k->plain.begins);
    vec_release(&k->plain.ends);
}
