/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/blocked.h"

#include "bpf/mutex.h"
#include "platform/procfs.h"

static struct wire_sample *sample(struct buf *record)
{
    return (struct wire_sample *)record->data;
}

void blocked_add(struct buf *record, pid_t pid, const struct py_stack *python, int rc, uint8_t *room,
                 size_t n)
{
    struct wire_sample *s = sample(record);
    uint64_t sp = s->regs.sp;
    ssize_t got;

    if (rc > 0) {
        s->python_n = (uint16_t)python->walk.n;
        s->flags |= python->walk.status == PY_FULL ? WIRE_PY_FULL : 0;
        buf_add(record, python->frames, python->walk.n * sizeof(*python->frames));
    } else if (rc < 0) {
        s->flags |= WIRE_PY_ERROR;
    }
    got = procfs_read_memory(pid, sp, room, n);
    if (got > 0) {
        sample(record)->stack_n = (uint32_t)got;
        buf_add(record, room, (size_t)got);
    }
    sample(record)->head.size = (uint32_t)record->len;
}

uint32_t blocked_mutex_owner(pid_t pid, const struct proctask_call *call)
{
    uint32_t words[MUTEX_WORDS];

    if (call->nr != MUTEX_SYSCALL ||
        procfs_read_memory(pid, call->args[0], words, sizeof(words)) != sizeof(words))
        return 0;
    return mutex_owner(words, (uint32_t)call->args[1], (uint32_t)call->args[2]);
}
