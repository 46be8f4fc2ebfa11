/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/dump_proc.h"

#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h */

static int read_file(pid_t pid, pid_t tid, const char *name, struct buf *out)
{
    char path[96];

    if (tid)
        snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    else
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return io_read_file(AT_FDCWD, path, out, NULL);
}

int dump_stat_parse(const char *text, struct dump_stat *out)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    unsigned flags;
    size_t n;
    int ppid;

    *out = (struct dump_stat){.cpu = -1};
    if (!open || !close || close < open)
        return -1;
    n = (size_t)(close - open) - 1;
    memcpy(out->comm, open + 1, n < sizeof(out->comm) ? n : sizeof(out->comm) - 1);
    /* From field 3 on: the state, ppid; 9: flags; 39: the CPU. */
    if (sscanf(close + 1, " %c %d %*d %*d %*d %*d %u", &out->state, &ppid, &flags) != 3)
        return -1;
    out->ppid = ppid;
    out->kernel_thread = !!(flags & PF_KTHREAD);
    close += 2;
    for (int field = 3; field < 39 && (close = strchr(close, ' ')); field++)
        close++;
    if (close)
        out->cpu = atoi(close);
    return 0;
}

int dump_stat_read(pid_t pid, pid_t tid, struct dump_stat *out)
{
    struct buf text = {0};
    int rc = read_file(pid, tid, "stat", &text);

    if (!rc)
        rc = dump_stat_parse(buf_str(&text), out);
    buf_release(&text);
    return rc;
}

void dump_command(pid_t pid, struct buf *out)
{
    if (read_file(pid, 0, "cmdline", out))
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

    if (!read_file(pid, tid, "status", &text))
        at = strstr(buf_str(&text), "\nTracerPid:");
    if (at)
        tracer = atoi(at + strlen("\nTracerPid:"));
    buf_release(&text);
    return tracer;
}
