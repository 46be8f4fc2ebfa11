/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds what a futex stands for. A futex is only an address: what lies around it tells. Mutexes are
 * bpf/mutex.h's; glibc, x86-64 (sysdeps/nptl/bits/struct_rwlock.h, nptl/descr.h): pthread_rwlock_t {readers,
 * writers, wrphase_futex, writers_futex, pad[2], cur_writer}; pthread_join waits on the thread's own `tid`.
 */
#include "bpf/mutex.h"
#include "collect/dump_job.h"
#include "platform/procfs.h"
#include "unwind/py_walk.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

/* The words from some address on, as far as they can be read; else 0. */
struct words {
    uint32_t at[8];
};

static int read_words(uint32_t pid, uint64_t addr, struct words *w)
{
    memset(w, 0, sizeof(*w));
    return procfs_read_memory((pid_t)pid, addr, w->at, sizeof(w->at)) >= 4 ? 0 : -1;
}

/* ---- the GIL ---- */

static int of_gil(struct dump_job *j, struct outside_thread *t, struct process *p, uint64_t addr,
                  struct dump_thread *out)
{
    const struct process_python *x = p->python;
    struct dump_python *py = x ? dump_python_of(j, p) : NULL;
    struct py_mem mem;
    struct py_gil gil;
    uint64_t ts = t->python.ts ? t->python.ts : py && py->states.n ? py->states.a[0].ts : 0;

    if (!ts)
        return 0;
    mem = outside_memory(&j->o, p);
    if (py_walk_gil(&gil, &mem, &x->target.layout, &x->target.proc, ts) || !gil.addr || addr < gil.addr ||
        addr >= gil.addr + x->target.layout.gil_size)
        return 0;
    out->reason = WAIT_GIL;
    out->what = dump_text(j, "the GIL");
    for (size_t i = 0; gil.locked && i < py->states.n; i++) {
        struct outside_thread *holder;

        if (py->states.a[i].ts != gil.holder)
            continue;
        holder = dump_own_tid(j, out->pid, (uint32_t)py->states.a[i].native_id);
        if (holder && holder != t)
            dump_add_edge(j, out, out->pid, holder->task.tid, DUMP_GIL);
    }
    return 1;
}

/* ---- words ---- */

/* The owner of a lock that threads of one process share; of one in shared memory any process's thread. */
static struct outside_thread *owner(struct dump_job *j, uint32_t pid, uint32_t own, int private)
{
    struct outside_thread *t = own ? dump_own_tid(j, pid, own) : NULL;

    for (size_t i = 0; !t && own && !private && i < j->o.threads.n; i++)
        if (j->o.threads.a[i]->own_tid == own && !j->o.threads.a[i]->ended)
            t = j->o.threads.a[i];
    return t;
}

static void held(struct dump_job *j, struct dump_thread *out, const struct outside_thread *by, uint64_t addr,
                 enum dump_how how)
{
    static const char *const names[] = {[DUMP_MUTEX] = "mutex", [DUMP_RWLOCK] = "rwlock"};

    if (how == DUMP_JOIN)
        out->what = dump_text(j, "end of thread %u (join)", by->task.tid);
    else
        out->what = dump_text(j, "%s 0x%llx", names[how], (unsigned long long)addr);
    dump_add_edge(j, out, by->task.tgid, by->task.tid, how);
}

/* Write-held: cur_writer says by whom, and the two lowest bits of `readers` that it is. `at`: where in the
 * lock the futex is. */
static const struct outside_thread *rwlock_owner(struct dump_job *j, uint32_t pid, uint64_t futex,
                                                 unsigned at, int private)
{
    enum { READERS = 0, CUR_WRITER = 6, HELD = 3 };
    struct words w;

    if (read_words(pid, futex - at, &w) || (w.at[READERS] & HELD) != HELD)
        return NULL;
    return owner(j, pid, w.at[CUR_WRITER], private);
}

/* The thread whose struct pthread has its tid there; the struct begins with a tcbhead_t, whose third word
 * points to itself. */
static const struct outside_thread *joined(struct dump_job *j, uint32_t pid, uint64_t futex, uint32_t tid)
{
    enum { TID = 720, SELF = 16 }; /* as in unwind/py_walk.c */
    uint64_t self = 0;

    if (procfs_read_memory((pid_t)pid, futex - TID + SELF, &self, sizeof(self)) != sizeof(self) ||
        self != futex - TID)
        return NULL;
    return dump_own_tid(j, pid, tid);
}

static int of_word(struct dump_job *j, struct dump_thread *out, const struct proctask_call *call, int private)
{
    uint64_t addr = call->args[0];
    uint32_t pid = out->pid, expected = (uint32_t)call->args[2];
    const struct outside_thread *by = NULL;
    enum dump_how how = DUMP_MUTEX;
    struct words w;

    if (read_words(pid, addr, &w))
        return 0;
    by = owner(j, pid, mutex_owner(w.at, (uint32_t)call->args[1], expected), private);
    if (!by && w.at[0] == expected && (by = joined(j, pid, addr, expected)))
        how = DUMP_JOIN;
    if (!by &&
        ((by = rwlock_owner(j, pid, addr, 8, private)) || (by = rwlock_owner(j, pid, addr, 12, private))))
        how = DUMP_RWLOCK;
    if (by)
        held(j, out, by, addr, how);
    return by != NULL;
}

void dump_futex(struct dump_job *j, struct outside_thread *t, struct process *p,
                const struct proctask_call *call, struct dump_thread *out)
{
    int op = (int)call->args[1];

    if (of_gil(j, t, p, call->args[0], out))
        return;
    if (call->nr == SYS_futex && of_word(j, out, call, !!(op & FUTEX_PRIVATE_FLAG)))
        return;
    dump_pylock(j, t, p, call->args[0], out);
}
