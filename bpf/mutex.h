/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who holds the mutex that a futex belongs to: a futex is only an address, what lies around it tells. glibc,
 * x86-64 (sysdeps/x86/nptl/bits/struct_mutex.h): pthread_mutex_t {lock, count, owner, nusers, kind}, whose
 * plain kinds wait on `lock` for 2 to go away. Robust and priority-inheriting mutexes, and musl's other than
 * plain ones, hold the owner's tid in the word itself (futex(2)).
 */
#ifndef WPROF_BPF_MUTEX_H
#define WPROF_BPF_MUTEX_H

#ifndef __bpf__
#include <linux/types.h>
#endif

enum {
    MUTEX_SYSCALL = 202, /* futex(2) */
    MUTEX_WORDS = 5,
    MUTEX_OWNER = 2,
    MUTEX_KIND = 4,
    MUTEX_KIND_MAX = 0x400,
    MUTEX_WAITED_FOR = 2,
    /* linux/futex.h */
    MUTEX_CMD_MASK = 127,
    MUTEX_WAIT = 0,
    MUTEX_LOCK_PI = 6,
    MUTEX_LOCK_PI2 = 13,
    MUTEX_TID_MASK = 0x3fffffff,
};

#define MUTEX_WAITERS 0x80000000u

/* Of a thread in futex(_, op, expected), and the words at that address as they are now: the tid that would be
 * the holder's, in the innermost pid namespace; 0: it is no such mutex, or free. Whether there is such a
 * thread is for the caller to see. */
static inline __u32 mutex_owner(const __u32 *words, __u32 op, __u32 expected)
{
    __u32 cmd = op & MUTEX_CMD_MASK;

    if (words[0] & MUTEX_WAITERS || cmd == MUTEX_LOCK_PI || cmd == MUTEX_LOCK_PI2)
        return words[0] & MUTEX_TID_MASK;
    if (cmd == MUTEX_WAIT && expected == MUTEX_WAITED_FOR && words[0] == expected &&
        words[MUTEX_KIND] < MUTEX_KIND_MAX)
        return words[MUTEX_OWNER];
    return 0;
}

#endif
