/* SPDX-License-Identifier: Apache-2.0 */
/* Who will end a wait, where nothing tells of wakeups: who alone can. */
#include "collect/outside.h"

#include "collect/wait_class.h"

#include <string.h>

/* The child that is waited for; 0: any, or the number is of another pid namespace. */
static pid_t child_of(const struct process *p, const struct wire_wait *w)
{
    const char *call = wait_syscall(w->syscall);
    int32_t pid = (int32_t)(call && !strcmp(call, "waitid") ? w->arg1 : w->arg0);

    return call && !strncmp(call, "wait", 4) && p->own_tgid == p->ns_tgid && pid > 0 ? pid : 0;
}

/* The one process that can end the wait; 0: there are several, or none is known. */
static pid_t only_peer(struct outside *o, const struct process *p, const struct wire_wait *w)
{
    pid_t peers[2];

    if (w->reason == WAIT_CHILD)
        return child_of(p, w);
    return w->fd >= 0 && w->mode && wait_peers(&o->namer, p, w, peers, 2) == 1 ? peers[0] : 0;
}

/* Its Python stack of this moment; 0: it has none. */
static uint32_t python_now(struct outside *o, struct outside_thread *t, uint64_t ts)
{
    uint32_t id;
    struct process *p = outside_walked(o, t, ts, &id);
    struct py_mem mem = outside_memory(o, p);
    struct wire_sample *s;
    uint16_t flags;

    if (outside_python(o, t, p, &mem) <= 0 || !o->python->walk.n)
        return 0;
    s = outside_record(o, t, ts);
    s->status = WALK_ROOT;
    s->python_n = (uint16_t)o->python->walk.n;
    outside_record_add(o, o->python->frames, o->python->walk.n * sizeof(*o->python->frames));
    return outside_record_end(o, p, &flags);
}

/* The stack `id` with `root` outside of it. */
static uint32_t hang_below(struct outside *o, uint32_t root, uint32_t id)
{
    struct stacks *stacks = &o->ctx->store->stacks;
    const struct stack_node *n;
    VEC(uint32_t) frames = {0};

    for (; (n = stacks_get(stacks, id)); id = n->parent)
        *vec_push(&frames) = n->frame;
    for (size_t i = frames.n; i-- > 0;)
        root = stacks_push(stacks, root, frames.a[i]);
    vec_release(&frames);
    return root;
}

void outside_infer_waker(struct outside *o, const struct process *p, const struct wire_wait *w, uint64_t ts,
                         struct wait *wait)
{
    pid_t pid = only_peer(o, p, w);
    struct outside_thread *t = pid ? outside_find(o, (uint32_t)pid) : NULL;
    const struct outside_process *op = pid ? outside_find_process(o, (uint32_t)pid) : NULL;

    if (!t || t->ended || !op)
        return;
    wait->waker_task = who_task(&o->who, &t->task, ts);
    wait->waker_stack = outside_marker(o, OUTSIDE_INFERRED);
    if (op->threads == 1) /* else it may be another one's doing */
        wait->waker_stack = hang_below(o, wait->waker_stack, python_now(o, t, ts));
}
