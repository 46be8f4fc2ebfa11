/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a thread waits for, from its registers as of its system call. */
#ifndef WPROF_BPF_OFF_WAIT_H
#define WPROF_BPF_OFF_WAIT_H

#include "bpf/mutex.h"
#include "bpf/off_task.h"

/* The mode and inode of the file that the call is about. */
static __always_inline void off_file(struct wire_wait *w, struct task_struct *t, __u32 fd)
{
    struct files_struct *files = t->files;
    struct fdtable *table;
    struct inode *inode;
    struct file *f = 0;

    if (!files)
        return;
    table = files->fdt;
    if (!table || fd >= table->max_fds)
        return;
    w->fd = fd;
    if (bpf_probe_read_kernel(&f, sizeof(f), (void *)table->fd + fd * sizeof(f)) || !f)
        return;
    inode = BPF_CORE_READ(f, f_inode);
    w->mode = BPF_CORE_READ(inode, i_mode);
    w->ino = BPF_CORE_READ(inode, i_ino);
}

/* The descriptor that the call is about; -1: none, or it isn't known. */
static __always_inline __s32 off_fd(const struct wire_wait *w, struct task_struct *t, __u32 reason)
{
    __s32 fd;

    if (reason & (WIRE_OFF_FD | WIRE_OFF_EPOLL))
        return w->arg0;
    if (!(reason & WIRE_OFF_POLLFD) || !w->arg1 || t != bpf_get_current_task_btf() ||
        bpf_probe_read_user(&fd, sizeof(fd), (void *)w->arg0))
        return -1;
    return fd;
}

static __always_inline __u32 off_reason(struct wire_wait *w, struct task_struct *t)
{
    __u32 nr = w->syscall, reason;
    __s32 fd;

    if (w->state & (TASK_STOPPED | TASK_TRACED))
        return off_config.stopped;
    if (nr >= WIRE_OFF_SYSCALLS)
        return w->syscall < 0 ? off_config.fault : off_config.other;
    reason = off_config.of_syscall[nr];
    fd = off_fd(w, t, reason);
    if (fd >= 0)
        off_file(w, t, fd);
    if (reason & WIRE_OFF_FD && off_config.of_mode[(w->mode >> 12) & 15])
        return off_config.of_mode[(w->mode >> 12) & 15];
    reason &= WIRE_OFF_REASONS - 1;
    if (reason == off_config.other && (w->state & TASK_UNINTERRUPTIBLE))
        reason = BPF_CORE_READ_BITFIELD(t, in_iowait) ? off_config.disk : off_config.lock;
    return reason;
}

static __always_inline void off_wait(struct wire_wait *w, struct task_struct *t, __u32 state)
{
    struct pt_regs *r;

    w->state = state;
    w->fd = -1;
    w->mode = 0;
    w->ino = 0;
    w->owner = 0;
    w->arg0 = w->arg1 = 0;
    w->syscall = -1;
    if (t->flags & PF_KTHREAD) {
        w->reason = off_config.other;
        return;
    }
    r = (struct pt_regs *)bpf_task_pt_regs(t);
    w->syscall = r->orig_ax;
    w->arg0 = r->di;
    w->arg1 = r->si;
    w->reason = off_reason(w, t);
}

/* Who holds the mutex that the current thread goes to sleep on. */
static __always_inline __u32 off_owner(const struct wire_wait *w, struct task_struct *t)
{
    struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(t);
    __u32 words[MUTEX_WORDS];

    if (w->syscall != MUTEX_SYSCALL || bpf_probe_read_user(words, sizeof(words), (void *)w->arg0))
        return 0;
    return mutex_owner(words, r->si, r->dx);
}

#endif
