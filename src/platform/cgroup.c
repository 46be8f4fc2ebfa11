/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/cgroup.h"

#include "base/mem.h"
#include "platform/procstat.h"
#include "platform/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEVELS = 64 }; /* that are looked at on the way up */

/* Version 1 says "no limit" by the largest multiple of a page that fits. */
#define NO_LIMIT (1ull << 62)

static const char *const controllers[] = {"cpu", "cpuacct", "memory", ""};

/* ---- where it is ---- */

/* Is `word` one of the comma-separated list a[0..n)? */
static int in_list(const char *a, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0, next; i <= n; i = next + 1) {
        const char *comma = memchr(a + i, ',', n - i);

        next = comma ? (size_t)(comma - a) : n;
        if (next - i == len && !memcmp(a + i, word, len))
            return 1;
    }
    return 0;
}

int cgroup_parse_path(const char *text, const char *controller, struct buf *out)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        const char *first = memchr(line, ':', n);
        const char *second = first ? memchr(first + 1, ':', n - (size_t)(first + 1 - line)) : NULL;

        if (second && second[1] == '/') {
            size_t list = (size_t)(second - first - 1);

            if (*controller ? in_list(first + 1, list, controller) : !list) {
                buf_add(out, second + 1, n - (size_t)(second + 1 - line));
                return 0;
            }
        }
        line += n + (line[n] == '\n');
    }
    return -1;
}

/* The field that begins at line[at]; *next is behind it. */
static const char *field(const char *line, size_t n, size_t *at, size_t *len)
{
    const char *begin = line + *at;

    *len = 0;
    while (*at + *len < n && begin[*len] != ' ')
        ++*len;
    *at += *len + (*at + *len < n);
    return begin;
}

/* Blanks and the like are written in octal: \040. */
static void add_unescaped(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 3 < n && s[i + 1] >= '0' && s[i + 1] <= '3') {
            buf_addch(out, (char)((s[i + 1] - '0') << 6 | (s[i + 2] & 7) << 3 | (s[i + 3] & 7)));
            i += 3;
        } else {
            buf_addch(out, s[i]);
        }
    }
}

static int parse_mount_line(const char *line, size_t n, const char *controller, struct buf *root,
                            struct buf *point)
{
    size_t at = 0, len, root_n, point_n;
    const char *f = NULL, *root_at, *point_at;

    for (int i = 0; i < 3; i++)
        field(line, n, &at, &len);
    root_at = field(line, n, &at, &root_n);
    point_at = field(line, n, &at, &point_n);
    do /* options, then any number of fields up to a dash */
        f = field(line, n, &at, &len);
    while (len && !(len == 1 && *f == '-'));
    f = field(line, n, &at, &len);
    if (*controller) {
        if (len != 6 || memcmp(f, "cgroup", 6))
            return -1;
        field(line, n, &at, &len);
        f = field(line, n, &at, &len);
        if (!in_list(f, len, controller))
            return -1;
    } else if (len != 7 || memcmp(f, "cgroup2", 7)) {
        return -1;
    }
    add_unescaped(root, root_at, root_n);
    add_unescaped(point, point_at, point_n);
    return 0;
}

int cgroup_parse_mount(const char *text, const char *controller, struct buf *root, struct buf *point)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");

        if (!parse_mount_line(line, n, controller, root, point))
            return 0;
        line += n + (line[n] == '\n');
    }
    return -1;
}

/* Where a path of a hierarchy is in the file system; NULL: not below what is mounted. */
static char *place(const char *path, const char *root, const char *point)
{
    size_t n = strcmp(root, "/") ? strlen(root) : 0;
    const char *rest = path + n;

    if (strncmp(path, root, n) || (*rest && *rest != '/') || strstr(path, "/.."))
        return NULL;
    return mem_printf("%s%s", point + strspn(point, "/"), strcmp(rest, "/") ? rest : "");
}

static char *find(const char *groups, const char *mounts, const char *controller, char **top)
{
    struct buf path = {0}, root = {0}, point = {0};
    char *out = NULL;

    if (!cgroup_parse_path(groups, controller, &path) &&
        !cgroup_parse_mount(mounts, controller, &root, &point) && point.len)
        out = place(buf_str(&path), buf_str(&root), buf_str(&point));
    if (out)
        *top = mem_strdup(buf_str(&point) + strspn(buf_str(&point), "/"));
    buf_release(&path);
    buf_release(&root);
    buf_release(&point);
    return out;
}

static void find_all(struct cgroup *c, const char *groups, const char *mounts)
{
    char **const places[] = {&c->cpu, &c->cpuacct, &c->memory, &c->unified};
    struct buf name = {0};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        *places[i] = find(groups, mounts, controllers[i], &c->tops[i]);
    c->cpu_is_v1 = c->cpu != NULL;
    c->mem_is_v1 = c->memory != NULL;
    if ((c->cpu_is_v1 && !cgroup_parse_path(groups, "cpu", &name)) || !cgroup_parse_path(groups, "", &name) ||
        !cgroup_parse_path(groups, "memory", &name))
        c->name = buf_detach(&name);
    buf_release(&name);
}

/* The group that all are in is the machine. Of version 1 it alone has these files, of version 2 all others
 * have a type. */
static int is_all(int root, const char *dir, int v1)
{
    static const char *const of_v1[] = {"cgroup.sane_behavior", "release_agent"};
    struct buf path = {0};
    int found = 0;

    if (!dir)
        return 1;
    for (size_t i = 0; i < (v1 ? ARRAY_SIZE(of_v1) : 1); i++) {
        buf_clear(&path);
        buf_addf(&path, "%s/%s", dir, v1 ? of_v1[i] : "cgroup.type");
        found = found || !faccessat(root, buf_str(&path), F_OK, 0);
    }
    buf_release(&path);
    return v1 ? found : !found;
}

int cgroup_open(struct cgroup *c, int root, pid_t pid, struct err *e)
{
    struct buf groups = {0}, mounts = {0};
    char path[64];
    int rc = 0;

    *c = (struct cgroup){.root = root};
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
    if (sysfile_read_path(root, path, &groups))
        rc = err_sys(e, errno, "/%s", path);
    else if (sysfile_read_path(root, "proc/self/mountinfo", &mounts))
        rc = err_sys(e, errno, "/proc/self/mountinfo");
    if (!rc)
        find_all(c, groups.data, mounts.data);
    c->cpu_is_all = is_all(root, c->cpu_is_v1 ? c->cpu : c->unified, c->cpu_is_v1);
    c->mem_is_all = is_all(root, c->mem_is_v1 ? c->memory : c->unified, c->mem_is_v1);
    c->unified_is_all = is_all(root, c->unified, 0);
    if (!rc && !c->cpu && !c->cpuacct && !c->memory && !c->unified)
        rc = err_set(e, "no control groups are mounted here that tell of it");
    buf_release(&groups);
    buf_release(&mounts);
    return rc;
}

void cgroup_close(struct cgroup *c)
{
    free(c->name);
    free(c->cpu);
    free(c->cpuacct);
    free(c->memory);
    free(c->unified);
    for (size_t i = 0; i < ARRAY_SIZE(c->tops); i++)
        free(c->tops[i]);
    *c = (struct cgroup){.root = -1};
}

/* ---- what it used ---- */

struct reader {
    const struct cgroup *c;
    struct buf text, path;
};

static const char *text_of(struct reader *r, const char *dir, size_t dir_n, const char *name)
{
    buf_clear(&r->path);
    buf_addf(&r->path, "%.*s/%s", (int)dir_n, dir, name);
    return sysfile_read_path(r->c->root, r->path.data, &r->text) ? NULL : r->text.data;
}

static int number(struct reader *r, const char *dir, size_t dir_n, const char *name, uint64_t *v)
{
    const char *text = text_of(r, dir, dir_n, name);

    return text ? sysfile_number(text, v) : -1;
}

int cgroup_parse_max(const char *text, double *cpus)
{
    unsigned long long quota, period;

    if (sscanf(text, "%llu %llu", &quota, &period) != 2 || !quota || !period)
        return -1;
    *cpus = (double)quota / (double)period;
    return 0;
}

/* Of the group dir[0..n). */
static int cpu_limit(struct reader *r, const char *dir, size_t n, double *cpus)
{
    const char *text;
    uint64_t quota, period;

    if (!r->c->cpu_is_v1)
        return (text = text_of(r, dir, n, "cpu.max")) ? cgroup_parse_max(text, cpus) : -1;
    if (number(r, dir, n, "cpu.cfs_quota_us", &quota) || number(r, dir, n, "cpu.cfs_period_us", &period) ||
        !quota || !period)
        return -1; /* -1 is no limit, and no number here */
    *cpus = (double)quota / (double)period;
    return 0;
}

/* The directory above, as long as it is below `top` or it; 0: there is none. */
static size_t above(const char *dir, size_t n, const char *top)
{
    if (n <= strlen(top))
        return 0;
    while (n && dir[n - 1] != '/')
        n--;
    while (n && dir[n - 1] == '/')
        n--;
    return n;
}

static void read_throttling(struct reader *r, const char *dir, size_t n, struct cgroup_figures *out)
{
    const char *text = text_of(r, dir, n, "cpu.stat");

    if (!text || sysfile_key(text, "nr_periods", &out->periods) ||
        sysfile_key(text, "nr_throttled", &out->throttled_periods))
        return;
    if (!sysfile_key(text, "throttled_usec", &out->throttled_ns))
        out->throttled_ns *= 1000;
    else if (sysfile_key(text, "throttled_time", &out->throttled_ns))
        return;
    out->has |= CGROUP_HAS_QUOTA;
}

static void read_cpu_limit(struct reader *r, struct cgroup_figures *out)
{
    const char *dir = r->c->cpu_is_v1 ? r->c->cpu : r->c->unified;
    const char *top = r->c->tops[r->c->cpu_is_v1 ? 0 : 3];
    size_t tightest = 0, n = dir ? strlen(dir) : 0;
    double cpus;

    for (int level = 0; n && level < LEVELS; level++, n = above(dir, n, top))
        if (!cpu_limit(r, dir, n, &cpus) && (!tightest || cpus < out->cpus)) {
            tightest = n;
            out->cpus = cpus;
        }
    if (tightest)
        read_throttling(r, dir, tightest, out);
}

static void read_cpu(struct reader *r, struct cgroup_figures *out)
{
    const struct cgroup *c = r->c;
    const char *text;

    if (c->cpu_is_all)
        return;
    if (c->cpuacct) {
        if (!number(r, c->cpuacct, strlen(c->cpuacct), "cpuacct.usage", &out->cpu_ns))
            out->has |= CGROUP_HAS_CPU;
    } else if (c->unified && (text = text_of(r, c->unified, strlen(c->unified), "cpu.stat")) &&
               !sysfile_key(text, "usage_usec", &out->cpu_ns)) {
        out->cpu_ns *= 1000;
        out->has |= CGROUP_HAS_CPU;
    }
    read_cpu_limit(r, out);
}

static void read_memory_max(struct reader *r, struct cgroup_figures *out)
{
    const char *dir = r->c->mem_is_v1 ? r->c->memory : r->c->unified;
    const char *name = r->c->mem_is_v1 ? "memory.limit_in_bytes" : "memory.max";
    const char *top = r->c->tops[r->c->mem_is_v1 ? 2 : 3];
    size_t n = strlen(dir);
    uint64_t max;

    for (int level = 0; n && level < LEVELS; level++, n = above(dir, n, top)) {
        if (number(r, dir, n, name, &max) || max >= NO_LIMIT)
            continue;
        if (!(out->has & CGROUP_HAS_MEMORY_MAX) || max < out->memory_max)
            out->memory_max = max;
        out->has |= CGROUP_HAS_MEMORY_MAX;
    }
}

static void read_memory(struct reader *r, struct cgroup_figures *out)
{
    const char *dir = r->c->mem_is_v1 ? r->c->memory : r->c->unified, *text;
    size_t n = dir ? strlen(dir) : 0;

    if (r->c->mem_is_all ||
        number(r, dir, n, r->c->mem_is_v1 ? "memory.usage_in_bytes" : "memory.current", &out->memory))
        return;
    out->has |= CGROUP_HAS_MEMORY;
    read_memory_max(r, out);
    if (r->c->mem_is_v1) {
        if (!number(r, dir, n, "memory.failcnt", &out->fails))
            out->has |= CGROUP_HAS_FAILS;
        if ((text = text_of(r, dir, n, "memory.oom_control")) &&
            !sysfile_key(text, "oom_kill", &out->oom_kills))
            out->has |= CGROUP_HAS_OOM_KILLS;
    } else if ((text = text_of(r, dir, n, "memory.events"))) {
        out->has |= (!sysfile_key(text, "high", &out->high) ? CGROUP_HAS_HIGH : 0) |
                    (!sysfile_key(text, "max", &out->fails) ? CGROUP_HAS_FAILS : 0) |
                    (!sysfile_key(text, "oom_kill", &out->oom_kills) ? CGROUP_HAS_OOM_KILLS : 0);
    }
}

static void read_pressure(struct reader *r, struct cgroup_figures *out)
{
    static const char *const names[] = {"cpu.pressure", "memory.pressure", "io.pressure"};
    uint64_t *const to[] = {&out->pressure_cpu_ns, &out->pressure_memory_ns, &out->pressure_io_ns};
    const char *dir = r->c->unified;

    if (r->c->unified_is_all)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *text = text_of(r, dir, strlen(dir), names[i]);
        struct procstat_pressure p;

        if (!text || procstat_parse_pressure(text, &p))
            return;
        *to[i] = p.some_ns;
    }
    out->has |= CGROUP_HAS_PRESSURE;
}

void cgroup_read(const struct cgroup *c, struct cgroup_figures *out)
{
    struct reader r = {.c = c};

    *out = (struct cgroup_figures){0};
    read_cpu(&r, out);
    read_memory(&r, out);
    read_pressure(&r, out);
    buf_release(&r.text);
    buf_release(&r.path);
}
