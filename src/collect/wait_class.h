/* SPDX-License-Identifier: Apache-2.0 */
/* Which system call waits for what: the table that the kernel's side classifies spans by. */
#ifndef WPROF_COLLECT_WAIT_CLASS_H
#define WPROF_COLLECT_WAIT_CLASS_H

#include <linux/types.h>

#include "bpf/wire.h"
#include "model/waits.h"

/* Fills the tables; reasons are enum wait_reason. */
void wait_classes(struct wire_off_config *c);

/* A system call's name, for those that wait and are of no class; NULL: not known. */
const char *wait_syscall(int nr);

#endif
