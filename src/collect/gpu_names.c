/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent's log defines, entered into the store: frames, stacks, works and their names. */
#include "collect/gpu_log.h"

#include "platform/demangle.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(GPU_KERNEL == 1 && GPU_COPY == 2 && GPU_SET == 3 && GPU_GRAPH == 4 && GPU_RUNTIME == 5 &&
                   GPU_DRIVER == 6 && GPU_SYNC == 7 && GPU_OVERHEAD == 8 && GPU_ALLOC == 9 && GPU_FREE == 10,
               "what the agent writes: src/agent/records.c");

/* ---- stacks ---- */

/* A file that another collector has met, or a new one; its symbols are looked up by its path. */
static uint32_t store_module(struct gpu_log *l, uint32_t id)
{
    struct gpu_log_module *m = id ? &l->modules.a[id - 1] : NULL;
    struct frames *f = &l->store->frames;
    struct module key = {.kind = MODULE_FILE, .fd = -1};
    struct stat st;

    if (!m)
        return 0;
    key.path = strtab_add(&l->store->strings, gpu_log_text(l, m->path));
    for (uint32_t i = (uint32_t)f->modules.n; i && m->build_id_len; i--) {
        const struct module *have = frames_module(f, i);

        if (have->kind == MODULE_FILE && have->build_id_len == m->build_id_len &&
            !memcmp(have->build_id, m->build_id, m->build_id_len))
            return i;
    }
    if (!m->build_id_len && !stat(gpu_log_text(l, m->path), &st)) { /* what it is told by then */
        key.dev = st.st_dev;
        key.ino = st.st_ino;
    }
    key.build_id_len = m->build_id_len;
    memcpy(key.build_id, m->build_id, sizeof(key.build_id));
    return frames_add_module(f, &key);
}

static uint32_t store_frame(struct gpu_log *l, uint32_t id)
{
    struct gpu_log_frame *f = &l->frames.a[id - 1];
    struct strtab *strings = &l->store->strings;
    struct frame key = {.kind = FRAME_NATIVE, .flags = FRAME_RETURN, .addr = f->addr};

    if (f->store)
        return f->store;
    if (f->code) {
        const struct gpu_log_code *c = l->codes.a[f->code - 1];
        const struct py_frame at = {.lasti = f->lasti, .flags = f->lasti < 0 ? PY_FRAME_LINE_UNSURE : 0};
        const char *name = gpu_log_text(l, c->name);
        int unsure = 0;

        key = (struct frame){.kind = FRAME_PYTHON};
        key.func = strtab_add(strings, *name ? name : "[unknown Python]");
        key.file = strtab_add(strings, gpu_log_text(l, c->file));
        key.line = py_code_line(&c->code, &at, &unsure);
        key.flags = unsure ? FRAME_LINE_UNSURE : 0;
    } else if (f->module) {
        key.module = store_module(l, f->module);
    } else {
        key.kind = FRAME_MARKER;
        key.flags = 0;
        key.addr = 0;
        key.func = strtab_add(strings, "[code in no file]");
    }
    return f->store = frames_add(&l->store->frames, &key);
}

/* Parents have lower ids, so that this ends; the depth is the agent's, some 800. */
uint32_t gpu_log_store_stack(struct gpu_log *l, uint32_t id)
{
    struct gpu_log_stack *s;

    if (!id || id > l->stacks.n)
        return 0;
    s = &l->stacks.a[id - 1];
    if (!s->store) {
        VEC(uint32_t) open = {0};
        uint32_t at = id, stack = 0;

        while (at && !l->stacks.a[at - 1].store) {
            *vec_push(&open) = at;
            at = l->stacks.a[at - 1].parent;
        }
        stack = at ? l->stacks.a[at - 1].store : 0;
        while (open.n) {
            s = &l->stacks.a[open.a[--open.n] - 1];
            s->store = stack = stacks_push(&l->store->stacks, stack, store_frame(l, s->frame));
        }
        vec_release(&open);
    }
    return l->stacks.a[id - 1].store;
}

/* ---- works ---- */

/* CUPTI's numbers, in the words that Kineto has made usual (cupti_activity.h: CUpti_ActivityMemcpyKind,
 * CUpti_ActivityMemoryKind, CUpti_ActivitySynchronizationType, CUpti_ActivityOverheadKind). */
static const char *const copies[] = {"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                     "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
static const char *const places[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                     "Array",   "Managed",  "Device Static", "Managed Static"};
static const char *const syncs[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
static const char *const overheads[] = {"Driver Compiler",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full",
                                        "Activity Buffer Request",
                                        "UVM Activity Init"};

static const char *word(const char *const *list, size_t n, uint32_t i)
{
    return list[i < n ? i : 0];
}

#define WORD(list, i) word(list, ARRAY_SIZE(list), i)

static uint8_t place(uint32_t cupti)
{
    static const uint8_t of[] = {GPU_PLACE_UNKNOWN, GPU_PAGEABLE, GPU_PINNED, GPU_DEVICE,
                                 GPU_ARRAY,         GPU_MANAGED,  GPU_DEVICE, GPU_MANAGED};

    return of[cupti < ARRAY_SIZE(of) ? cupti : 0];
}

/* Overhead's kinds: 1 for the compiler, else in the upper half. */
static void name_of(const struct gpu_log *l, const struct gpu_wire_work *w, char *out, size_t n)
{
    switch (w->op) {
    case GPU_COPY:
        snprintf(out, n, "Memcpy %s (%s -> %s)", WORD(copies, w->what), WORD(places, w->from),
                 WORD(places, w->to));
        break;
    case GPU_SET:
        snprintf(out, n, "Memset (%s)", WORD(places, w->to));
        break;
    case GPU_GRAPH:
        snprintf(out, n, "graph %u", w->graph);
        break;
    case GPU_SYNC:
        snprintf(out, n, "%s", WORD(syncs, w->what));
        break;
    case GPU_OVERHEAD:
        snprintf(out, n, "%s",
                 w->what == 1    ? overheads[0]
                 : w->what >> 16 ? WORD(overheads, w->what >> 16)
                                 : "Overhead");
        break;
    case GPU_ALLOC:
    case GPU_FREE:
        snprintf(out, n, "%s (%s)", w->op == GPU_ALLOC ? "allocate" : "free", WORD(places, w->to));
        break;
    case GPU_RUNTIME:
    case GPU_DRIVER:
        if (w->name)
            snprintf(out, n, "%s", gpu_log_text(l, w->name));
        else
            snprintf(out, n, "%s call %u", w->op == GPU_RUNTIME ? "CUDA runtime" : "CUDA driver", w->what);
        break;
    default:
        snprintf(out, n, "[unknown]");
    }
}

static uint32_t store_name(struct gpu_log *l, const struct gpu_wire_work *w)
{
    struct buf b = {0};
    char text[256];
    uint32_t id;

    if (w->op != GPU_KERNEL || !w->name) {
        name_of(l, w, text, sizeof(text));
        return strtab_add(&l->store->strings, text);
    }
    demangle(gpu_log_text(l, w->name), &b);
    id = strtab_add(&l->store->strings, buf_str(&b));
    buf_release(&b);
    return id;
}

/* + 1, as the work's; 0: none. */
static uint32_t device_of(const struct gpu_log *l, uint32_t device)
{
    return device && device <= l->devices.n && l->devices.a[device - 1] ? l->devices.a[device - 1] : device;
}

uint32_t gpu_log_store_work(struct gpu_log *l, uint32_t id)
{
    struct gpu_log_work *x = &l->works.a[id - 1];
    const struct gpu_wire_work *w = &x->wire;
    struct gpu_work key;

    if (x->store)
        return x->store;
    memset(&key, 0, sizeof(key)); /* compared by its bytes */
    key.name = store_name(l, w);
    key.op = (uint8_t)(w->op < GPU_OPS ? w->op : GPU_NONE);
    key.device = (uint16_t)device_of(l, w->device);
    key.rank = (uint16_t)l->rank;
    key.context = w->context;
    key.stream = w->stream;
    memcpy(key.grid, w->grid, sizeof(key.grid));
    memcpy(key.block, w->block, sizeof(key.block));
    key.shared = w->shared;
    key.registers = (uint16_t)w->registers;
    key.graph = w->graph;
    key.node = w->node;
    key.bytes = w->bytes;
    key.from = place(w->from);
    key.to = place(w->to);
    key.result = w->result != 0;
    return x->store = gpu_works_add(&l->store->gpus, &key);
}
