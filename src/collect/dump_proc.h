/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells a dump of a process or thread beside platform/proctask.h. */
#ifndef WPROF_COLLECT_DUMP_PROC_H
#define WPROF_COLLECT_DUMP_PROC_H

#include "base/buf.h"

#include <sys/types.h>

void dump_command(pid_t pid, struct buf *out); /* the arguments, with blanks between */
pid_t dump_tracer(pid_t pid, pid_t tid);       /* 0: none */

#endif
