/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_native PID SECONDS [PREFIX]: stops each thread of a process a hundred times a second,
 * walks its native stack with walk_user, and prints how the walks ended. SHOW in the environment: also the
 * frames of walks that were not plain. With a prefix it writes each walk of a new kind (the end's status, the
 * flags, the rules met, the sampled module) as a fixture, PREFIX-<kind>.walk. Needs the right to ptrace the
 * process. Built by `make build/tests/unit/record_native`.
 */
#include "native_fixture.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAMES 512

struct module {
    char path[256];
    struct unw_lazy *lazy;
};

struct mapping {
    uint64_t start, end, bias;
    uint32_t module;
};

struct process {
    pid_t pid, tid;
    VEC(struct mapping) maps;
    VEC(struct module) modules;
    struct fixture fx;
};

/* The same code in every process: this one's own image will do. */
static struct unw_lazy *open_vdso(size_t size)
{
    const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

    return image ? unw_lazy_open_image(image, size, NULL) : NULL;
}

static uint32_t find_module(struct process *p, const char *path, size_t size)
{
    struct module m = {0};
    char real[320];
    int fd;

    for (size_t i = 0; i < p->modules.n; i++)
        if (!strcmp(p->modules.a[i].path, path))
            return (uint32_t)i;
    snprintf(m.path, sizeof(m.path), "%s", path);
    snprintf(real, sizeof(real), "/proc/%d/root%s", p->pid, path);
    fd = path[0] == '/' ? open(real, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        m.lazy = unw_lazy_open(fd, NULL);
        close(fd);
    } else if (!strcmp(path, "[vdso]")) {
        m.lazy = open_vdso(size);
    }
    *vec_push(&p->modules) = m;
    return (uint32_t)p->modules.n - 1;
}

static void read_maps(struct process *p)
{
    char path[64], line[600];
    FILE *f;

    vec_clear(&p->maps);
    snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        struct mapping m = {0};
        unsigned long start, end, off;
        char perm[8], file[256] = "";

        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, perm, &off, file) < 4 ||
            perm[2] != 'x')
            continue;
        m = (struct mapping){start, end, 0, find_module(p, file, end - start)};
        if (p->modules.a[m.module].lazy)
            unw_layout_bias(unw_lazy_layout(p->modules.a[m.module].lazy), start, off, &m.bias);
        *vec_push(&p->maps) = m;
    }
    if (f)
        fclose(f);
}

static void note_map(struct process *p, const struct mapping *m)
{
    struct fixture_map fm = {m->start, m->end, m->module, 0, p->modules.a[m->module].lazy != NULL, ""};
    const char *path = p->modules.a[m->module].path, *slash = strrchr(path, '/');

    for (size_t i = 0; i < p->fx.maps.n; i++)
        if (p->fx.maps.a[i].start == m->start)
            return;
    snprintf(fm.name, sizeof(fm.name), "%.60s", slash ? slash + 1 : path);
    *vec_push(&p->fx.maps) = fm;
}

/* Gives no file, so that code comes through on_read and lands in the fixture. */
static int on_map(void *ctx, uint64_t pc, struct walk_map *m)
{
    struct process *p = ctx;

    for (size_t i = 0; i < p->maps.n; i++) {
        const struct mapping *e = &p->maps.a[i];

        if (pc < e->start || pc >= e->end)
            continue;
        note_map(p, e);
        *m = (struct walk_map){.start = e->start, .end = e->end, .bias = e->bias, .module = e->module};
        return 0;
    }
    return -1;
}

static void on_row(void *ctx, const struct walk_map *m, uint64_t pc, struct unw_row *row)
{
    struct process *p = ctx;

    memset(row, 0, sizeof(*row));
    if (p->modules.a[m->module].lazy)
        unw_lazy_find(p->modules.a[m->module].lazy, pc - m->bias, row);
    *vec_push(&p->fx.rows) = (struct fixture_row){pc, *row};
}

static int on_read(void *ctx, uint64_t addr, void *dst, uint32_t size)
{
    struct process *p = ctx;
    struct iovec l = {dst, size}, r = {(void *)addr, size};
    struct walk_map m;
    int code = !on_map(p, addr, &m);

    if (process_vm_readv(p->pid, &l, 1, &r, 1, 0) != (ssize_t)size)
        return -1;
    for (uint32_t i = 0; i + 8 <= size; i += 8) {
        struct fixture_word w = {addr + i, 0};

        memcpy(&w.value, (char *)dst + i, 8);
        if (code)
            *vec_push(&p->fx.code) = w;
        else
            *vec_push(&p->fx.words) = w;
    }
    return 0;
}

static void walk(struct process *p, const struct user_regs_struct *u)
{
    static const struct walk_user_ops ops = {.map = on_map, .row = on_row, .read = on_read};
    struct walk_frame frames[MAX_FRAMES];
    struct walk_stack none = {.addr = u->rsp};
    struct walk_result res;

    fixture_release(&p->fx);
    p->fx = (struct fixture){.regs = {u->rip, u->rsp, u->rbp, u->r10, u->r13}};
    walk_user(&ops, p, &none, &p->fx.regs, 1, frames, MAX_FRAMES, &res);
    p->fx.status = res.status;
    p->fx.flags = res.flags & ~(uint32_t)WALK_F_LIVE;
    for (uint32_t i = 0; i < res.n; i++)
        *vec_push(&p->fx.frames) = frames[i];
}

static const char *module_name(const struct process *p, uint32_t module)
{
    const char *path = module < p->modules.n ? p->modules.a[module].path : "nowhere",
               *slash = strrchr(path, '/');

    if (!*path)
        return "anonymous";
    return slash ? slash + 1 : path;
}

/* Which rules a walk asked for, a bit each. */
static unsigned rules_met(const struct fixture *fx)
{
    unsigned met = 0;

    for (size_t i = 0; i < fx->rows.n; i++)
        met |= 1u << (fx->rows.a[i].row.rule & UNW_RULE_MASK);
    return met;
}

static void save(struct process *p, const char *prefix)
{
    struct buf b = {0};
    char path[512];
    struct stat st;
    struct err e;

    snprintf(path, sizeof(path), "%s-%u-%u-%03x-%s.walk", prefix, p->fx.status, p->fx.flags,
             rules_met(&p->fx), module_name(p, p->fx.frames.a[0].module));
    if (!stat(path, &st))
        return;
    fixture_save(&p->fx, &b);
    if (io_replace_file(AT_FDCWD, path, b.data, b.len, &e))
        fprintf(stderr, "%s\n", e.msg);
    buf_release(&b);
}

static int stop_and_walk(struct process *p, pid_t tid)
{
    struct user_regs_struct u;
    int status, got = 0;

    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
        return 0;
    if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && waitpid(tid, &status, __WALL) == tid &&
        WIFSTOPPED(status) && !ptrace(PTRACE_GETREGS, tid, NULL, &u)) {
        p->tid = tid;
        read_maps(p);
        walk(p, &u);
        got = 1;
    }
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return got;
}

static void print_frames(const struct process *p)
{
    printf("status %u flags %#x\n", p->fx.status, p->fx.flags);
    for (size_t i = 0; i < p->fx.frames.n; i++)
        printf("  %c%#lx %s\n", p->fx.frames.a[i].guessed ? '?' : ' ', (unsigned long)p->fx.frames.a[i].ip,
               module_name(p, p->fx.frames.a[i].module));
}

int main(int argc, char **argv)
{
    struct process p = {0};
    unsigned long count[8][16] = {{0}}, all = 0, frames = 0;
    time_t end;

    if (argc < 3) {
        fprintf(stderr, "usage: record_native PID SECONDS [PREFIX]\n");
        return 2;
    }
    p.pid = atoi(argv[1]);
    for (end = time(NULL) + atoi(argv[2]); time(NULL) < end; usleep(10000)) {
        char path[64];
        struct dirent *ent;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/task", p.pid);
        d = opendir(path);
        while (d && (ent = readdir(d))) {
            if (atoi(ent->d_name) <= 0 || !stop_and_walk(&p, atoi(ent->d_name)))
                continue;
            count[p.fx.status & 7][p.fx.flags & 15]++;
            all++;
            frames += p.fx.frames.n;
            if (argc > 3)
                save(&p, argv[3]);
            if (getenv("SHOW") && (p.fx.status != WALK_ROOT || p.fx.flags))
                print_frames(&p);
        }
        if (!d)
            break;
        closedir(d);
    }
    printf("%lu walks, %.1f frames each\n", all, all ? (double)frames / (double)all : 0.0);
    for (unsigned s = 0; s < 8; s++)
        for (unsigned f = 0; f < 16; f++)
            if (count[s][f])
                printf("status %u flags %#x: %lu\n", s, f, count[s][f]);
    return 0;
}
