/* SPDX-License-Identifier: Apache-2.0 */
/* Reading other processes, as tier C does, and the libraries of GPUs. */
#include "platform/probe_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* Of process 1, where it is somebody else's. There is nothing at address 0, and who may read gets as far as
 * that. */
int probe_call_memory_user(pid_t sibling)
{
    char got;
    struct iovec here = {&got, 1}, there = {NULL, 1};
    struct stat st;

    if (stat("/proc/1", &st) < 0 || st.st_uid == geteuid())
        return PROBE_UNTRIED;
    if (process_vm_readv(1, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT)
        return 0;
    return errno == ESRCH ? PROBE_UNTRIED : errno;
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
