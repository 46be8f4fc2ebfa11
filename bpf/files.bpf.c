/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes hold the ends of pipes and sockets. /proc makes an inode for each descriptor that is asked
 * for: this takes a fiftieth of its time. */
#include "bpf/maps.h"
#include "bpf/task.h"

#include <bpf/bpf_tracing.h>

enum { MODE_KIND = 0170000, MODE_FIFO = 0010000, MODE_SOCKET = 0140000 }; /* uapi linux/stat.h */
enum { FILE_READS = 1, FILE_WRITES = 2 };                                 /* linux/fs.h: FMODE_READ, _WRITE */

__u32 holders_all; /* set by user space: not only of followed processes */

/* As struct wire_holder after struct wire_holder. */
SEC("iter/task_file")
int each_holder(struct bpf_iter__task_file *ctx)
{
    struct task_struct *t = ctx->task;
    struct file *f = ctx->file;
    struct wire_holder r = {};
    __u32 kind, tgid;

    if (!t || !f)
        return 0;
    tgid = t->tgid;
    if (!holders_all && !bpf_map_lookup_elem(&procs, &tgid))
        return 0;
    kind = BPF_CORE_READ(f, f_inode, i_mode) & MODE_KIND;
    if (kind != MODE_FIFO && kind != MODE_SOCKET)
        return 0;
    r.ino = BPF_CORE_READ(f, f_inode, i_ino);
    r.ns_tgid = task_ns_tgid(t);
    r.modes = kind == MODE_SOCKET
                  ? WIRE_READS | WIRE_WRITES
                  : (f->f_mode & FILE_READS ? WIRE_READS : 0) | (f->f_mode & FILE_WRITES ? WIRE_WRITES : 0);
    bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
    return 0;
}
