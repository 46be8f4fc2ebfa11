/* SPDX-License-Identifier: Apache-2.0 */
/* The command that grants something depends on where we are: a shell, a container, a pod, a sandbox. */
#include "platform/probe_judge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/self.h"

#define SETCAP "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog,cap_checkpoint_restore+ep"
#define ADD                                                                                                  \
    "--cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add SYSLOG --cap-add CHECKPOINT_RESTORE"
#define POD_ADD "capabilities: {add: [BPF, PERFMON, SYS_PTRACE, SYSLOG, CHECKPOINT_RESTORE]}"

static int filtered(const struct probe_view *v)
{
    return probe_filtered_bpf(v) || probe_filtered_perf(v) || probe_filtered_memory(v);
}

static char *container_grant(const struct probe_view *v, int with_caps)
{
    const struct probe_self *s = &v->facts->self;
    struct buf b = {0};
    int filter = filtered(v) || !with_caps, user = with_caps && s->uid != 0;

    switch (v->facts->place.container) {
    case PROBE_KUBERNETES:
        buf_addf(&b, "securityContext: {%s%s%s%s}", with_caps ? POD_ADD : "", user ? ", runAsUser: 0" : "",
                 with_caps && filter ? ", " : "", filter ? "seccompProfile: {type: Unconfined}" : "");
        break;
    case PROBE_PODMAN: /* its own default filter wants more than the capability for perf_event_open */
        buf_addf(&b, "%spodman run%s%s --security-opt seccomp=unconfined ...",
                 s->in_userns == 1 ? "sudo " : "", with_caps ? " " ADD : "", user ? " --user 0" : "");
        break;
    case PROBE_DOCKER:
        buf_addf(&b, "docker run%s%s%s%s ...", with_caps ? " " ADD : "",
                 s->in_userns == 1 ? " --userns host" : "", user ? " --user 0" : "",
                 filter ? " --security-opt seccomp=unconfined" : "");
        break;
    default:
        buf_addf(&b, "start the container %s%s%s",
                 with_caps ? "with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE"
                           : "",
                 with_caps && filter ? ", " : "", filter ? "without its seccomp filter" : "");
    }
    return buf_detach(&b);
}

/* Where neither sudo nor setcap can do anything, what else. NULL: they can. */
static char *beyond_sudo(const struct probe_view *v)
{
    const struct probe_self *s = &v->facts->self;

    if (v->facts->place.container != PROBE_NO_CONTAINER)
        return container_grant(v, 1);
    if (s->in_userns == 1)
        return mem_strdup("run wprof outside of the user namespace");
    if (s->no_new_privs == 1)
        return mem_strdup(
            "run wprof outside of the sandbox: with no_new_privs neither sudo nor setcap has an effect");
    if (s->uid == 0 && s->known && caps_missing(s->bounding, (char[256]){0}, 256))
        return mem_strdup(
            "run wprof where root has all capabilities (of a systemd unit: CapabilityBoundingSet=)");
    return NULL;
}

/* sudo has a PATH of its own, which this one is hardly in; a file's capabilities end with the launcher. NULL:
 * another build. */
static char *portable_grant(void)
{
    struct err e = {0};
    char *program = self_is_portable() ? self_program(&e) : NULL;
    char *grant = program ? mem_printf("sudo %s record ...", program) : NULL;

    free(program);
    return grant;
}

char *probe_grant_root(const struct probe_view *v)
{
    char *other = beyond_sudo(v);

    if (!other)
        other = portable_grant();
    if (other)
        return other;
    return v->facts->self.uid == 0 ? probe_grant_capabilities(v) : mem_strdup("sudo wprof record ...");
}

char *probe_grant_capabilities(const struct probe_view *v)
{
    char *other = beyond_sudo(v);

    if (!other)
        other = portable_grant();
    return other ? other : mem_strdup("sudo setcap " SETCAP " $(command -v wprof)");
}

char *probe_grant_seccomp(const struct probe_view *v)
{
    if (v->facts->place.container != PROBE_NO_CONTAINER)
        return container_grant(v, 0);
    return mem_strdup("run wprof outside of the sandbox (of a systemd unit: SystemCallFilter=)");
}

char *probe_grant_sysctl(const struct probe_view *v, const char *key, int value)
{
    int inside = v->facts->place.container != PROBE_NO_CONTAINER;

    return mem_printf("sudo sysctl %s=%d%s", key, value, inside ? " (on the host)" : "");
}
