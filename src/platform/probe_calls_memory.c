/* SPDX-License-Identifier: Apache-2.0 */
/* Reading other processes, as tier C does, and the libraries of GPUs. */
#include "platform/probe_calls.h"

#include "base/self.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int read_marker(pid_t pid)
{
    char got[sizeof(probe_marker)];
    struct iovec here = {got, sizeof(got)}, there = {(void *)probe_marker, sizeof(probe_marker)};

    if (process_vm_readv(pid, &here, 1, &there, 1, 0) < 0)
        return errno;
    return memcmp(got, probe_marker, sizeof(got)) ? EIO : 0;
}

int probe_call_memory_child(pid_t sibling)
{
    struct probe_target t;
    int errnum = probe_target_start(&t);

    if (errnum)
        return errnum;
    errnum = read_marker(t.pid);
    probe_target_end(&t);
    return errnum;
}

int probe_call_memory_other(pid_t sibling)
{
    return sibling < 0 ? PROBE_UNTRIED : read_marker(sibling);
}

/* There is nothing at address 0, and who may read gets as far as that. Kernel threads give ESRCH. */
static int may_read(pid_t pid)
{
    char got;
    struct iovec here = {&got, 1}, there = {NULL, 1};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT ? 0 : errno;
}

/* Any process of another user: one alone, even process 1, may be guarded for reasons of its own. */
int probe_call_memory_user(pid_t sibling)
{
    enum { ENOUGH = 32 };
    DIR *proc = opendir("/proc");
    int answer = PROBE_UNTRIED, n = 0;

    for (struct dirent *d; proc && answer != 0 && n < ENOUGH && (d = readdir(proc));) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        struct stat st;
        int one;

        if (pid <= 0 || fstatat(dirfd(proc), d->d_name, &st, 0) < 0 || st.st_uid == geteuid())
            continue;
        one = may_read(pid);
        if (one == ESRCH)
            continue;
        answer = one;
        n++;
    }
    if (proc)
        closedir(proc);
    return answer;
}

/* Where a blocked thread is: its system call, stack pointer and program counter. */
int probe_call_proc_syscall(pid_t sibling)
{
    struct probe_target t;
    char path[64], text[256];
    int fd, errnum = probe_target_start(&t);

    if (errnum)
        return errnum;
    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)t.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
        errnum = errno ? errno : EIO;
    probe_target_end(&t);
    return errnum;
}

/* Unknown flags are refused with EINVAL first. */
int probe_call_filter_memory(pid_t sibling)
{
    struct iovec v = {NULL, 0};

    if (process_vm_readv(getpid(), &v, 1, &v, 1, 1) >= 0)
        return 0;
    return errno == EINVAL ? 0 : errno;
}

static int loads(const char *library)
{
    return dlopen(library, RTLD_LAZY | RTLD_LOCAL) ? 0 : ENOENT;
}

int probe_call_gpu_cuda(pid_t sibling)
{
    return loads("libcuda.so.1");
}

int probe_call_gpu_nvml(pid_t sibling)
{
    return loads("libnvidia-ml.so.1");
}

/* Those that the agent takes; where a program brings its own along, as torch does, that one serves. */
int probe_call_gpu_cupti(pid_t sibling)
{
    return loads("libcupti.so.12") && loads("libcupti.so.13") && loads("libcupti.so.11") ? ENOENT : 0;
}

int probe_call_gpu_agent(pid_t sibling)
{
    char *agent = self_agent();
    int why = agent ? 0 : ENOENT;

    free(agent);
    return why;
}
