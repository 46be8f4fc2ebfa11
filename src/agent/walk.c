/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/walk.h"

#include "agent/glibc.h"
#include "agent/native.h"
#include "agent/python.h"
#include "unwind/py_merge.h"

#include <string.h>

#define BUDGET_SHARE 100      /* 1/100 of a thread's time */
#define BUDGET_MOST  20000000 /* ns */
#define WALK_MOST    1000000  /* ns that one counts for: what took longer waited for a CPU meanwhile */

enum { SLOTS = NATIVE_MAX + PY_MAX_DEPTH };

/* One for all threads. */
static struct walk {
    pthread_mutex_t lock;
    struct self self;
    struct native native;
    struct python python;
    struct native_frame frames[NATIVE_MAX];
    struct py_native natives[NATIVE_MAX];
    struct py_slot slots[SLOTS];
    uint8_t lines[GPU_WIRE_LINES / 2];
} walk = {.lock = PTHREAD_MUTEX_INITIALIZER};

int walk_init(struct agent *a)
{
    walk.self.pid = a->pid;
    walk.self.mem = -1;
    walk.native.self = walk.python.self = &walk.self;
    walk_look(a);
    return 0;
}

void walk_look(struct agent *a)
{
    struct python_symbols symbols;
    int changed = native_look(&walk.native), python = !walk.python.found && python_find(&symbols), found = 0;

    pthread_mutex_lock(&walk.lock);
    if (changed)
        native_take(&walk.native);
    if (python)
        found = python_take(&walk.python, &symbols);
    pthread_mutex_unlock(&walk.lock);
    if (found)
        agent_state(a, walk.python.found > 0 ? GPU_PYTHON : GPU_NO_PYTHON, walk.python.version);
}

/* ---- what was found, as items; the lock of `out` is held ---- */

struct native_key {
    uint32_t kind, module;
    uint64_t addr;
};

struct python_key {
    uint32_t kind, code;
    int64_t lasti;
};

struct code_key {
    uint64_t code;
    uint32_t name, firstline;
};

enum { KIND_NATIVE, KIND_PYTHON };

static uint32_t put_module(struct agent *a, uint32_t index)
{
    const struct native_module *m;
    uint32_t id, path;

    if (!index)
        return 0;
    m = &walk.native.modules[index - 1];
    if (agent_known(a, TABLE_MODULES, m, sizeof(*m), &id))
        return id;
    path = agent_text(a, m->path, strlen(m->path));
    out_reserve(&a->out, 64);
    out_u8(&a->out, GPU_MODULE);
    out_number(&a->out, path);
    out_text(&a->out, m->build_id, m->build_id_len);
    return id;
}

static uint32_t put_code(struct agent *a, const struct py_frame *f)
{
    const struct code_key key = {f->code, f->name, f->firstline};
    uint64_t name_at, file_at;
    char text[PYTHON_TEXT];
    uint32_t id, name, file;
    size_t lines;

    if (agent_known(a, TABLE_CODES, &key, sizeof(key), &id))
        return id;
    python_names(&walk.python, f->code, &name_at, &file_at);
    name = agent_text(a, text, python_text(&walk.python, name_at, text));
    file = agent_text(a, text, python_text(&walk.python, file_at, text));
    lines = python_lines(&walk.python, f->code, walk.lines, sizeof(walk.lines));
    out_reserve(&a->out, lines + 64);
    out_u8(&a->out, GPU_CODE);
    out_number(&a->out, walk.python.version);
    out_number(&a->out, f->firstline);
    out_number(&a->out, name);
    out_number(&a->out, file);
    out_text(&a->out, walk.lines, lines);
    return id;
}

static uint32_t put_native(struct agent *a, const struct native_frame *f)
{
    uint64_t bias = f->module ? walk.native.modules[f->module - 1].bias : 0;
    const struct native_key key = {KIND_NATIVE, put_module(a, f->module), f->ip - bias};
    uint32_t id;

    if (agent_known(a, TABLE_FRAMES, &key, sizeof(key), &id))
        return id;
    out_reserve(&a->out, 32);
    out_u8(&a->out, GPU_FRAME);
    out_number(&a->out, 1);
    out_number(&a->out, key.module);
    out_number(&a->out, key.addr);
    return id;
}

static uint32_t put_python(struct agent *a, const struct py_frame *f)
{
    int64_t lasti = f->flags & PY_FRAME_LINE_UNSURE ? -1 : f->lasti;
    const struct python_key key = {KIND_PYTHON, put_code(a, f), lasti};
    uint32_t id;

    if (agent_known(a, TABLE_FRAMES, &key, sizeof(key), &id))
        return id;
    out_reserve(&a->out, 32);
    out_u8(&a->out, GPU_FRAME);
    out_number(&a->out, 0);
    out_number(&a->out, key.code);
    out_signed(&a->out, lasti);
    return id;
}

static uint32_t put_stack(struct agent *a, const struct native_frame *natives, size_t n)
{
    uint32_t stack = 0;

    for (size_t i = n; i--;) {
        struct py_slot s = walk.slots[i];
        uint32_t frame =
            s.python ? put_python(a, &walk.python.stack.frames[s.index]) : put_native(a, &natives[s.index]);
        const uint32_t key[2] = {stack, frame};

        if (agent_known(a, TABLE_STACKS, key, sizeof(key), &stack))
            continue;
        out_reserve(&a->out, 16);
        out_u8(&a->out, GPU_STACK);
        out_number(&a->out, key[0]);
        out_number(&a->out, key[1]);
    }
    return stack;
}

/* ---- taking one ---- */

static void registers(struct walk_regs *r)
{
    *r = (struct walk_regs){0};
    __asm__ volatile("lea 0f(%%rip), %0\n0:\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(r->ip), "=r"(r->sp), "=r"(r->bp));
}

/* How many of the innermost frames are ours and CUPTI's. */
static size_t skipped(size_t n)
{
    size_t i = 0;

    while (i < n && walk.frames[i].module && walk.native.modules[walk.frames[i].module - 1].skip)
        i++;
    return i;
}

static size_t merge(struct agent *a, const struct native_frame *f, size_t n, int python, int whole)
{
    struct py_merge_how how = {.entry = walk.python.layout.entry,
                               .native_whole = whole,
                               .python_whole = python >= 0 && walk.python.stack.walk.status == PY_DONE,
                               .tail_calls = python_tail_calls(&walk.python)};
    struct py_merge_stats stats = {0};

    for (size_t i = 0; i < n; i++) {
        int eval = f[i].ip >= walk.python.eval_start && f[i].ip < walk.python.eval_end;

        walk.natives[i] = (struct py_native){.sp = f[i].sp, .flags = eval ? PY_NATIVE_EVAL : 0};
    }
    if (python < 0)
        agent_count(a, GPU_N_NOPYTHON, 1);
    return py_merge(walk.slots, walk.natives, n, walk.python.stack.frames,
                    python < 0 ? walk.python.stack.walk.n : (size_t)python, &how, &stats);
}

static uint32_t take(struct agent *a, struct walk_thread *t)
{
    struct walk_regs regs;
    uint32_t stack, generation;
    size_t n, skip, slots;
    struct native_ended end;
    int python;

    self_begin(&walk.self);
    registers(&regs);
    n = native_walk(&walk.native, walk.frames, &regs, &end);
    python = python_walk(&walk.python, &t->cache);
    if (!end.whole)
        agent_count(a, GPU_N_CUT, 1);
    if (end.unknown)
        keeper_wake(a); /* which may wait for the loader's lock, as this thread may not */
    skip = skipped(n);
    slots = merge(a, walk.frames + skip, n - skip, python, end.whole);
    out_lock(&a->out);
    do { /* where a table became full on the way, ids from before are void */
        generation = a->generation;
        stack = put_stack(a, walk.frames + skip, slots);
    } while (generation != a->generation);
    self_end(&walk.self);
    agent_count(a, GPU_N_STACKS, 1);
    return stack;
}

/* Is there time left to walk this thread? */
static int may_walk(struct walk_thread *t, uint64_t now)
{
    int64_t more = t->filled ? (int64_t)((now - t->filled) / BUDGET_SHARE) : BUDGET_MOST;

    if (!more) /* so little would be lost each time */
        return t->budget_ns > 0;
    t->filled = now;
    t->budget_ns = t->budget_ns + more < BUDGET_MOST ? t->budget_ns + more : BUDGET_MOST;
    return t->budget_ns > 0;
}

uint32_t walk_here(struct agent *a, struct walk_thread *t)
{
    uint64_t now = agent_clock();
    uint32_t stack;

    if (!may_walk(t, now)) {
        agent_count(a, GPU_N_BUDGET, 1);
        out_lock(&a->out);
        return 0;
    }
    pthread_mutex_lock(&walk.lock);
    stack = take(a, t);
    pthread_mutex_unlock(&walk.lock);
    now = agent_clock() - now;
    t->budget_ns -= now < WALK_MOST ? (int64_t)now : WALK_MOST;
    return stack;
}
