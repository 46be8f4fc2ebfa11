/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/stack.h"

#include "base/hash.h"
#include "model/store_visit.h"

#include <string.h>

/* The parts of a record, checked against its size. */
struct parts {
    const uint64_t *kernel;
    const struct wire_native *native;
    const struct py_frame *python;
    const uint8_t *stack;
};

/* What became of a record, as it is kept by its hash: threads wait at few places, and often. */
struct taken {
    uint32_t stack;
    uint16_t flags, unplaced;
};

union taken_slot {
    struct taken taken;
    uint64_t slot;
};

_Static_assert(sizeof(union taken_slot) == sizeof(uint64_t), "the value of a map");

enum { MEMO_MAX = 100000 };

void stack_taker_init(struct stack_taker *k, struct store *s, struct meta *m, struct bpfside *b,
                      struct track *t)
{
    intern_init(&k->intern, s, track_modules(t));
    pythons_init(&k->pythons, s, m, b, t);
    k->track = t;
}

void stack_taker_ids(struct stack_taker *k, struct store_visit *v)
{
    const struct processes *ps = track_processes(k->track);

    if (k->visited == v->pass)
        return;
    k->visited = v->pass;
    map_release(&k->memo);
    intern_ids(&k->intern, v);
    pythons_ids(&k->pythons, v);
    store_visit_frame(v, &k->truncated);
    store_visit_frame(v, &k->lost);
    for (size_t i = 0; i < ps->list.n; i++)
        store_visit_cache(v, &ps->list.a[i]->frames);
}

void stack_taker_release(struct stack_taker *k)
{
    map_release(&k->memo);
    intern_release(&k->intern);
    pythons_release(&k->pythons);
}

static int split(const struct wire_sample *s, struct parts *p)
{
    size_t need = sizeof(*s) + s->kernel_n * sizeof(*p->kernel) + s->native_n * sizeof(*p->native) +
                  s->python_n * sizeof(*p->python) + s->stack_n;

    p->kernel = (const uint64_t *)(s + 1);
    p->native = (const struct wire_native *)(p->kernel + s->kernel_n);
    p->python = (const struct py_frame *)(p->native + s->native_n);
    p->stack = (const uint8_t *)(p->python + s->python_n);
    return need <= s->head.size && s->native_n <= WIRE_NATIVE_MAX ? 0 : -1;
}

/* The native frames into k->frames; status as of the whole walk. */
static enum walk_status native_part(struct stack_taker *k, struct process *p, const struct wire_sample *s,
                                    const struct parts *parts, uint16_t *flags)
{
    struct walk_result res;
    uint32_t n = s->native_n;

    for (uint32_t i = 0; i < n; i++) {
        const struct wire_native *f = &parts->native[i];

        k->frames[i] = (struct walk_frame){
            .ip = f->ip & ~WIRE_IP_EXACT, .sp = f->sp, .is_return = !(f->ip & WIRE_IP_EXACT)};
    }
    k->n = n;
    if (s->flags & WIRE_SCANNED)
        *flags |= EVENT_SCANNED;
    if (s->flags & WIRE_FRAMEPTR)
        *flags |= EVENT_FRAMEPTR;
    if (s->status == WALK_ROOT || s->status == WALK_FULL)
        return s->status;
    /* The frame where it stopped is there already, unless it was in no mapping: the finishing walk gives it
     * again. */
    if (n && k->frames[n - 1].ip == s->regs.ip && k->frames[n - 1].sp == s->regs.sp)
        n--;
    finish_walk(k->track, p, s, parts->stack, k->frames + n, &res);
    k->n = n + res.n;
    *flags |= EVENT_FINISHED;
    if (res.flags & WALK_F_SCANNED)
        *flags |= EVENT_SCANNED;
    if (res.flags & WALK_F_FP)
        *flags |= EVENT_FRAMEPTR;
    if (k->n > WIRE_NATIVE_MAX && res.status != WALK_ROOT)
        k->n = WIRE_NATIVE_MAX;
    return res.flags & WALK_F_TRUNCATED ? WALK_FULL : res.status;
}

static void push_kernel(struct intern *n, const struct wire_sample *s, const struct parts *parts)
{
    for (uint32_t i = 0; i < s->kernel_n; i++)
        *intern_push(n) = (struct raw_frame){.kind = FRAME_KERNEL, .exact = i == 0, .addr = parts->kernel[i]};
}

static void push_native(struct stack_taker *k, uint32_t i)
{
    *intern_push(&k->intern) =
        (struct raw_frame){.kind = FRAME_NATIVE, .exact = !k->frames[i].is_return, .addr = k->frames[i].ip};
}

static int is_jit(const struct process *p, uint64_t pc)
{
    const struct mapping *m = process_lookup(p, pc);

    return m && !m->file;
}

/* Both walks' frames in one order. */
static void push_merged(struct stack_taker *k, const struct wire_sample *s, const struct parts *parts,
                        int whole)
{
    const struct py_target *target = &k->process->python->target;
    struct py_merge_how how = {.entry = (enum py_entry)target->layout.entry,
                               .native_whole = whole,
                               .python_whole = !(s->flags & (WIRE_PY_ERROR | WIRE_PY_FULL)),
                               .tail_calls = target->tail_calls};
    size_t n;

    for (uint32_t i = 0; i < k->n; i++) {
        uint64_t pc = k->frames[i].ip - k->frames[i].is_return;

        k->spans[i].sp = k->frames[i].sp;
        k->spans[i].flags = py_target_is_eval(target, pc) ? PY_NATIVE_EVAL : 0;
        /* A trampoline can only stand right outside of an eval loop: no need to look the others up. */
        if (i && k->spans[i - 1].flags == PY_NATIVE_EVAL && is_jit(k->process, pc))
            k->spans[i].flags |= PY_NATIVE_JIT;
    }
    n = py_merge(k->slots, k->spans, k->n, parts->python, s->python_n, &how, &k->merged);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = k->slots[i].index;

        if (k->slots[i].python)
            *intern_push(&k->intern) = (struct raw_frame){
                .kind = FRAME_PYTHON, .frame = pythons_frame(&k->pythons, k->process, &parts->python[at])};
        else
            push_native(k, at);
    }
}

static void push_user(struct stack_taker *k, const struct wire_sample *s, const struct parts *parts,
                      int whole)
{
    if (s->python_n && k->process->python) {
        push_merged(k, s, parts, whole);
        return;
    }
    for (uint32_t i = 0; i < k->n; i++)
        push_native(k, i);
}

static void push_marker(struct stack_taker *k, uint32_t *marker, const char *text)
{
    if (!*marker)
        *marker = intern_marker(&k->intern, text);
    *intern_push(&k->intern) = (struct raw_frame){.kind = FRAME_MARKER, .frame = *marker};
}

static void user_part(struct stack_taker *k, struct process *p, const struct wire_sample *s,
                      const struct parts *parts, uint16_t *flags)
{
    enum walk_status st = native_part(k, p, s, parts, flags);

    if (st != WALK_ROOT && s->flags & WIRE_EXECVE) { /* the old image is gone, the new one hasn't begun */
        *flags = (uint16_t)((*flags & EVENT_USER) | EVENT_ROOT);
        return;
    }
    k->process = p;
    pythons_check(&k->pythons, p);
    push_user(k, s, parts, st == WALK_ROOT);
    if (st == WALK_ROOT)
        *flags |= EVENT_ROOT;
    if (s->flags & WIRE_GIL_READ)
        *flags |= s->flags & WIRE_GIL_HELD ? EVENT_GIL_READ | EVENT_GIL_HELD : EVENT_GIL_READ;
    if (s->python_n) /* a state without frames runs no Python: the interpreter starts, or ends */
        *flags |= EVENT_PYTHON | EVENT_PYTHON_FRAMES;
    else if (s->flags & WIRE_PY_ERROR)
        *flags |= EVENT_PYTHON;
    if (st == WALK_FULL || s->flags & WIRE_PY_FULL) {
        *flags |= EVENT_TRUNCATED;
        push_marker(k, &k->truncated, "[truncated]");
    }
}

/* The hash of a record that was walked whole; 0: it was not, or there is more to it. */
static uint64_t memo_key(const struct process *p, const struct wire_sample *s, const struct parts *parts)
{
    uint64_t of;

    if (!p || s->flags & (WIRE_NO_MM | WIRE_EXECVE) || (s->status != WALK_ROOT && s->status != WALK_FULL) ||
        (s->python_n && !p->python))
        return 0;
    of = hash_mix(p->start ^ p->epoch, (uint64_t)p->tgid << 32 | (p->python ? p->python->generation : 0));
    of = hash_mix(of ^ s->flags, (uint64_t)s->status << 48 | (uint64_t)s->kernel_n << 32 |
                                     (uint64_t)s->native_n << 16 | s->python_n);
    return hash_mix(of, hash_bytes(parts->kernel,
                                   (size_t)((const char *)parts->stack - (const char *)parts->kernel))) |
           1;
}

static uint32_t take(struct stack_taker *k, struct process *p, const struct wire_sample *s,
                     const struct parts *parts, uint16_t *flags)
{
    push_kernel(&k->intern, s, parts);
    k->kernel_lost += !!(s->flags & WIRE_KERNEL_LOST);
    if (!p ||
        s->flags & WIRE_NO_MM) /* there is no user stack, or no longer: what the kernel does is all of it */
        *flags |= EVENT_ROOT;
    else
        user_part(k, p, s, parts, flags);
    if (!k->intern.raw.n) {
        k->nostack++;
        push_marker(k, &k->lost, "[stack lost]");
    }
    return intern_end(&k->intern, p);
}

uint32_t stack_take(struct stack_taker *k, struct process *p, const struct wire_sample *s, uint16_t *flags)
{
    uint64_t key, unplaced = k->merged.unplaced, *known;
    union taken_slot t = {0};
    struct parts parts;

    *flags = s->flags & WIRE_USER ? EVENT_USER : 0;
    intern_begin(&k->intern);
    if (split(s, &parts) < 0) {
        k->nostack++;
        push_marker(k, &k->lost, "[stack lost]");
        return intern_end(&k->intern, p);
    }
    key = memo_key(p, s, &parts);
    known = key ? map_get(&k->memo, key) : NULL;
    if (known) {
        t.slot = *known;
        *flags = t.taken.flags;
        k->merged.unplaced += t.taken.unplaced;
        return t.taken.stack;
    }
    t.taken.stack = take(k, p, s, &parts, flags);
    if (key && !(s->flags & WIRE_KERNEL_LOST)) {
        t.taken.flags = *flags;
        t.taken.unplaced = (uint16_t)(k->merged.unplaced - unplaced);
        if (k->memo.n >= MEMO_MAX)
            map_release(&k->memo);
        *map_put(&k->memo, key) = t.slot;
    }
    return t.taken.stack;
}
