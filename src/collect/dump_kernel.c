/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's part of a blocked thread's stack: /proc/PID/task/TID/stack for root, else the one function
 * that wchan names. Both are texts: "[<0>] futex_wait+0x54/0x110 [module]", innermost first.
 */
#include "base/io.h"
#include "collect/dump_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { KERNEL_DEPTH = 64 };

static int read_file(const struct dump_thread *t, const char *name, struct buf *out)
{
    char path[96];

    snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", t->pid, t->tid, name);
    return io_read_file(AT_FDCWD, path, out, NULL);
}

static uint32_t push(struct dump_job *j, uint32_t parent, const char *name, size_t n)
{
    struct store *s = &j->d->store;
    struct frame f = {.kind = FRAME_KERNEL, .func = strtab_addn(&s->strings, name, n)};

    return f.func ? stacks_push(&s->stacks, parent, frames_add(&s->frames, &f)) : parent;
}

/* Lines of names, outermost last: gives how many begin in at[]. */
static size_t split(const char *text, const char *at[KERNEL_DEPTH])
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, "] ")) && n < KERNEL_DEPTH;) {
        p += 2;
        at[n++] = p;
        p = strchr(p, '\n');
        if (!p)
            break;
    }
    return n;
}

void dump_kernel_part(struct dump_job *j, struct dump_thread *t)
{
    const char *at[KERNEL_DEPTH];
    struct buf text = {0};
    size_t n = 0;

    if (!read_file(t, "stack", &text))
        n = split(buf_str(&text), at);
    for (size_t i = n; i-- > 0;)
        t->stack = push(j, t->stack, at[i], strcspn(at[i], "+ \n"));
    if (!n) {
        buf_clear(&text);
        if (!read_file(t, "wchan", &text) && strcmp(buf_str(&text), "0"))
            t->stack = push(j, t->stack, buf_str(&text), strcspn(buf_str(&text), "\n"));
    }
    buf_release(&text);
}
