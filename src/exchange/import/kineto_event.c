/* SPDX-License-Identifier: Apache-2.0 */
/* One event of a Kineto trace, by its category. */
#include "exchange/import/kineto.h"

#include "exchange/import/nest.h"
#include "model/numbered.h"

#include <stdlib.h>
#include <string.h>

enum { SAID = 60 }; /* bytes of an unknown category that are said */

enum kind {
    LEFT, /* read and left out on purpose */
    OPERATOR,
    ANNOTATION,
    PYTHON,
    CALL,
    KERNEL,
    COPY,
    SET,
    WAIT,
    OVERHEAD,
    RANGE, /* an annotation as it showed on the device */
    MEMORY,
};

/* Categories of all versions: libkineto, ActivityType.cpp; capitals: of 2021, as HTA still reads them. */
static const struct category {
    const char *name;
    uint8_t kind, op;
    const char *what; /* in plural */
} categories[] = {
    {"cpu_op", OPERATOR, GPU_OPERATOR, "operator|operators"},
    {"Operator", OPERATOR, GPU_OPERATOR, "operator|operators"},
    {"cuda_runtime", CALL, GPU_RUNTIME, "runtime call|runtime calls"},
    {"Runtime", CALL, GPU_RUNTIME, "runtime call|runtime calls"},
    {"hip_runtime", CALL, GPU_RUNTIME, "runtime call|runtime calls"},
    {"xpu_runtime", CALL, GPU_RUNTIME, "runtime call|runtime calls"},
    {"mtia_runtime", CALL, GPU_RUNTIME, "runtime call|runtime calls"},
    {"privateuse1_runtime", CALL, GPU_RUNTIME, "runtime call|runtime calls"},
    {"cuda_driver", CALL, GPU_DRIVER, "driver call|driver calls"},
    {"xpu_driver", CALL, GPU_DRIVER, "driver call|driver calls"},
    {"privateuse1_driver", CALL, GPU_DRIVER, "driver call|driver calls"},
    {"kernel", KERNEL, GPU_KERNEL, "kernel|kernels"},
    {"Kernel", KERNEL, GPU_KERNEL, "kernel|kernels"},
    {"gpu_memcpy", COPY, GPU_COPY, "copy|copies"},
    {"Memcpy", COPY, GPU_COPY, "copy|copies"},
    {"gpu_memset", SET, GPU_SET, "memset|memsets"},
    {"Memset", SET, GPU_SET, "memset|memsets"},
    {"cuda_sync", WAIT, GPU_SYNC, "synchronization|synchronizations"},
    {"overhead", OVERHEAD, GPU_OVERHEAD, "overhead of the profiler|overheads of the profiler"},
    {"python_function", PYTHON, GPU_OPERATOR, "Python function|Python functions"},
    {"user_annotation", ANNOTATION, GPU_OPERATOR, "annotation|annotations"},
    {"gpu_user_annotation", RANGE, GPU_OPERATOR, "annotation on a device|annotations on devices"},
    {"cpu_instant_event", MEMORY, 0, "instant|instants"},
    {"cuda_profiler_range", LEFT, 0, "profiler range|profiler ranges"},
    {"Trace", LEFT, 0, "span of the profiler's own|spans of the profiler's own"},
    {"ac2g", LEFT, 0,
     "arrow from launch to kernel (found by correlation id)|arrows from launch to kernel (found by "
     "correlation id)"},
    {"async_cpu_to_gpu", LEFT, 0,
     "arrow from launch to kernel (found by correlation id)|arrows from launch to kernel (found by "
     "correlation id)"},
    {"fwdbwd", LEFT, 0, "arrow from forward to backward|arrows from forward to backward"},
};

static const struct category *category_of(const struct buf *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(categories); i++)
        if (!strcmp(categories[i].name, buf_str(name)))
            return &categories[i];
    return NULL;
}

/* ---- rows ---- */

uint32_t kineto_work(struct kineto *k, const struct gpu_work *w)
{
    uint32_t id = gpu_works_add(&k->works, w);

    while (k->frames.n <= id)
        *vec_push(&k->frames) = 0;
    return id;
}

/* Those whose number is not told lie in lane 2^32 - 1, as CUPTI has it. */
static uint32_t stream_of(const struct trace_event *ev)
{
    const struct trace_number *n = ev->args[TRACE_STREAM].how ? &ev->args[TRACE_STREAM] : &ev->tid;

    return trace_has(n) && n->whole >= 0 && n->whole < UINT32_MAX ? (uint32_t)n->whole : UINT32_MAX;
}

static uint16_t device_of(const struct trace_event *ev)
{
    const struct trace_number *n = ev->args[TRACE_DEVICE].how ? &ev->args[TRACE_DEVICE] : &ev->pid;

    return trace_has(n) && n->whole >= 0 && n->whole < UINT16_MAX ? (uint16_t)(n->whole + 1) : 0;
}

static void set_device(struct gpu_work *w, const struct trace_event *ev)
{
    const struct trace_number *occupancy = &ev->args[TRACE_OCCUPANCY];

    w->device = device_of(ev);
    w->stream = stream_of(ev);
    w->context = trace_u32(&ev->args[TRACE_CONTEXT]);
    w->bytes = trace_u64(&ev->args[TRACE_BYTES]);
    w->graph = trace_u32(&ev->args[TRACE_GRAPH]);
    w->node = trace_u32(&ev->args[TRACE_NODE]);
    w->shared = trace_u32(&ev->args[TRACE_SHARED]);
    w->registers = (uint16_t)trace_u32(&ev->args[TRACE_REGISTERS]);
    memcpy(w->grid, ev->grid, sizeof(w->grid));
    memcpy(w->block, ev->block, sizeof(w->block));
    if (trace_has(occupancy) && occupancy->whole >= 0 && occupancy->whole <= 1000)
        w->occupancy = (uint16_t)(occupancy->whole * 10 + occupancy->nano / 100000000 + 1);
}

static uint8_t place(const char *s, size_t n)
{
    static const char *const names[GPU_PLACES] = {
        [GPU_PAGEABLE] = "Pageable", [GPU_PINNED] = "Pinned",   [GPU_DEVICE] = "Device",
        [GPU_ARRAY] = "Array",       [GPU_MANAGED] = "Managed", [GPU_HOST] = "Host"};

    for (unsigned p = GPU_PAGEABLE; p < GPU_PLACES; p++)
        if (strlen(names[p]) == n && !memcmp(names[p], s, n))
            return (uint8_t)p;
    return GPU_PLACE_UNKNOWN;
}

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)" */
void kineto_set_places(struct gpu_work *w, const char *name)
{
    const char *open = strrchr(name, '('), *arrow = open ? strstr(open, " -> ") : NULL;
    const char *close = arrow ? strchr(arrow, ')') : NULL;

    if (w->op == GPU_SET && open && strchr(open, ')'))
        w->to = place(open + 1, (size_t)(strchr(open, ')') - open - 1));
    if (!close)
        return;
    w->from = place(open + 1, (size_t)(arrow - open - 1));
    w->to = place(arrow + 4, (size_t)(close - arrow - 4));
}

/* ---- frames ---- */

/* "torch/nn/modules/module.py(1190): _call_impl"; other names are as they are. */
static void python_frame(struct strtab *t, const char *name, struct frame *f)
{
    const char *close = strstr(name, "): "), *open = close;
    uint64_t line = 0;

    f->kind = FRAME_PYTHON;
    while (open && open > name && open[-1] >= '0' && open[-1] <= '9')
        open--;
    if (!open || open == close || open - name < 2 || open[-1] != '(' || !close[3]) {
        f->func = strtab_add(t, name);
        return;
    }
    for (const char *p = open; p < close && line < UINT32_MAX; p++)
        line = line * 10 + (uint64_t)(*p - '0');
    f->func = strtab_add(t, close + 3);
    f->file = strtab_addn(t, name, (size_t)(open - 1 - name));
    f->line = line < UINT32_MAX ? (uint32_t)line : 0;
}

#define STEP "ProfilerStep#"

static int is_step(const char *name)
{
    return !strncmp(name, STEP, strlen(STEP));
}

/* A step is a mark "step 12", other numbered annotations are marks by their own words. */
int kineto_numbered(struct kineto *k, uint32_t *word, uint32_t *mark)
{
    const char *name = buf_str(&k->r.ev.name);
    char *text;

    if (!numbered_names(&k->s->strings, name, word, mark))
        return 0;
    if (is_step(name)) {
        text = mem_printf("step %s", name + strlen(STEP));
        *mark = strtab_add(&k->s->strings, text);
        free(text);
    }
    return 1;
}

/* Steps are one frame, so that what they do adds up, and so is what else is numbered. */
static uint32_t add_frame(struct kineto *k, enum kind kind)
{
    const char *name = buf_str(&k->r.ev.name);
    struct frame f = {.kind = FRAME_NATIVE};
    uint32_t mark;

    if (kind == PYTHON) {
        python_frame(&k->s->strings, name, &f);
    } else {
        f.kind = kind == ANNOTATION ? FRAME_MARKER : FRAME_NATIVE;
        if (kind != ANNOTATION || !kineto_numbered(k, &f.func, &mark))
            f.func = strtab_add(&k->s->strings, name);
    }
    return frames_add(&k->s->frames, &f);
}

/* ---- events ---- */

/* A thread's id; some are a handle of the threads library instead, cut to 32 bits with a sign. */
static uint32_t thread_of(const struct trace_event *ev)
{
    return trace_has(&ev->tid) ? (uint32_t)ev->tid.whole : 0;
}

/* -1: its thread is not told. */
static int set_task(struct kineto *k, struct event *ev)
{
    uint32_t pid = trace_u32(&k->r.ev.pid), tid = thread_of(&k->r.ev);

    if (!pid)
        return -1;
    ev->task = lanes_task(&k->lanes, pid, tid ? tid : pid);
    return 0;
}

static void push(struct kineto *k, struct event *ev, const struct category *c, uint32_t work)
{
    ev->kind = EVENT_GPU;
    ev->attr = work;
    *vec_push(&k->s->events) = *ev;
    import_count(k->r.st, IMPORT_TOOK, c->what, 1);
    if (!ev->dur)
        import_count(k->r.st, IMPORT_NOTED, "without length", 1);
}

void kineto_mark(struct kineto *k, const struct event *at)
{
    uint32_t word, mark;

    if (!kineto_numbered(k, &word, &mark))
        return;
    numbered_push(k->s, at, mark);
    import_count(k->r.st, IMPORT_TOOK, "step|steps", is_step(buf_str(&k->r.ev.name)));
}

static void take_call(struct kineto *k, struct event *ev)
{
    const char *name = buf_str(&k->r.ev.name);
    uint64_t bytes = trace_u64(&k->r.ev.args[TRACE_SIZE]);

    ev->value = trace_u64(&k->r.ev.args[TRACE_CORRELATION]);
    if (bytes && ev->value && (strstr(name, "Memcpy") || strstr(name, "Memset")))
        *map_put(&k->sizes, ev->value) = bytes;
}

static void take_host(struct kineto *k, const struct category *c)
{
    struct event ev = {0};
    struct gpu_work w = {.op = c->op};
    uint32_t id;

    if (trace_reader_time(&k->r, &ev, 0))
        return;
    if (set_task(k, &ev)) {
        import_count(k->r.st, IMPORT_LOST, "event without a thread|events without a thread", 1);
        return;
    }
    w.name = strtab_add(&k->s->strings, buf_str(&k->r.ev.name));
    id = kineto_work(k, &w);
    if (!k->frames.a[id])
        k->frames.a[id] = add_frame(k, (enum kind)c->kind);
    if (c->kind == CALL)
        take_call(k, &ev);
    k->python |= c->kind == PYTHON;
    push(k, &ev, c, id);
    if (c->kind == ANNOTATION)
        kineto_mark(k, &ev);
}

static void take_device(struct kineto *k, const struct category *c)
{
    struct event ev = {0};
    struct gpu_work w = {.op = c->op};

    if (trace_reader_time(&k->r, &ev, 0))
        return;
    w.name = strtab_add(&k->s->strings, buf_str(&k->r.ev.name));
    set_device(&w, &k->r.ev);
    if (c->kind == COPY || c->kind == SET)
        kineto_set_places(&w, buf_str(&k->r.ev.name));
    ev.value = trace_u64(&k->r.ev.args[TRACE_CORRELATION]);
    push(k, &ev, c, kineto_work(k, &w));
    if (!ev.value && c->kind != RANGE)
        import_count(k->r.st, IMPORT_NOTED, "without a correlation id", 1);
    if (!w.device)
        import_count(k->r.st, IMPORT_NOTED, "without a device", 1);
}

/* Buffers flushed and the like: of the process, of no thread that works. */
static void take_overhead(struct kineto *k, const struct category *c)
{
    struct event ev = {0};
    struct gpu_work w = {.op = c->op};

    if (trace_reader_time(&k->r, &ev, 0))
        return;
    set_task(k, &ev);
    w.name = strtab_add(&k->s->strings, buf_str(&k->r.ev.name));
    push(k, &ev, c, kineto_work(k, &w));
}

/* "[memory]": the device's, or the host's, which has no device. */
static void take_memory(struct kineto *k)
{
    const struct trace_number *bytes = &k->r.ev.args[TRACE_BYTES], *device = &k->r.ev.args[TRACE_DEVICE_ID];
    int frees_it = bytes->whole < 0;
    struct event ev = {0};
    struct gpu_work w = {.op = frees_it ? GPU_FREE : GPU_ALLOC};

    if (!trace_is(&k->r.ev.name, "[memory]") || !trace_has(bytes)) {
        import_count(k->r.st, IMPORT_LEFT, "instant|instants", 1);
        return;
    }
    if (trace_reader_time(&k->r, &ev, 1))
        return;
    set_task(k, &ev);
    w.bytes = frees_it ? 0 - (uint64_t)bytes->whole : (uint64_t)bytes->whole;
    if (trace_has(device) && device->whole >= 0 && device->whole < UINT16_MAX)
        w.device = (uint16_t)(device->whole + 1);
    w.to = w.device ? GPU_DEVICE : GPU_PAGEABLE;
    ev.value = (uint64_t)k->r.ev.args[TRACE_ADDRESS].whole;
    ev.kind = EVENT_GPU;
    ev.attr = kineto_work(k, &w);
    k->frames.a[ev.attr] = frees_it ? 0 : NEST_AROUND;
    *vec_push(&k->s->events) = ev;
    import_count(k->r.st, IMPORT_TOOK, frees_it ? "free|frees" : "allocation|allocations", 1);
}

/* Names of processes and threads; the latter as "thread 12 (pt_autograd_0)". */
static void take_metadata(struct kineto *k)
{
    uint32_t pid = trace_u32(&k->r.ev.pid), tid = thread_of(&k->r.ev);
    const char *label = buf_str(&k->r.ev.label), *open = strrchr(label, '(');
    size_t n = open ? strlen(open) : 0; /* the label may go on behind a NUL */
    struct buf name = {0};

    if (pid && trace_is(&k->r.ev.name, "process_name"))
        lanes_name(&k->lanes, pid, 0, label);
    if (pid && tid && trace_is(&k->r.ev.name, "thread_name")) {
        if (n >= 2 && !strncmp(label, "thread ", 7) && open[n - 1] == ')')
            buf_add(&name, open + 1, n - 2);
        else
            buf_addstr(&name, label);
        lanes_name(&k->lanes, pid, tid, buf_str(&name));
    }
    buf_release(&name);
}

static void take_unknown(struct kineto *k)
{
    const struct buf *category = &k->r.ev.category;

    import_count(k->r.st, IMPORT_LEFT, "event of other categories|events of other categories", 1);
    if (!k->unknown)
        k->unknown = mem_strndup(buf_str(category), category->len < SAID ? category->len : SAID);
}

void kineto_event(void *kineto)
{
    struct kineto *k = kineto;
    const struct category *c;

    if (k->r.ev.phase == 'M') {
        take_metadata(k);
        return;
    }
    if (kineto_is_plain(k)) {
        kineto_plain(k);
        return;
    }
    c = category_of(&k->r.ev.category);
    if (!c) {
        if (k->r.ev.phase == 'i' && !k->r.ev.category.len)
            import_count(k->r.st, IMPORT_LEFT, "instant|instants", 1);
        else
            take_unknown(k);
    } else if (c->kind == LEFT) {
        import_count(k->r.st, IMPORT_LEFT, c->what, 1);
    } else if (c->kind == MEMORY) {
        take_memory(k);
    } else if (k->r.ev.phase != 'X') {
        import_count(k->r.st, IMPORT_LOST, "event that is no span|events that are no spans", 1);
    } else if (!k->r.ev.name.len) {
        import_count(k->r.st, IMPORT_LOST, "event without a name|events without a name", 1);
    } else if (c->kind == OVERHEAD) {
        take_overhead(k, c);
    } else if (c->kind < KERNEL) {
        take_host(k, c);
    } else {
        take_device(k, c);
    }
}
