/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse CALL[,CALL]... CMD...: runs CMD where these system calls give EPERM, as a container's seccomp filter
 * has it: bpf, perf_event_open, process_vm_readv.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int nr;
} known[] = {
    {"bpf", SYS_bpf}, {"perf_event_open", SYS_perf_event_open}, {"process_vm_readv", SYS_process_vm_readv}};

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(known[i].name, name))
            return known[i].nr;
    fprintf(stderr, "refuse: %s: not one of the calls known\n", name);
    exit(2);
}

static int refuse(unsigned nr)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof(code) / sizeof(*code), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    for (char *s = strtok(argv[1], ","); s; s = strtok(NULL, ","))
        if (refuse((unsigned)number_of(s))) {
            perror("refuse");
            return 2;
        }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
