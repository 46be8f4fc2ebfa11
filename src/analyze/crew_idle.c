/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/crew_idle.h"

#include "analyze/libc.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- stacks ---- */

enum { DEEPEST = 64, OWN_MOST = 1 };

/* A function of a stack. */
struct place {
    const char *func, *file, *module;
    uint8_t kind;
};

/* Pools that park the threads that they have no work for. */
static const char *const parks[] = {"runtime.stopm",
                                    "runtime.sysmon",
                                    "runtime.bgsweep",
                                    "runtime.bgscavenge",
                                    "runtime.templateThread",
                                    "runtime.gcBgMarkWorker",
                                    "tokio::runtime::scheduler::multi_thread::worker::Context::park",
                                    "java.util.concurrent.ThreadPoolExecutor.getTask",
                                    "gomp_team_barrier_wait_end",
                                    "gomp_barrier_wait_end",
                                    "blas_thread_server",
                                    "c10::ThreadPool::main_loop"};

/* How one waits for something to happen, and not for who has a lock. */
static const char *const conditions[] = {"pthread_cond_wait", "pthread_cond_timedwait",
                                         "pthread_cond_clockwait", "sem_wait", "sem_timedwait"};

/* What a thread begins with, and C++'s ways there. */
static const char *const starts[] = {"start_thread", "clone", "clone3", "__clone3",
                                     "execute_native_thread_routine"};

static int is_one(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, list[i]))
            return 1;
    return 0;
}

static int is_file(const struct place *x, const char *name)
{
    size_t n = strlen(x->file), end = strlen(name);

    return x->kind == FRAME_PYTHON && n >= end && !strcmp(x->file + n - end, name);
}

/* "std::thread::_Invoker<...>::operator()", "void std::__invoke_impl<...>(...)" */
static int is_std(const char *func)
{
    const char *std = strstr(func, "std::");

    return std && (size_t)(std - func) < strcspn(func, "<(");
}

static int is_condition(const struct place *x)
{
    const char *func = strrchr(x->func, '.') ? strrchr(x->func, '.') + 1 : x->func;

    if (x->kind == FRAME_PYTHON)
        return (is_file(x, "/threading.py") && !strncmp(func, "wait", 4)) ||
               (is_file(x, "/queue.py") && !strcmp(func, "get")) ||
               is_file(x, "/concurrent/futures/thread.py");
    for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
        if (strstr(x->func, conditions[i]))
            return 1;
    return 0;
}

/* The function of a program, or of a library that loops and calls it: no part of waiting, nor of starting. */
static int is_own(const struct place *x)
{
    if (x->kind == FRAME_PYTHON)
        return !is_file(x, "/threading.py") && !is_file(x, "/queue.py");
    return x->kind == FRAME_NATIVE && !libc_is(x->module) && !is_std(x->func) &&
           !is_one(x->func, starts, sizeof(starts) / sizeof(*starts)) && !is_condition(x);
}

/* The stack's functions, the innermost first. */
static size_t places_of(const struct store *s, uint32_t stack, struct place *out)
{
    size_t count = 0;

    for (const struct stack_node *n; (n = stacks_get(&s->stacks, stack)); stack = n->parent) {
        const struct frame *f = frames_get(&s->frames, n->frame);
        const struct module *m = f ? frames_module(&s->frames, f->module) : NULL;
        const struct frame_name *names;
        struct frame_name self;
        uint32_t k = f ? frames_names(&s->frames, n->frame, &self, &names) : 0;

        for (uint32_t i = 0; i < k && count < DEEPEST; i++)
            out[count++] =
                (struct place){strtab_get(&s->strings, names[i].func), strtab_get(&s->strings, names[i].file),
                               m ? strtab_get(&s->strings, m->path) : "", f->kind};
    }
    return count;
}

static int is_home(const struct store *s, uint32_t stack)
{
    struct place at[DEEPEST];
    size_t n = places_of(s, stack, at), own = 0;
    int python = 0, waits = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_one(at[i].func, parks, sizeof(parks) / sizeof(*parks)))
            return 1;
        python |= at[i].kind == FRAME_PYTHON;
    }
    for (size_t i = 0; i < n; i++) {
        if (python && at[i].kind != FRAME_PYTHON)
            continue;
        own += (size_t)is_own(&at[i]);
        waits |= own <= OWN_MOST && is_condition(&at[i]);
    }
    return waits && own <= OWN_MOST && n < DEEPEST;
}

/* ---- sockets ---- */

/* "tcp 127.0.0.1:80 - 127.0.0.1:5000 python3[42]" -> "127.0.0.1:80"; "unix:[77] /run/x" -> "/run/x". *peer:
 * it is a connection. NULL: none of these. */
static const char *address(const char *what, size_t *n, int *peer)
{
    const char *at = NULL;

    if (!strncmp(what, "tcp ", 4))
        at = what + 4;
    else if (!strncmp(what, "unix:[", 6))
        at = strchr(what, ' ') ? strchr(what, ' ') + 1 : NULL;
    *n = at ? strcspn(at, " ") : 0;
    *peer = at && !strncmp(at + *n, " - ", 3);
    return *n ? at : NULL;
}

static uint64_t key_of(const char *at, size_t n)
{
    return hash_bytes(at, n) | 1;
}

/* Of a wait at a socket that is not connected, or the main thread's own. */
static void find_served(struct crew_idle *x, const uint32_t *main)
{
    for (size_t i = 0; i < x->s->events.n; i++) {
        const struct event *ev = &x->s->events.a[i];
        const struct wait *w = ev->kind == EVENT_OFFCPU && ev->task ? waits_of_event(&x->s->waits, ev) : NULL;
        const char *at;
        size_t n;
        int peer;

        if (!w || !w->what || ev->task > x->s->tasks.list.n)
            continue;
        at = address(strtab_get(&x->s->strings, w->what), &n, &peer);
        if (at && !peer && (*at != '/' || main[ev->task]))
            *map_put(&x->served, key_of(at, n)) = 1;
    }
}

static int is_served(const struct crew_idle *x, const char *what)
{
    const char *port, *at;
    char any[32] = "0.0.0.0";
    size_t n, len;
    int peer;

    at = address(what, &n, &peer);
    if (!at)
        return 0;
    if (map_get(&x->served, key_of(at, n)))
        return 1;
    for (port = at + n; port > at && *port != ':';) /* who listens at any address */
        port--;
    len = strlen(any);
    if (*port != ':' || len + (size_t)(at + n - port) >= sizeof(any))
        return 0;
    memcpy(any + len, port, (size_t)(at + n - port));
    return map_get(&x->served, key_of(any, len + (size_t)(at + n - port))) != NULL;
}

/* ---- all of it ---- */

void crew_idle_init(struct crew_idle *x, const struct store *s, const uint32_t *main)
{
    *x = (struct crew_idle){.s = s};
    x->home = mem_calloc(s->stacks.nodes.n + 1, 1);
    find_served(x, main);
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind == EVENT_OFFCPU && ev->stack && ev->stack <= s->stacks.nodes.n && !x->home[ev->stack])
            x->home[ev->stack] = is_home(s, ev->stack) ? 1 : 2;
    }
}

void crew_idle_release(struct crew_idle *x)
{
    free(x->home);
    map_release(&x->served);
    *x = (struct crew_idle){0};
}

int crew_idle_serves(const struct crew_idle *x, const struct event *ev)
{
    const struct wait *w = ev->kind == EVENT_OFFCPU ? waits_of_event(&x->s->waits, ev) : NULL;

    return w && w->what && (w->reason == WAIT_SOCKET || w->reason == WAIT_POLL || w->reason == WAIT_OTHER) &&
           is_served(x, strtab_get(&x->s->strings, w->what));
}

int crew_idle_is(const struct crew_idle *x, const struct event *ev)
{
    const struct wait *w = ev->kind == EVENT_OFFCPU ? waits_of_event(&x->s->waits, ev) : NULL;
    const char *what = w && w->what ? strtab_get(&x->s->strings, w->what) : "";

    if (!w)
        return 0;
    if (ev->stack <= x->s->stacks.nodes.n && x->home[ev->stack] == 1 && w->reason != WAIT_GIL)
        return 1;
    return (w->reason == WAIT_POLL && !strstr(what, " - ")) || crew_idle_serves(x, ev);
}
