/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/caps.h"

#include "base/mem.h"

#include <linux/capability.h>
#include <stdio.h>

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
    [CAPS_BPF] = {CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF"},
    [CAPS_PERFMON] = {CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON"},
    [CAPS_PTRACE] = {CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
    [CAPS_SYSLOG] = {CAP_SYSLOG, CAP_SYS_ADMIN, "CAP_SYSLOG"},
    [CAPS_RESTORE] = {CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE"},
};

int caps_has(uint64_t set, enum caps_need which)
{
    return set >> wanted[which].number & 1 || set >> wanted[which].also & 1;
}

int caps_missing(uint64_t set, char *out, size_t n)
{
    size_t len = 0;
    int count = 0;

    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        if (caps_has(set, (enum caps_need)i))
            continue;
        len += (size_t)snprintf(out + len, len < n ? n - len : 0, "%s%s", count ? ", " : "", wanted[i].name);
        if (len >= n)
            len = n - 1;
        count++;
    }
    return count;
}
