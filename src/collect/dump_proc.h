/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a thread for a dump. proc(5). */
#ifndef WPROF_COLLECT_DUMP_PROC_H
#define WPROF_COLLECT_DUMP_PROC_H

#include "base/buf.h"

#include <sys/types.h>

struct dump_stat {
    char state;
    char comm[16];
    pid_t ppid;
    int cpu;
    int kernel_thread;
};

int dump_stat_read(pid_t pid, pid_t tid, struct dump_stat *out); /* tid 0: the process; -1: gone */
int dump_stat_parse(const char *text, struct dump_stat *out);    /* -1: malformed */
void dump_command(pid_t pid, struct buf *out);                   /* the arguments, with blanks between */
pid_t dump_tracer(pid_t pid, pid_t tid);                         /* 0: none */

#endif
