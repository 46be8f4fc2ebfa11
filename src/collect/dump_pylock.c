/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a Python lock. threading.RLock has its owner in it. A threading.Lock hasn't, but who is inside
 * `with lock:` has the lock's bound __exit__ among the values of its frame, to be called at the end: that is
 * looked for. A lock taken by acquire() alone has a holder that can't be told.
 *
 * CPython's Modules/_threadmodule.c: to 3.13 {PyObject_HEAD, lock_lock, ...}, where lock_lock is a sem_t, on
 * which glibc waits by its first word; in an RLock the owner's thread ident follows. From 3.14 on
 * {PyObject_HEAD, PyMutex}, and a thread waits on a semaphore of its own, before which the mutex's address
 * lies (struct wait_entry of Python/parking_lot.c). PyCFunctionObject (Include/cpython/methodobject.h):
 * {PyObject_HEAD, m_ml, m_self}, PyMethodDef: {ml_name, ...}. Frames: PyFrameObject ends with its values,
 * ob_size of them (to 3.10); _PyInterpreterFrame too, in one piece of memory with the next (3.11 on).
 */
#include "base/mem.h"
#include "collect/dump_job.h"
#include "unwind/py_walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    OBJECT_HEAD = 16,
    FREE_THREADED_HEAD = 32,
    WORDS = 64,         /* of a frame's values that are looked at */
    OWN_FRAMES = 4,     /* in which the lock is looked for that a thread waits for */
    FRAMES = 128,       /* of a thread, in which holds are looked for */
    READS_MAX = 200000, /* of a process's memory, for all of its threads */
    SEMAPHORE_TO = 0x030d,
    OLD_FRAMES_TO = 0x030a,
    OLD_FRAME_SIZE = 368, /* of PyFrameObject without values, at most, to 3.10 */
};

/* Thread state ts is inside `with` of the object. */
struct hold {
    uint64_t ts, lock, method; /* the bound __exit__ */
};

struct dump_holds {
    VEC(struct hold) list;
    struct map exits; /* address of a PyMethodDef -> 1: it isn't __exit__, 2: it is */
    size_t reads;
};

/* ---- thread states ---- */

struct dump_python *dump_python_of(struct dump_job *j, struct process *p)
{
    const struct process_python *x = p->python;
    struct dump_python *py = NULL;
    struct py_mem mem;
    int n;

    for (size_t i = 0; i < j->pythons.n; i++)
        if (j->pythons.a[i].pid == p->ns_tgid)
            return &j->pythons.a[i];
    py = vec_push(&j->pythons);
    *py = (struct dump_python){.pid = p->ns_tgid};
    mem = outside_memory(&j->o, p);
    n = py_walk_list(NULL, 0, &mem, &x->target.layout, &x->target.proc);
    if (n <= 0)
        return py;
    vec_reserve(&py->states, (size_t)n);
    n = py_walk_list(py->states.a, n, &mem, &x->target.layout, &x->target.proc);
    py->states.n = n > 0 && (size_t)n <= py->states.cap ? (size_t)n : 0;
    return py;
}

void dump_pythons_release(struct dump_job *j)
{
    for (size_t i = 0; i < j->pythons.n; i++) {
        struct dump_python *py = &j->pythons.a[i];

        vec_release(&py->states);
        if (py->holds) {
            vec_release(&py->holds->list);
            map_release(&py->holds->exits);
            free(py->holds);
        }
    }
    vec_release(&j->pythons);
}

/* ---- frames ---- */

static int word(const struct py_mem *mem, uint64_t addr, uint64_t *out)
{
    *out = 0;
    return py_mem_read(mem, addr, out, sizeof(*out));
}

static uint64_t first_frame(const struct py_mem *mem, const struct py_layout *lay, uint64_t ts)
{
    uint64_t at;

    if (!(lay->flags & PY_LAYOUT_FRAME_IN_CFRAME))
        return word(mem, ts + lay->ts_frame, &at) ? 0 : at;
    if (word(mem, ts + lay->ts_cframe, &at) || !at || word(mem, at + lay->cframe_frame, &at))
        return 0;
    return at;
}

/* Reads what may be the frame's values; gives how many. */
static size_t values_of(const struct py_mem *mem, const struct py_layout *lay, uint64_t frame,
                        uint64_t values[WORDS])
{
    uint64_t at = frame + lay->frame_base, n = WORDS;

    if (lay->version <= OLD_FRAMES_TO) {
        if (word(mem, frame + OBJECT_HEAD, &n)) /* ob_size */
            return 0;
        at = frame + OLD_FRAME_SIZE - 16;
        n = n + 2 < WORDS ? n + 2 : WORDS;
    }
    for (size_t i = 0; i < n; i++)
        if (word(mem, at + 8 * i, &values[i]))
            return i;
    return (size_t)n;
}

static int plausible(uint64_t v)
{
    return v >= 0x10000 && v < 1ull << 47;
}

static uint64_t object_head(const struct py_layout *lay)
{
    return lay->flags & PY_LAYOUT_FREE_THREADED ? FREE_THREADED_HEAD : OBJECT_HEAD;
}

/* ---- the lock that is waited for ---- */

static int is_lock_of(const struct py_mem *mem, const struct py_layout *lay, uint64_t object, uint64_t futex)
{
    uint64_t at;

    return plausible(object) && !word(mem, object + object_head(lay), &at) && at == futex;
}

/* The lock object among the values of the innermost frames, itself or as a method's object; 0. */
static uint64_t find_lock(const struct py_mem *mem, const struct py_layout *lay, uint64_t ts, uint64_t futex)
{
    uint64_t frame = first_frame(mem, lay, ts), values[WORDS], self;

    for (int depth = 0; frame && depth < OWN_FRAMES; depth++) {
        size_t n = values_of(mem, lay, frame, values);

        for (size_t i = 0; i < n; i++) {
            uint64_t v = values[i] & ~3ull;

            if (is_lock_of(mem, lay, v, futex))
                return v;
            if (plausible(v) && !word(mem, v + object_head(lay) + 8, &self) &&
                is_lock_of(mem, lay, self, futex))
                return self;
        }
        if (word(mem, frame + lay->frame_back, &frame))
            break;
    }
    return 0;
}

static uint64_t lock_of(const struct py_mem *mem, const struct py_layout *lay, uint64_t ts, uint64_t futex)
{
    uint64_t mutex;

    if (lay->version <= SEMAPHORE_TO && !(lay->flags & PY_LAYOUT_FREE_THREADED))
        return ts ? find_lock(mem, lay, ts, futex) : 0;
    if (word(mem, futex - 8, &mutex) || !plausible(mutex))
        return 0;
    return mutex - object_head(lay);
}

/* ---- who is inside `with` ---- */

static int is_exit(struct dump_holds *h, const struct py_mem *mem, uint64_t def)
{
    uint64_t *known = map_put(&h->exits, def), name;
    char text[9] = "";

    if (!*known) {
        *known = 1;
        if (!word(mem, def, &name) && !py_mem_read(mem, name, text, sizeof(text)) &&
            !memcmp(text, "__exit__", sizeof(text)))
            *known = 2;
    }
    return *known == 2;
}

/* What was freed begins with a pointer or 0 where it had its reference count. */
static int is_alive(const struct py_mem *mem, uint64_t object)
{
    enum { COUNT_MAX = 1 << 20 };
    uint64_t count;

    return !word(mem, object, &count) && count && count < COUNT_MAX;
}

/* Values of a frame are met again among those behind the frame before it. */
static int is_known(const struct dump_holds *h, uint64_t method)
{
    for (size_t i = 0; i < h->list.n; i++)
        if (h->list.a[i].method == method)
            return 1;
    return 0;
}

static void holds_of_frame(struct dump_holds *h, const struct py_mem *mem, const struct py_layout *lay,
                           uint64_t ts, uint64_t frame)
{
    uint64_t values[WORDS], def, self;
    size_t n = values_of(mem, lay, frame, values);

    for (size_t i = 0; i < n && h->reads < READS_MAX; i++) {
        uint64_t v = values[i] & ~3ull;

        h->reads++;
        if (!plausible(v) || word(mem, v + object_head(lay), &def) || !plausible(def) ||
            word(mem, v + object_head(lay) + 8, &self) || !plausible(self) || !is_exit(h, mem, def) ||
            (!(lay->flags & PY_LAYOUT_FREE_THREADED) && !is_alive(mem, v)) || is_known(h, v))
            continue;
        *vec_push(&h->list) = (struct hold){ts, self, v};
    }
}

static struct dump_holds *find_holds(const struct dump_python *py, const struct py_mem *mem,
                                     const struct py_layout *lay)
{
    struct dump_holds *h = mem_calloc(1, sizeof(*h));

    for (size_t i = 0; i < py->states.n; i++) {
        uint64_t frame = first_frame(mem, lay, py->states.a[i].ts);

        for (int depth = 0; frame && depth < FRAMES; depth++) {
            holds_of_frame(h, mem, lay, py->states.a[i].ts, frame);
            if (word(mem, frame + lay->frame_back, &frame))
                break;
        }
    }
    return h;
}

static const struct py_thread *state_of(const struct dump_python *py, uint64_t ts, uint64_t ident)
{
    for (size_t i = 0; i < py->states.n; i++)
        if ((ts && py->states.a[i].ts == ts) || (ident && py->states.a[i].thread_id == ident))
            return &py->states.a[i];
    return NULL;
}

static int add_owner(struct dump_job *j, struct outside_thread *t, struct dump_thread *out,
                     const struct py_thread *state)
{
    struct outside_thread *by = state ? dump_own_tid(j, out->pid, (uint32_t)state->native_id) : NULL;

    if (!by)
        return 0;
    dump_add_edge(j, out, out->pid, by->task.tid, DUMP_PYLOCK);
    return 1;
}

int dump_pylock(struct dump_job *j, struct outside_thread *t, struct process *p, uint64_t futex,
                struct dump_thread *out)
{
    const struct process_python *x = p->python;
    struct dump_python *py;
    struct py_mem mem;
    uint64_t lock, ident;
    int own = 0;

    if (!x || !t->python.ts)
        return 0;
    py = dump_python_of(j, p);
    mem = outside_memory(&j->o, p);
    lock = lock_of(&mem, &x->target.layout, t->python.ts, futex);
    if (!lock)
        return 0;
    if (!word(&mem, lock + object_head(&x->target.layout) + 8, &ident) &&
        add_owner(j, t, out, state_of(py, 0, ident))) {
        out->what = dump_text(j, "threading.RLock at 0x%llx", (unsigned long long)lock);
        return 1;
    }
    out->what = dump_text(j, "threading.Lock at 0x%llx", (unsigned long long)lock);
    if (!py->holds)
        py->holds = find_holds(py, &mem, &x->target.layout);
    for (size_t i = 0; i < py->holds->list.n; i++) {
        const struct hold *h = &py->holds->list.a[i];

        if (h->lock != lock)
            continue;
        own += h->ts == t->python.ts;
        if (h->ts != t->python.ts || own > 1) /* who waits for it has its __exit__, too: once */
            add_owner(j, t, out, state_of(py, h->ts, 0));
    }
    return 1;
}

void dump_pylocks_settle(struct dump_job *j)
{
    struct dump *d = j->d;

    for (size_t i = 0; i < d->threads.n; i++) {
        struct dump_thread *t = &d->threads.a[i];
        uint32_t kept = 0;

        for (uint32_t k = 0; k < t->edges; k++) {
            const struct dump_edge *e = &d->edges.a[t->edge + k];
            const struct dump_thread *to = e->how == DUMP_PYLOCK ? dump_thread(d, e->tid) : NULL;

            if (!to || to == t || to->what != t->what)
                d->edges.a[t->edge + kept++] = *e;
        }
        t->edges = kept;
    }
}
