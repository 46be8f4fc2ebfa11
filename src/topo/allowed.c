/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs and memory nodes that the control group of this process may use: cpuset(7), cgroups(7). */
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The control group, and where the file system that tells of it is mounted. */
struct cpuset {
    char group[1024];
    char mount[1024];
    enum { CPUSET_NONE, CPUSET_V1, CPUSET_V1_NOPREFIX, CPUSET_V2 } kind;
};

/* Whether `option` is one of those between commas. */
static int has_option(const char *options, const char *option)
{
    size_t n = strlen(option);

    for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, option, n) && (p[n] == ',' || !p[n]))
            return 1;
    return 0;
}

/* A version 1 mount of the cpuset controller wins: no controller is in both. */
static void find_mount(struct topo_ctx *ctx, struct cpuset *c)
{
    struct buf mounts = {0};
    char *rest, *line;

    if (topo_read(ctx, "/proc/mounts", &mounts) && topo_read(ctx, "/proc/self/mounts", &mounts))
        return;
    rest = mounts.data;
    while ((line = strsep(&rest, "\n"))) {
        char *device = strsep(&line, " "), *where = strsep(&line, " "), *type = strsep(&line, " "),
             *options = strsep(&line, " ");

        if (!device || !where || !type || !options)
            continue;
        if (!strcmp(type, "cpuset") || (!strcmp(type, "cgroup") && has_option(options, "cpuset")))
            c->kind =
                !strcmp(type, "cpuset") || has_option(options, "noprefix") ? CPUSET_V1_NOPREFIX : CPUSET_V1;
        else if (!strcmp(type, "cgroup2") && c->kind == CPUSET_NONE)
            c->kind = CPUSET_V2;
        else
            continue;
        snprintf(c->mount, sizeof(c->mount), "%s", where);
    }
    buf_release(&mounts);
}

/* "4:cpuset:/a/b" or, of version 2, "0::/a/b". */
static void find_group(struct topo_ctx *ctx, struct cpuset *c)
{
    struct buf text = {0};
    char *rest, *line;

    if (!topo_read_line(ctx, "/proc/self/cpuset", c->group, sizeof(c->group)) && *c->group)
        return;
    if (topo_read(ctx, "/proc/self/cgroup", &text))
        return;
    rest = text.data;
    while ((line = strsep(&rest, "\n"))) {
        char *id = strsep(&line, ":"), *controllers = strsep(&line, ":");

        if (!id || !controllers || !line)
            continue;
        if (c->kind == CPUSET_V2 ? !*controllers : has_option(controllers, "cpuset"))
            snprintf(c->group, sizeof(c->group), "%s", line);
    }
    buf_release(&text);
}

/* Reads `file` of the group, or of the nearest group above that has one. */
static int read_set(struct topo_ctx *ctx, const struct cpuset *c, const char *file, struct idset *s)
{
    char group[1024];

    snprintf(group, sizeof(group), "%s", c->group);
    for (;;) {
        char path[2200], *slash = strrchr(group, '/');

        snprintf(path, sizeof(path), "%s%s/%s", c->mount, strcmp(group, "/") != 0 ? group : "", file);
        if (!hw_read_list(ctx, path, s) && idset_count(s))
            return 0;
        if (!slash || !*group)
            return -1;
        *slash = '\0';
    }
}

/* In version 1 the configured sets are kept to what there is, the effective ones came later. */
static const struct {
    const char *cpus[2], *mems[2];
} files[] = {
    [CPUSET_V1] = {{"cpuset.cpus", "cpuset.effective_cpus"}, {"cpuset.mems", "cpuset.effective_mems"}},
    [CPUSET_V1_NOPREFIX] = {{"cpus", "effective_cpus"}, {"mems", "effective_mems"}},
    [CPUSET_V2] = {{"cpuset.cpus.effective", NULL}, {"cpuset.mems.effective", NULL}},
};

static int read_either(struct topo_ctx *ctx, const struct cpuset *c, const char *const name[2],
                       struct idset *s)
{
    for (int i = 0; i < 2 && name[i]; i++)
        if (!read_set(ctx, c, name[i], s))
            return 1;
    return 0;
}

/* Where no such file system is seen: what the kernel says of this process. Its CPUs may be fewer than the
 * group's by its own will, its memory nodes are the group's. */
static int read_status(struct topo_ctx *ctx, struct idset *mems)
{
    struct buf text = {0};
    const char *line;
    int rc = 0;

    if (!topo_read(ctx, "/proc/self/status", &text) &&
        (line = strstr(buf_str(&text), "\nMems_allowed_list:"))) {
        char list[256];

        line += strlen("\nMems_allowed_list:");
        snprintf(list, sizeof(list), "%.*s", (int)strcspn(line, "\n"), line);
        rc = !idset_parse_list(mems, list) && idset_count(mems);
    }
    buf_release(&text);
    return rc;
}

void hw_allowed_read(struct topo_ctx *ctx, struct hw_allowed *a)
{
    uint64_t denied = ctx->denied;
    struct cpuset c = {0};

    *a = (struct hw_allowed){0};
    find_mount(ctx, &c);
    find_group(ctx, &c);
    if (c.kind != CPUSET_NONE) {
        a->has_cpus = read_either(ctx, &c, files[c.kind].cpus, &a->cpus);
        a->has_mems = read_either(ctx, &c, files[c.kind].mems, &a->mems);
    }
    if (!a->has_mems)
        a->has_mems = read_status(ctx, &a->mems);
    ctx->denied = denied; /* what is missing here is no part of the machine */
}

void hw_allowed_release(struct hw_allowed *a)
{
    idset_release(&a->cpus);
    idset_release(&a->mems);
}
