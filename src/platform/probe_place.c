/* SPDX-License-Identifier: Apache-2.0 */
/* Where this process runs: container, virtual machine, WSL; the machine's clock, counters, GPUs. */
#include "base/buf.h"
#include "base/dir.h"
#include "base/mem.h"
#include "platform/probe_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* include/linux/proc_ns.h */
#define INITIAL_UTS_NS    0xEFFFFFFEUL
#define INITIAL_IPC_NS    0xEFFFFFFFUL
#define INITIAL_CGROUP_NS 0xEFFFFFFBUL

static int is_shown(const struct dirent *de)
{
    return de->d_name[0] != '.';
}

/* None where it can't be read. */
static struct dir_names names_in(const char *root, const char *path)
{
    char *full = mem_printf("%s%s", root, path);
    struct dir_names names = {0};

    dir_names(&names, AT_FDCWD, full, is_shown);
    free(full);
    return names;
}

/* ---- container ---- */

static const struct {
    const char *word; /* in /proc/self/cgroup, or what /run/systemd/container holds */
    enum probe_container kind;
} kinds[] = {
    {"kubepods", PROBE_KUBERNETES},    {"docker", PROBE_DOCKER},
    {"libpod", PROBE_PODMAN},          {"podman", PROBE_PODMAN},
    {"lxc", PROBE_OTHER_CONTAINER},    {"systemd-nspawn", PROBE_OTHER_CONTAINER},
    {"garden", PROBE_OTHER_CONTAINER}, {"containerd", PROBE_OTHER_CONTAINER},
};

static enum probe_container kind_in(const char *text)
{
    for (size_t i = 0; text && i < ARRAY_SIZE(kinds); i++)
        if (strstr(text, kinds[i].word))
            return kinds[i].kind;
    return PROBE_NO_CONTAINER;
}

/* Any namespace of its own. A virtual machine made from a container's image has the marks but none of these.
 */
static int apart(const char *root, const struct probe_self *self)
{
    return self->in_pidns == 1 || self->in_userns == 1 ||
           probe_in_namespace(root, "/proc/self/ns/uts", INITIAL_UTS_NS) == 1 ||
           probe_in_namespace(root, "/proc/self/ns/ipc", INITIAL_IPC_NS) == 1 ||
           probe_in_namespace(root, "/proc/self/ns/cgroup", INITIAL_CGROUP_NS) == 1;
}

static enum probe_container look(const char *root, char **why)
{
    static const struct {
        const char *path;
        enum probe_container kind;
    } marks[] = {
        {"/var/run/secrets/kubernetes.io", PROBE_KUBERNETES},
        {"/run/secrets/kubernetes.io", PROBE_KUBERNETES},
        {"/.dockerenv", PROBE_DOCKER},
        {"/run/.containerenv", PROBE_PODMAN},
    };
    static const char *const texts[] = {"/proc/self/cgroup", "/run/systemd/container"};

    if (!*root && getenv("KUBERNETES_SERVICE_HOST")) {
        *why = mem_strdup("KUBERNETES_SERVICE_HOST");
        return PROBE_KUBERNETES;
    }
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (probe_exists(root, marks[i].path)) {
            *why = mem_strdup(marks[i].path);
            return marks[i].kind;
        }
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buf b = {0};
        enum probe_container kind =
            probe_read(root, texts[i], &b) ? PROBE_NO_CONTAINER : kind_in(buf_str(&b));

        buf_release(&b);
        if (kind != PROBE_NO_CONTAINER) {
            *why = mem_strdup(texts[i]);
            return kind;
        }
    }
    return PROBE_NO_CONTAINER;
}

static void read_container(struct probe_place *p, const char *root, const struct probe_self *self)
{
    p->container = look(root, &p->container_why);
    if (p->container == PROBE_NO_CONTAINER && self->in_pidns == 1 && !p->wsl) {
        p->container = PROBE_OTHER_CONTAINER;
        p->container_why = mem_strdup("a pid namespace of its own");
    } else if (p->container != PROBE_NO_CONTAINER && self->in_pidns == 0 && !apart(root, self)) {
        p->container = PROBE_NO_CONTAINER;
    }
}

/* ---- virtual machine ---- */

static char *read_hypervisor(const char *root)
{
    static const char *const vendors[] = {"QEMU",    "Amazon EC2", "Google", "VMware",
                                          "innotek", "Xen",        "Bochs",  "Parallels"};
    char *vendor = probe_line(root, "/sys/class/dmi/id/sys_vendor");
    char *product = probe_line(root, "/sys/class/dmi/id/product_name");
    struct buf cpu = {0};
    char *found = NULL;
    int flag = !probe_read(root, "/proc/cpuinfo", &cpu) && strstr(buf_str(&cpu), " hypervisor");

    if (vendor && !strcmp(vendor, "Microsoft Corporation") && product && !strcmp(product, "Virtual Machine"))
        found = mem_strdup("Hyper-V");
    for (size_t i = 0; vendor && !found && flag && i < ARRAY_SIZE(vendors); i++)
        if (strstr(vendor, vendors[i]))
            found = mem_strdup(vendor);
    if (!found && flag)
        found = mem_strdup("unknown kind");
    buf_release(&cpu);
    free(vendor);
    free(product);
    return found;
}

/* "4.4.0-19041-Microsoft" is WSL 1, which has no Linux kernel at all; "5.15.90.1-microsoft-standard-WSL2"
 * WSL 2. */
static int wsl_of(const char *release)
{
    if (release && strcasestr(release, "microsoft"))
        return strstr(release, "Microsoft") ? 1 : 2;
    return release && strstr(release, "WSL2") ? 2 : 0;
}

/* ---- hardware ---- */

static char *read_pmus(const char *root)
{
    static const char *const software[] = {"software", "tracepoint", "breakpoint", "kprobe", "uprobe", "msr"};
    struct dir_names names = names_in(root, "/sys/bus/event_source/devices");
    struct buf b = {0};

    for (size_t i = 0; i < names.list.n; i++) {
        size_t at = 0;

        while (at < ARRAY_SIZE(software) && strcmp(names.list.a[i], software[at]))
            at++;
        if (at == ARRAY_SIZE(software))
            buf_addf(&b, "%s%s", b.len ? ", " : "", names.list.a[i]);
    }
    dir_names_release(&names);
    return b.data ? buf_detach(&b) : mem_strdup("");
}

/* PCI class 03 is display controllers, 0x10de NVIDIA. */
static long count_gpus(const char *root)
{
    struct dir_names names = names_in(root, "/sys/bus/pci/devices");
    long count = 0;

    for (size_t i = 0; i < names.list.n; i++) {
        char path[512];
        char *vendor, *class;

        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", names.list.a[i]);
        vendor = probe_line(root, path);
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", names.list.a[i]);
        class = probe_line(root, path);
        count += vendor && class && !strcmp(vendor, "0x10de") && !strncmp(class, "0x03", 4);
        free(vendor);
        free(class);
    }
    dir_names_release(&names);
    return count;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...": the word with dots between digits. */
static char *read_nvidia(const char *root)
{
    char *line = probe_line(root, "/proc/driver/nvidia/version"), *save = NULL, *version = NULL;

    if (!line)
        return NULL;
    for (char *w = strtok_r(line, " ", &save); w && !version; w = strtok_r(NULL, " ", &save))
        if (strspn(w, "0123456789.") == strlen(w) && strchr(w, '.'))
            version = mem_strdup(w);
    free(line);
    return version ? version : mem_strdup("?");
}

/* "RmProfilingAdminOnly: 1" */
static long read_gpu_admin(const char *root)
{
    struct buf b = {0};
    char *v = probe_read(root, "/proc/driver/nvidia/params", &b)
                  ? NULL
                  : probe_value(buf_str(&b), "RmProfilingAdminOnly:");
    long admin = v ? strtol(v, NULL, 10) : PROBE_ABSENT;

    free(v);
    buf_release(&b);
    return admin;
}

/* NSpid has one number a level, from where /proc was mounted. */
static long pid_level(const char *root)
{
    struct buf b = {0};
    char *v = probe_read(root, "/proc/self/status", &b) ? NULL : probe_value(buf_str(&b), "NSpid:");
    long n = v ? 0 : PROBE_ABSENT;

    for (char *save = NULL, *w = v ? strtok_r(v, "\t ", &save) : NULL; w; w = strtok_r(NULL, "\t ", &save))
        n++;
    free(v);
    buf_release(&b);
    return n > 0 ? n - 1 : n;
}

void probe_place_read(struct probe_place *p, const char *root, const char *release,
                      const struct probe_self *self)
{
    p->wsl = wsl_of(release);
    read_container(p, root, self);
    p->pid_level = pid_level(root);
    p->hypervisor = read_hypervisor(root);
    p->clock = probe_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    p->cgroup = probe_exists(root, "/sys/fs/cgroup/cgroup.controllers")                                   ? 2
                : probe_exists(root, "/sys/fs/cgroup/cpu") || probe_exists(root, "/sys/fs/cgroup/memory") ? 1
                                                                                                          : 0;
    p->pmus = read_pmus(root);
    p->nvidia = read_nvidia(root);
    p->gpus = count_gpus(root);
    p->gpu_admin = read_gpu_admin(root);
}
