/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of our own process, read so that a wrong address is an error and not the target's end. Pages are
 * remembered for one walk: a stack is a few system calls.
 */
#ifndef WPROF_AGENT_SELF_H
#define WPROF_AGENT_SELF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SELF_PAGES = 64, SELF_PAGE = 4096 };

struct self {
    pid_t pid;
    int mem; /* /proc/self/mem while a walk lasts, where process_vm_readv(2) is not allowed; -1 */
    int refused;
    uint64_t tags[SELF_PAGES]; /* address | 1; 0: nothing */
    uint8_t pages[SELF_PAGES][SELF_PAGE];
};

void self_begin(struct self *s); /* forgets */
void self_end(struct self *s);
int self_read(struct self *s, uint64_t addr, void *dst, size_t n); /* 0, or -1 */

#endif
