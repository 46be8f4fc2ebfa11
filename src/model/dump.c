/* SPDX-License-Identifier: Apache-2.0 */
#include "model/dump.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void dump_release(struct dump *d)
{
    store_release(&d->store);
    vec_release(&d->processes);
    vec_release(&d->threads);
    vec_release(&d->edges);
    vec_release(&d->others);
    vec_release(&d->answers);
    vec_release(&d->path);
    free(d->unseen);
}

const struct dump_process *dump_process(const struct dump *d, uint32_t pid)
{
    for (size_t i = 0; i < d->processes.n; i++)
        if (d->processes.a[i].pid == pid)
            return &d->processes.a[i];
    return NULL;
}

const struct dump_thread *dump_thread(const struct dump *d, uint32_t tid)
{
    for (size_t i = 0; i < d->threads.n; i++)
        if (d->threads.a[i].tid == tid)
            return &d->threads.a[i];
    return NULL;
}

static void add_comm(const struct dump *d, uint32_t comm, struct buf *out)
{
    for (const char *c = strtab_get(&d->store.strings, comm); *c; c++)
        buf_addch(out, (unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
}

void dump_add_process(const struct dump *d, uint32_t pid, struct buf *out)
{
    const struct dump_process *p = dump_process(d, pid);
    uint32_t comm = p ? p->comm : 0;

    for (size_t i = 0; !p && i < d->others.n; i++)
        if (d->others.a[i].pid == pid)
            comm = d->others.a[i].comm;
    add_comm(d, comm, out);
    buf_addf(out, comm ? "[%u]" : "process %u", pid);
}

void dump_add_thread(const struct dump *d, const struct dump_thread *t, struct buf *out)
{
    add_comm(d, t->comm, out);
    if (t->tid == t->pid)
        buf_addf(out, "[%u]", t->pid);
    else
        buf_addf(out, "[%u/%u]", t->pid, t->tid);
}

/* libc.so.6, libc-2.31.so, libpthread.so.0, ld-linux-x86-64.so.2: what waits is who calls them. */
static int is_libc(const struct store *s, const struct frame *f)
{
    const struct module *m = frames_module(&s->frames, f->module);
    const char *path = m ? strtab_get(&s->strings, m->path) : "", *name = strrchr(path, '/');

    name = name ? name + 1 : path;
    return !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) || !strncmp(name, "libpthread", 10) ||
           !strncmp(name, "ld-", 3);
}

/* Of the interpreter's library or a package, not of the program that uses it. */
static int is_library(const char *file)
{
    return strstr(file, "/lib/python3") || file[0] == '<';
}

static void add_name(const struct store *s, const struct frame_name *n, struct buf *out)
{
    const char *file = strtab_get(&s->strings, n->file), *base = strrchr(file, '/');

    buf_addstr(out, strtab_get(&s->strings, n->func));
    if (*file && n->line)
        buf_addf(out, " (%s:%u)", base ? base + 1 : file, n->line);
    else if (*file)
        buf_addf(out, " (%s)", base ? base + 1 : file);
}

int dump_add_place(const struct dump *d, uint32_t stack, struct buf *out)
{
    const struct store *s = &d->store;
    struct frame_name python = {0}, outside = {0}, within = {0}, kernel = {0}, *found;

    for (const struct stack_node *n; (n = stacks_get(&s->stacks, stack)); stack = n->parent) {
        const struct frame *f = frames_get(&s->frames, n->frame);
        const struct frame_name *names;
        struct frame_name self;
        uint32_t count = frames_names(&s->frames, n->frame, &self, &names);

        if (!f || !count || f->kind == FRAME_MARKER)
            continue;
        if (f->kind == FRAME_PYTHON && (!python.func || !is_library(strtab_get(&s->strings, names->file)))) {
            python = *names;
            if (!is_library(strtab_get(&s->strings, names->file)))
                break;
        }
        found = f->kind == FRAME_KERNEL ? &kernel : is_libc(s, f) ? &within : &outside;
        if (!found->func)
            *found = names[count - 1];
    }
    found = python.func ? &python : outside.func ? &outside : within.func ? &within : &kernel;
    if (found->func)
        add_name(s, found, out);
    return found->func != 0;
}

void dump_add_state(const struct dump_thread *t, struct buf *out)
{
    switch (t->state) {
    case 'R':
        buf_addstr(out, "running");
        if (t->cpu >= 0)
            buf_addf(out, " on CPU %d", t->cpu);
        break;
    case 'W':
        buf_addstr(out, "runnable, waits for a CPU");
        break;
    case 'D':
        buf_addstr(out, "uninterruptible sleep");
        break;
    case 'T':
        buf_addstr(out, "stopped");
        break;
    case 't':
        buf_addstr(out, "stopped by its tracer");
        break;
    case 'Z':
    case 'X':
        buf_addstr(out, "ended");
        break;
    default:
        buf_addstr(out, "sleeping");
    }
}

const char *dump_how_name(enum dump_how how)
{
    static const char *const names[] = {
        [DUMP_MUTEX] = "mutex",   [DUMP_RWLOCK] = "rwlock", [DUMP_PYLOCK] = "python-lock",
        [DUMP_GIL] = "gil",       [DUMP_JOIN] = "join",     [DUMP_CHILD] = "child",
        [DUMP_PIPE] = "pipe",     [DUMP_SOCKET] = "socket", [DUMP_FILE_LOCK] = "file-lock",
        [DUMP_TRACER] = "tracer",
    };

    return (size_t)how < ARRAY_SIZE(names) ? names[how] : "unknown";
}
