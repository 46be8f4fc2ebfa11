/* SPDX-License-Identifier: Apache-2.0 */
#include "record/child.h"

#include "base/vec.h"
#include "platform/proctask.h"

#include <signal.h>
#include <sys/wait.h>

int child_reap(struct child *c)
{
    if (!child_running(c))
        return 0;
    if (wait4(c->spawn.pid, &c->status, WNOHANG, &c->usage) != c->spawn.pid)
        return 0;
    c->ended = 1;
    return 1;
}

int child_ending(const struct child *c)
{
    siginfo_t info = {0};

    return child_running(c) && !waitid(P_PID, (id_t)c->spawn.pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
           info.si_pid;
}

int child_running(const struct child *c)
{
    return c->launched && !c->ended;
}

int child_exit_code(const struct child *c)
{
    if (!WIFSIGNALED(c->status))
        return WEXITSTATUS(c->status);
    if (c->told && (WTERMSIG(c->status) == SIGTERM || WTERMSIG(c->status) == SIGKILL))
        return 0;
    return 128 + WTERMSIG(c->status);
}

void child_end(struct child *c, uint64_t now)
{
    if (!child_running(c) || c->told)
        return;
    c->told = SIGTERM;
    c->kill_at = now + CHILD_GRACE_NS;
    kill(c->spawn.pid, SIGTERM);
    kill(c->spawn.pid, SIGCONT); /* a stopped one would never hear of it */
}

/* Stopped first, from the root on: then no child is born behind our back. */
static void stop_tree(pid_t root, struct pid_list *all)
{
    *vec_push(&all->list) = root;
    for (size_t i = 0; i < all->list.n; i++) {
        kill(all->list.a[i], SIGSTOP);
        proctask_children(all->list.a[i], all);
    }
}

uint64_t child_time(struct child *c, uint64_t now)
{
    struct pid_list all = {0};

    if (!child_running(c) || c->told != SIGTERM)
        return UINT64_MAX;
    if (now < c->kill_at)
        return c->kill_at;
    c->told = SIGKILL;
    stop_tree(c->spawn.pid, &all);
    for (size_t i = 0; i < all.list.n; i++)
        kill(all.list.a[i], SIGKILL);
    vec_release(&all.list);
    return UINT64_MAX;
}
