/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/dump_proc.h"

#include "platform/proctask.h"

#include <stdlib.h>
#include <string.h>

void dump_command(pid_t pid, struct buf *out)
{
    if (proctask_read(pid, 0, "cmdline", out))
        return;
    for (size_t i = 0; i + 1 < out->len; i++)
        if (!out->data[i])
            out->data[i] = ' ';
}

pid_t dump_tracer(pid_t pid, pid_t tid)
{
    struct buf text = {0};
    const char *at = NULL;
    pid_t tracer = 0;

    if (!proctask_read(pid, tid, "status", &text))
        at = strstr(buf_str(&text), "\nTracerPid:");
    if (at)
        tracer = atoi(at + strlen("\nTracerPid:"));
    buf_release(&text);
    return tracer;
}
