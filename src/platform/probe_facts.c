/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/probe_facts.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_MAX = 256 << 10 };

/* include/linux/proc_ns.h: the inodes of the namespaces that the kernel starts with. */
#define INITIAL_USER_NS 0xEFFFFFFDUL
#define INITIAL_PID_NS  0xEFFFFFFCUL

/* ---- files under a root ---- */

int probe_read(const char *root, const char *path, struct buf *out)
{
    char *full = mem_printf("%s%s", root, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 0;

    free(full);
    buf_clear(out);
    if (fd < 0)
        return -1;
    buf_reserve(out, READ_MAX + 1);
    while (out->len < READ_MAX) {
        n = read(fd, out->data + out->len, READ_MAX - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        out->len += (size_t)n;
    }
    out->data[out->len] = '\0';
    close(fd);
    return n < 0 ? -1 : 0;
}

int probe_exists(const char *root, const char *path)
{
    char *full = mem_printf("%s%s", root, path);
    int there = access(full, F_OK) == 0;

    free(full);
    return there;
}

char *probe_line(const char *root, const char *path)
{
    struct buf b = {0};
    char *line = NULL;

    if (!probe_read(root, path, &b) && b.len)
        line = mem_strndup(b.data, strcspn(b.data, "\n"));
    buf_release(&b);
    return line;
}

/* PROBE_ABSENT */
static long number_in(const char *root, const char *path)
{
    char *line = probe_line(root, path), *end = NULL;
    long v = line ? strtol(line, &end, 10) : PROBE_ABSENT;

    if (end == line)
        v = PROBE_ABSENT;
    free(line);
    return v;
}

char *probe_value(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        if (strncmp(p, key, n))
            continue;
        p += n;
        p += strspn(p, " \t");
        return mem_strndup(p, strcspn(p, "\n"));
    }
    return NULL;
}

static long number_of(const char *text, const char *key, int base)
{
    char *v = probe_value(text, key);
    long n = v && *v ? (long)strtoul(v, NULL, base) : PROBE_ABSENT;

    free(v);
    return n;
}

int probe_in_namespace(const char *root, const char *path, unsigned long initial)
{
    char *full = mem_printf("%s%s", root, path), target[64];
    ssize_t n = readlink(full, target, sizeof(target) - 1);
    const char *number;

    free(full);
    if (n <= 0)
        return -1;
    target[n] = '\0';
    number = strchr(target, '[');
    return number ? strtoul(number + 1, NULL, 10) != initial : -1;
}

/* ---- the kernel ---- */

static void read_config(struct probe_kernel *k, const char *root)
{
    static const char *const places[][2] = {
        {"/boot/config-", ""}, {"/lib/modules/", "/config"}, {"/usr/lib/modules/", "/config"}};
    struct buf b = {0};

    for (size_t i = 0; k->release && !k->config && i < ARRAY_SIZE(places); i++) {
        char *path = mem_printf("%s%s%s", places[i][0], k->release, places[i][1]), *v;

        if (probe_read(root, path, &b)) {
            free(path);
            continue;
        }
        k->config = path;
        v = probe_value(buf_str(&b), "CONFIG_DEBUG_INFO_BTF=");
        if (!v || strcmp(v, "y"))
            k->no_btf = mem_strdup("CONFIG_DEBUG_INFO_BTF is not set");
        free(v);
    }
    buf_release(&b);
}

/* "none [integrity] confidentiality": the one in brackets. */
static char *read_lockdown(const char *root)
{
    char *line = probe_line(root, "/sys/kernel/security/lockdown");
    char *from = line ? strchr(line, '[') : NULL, *value = NULL;

    if (from)
        value = mem_strndup(from + 1, strcspn(from + 1, "]"));
    free(line);
    return value;
}

static long file_bytes(const char *root, const char *path)
{
    char *full = mem_printf("%s%s", root, path);
    struct stat st;
    long n = access(full, R_OK) == 0 && stat(full, &st) == 0 ? (long)st.st_size : PROBE_ABSENT;

    free(full);
    return n;
}

static void read_kernel(struct probe_kernel *k, const char *root)
{
    k->release = probe_line(root, "/proc/sys/kernel/osrelease");
    read_config(k, root);
    k->compressed_config = probe_exists(root, "/proc/config.gz");
    k->lockdown = read_lockdown(root);
    k->lsm_files = probe_exists(root, "/sys/kernel/security/lsm");
    k->btf_bytes = file_bytes(root, "/sys/kernel/btf/vmlinux");
}

/* ---- this process ---- */

/* "Uid:\treal\teffective\t...": the second. */
static long effective_uid(const char *status)
{
    char *v = probe_value(status, "Uid:"), *end = v;
    long uid = PROBE_ABSENT;

    if (v) {
        strtol(v, &end, 10);
        uid = strtol(end, NULL, 10);
    }
    free(v);
    return uid;
}

static void read_self(struct probe_self *s, const char *root)
{
    struct buf b = {0};
    long caps, bounding;

    if (probe_read(root, "/proc/self/status", &b))
        buf_clear(&b);
    caps = number_of(buf_str(&b), "CapEff:", 16);
    bounding = number_of(buf_str(&b), "CapBnd:", 16);
    *s = (struct probe_self){
        .uid = effective_uid(buf_str(&b)),
        .known = caps != PROBE_ABSENT,
        .effective = caps == PROBE_ABSENT ? 0 : (uint64_t)caps,
        .bounding = bounding == PROBE_ABSENT ? 0 : (uint64_t)bounding,
        .no_new_privs = number_of(buf_str(&b), "NoNewPrivs:", 10),
        .seccomp = number_of(buf_str(&b), "Seccomp:", 10),
        .in_userns = probe_in_namespace(root, "/proc/self/ns/user", INITIAL_USER_NS),
        .in_pidns = probe_in_namespace(root, "/proc/self/ns/pid", INITIAL_PID_NS),
    };
    buf_release(&b);
}

/* ---- names of kernel functions ---- */

/* One address that is not 0 among the first ones: they are shown or hidden together. */
static enum probe_kallsyms read_kallsyms(const char *root)
{
    enum probe_kallsyms k = PROBE_KALLSYMS_HIDDEN;
    struct buf b = {0};

    if (probe_read(root, "/proc/kallsyms", &b) || !b.len)
        k = PROBE_KALLSYMS_ABSENT;
    else
        for (const char *p = buf_str(&b); p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
            if (strtoull(p, NULL, 16)) {
                k = PROBE_KALLSYMS_SHOWN;
                break;
            }
    buf_release(&b);
    return k;
}

void probe_facts_read(struct probe_facts *f, const char *root)
{
    *f = (struct probe_facts){0};
    read_kernel(&f->kernel, root);
    read_self(&f->self, root);
    f->sysctl.paranoid = number_in(root, "/proc/sys/kernel/perf_event_paranoid");
    f->sysctl.ptrace_scope = number_in(root, "/proc/sys/kernel/yama/ptrace_scope");
    f->sysctl.kptr_restrict = number_in(root, "/proc/sys/kernel/kptr_restrict");
    f->kallsyms = read_kallsyms(root);
    probe_place_read(&f->place, root, f->kernel.release, &f->self);
}

void probe_facts_release(struct probe_facts *f)
{
    free(f->kernel.release);
    free(f->kernel.config);
    free(f->kernel.no_btf);
    free(f->kernel.lockdown);
    free(f->place.container_why);
    free(f->place.hypervisor);
    free(f->place.clock);
    free(f->place.pmus);
    free(f->place.nvidia);
    *f = (struct probe_facts){0};
}
