/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the current task's whole stack, kernel, native and Python, into a wire_sample: what any program that
 * wants a stack includes. Each program has scratch space of its own, since an NMI's program may interrupt
 * another's.
 */
#ifndef WPROF_BPF_STACK_H
#define WPROF_BPF_STACK_H

#include "bpf/maps.h"
#include "bpf/task.h"

#define WALK_ROW(ctx, i) row_at(i)

static __always_inline const struct unw_row *row_at(__u32 i)
{
    return bpf_map_lookup_elem(&rows, &i);
}

static __always_inline int walk_read(void *mem, __u64 addr, void *dst, __u32 size)
{
    return bpf_probe_read_user(dst, size, (const void *)addr);
}

#include "bpf/walk_native.h"
#include "bpf/walk_python.h"

enum {
    STACK_WORDS_FRAMES = WIRE_KERNEL_MAX + 1 + WIRE_NATIVE_MAX * 2,
    STACK_WORDS_PYTHON = WIRE_PYTHON_MAX * sizeof(struct py_frame) / 8,
    STACK_WORDS = STACK_WORDS_FRAMES + STACK_WORDS_PYTHON + WIRE_STACK_MAX / 8,
    STACK_MAP_STEPS = 16, /* a binary search among at most 65535 mappings */
    STACK_NATIVE_SLACK = 2,
};

/* Scratch of one program on one CPU. `sample` and `words` are what crosses, in one piece. */
struct stack_scratch {
    struct walk_regs regs; /* of the frame that comes next */
    struct walk_regs
        mark; /* before the first guess (scan or frame pointer): where user space takes over if it fails */
    __u32 mark_native, mark_top, marked;
    __u32 top, status;
    __u32 map_first, map_n;
    __u32 pos; /* words filled */
    __u32 native_n, pad;
    struct wire_mapping near; /* of the last frame: callers tend to be in the same module */
    struct py_walk py;
    struct unw_row row; /* of the frame at hand */
    __u32 slice, pad2;
    struct wire_sample sample;
    __u64 words[STACK_WORDS];
};

/* The golden ratio's multiplier (Knuth, The Art of Computer Programming, 6.4). */
#define STACK_GOLDEN 0x9e3779b97f4a7c15ULL

/* A place among n for a key. */
static __always_inline __u32 stack_place(__u64 key, __u32 n)
{
    return (key * STACK_GOLDEN >> 32) * n >> 32;
}

/* The mapping of pc into s->near. */
static __always_inline int stack_find_mapping(struct stack_scratch *s, __u64 pc)
{
    __u32 lo = s->map_first, hi = s->map_first + s->map_n;
    struct wire_mapping *m;

    if (pc >= s->near.start && pc < s->near.end)
        return 0;
    for (int i = 0; i < STACK_MAP_STEPS; i++) {
        __u32 mid = lo + ((hi - lo) >> 1);

        if (lo >= hi)
            break;
        m = bpf_map_lookup_elem(&mappings, &mid);
        if (!m)
            break;
        if (m->start <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == s->map_first)
        return -1;
    lo--;
    m = bpf_map_lookup_elem(&mappings, &lo);
    if (!m || pc < m->start || pc >= m->end)
        return -1;
    s->near = *m;
    return 0;
}

/* A step without a row. The registers before the first such step are kept. */
static __always_inline enum walk_status stack_guess(struct stack_scratch *s)
{
    enum walk_status st = WALK_STUCK;
    __u64 code = 0;

    if (!s->marked) {
        s->mark = s->regs;
        s->mark_native = s->native_n;
        s->mark_top = s->top;
        s->marked = 1;
    }
    if (s->near.flags & WIRE_MAP_FRAMEPTR) {
        if (s->top && !(s->near.flags & WIRE_MAP_JIT))
            st = walk_native_leaf(0, &s->regs);
        else if (s->top)
            walk_read(0, s->regs.ip, &code, sizeof(code));
        if (st != WALK_RUNNING)
            st = walk_native_framed(0, &s->regs, code);
    }
    if (st == WALK_RUNNING || st == WALK_ROOT) {
        s->sample.flags |= WIRE_FRAMEPTR;
        return st;
    }
    if (s->near.flags & WIRE_MAP_JAVA)
        return WALK_STUCK;
    st = walk_native_scan(0, &s->regs);
    if (st == WALK_RUNNING)
        s->sample.flags |= WIRE_SCANNED;
    return st;
}

/* The row at pc into s->row: WALK_RUNNING. UNW_NONE in it: there will never be one. Else why there is none
 * now. */
static __always_inline enum walk_status stack_search(struct stack_scratch *s, __u64 pc)
{
    const struct unw_row *row;
    struct wire_table *table;
    __u32 index;

    if (stack_find_mapping(s, pc))
        return WALK_NOMAP;
    index = s->near.table;
    table = bpf_map_lookup_elem(&tables, &index);
    if (!table)
        return WALK_NOTABLE;
    if (!table->n) {
        if (!(s->near.flags & WIRE_MAP_JIT) && table->first != WIRE_TABLE_NONE)
            return WALK_NOTABLE;
        s->row.rule = UNW_NONE;
        return WALK_RUNNING;
    }
    index = walk_row_search(0, table->first, table->n, (__u32)(pc - s->near.base));
    row = row_at(index);
    if (!row)
        return WALK_NOROW;
    s->row = *row;
    return WALK_RUNNING;
}

/* A row in one word, and the check that goes with it. */
static __always_inline __u64 stack_row_word(const struct stack_scratch *s)
{
    return (__u64)s->slice << 32 | (__u32)(__u16)s->row.cfa << 16 | (__u32)s->row.rule << 8 | (__u8)s->row.bp;
}

static __always_inline struct row_set *stack_row_set(const struct stack_scratch *s, __u64 pc)
{
    __u32 place = stack_place(pc ^ (__u64)s->slice << 40, config_row_sets);

    return bpf_map_lookup_elem(&row_sets, &place);
}

/* 1: the row at pc was found lately, and is in s->row. */
static __always_inline int stack_row_known(struct stack_scratch *s, const struct row_set *set, __u64 pc)
{
    for (int i = 0; i < ROW_WAYS; i++) {
        __u64 word = *(volatile const __u64 *)&set->way[i].word;
        __u64 check = *(volatile const __u64 *)&set->way[i].check;

        if ((check ^ word * STACK_GOLDEN) != pc || word >> 32 != s->slice || !word)
            continue;
        s->row.cfa = word >> 16;
        s->row.rule = word >> 8;
        s->row.bp = word;
        return 1;
    }
    return 0;
}

static __always_inline enum walk_status stack_row(struct stack_scratch *s, __u64 pc)
{
    struct row_set *set = stack_row_set(s, pc);
    enum walk_status st;
    __u64 word;

    if (set && stack_row_known(s, set, pc))
        return WALK_RUNNING;
    st = stack_search(s, pc);
    if (!set || st != WALK_RUNNING || s->row.rule == UNW_NONE)
        return st;
    for (int i = ROW_WAYS - 1; i > 0; i--)
        set->way[i] = set->way[i - 1];
    word = stack_row_word(s);
    set->way[0].word = word;
    set->way[0].check = pc ^ word * STACK_GOLDEN;
    return st;
}

/* Records the frame at s->regs and steps to its caller. */
static __always_inline enum walk_status stack_step(struct stack_scratch *s)
{
    __u64 pc = walk_lookup_pc(&s->regs, s->top);
    enum walk_status st;
    __u32 at = s->pos, signal;

    if (s->native_n >= WIRE_NATIVE_MAX || at >= STACK_WORDS_FRAMES - 1)
        return WALK_FULL;
    s->words[at] = s->regs.ip | (s->top ? WIRE_IP_EXACT : 0);
    s->words[at + 1] = s->regs.sp;
    st = stack_row(s, pc);
    if (st == WALK_NOMAP) /* not a frame as far as we know: user space decides anew */
        return st;
    s->pos = at + 2;
    s->native_n++;
    if (st != WALK_RUNNING)
        return st;
    if ((s->row.rule & UNW_RULE_MASK) == UNW_NONE) {
        st = stack_guess(s);
        s->top = 0;
        return st;
    }
    signal = walk_row_signal(&s->row);
    st = walk_native_step(0, &s->regs, &s->row, pc, s->top);
    s->top = signal;
    return st;
}

static long stack_step_loop(__u32 i, void *ctx)
{
    struct stack_scratch *s = *(struct stack_scratch **)ctx;
    enum walk_status st = stack_step(s);

    s->status = st;
    return st != WALK_RUNNING;
}

/* The native part: fills words[] and leaves in s->regs where the walk stopped. */
static __always_inline void stack_native(struct stack_scratch *s)
{
    struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

    s->regs.ip = r->ip;
    s->regs.sp = r->sp;
    s->regs.bp = r->bp;
    s->regs.r10 = r->r10;
    s->regs.r13 = r->r13;
    s->top = 1;
    s->status = WALK_RUNNING;
    s->native_n = 0;
    s->marked = 0;
    s->near.start = s->near.end = 0;
    bpf_loop(WIRE_NATIVE_MAX + STACK_NATIVE_SLACK, stack_step_loop, &s, 0);
    if (s->status == WALK_ROOT || s->status == WALK_FULL)
        return;
    if (s->marked) { /* a guess led nowhere: user space starts before it */
        s->regs = s->mark;
        s->pos -= 2 * (s->native_n - s->mark_native);
        s->native_n = s->mark_native;
        s->top = s->mark_top;
        s->sample.flags &= ~(WIRE_FRAMEPTR | WIRE_SCANNED);
    }
}

struct stack_python {
    struct stack_scratch *s;
    const struct py_layout *layout;
    const struct py_proc *proc;
};

static long stack_python_find(__u32 i, void *ctx)
{
    struct stack_python *c = ctx;

    return !py_find(0, c->layout, c->proc, &c->s->py);
}

/* What tells a code object from all others, in one word that is not 0. */
static __always_inline __u64 stack_python_tag(const struct wire_pykey *k)
{
    __u64 h = (k->code ^ (__u64)k->name << 32) * STACK_GOLDEN;

    h = (h ^ h >> 32 ^ ((__u64)k->generation << 32 | k->firstline)) * STACK_GOLDEN;
    return (h ^ h >> 32) | 1;
}

/* Sends the names of a code object that is new. Ring space first: a tag in py_seen promises that they went
 * out. */
static __always_inline void stack_python_name(struct stack_python *c, const struct py_frame *f)
{
    struct wire_pykey key = {f->code, c->proc->generation, f->firstline, f->name, 0};
    __u64 tag = stack_python_tag(&key);
    __u32 place = stack_place(tag, PY_SEEN_SETS);
    struct py_seen_set *seen = bpf_map_lookup_elem(&py_seen, &place);
    struct wire_pycode *r;

    if (!seen || seen->tag[0] == tag || seen->tag[1] == tag)
        return;
    r = bpf_ringbuf_reserve(&control, sizeof(*r), 0);
    if (!r) {
        struct wire_lost *l = lost_here();

        if (l)
            l->control++;
        return;
    }
    r->head.type = WIRE_PYCODE;
    r->head.size = sizeof(*r);
    r->head.ts = c->s->sample.head.ts;
    r->key = key;
    py_copy_str(0, c->layout, &c->s->py, c->s->py.name, &r->func);
    py_copy_str(0, c->layout, &c->s->py, c->s->py.filename, &r->file);
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    seen->tag[1] = seen->tag[0];
    seen->tag[0] = tag;
}

static long stack_python_step(__u32 i, void *ctx)
{
    struct stack_python *c = ctx;
    struct stack_scratch *s = c->s;
    __u32 pos = s->pos, before = s->py.n;
    struct py_frame *frames;
    int more;

    if (pos > STACK_WORDS_FRAMES)
        return 1;
    frames = (struct py_frame *)&s->words[pos];
    more = py_step(0, c->layout, c->proc, &s->py, frames);
    if (s->py.n != before)
        stack_python_name(c, py_frame_at(frames, before));
    return !more;
}

/* Whether the thread of Python state ts holds its GIL: flags of the sample. */
static __always_inline __u32 stack_gil(const struct py_layout *lay, const struct py_proc *proc, __u64 ts)
{
    struct py_gil g;

    if (py_gil_read(0, lay, proc, ts, &g))
        return 0;
    return WIRE_GIL_READ | (g.locked && g.holder == ts ? WIRE_GIL_HELD : 0);
}

/* The Python part, where the process has one: frames at words[pos]. */
static __always_inline void stack_take_python(struct stack_scratch *s, struct task_struct *t)
{
    __u32 tgid = s->sample.task.tgid, tid = s->sample.task.tid, layout;
    struct py_cache *cached, cache = {};
    struct stack_python c = {.s = s};

    c.proc = bpf_map_lookup_elem(&py_procs, &tgid);
    if (!c.proc)
        return;
    layout = c.proc->layout;
    c.layout = bpf_map_lookup_elem(&py_layouts, &layout);
    if (!c.layout)
        return;
    cached = bpf_map_lookup_elem(&py_threads, &tid);
    if (cached)
        cache = *cached;
    if (py_begin(0, c.layout, c.proc, &s->py, t->thread.fsbase, cached ? &cache : 0))
        bpf_loop(PY_MAX_SEARCH, stack_python_find, &c, 0);
    py_found(c.layout, &s->py, &cache);
    if (!cached || cached->ts != cache.ts || cached->head != cache.head)
        bpf_map_update_elem(&py_threads, &tid, &cache, BPF_ANY);
    bpf_loop(2 * PY_MAX_DEPTH, stack_python_step, &c, 0);
    if (s->py.status == PY_READ)
        s->sample.flags |= WIRE_PY_ERROR;
    if (s->py.status == PY_FULL)
        s->sample.flags |= WIRE_PY_FULL;
    if (s->py.ts && !(c.layout->flags & PY_LAYOUT_FREE_THREADED))
        s->sample.flags |= stack_gil(c.layout, c.proc, s->py.ts);
    s->sample.python_n = s->py.n & (2 * PY_MAX_DEPTH - 1);
    s->pos += s->sample.python_n * (sizeof(struct py_frame) / 8);
}

struct stack_copy {
    struct stack_scratch *s;
    __u64 from;
    __u32 n;
};

/* One chunk, up to the next page's end: the last page that is there is copied whole. */
static long stack_copy_loop(__u32 i, void *ctx)
{
    struct stack_copy *c = ctx;
    __u64 left = WIRE_STACK_CHUNK - (c->from & (WIRE_STACK_CHUNK - 1));
    __u32 at = c->s->pos * 8 + c->n;
    __u32 len = left;

    if (len > WIRE_STACK_CHUNK || c->n > WIRE_STACK_MAX - WIRE_STACK_CHUNK ||
        at > (STACK_WORDS * 8) - WIRE_STACK_CHUNK)
        return 1;
    if (bpf_probe_read_user((char *)c->s->words + at, len, (const void *)c->from))
        return 1;
    c->n += len;
    c->from += len;
    return 0;
}

/* The kernel's part at words[0]; 0 frames where the CPU was in user mode. */
static __always_inline void stack_kernel(struct stack_scratch *s, void *ctx)
{
    long n;

    s->pos = 0;
    s->sample.kernel_n = 0;
    if (s->sample.flags & WIRE_USER)
        return;
    n = bpf_get_stack(ctx, s->words, WIRE_KERNEL_MAX * 8, 0);
    if (n < 0) {
        s->sample.flags |= WIRE_KERNEL_LOST;
        return;
    }
    if (n > WIRE_KERNEL_MAX * 8)
        n = WIRE_KERNEL_MAX * 8;
    s->sample.kernel_n = n / 8;
    s->pos = n / 8;
}

/* The user's part after the kernel's, which is at words[0] already. Gives the record's size in bytes. */
static __always_inline __u32 stack_user(struct stack_scratch *s, const struct wire_proc *p)
{
    struct wire_sample *out = &s->sample;

    out->native_n = out->python_n = 0;
    out->stack_n = 0;
    out->status = WALK_ROOT;
    if (!(out->flags & (WIRE_KTHREAD | WIRE_NO_MM))) {
        s->map_first = p ? p->map_first : 0;
        s->map_n = p ? p->map_n : 0;
        s->slice = p ? p->slice : 0;
        stack_native(s);
        out->native_n = s->native_n;
        out->status = s->status;
        out->regs = s->regs;
        if (s->top)
            out->flags |= WIRE_TOP;
        stack_take_python(s, bpf_get_current_task_btf());
        if (out->status != WALK_ROOT && out->status != WALK_FULL) {
            struct stack_copy c = {s, s->regs.sp, 0};

            bpf_loop(WIRE_STACK_MAX / WIRE_STACK_CHUNK, stack_copy_loop, &c, 0);
            out->stack_n = c.n;
        }
    }
    return sizeof(*out) + s->pos * 8 + ((out->stack_n + 7) & ~7u);
}

/* Everything after the header's identity and flags. p: the process, or NULL. Gives the record's size in
 * bytes. */
static __always_inline __u32 stack_take(struct stack_scratch *s, void *ctx, const struct wire_proc *p)
{
    stack_kernel(s, ctx);
    return stack_user(s, p);
}

#endif
