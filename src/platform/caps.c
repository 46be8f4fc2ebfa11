/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/caps.h"

#include "base/mem.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static const struct {
    int number, also; /* also: the older capability that implies it */
    const char *name;
} wanted[] = {
    {CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF"},
    {CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON"},
    {CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
    {CAP_SYSLOG, CAP_SYS_ADMIN, "CAP_SYSLOG"},
    {CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE"},
};

int caps_missing(char *out, size_t n)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    uint64_t have = 0;
    size_t len = 0;
    int count = 0;

    out[0] = '\0';
    if (syscall(SYS_capget, &head, data) == 0)
        have = data[0].effective | (uint64_t)data[1].effective << 32;
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        if (have >> wanted[i].number & 1 || have >> wanted[i].also & 1)
            continue;
        len += (size_t)snprintf(out + len, len < n ? n - len : 0, "%s%s", count ? ", " : "", wanted[i].name);
        if (len >= n)
            len = n - 1;
        count++;
    }
    return count;
}
