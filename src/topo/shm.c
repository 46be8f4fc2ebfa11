/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that processes share: POSIX (/dev/shm), memfd, System V, without a name, and files that one of
 * several writes by a mapping. An object is its device and inode; System V's its namespace and id.
 */
#include "base/hash.h"
#include "topo/ipcns.h"
#include "topo/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum type { POSIX, POSIX_SEM, MEMFD, SYSV, ANONYMOUS, DMABUF, MAPPED_FILE };

static const char *const type_names[] = {"posix",     "posix-semaphore", "memfd", "sysv",
                                         "anonymous", "dmabuf",          "file"};

/* One process's use of one object: a mapping, or a descriptor. */
struct use {
    uint64_t dev, ino, ns; /* ns: of System V's */
    uint64_t bytes;        /* mapped */
    uint64_t reach;        /* what it is at least as large as */
    uint64_t start, end;   /* of a mapping */
    uint32_t process;      /* in scan.processes; NOBODY: it is in /dev/shm, or in the kernel's table */
    int32_t fd;            /* -1: a mapping */
    uint8_t type, mode;
    uint8_t from_fd;
    const char *path;
};
enum { NOBODY = UINT32_MAX };

/* One process's uses together. */
struct user {
    uint32_t process;
    uint8_t mode, fd_mode;
    uint32_t maps, fds;
    uint64_t bytes;
    struct graph_node *node;
};

struct sysv {
    uint64_t ns;
    int64_t id, key, size, rss, attached, maker, last, changed, uid;
};

struct job {
    struct topo_ctx *ctx;
    struct graph *g;
    struct maps maps;
    VEC(struct use) uses;
    VEC(struct user) users; /* of the object that is looked at */
    VEC(struct sysv) sysv;
    VEC(char *) texts;
    uint64_t crowds, alone;
};

/* ---- what there is ---- */

static int is(const char *path, const char *prefix)
{
    return !strncmp(path, prefix, strlen(prefix));
}

/* -1: no memory that is for sharing (devices, rings of one process). */
static int type_of(const char *path)
{
    static const struct {
        const char *prefix;
        int type;
    } types[] = {
        {"/dev/shm/sem.", POSIX_SEM},
        {"/dev/shm/", POSIX},
        {"/memfd:", MEMFD},
        {"/SYSV", SYSV},
        {"/dev/zero", ANONYMOUS},
        {"/anon_hugepage", ANONYMOUS},
        {"/dmabuf:", DMABUF},
        {"/dev/hugepages", MAPPED_FILE},
        {"/dev/", -1},
        {"/[", -1},
        {"/", MAPPED_FILE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (is(path, types[i].prefix))
            return types[i].type;
    return -1;
}

static void add_maps(struct job *j, size_t process)
{
    const struct scan_process *p = &j->ctx->scan->processes.a[process];

    for (size_t i = 0; i < j->maps.list.n; i++) {
        const struct shared_map *m = &j->maps.list.a[i];
        /* Texts move while they grow: the offset stands for the path until all is read. */
        int type = type_of(maps_path(&j->maps, m->path));

        if (type < 0)
            continue;
        *vec_push(&j->uses) = (struct use){.dev = m->dev,
                                           .ino = m->ino,
                                           .ns = type == SYSV ? p->ipc : 0,
                                           .bytes = m->end - m->start,
                                           .reach = m->offset + (m->end - m->start),
                                           .start = m->start,
                                           .end = m->end,
                                           .process = (uint32_t)process,
                                           .fd = -1,
                                           .type = (uint8_t)type,
                                           .mode = m->mode,
                                           .path = (const char *)(uintptr_t)m->path};
    }
}

/* A recorded root does not have the inodes of descriptors and names: a mapping of that path does. */
static void adopt(struct job *j, struct use *u)
{
    if (j->ctx->live)
        return;
    u->dev = 0;
    u->ino = hash_bytes(u->path, strlen(u->path)) >> 1;
    for (size_t i = 0; i < j->uses.n; i++)
        if (!strcmp(j->uses.a[i].path, u->path)) {
            u->dev = j->uses.a[i].dev;
            u->ino = j->uses.a[i].ino;
            return;
        }
}

static void add_use(struct job *j, struct use u)
{
    adopt(j, &u);
    *vec_push(&j->uses) = u;
}

static void add_fds(struct job *j)
{
    const struct scan *s = j->ctx->scan;

    for (size_t i = 0; i < s->fds.n; i++) {
        const struct scan_fd *f = &s->fds.a[i];
        int type;

        if ((f->kind != SCAN_FD_MEMFD && f->kind != SCAN_FD_SHM) || (j->ctx->live && !f->ino))
            continue;
        type = type_of(scan_text(s, f->path));
        if (type >= 0)
            add_use(j, (struct use){.dev = f->dev,
                                    .ino = f->ino,
                                    .process = f->process,
                                    .fd = f->fd,
                                    .from_fd = 1,
                                    .type = (uint8_t)type,
                                    .mode = f->mode,
                                    .path = scan_text(s, f->path)});
    }
}

static int must_be_read(const struct scan *s, const struct scan_process *p)
{
    for (uint32_t i = 0; i < p->nfds; i++) {
        const struct scan_fd *f = &s->fds.a[p->first_fd + i];

        if (f->kind == SCAN_FD_MEMFD || f->kind == SCAN_FD_SHM)
            return 1;
    }
    return 0;
}

static void read_maps(struct job *j)
{
    const struct scan *s = j->ctx->scan;

    for (size_t i = 0; i < s->processes.n; i++) {
        const struct scan_process *p = &s->processes.a[i];

        if (!p->kernel && !maps_read(&j->maps, p->pid, must_be_read(s, p)))
            add_maps(j, i);
    }
    for (size_t i = 0; i < j->uses.n; i++)
        j->uses.a[i].path = maps_path(&j->maps, (uint32_t)(uintptr_t)j->uses.a[i].path);
}

/* Names in /dev/shm that nobody may have open. */
static void list_names(struct job *j)
{
    struct dir_names names = {0};

    topo_list(j->ctx, "/dev/shm", &names);
    for (size_t i = 0; i < names.list.n; i++) {
        char *path = mem_printf("/dev/shm/%s", names.list.a[i]), *full = topo_path(j->ctx, path);
        struct stat st;

        *vec_push(&j->texts) = path;
        if (!lstat(full, &st) && S_ISREG(st.st_mode))
            add_use(j, (struct use){.dev = st.st_dev,
                                    .ino = st.st_ino,
                                    .reach = (uint64_t)st.st_size,
                                    .process = NOBODY,
                                    .fd = -1,
                                    .type = (uint8_t)type_of(path),
                                    .path = path});
        free(full);
    }
    dir_names_release(&names);
}

static void read_sysv(struct job *j)
{
    struct ipcns_list spaces;

    ipcns_find(&spaces, j->ctx);
    for (size_t i = 0; i < spaces.list.n; i++) {
        struct sysvipc t;

        if (ipcns_enter(&spaces, i, j->ctx))
            continue;
        if (!sysvipc_open(&t, j->ctx, "shm"))
            while (sysvipc_next(&t))
                *vec_push(&j->sysv) = (struct sysv){.ns = spaces.list.a[i].ns,
                                                    .id = sysvipc_get(&t, "shmid"),
                                                    .key = sysvipc_get(&t, "key"),
                                                    .size = sysvipc_get(&t, "size"),
                                                    .rss = sysvipc_get(&t, "rss"),
                                                    .attached = sysvipc_get(&t, "nattch"),
                                                    .maker = sysvipc_get(&t, "cpid"),
                                                    .last = sysvipc_get(&t, "lpid"),
                                                    .changed = sysvipc_get(&t, "ctime"),
                                                    .uid = sysvipc_get(&t, "uid")};
        sysvipc_close(&t);
    }
    ipcns_release(&spaces);
    for (size_t i = 0; i < j->sysv.n; i++)
        *vec_push(&j->uses) = (struct use){.ino = (uint64_t)j->sysv.a[i].id,
                                           .ns = j->sysv.a[i].ns,
                                           .reach = (uint64_t)j->sysv.a[i].size,
                                           .process = NOBODY,
                                           .fd = -1,
                                           .type = SYSV,
                                           .path = "/SYSV"};
}

static const struct sysv *sysv_of(const struct job *j, const struct use *u)
{
    for (size_t i = 0; i < j->sysv.n; i++)
        if (j->sysv.a[i].ns == u->ns && j->sysv.a[i].id == (int64_t)u->ino)
            return &j->sysv.a[i];
    return NULL;
}

/* ---- one object ---- */

/* System V's device is the kernel's own; semaphores are of the same file system as other names. */
static int by_object(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    uint64_t xd = x->type == SYSV ? 0 : x->dev, yd = y->type == SYSV ? 0 : y->dev;

    if ((x->type == SYSV) != (y->type == SYSV))
        return x->type == SYSV ? 1 : -1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (xd != yd)
        return xd < yd ? -1 : 1;
    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int same_object(const struct use *x, const struct use *y)
{
    struct use z = *y;

    z.process = x->process;
    return !by_object(x, &z);
}

static void gather(struct job *j, const struct use *u, size_t n)
{
    vec_clear(&j->users);
    for (size_t i = 0; i < n && u[i].process != NOBODY; i++) {
        struct user *last = j->users.n ? &j->users.a[j->users.n - 1] : NULL;

        if (!last || last->process != u[i].process) {
            last = vec_push(&j->users);
            *last = (struct user){.process = u[i].process};
        }
        if (u[i].from_fd) {
            last->fds++;
            last->fd_mode |= u[i].mode;
        } else {
            last->maps++;
            last->mode |= u[i].mode;
            last->bytes += u[i].bytes;
        }
    }
}

/* Of a file of the root, of what a descriptor or a mapping stands for. */
static int status_of(struct job *j, const struct use *u, struct stat *st)
{
    char path[96];
    char *full;
    int rc;

    if (u->process == NOBODY && u->type != SYSV) {
        full = topo_path(j->ctx, u->path);
        rc = lstat(full, st);
        free(full);
        return rc;
    }
    if (!j->ctx->live || u->process == NOBODY)
        return -1;
    if (u->from_fd)
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", j->ctx->scan->processes.a[u->process].pid, u->fd);
    else
        snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
                 j->ctx->scan->processes.a[u->process].pid, u->start, u->end);
    rc = stat(path, st);
    return rc || (u->type != SYSV && (st->st_ino != u->ino || st->st_dev != u->dev)) ? -1 : 0;
}

/* Its size, exact where somebody can tell; else as far as it is mapped. */
static void measure(struct job *j, struct graph_node *n, const struct use *u, size_t count)
{
    uint64_t reach = 0;
    struct stat st;
    size_t i;

    for (i = 0; i < count && status_of(j, &u[i], &st); i++)
        reach = u[i].reach > reach ? u[i].reach : reach;
    if (i < count) {
        graph_set_int(j->g, &n->attrs, "shm_size", st.st_size);
        graph_set_int(j->g, &n->attrs, "resident", (int64_t)st.st_blocks * 512);
        graph_set_int(j->g, &n->attrs, "uid", st.st_uid);
    } else {
        graph_set_int(j->g, &n->attrs, "shm_size", (int64_t)reach);
    }
}

static void describe_sysv(struct job *j, struct graph_node *n, const struct sysv *s)
{
    struct graph_node *maker;
    char key[16];

    snprintf(key, sizeof(key), "0x%08x", (unsigned)s->key);
    graph_set_int(j->g, &n->attrs, "shm_size", s->size);
    graph_set_int(j->g, &n->attrs, "resident", s->rss);
    graph_set_int(j->g, &n->attrs, "uid", s->uid);
    graph_set_str(j->g, &n->attrs, "key", key);
    graph_set_int(j->g, &n->attrs, "attached", s->attached);
    graph_set_int(j->g, &n->attrs, "maker_pid", s->maker);
    graph_set_int(j->g, &n->attrs, "last_pid", s->last);
    maker = ipcns_process(j->ctx, j->g, s->maker, s->changed);
    if (maker)
        graph_edge(j->g, GRAPH_EDGE_OWN, maker, n);
}

/* "/dev/shm/name", "memfd:name", "sysv:7": without the kernel's " (deleted)". */
static void name_of(const struct use *u, char *out, size_t n, int *deleted)
{
    static const char mark[] = " (deleted)";
    size_t len = strlen(u->path), tail = sizeof(mark) - 1;

    *deleted = len > tail && !strcmp(u->path + len - tail, mark);
    len -= *deleted ? tail : 0;
    if (u->type == SYSV)
        snprintf(out, n, "sysv:%" PRIu64, u->ino);
    else if (u->type == ANONYMOUS)
        snprintf(out, n, "anonymous:%" PRIu64, u->ino);
    else if (u->type == MEMFD || u->type == DMABUF)
        snprintf(out, n, "%.*s", (int)len - 1, u->path + 1);
    else
        snprintf(out, n, "%.*s", (int)len, u->path);
}

static struct graph_node *object_node(struct job *j, const struct use *u, size_t n)
{
    char name[512], file[64];
    struct graph_node *node;
    int deleted;

    name_of(u, name, sizeof(name), &deleted);
    if (u->type == SYSV)
        snprintf(file, sizeof(file), "ipc:%" PRIu64 ":%" PRIu64, u->ns, u->ino);
    else
        snprintf(file, sizeof(file), "%u:%u:%" PRIu64, major(u->dev), minor(u->dev), u->ino);
    node = graph_add(j->g, &(struct graph_id){.kind = GRAPH_SHM, .instance = file, .field = {name}});
    graph_set_str(j->g, &node->attrs, "type", type_names[u->type]);
    if (u->type == SYSV && sysv_of(j, u))
        describe_sysv(j, node, sysv_of(j, u));
    else
        measure(j, node, u, n);
    if (deleted && (u->type == POSIX || u->type == POSIX_SEM || u->type == MAPPED_FILE))
        graph_set_bool(j->g, &node->attrs, "deleted", 1);
    return node;
}

/* ---- who has it ---- */

static const char *mode_text(uint8_t mode)
{
    static const char *const modes[] = {"", "read", "write", "read, write"};

    return modes[mode & 3];
}

static void add_user(struct job *j, struct user *u, struct graph_node *object)
{
    struct graph_edge *e;

    u->node = topo_process(j->ctx, j->g, j->ctx->scan->processes.a[u->process].pid);
    e = graph_edge(j->g, GRAPH_EDGE_ACCESS, u->node, object);
    if (u->maps) {
        graph_set_str(j->g, &e->attrs, "mode", mode_text(u->mode));
        graph_set_int(j->g, &e->attrs, "mapped", (int64_t)u->bytes);
        graph_set_int(j->g, &e->attrs, "mappings", u->maps);
    }
    if (u->fds) {
        graph_set_int(j->g, &e->attrs, "descriptors", u->fds);
        graph_set_str(j->g, &e->attrs, "open_for", mode_text(u->fd_mode ? u->fd_mode : 3));
    }
}

static int64_t more(struct graph_edge *e, const char *attr, uint64_t n)
{
    return graph_attr_int(&e->attrs, attr, 0) + (int64_t)n;
}

/* Who of the two may write, over all that they share: its pid, or "both". */
static void add_writers(struct job *j, struct graph_edge *e, const struct user *a, const struct user *b)
{
    const char *had = graph_attr_str(&e->attrs, "writer", NULL);
    int wa = (a->mode & 2) != 0, wb = (b->mode & 2) != 0;
    char pid[16] = "none";

    if (wa && wb)
        snprintf(pid, sizeof(pid), "both");
    else if (wa || wb)
        snprintf(pid, sizeof(pid), "%d", j->ctx->scan->processes.a[wa ? a->process : b->process].pid);
    if (had && !strcmp(pid, "none"))
        return;
    if (had && strcmp(had, "none") != 0 && strcmp(had, pid) != 0)
        snprintf(pid, sizeof(pid), "both");
    graph_set_str(j->g, &e->attrs, "writer", pid);
}

/* Who maps it shares it; who only has it open may, or passes it on. */
static void join(struct job *j, const struct user *a, const struct user *b, const struct graph_node *object)
{
    uint64_t least = a->bytes < b->bytes ? a->bytes : b->bytes;
    struct graph_edge *e;
    double confidence = a->maps && b->maps ? 1 : 0.5;

    if (!a->maps && !b->maps)
        return;
    e = graph_edge(j->g, GRAPH_EDGE_SHM, a->node, b->node);
    if (!graph_attr(&e->attrs, "memories"))
        e->confidence = confidence;
    else if (confidence > e->confidence)
        e->confidence = confidence;
    if (graph_attr_int(&e->attrs, "mapped", -1) < (int64_t)least || !graph_attr(&e->attrs, "name"))
        graph_set_str(j->g, &e->attrs, "name", graph_attr_str(&object->attrs, "shm_name", ""));
    graph_set_int(j->g, &e->attrs, "memories", more(e, "memories", 1));
    graph_set_int(j->g, &e->attrs, "mapped", more(e, "mapped", least));
    add_writers(j, e, a, b);
}

/* PyTorch calls its memory "torch_PID_...", by who made it: a loader's worker, which forgets it when the
 * batch is passed on. So who fills it for whom is told by the name; of the same pid namespace only. */
static struct user maker_of(struct job *j, const struct use *u)
{
    static const char prefix[] = "/dev/shm/torch_";
    const struct scan *s = j->ctx->scan;
    const struct scan_process *p =
        is(u->path, prefix) ? scan_find(s, atoi(u->path + sizeof(prefix) - 1)) : NULL;
    struct user maker = {.process = NOBODY};

    for (size_t i = 0; p && i < j->users.n; i++)
        if (&s->processes.a[j->users.a[i].process] == p ||
            s->processes.a[j->users.a[i].process].pidns != p->pidns)
            p = NULL;
    if (!p || !j->users.n)
        return maker;
    maker.process = (uint32_t)(p - s->processes.a);
    maker.mode = 3;
    maker.node = topo_process(j->ctx, j->g, p->pid);
    return maker;
}

static void add_maker(struct job *j, const struct use *u, struct graph_node *object)
{
    struct user maker = maker_of(j, u);

    if (maker.process == NOBODY)
        return;
    graph_edge(j->g, GRAPH_EDGE_OWN, maker.node, object);
    for (size_t i = 0; i < j->users.n; i++) {
        maker.bytes = j->users.a[i].bytes;
        join(j, &maker, &j->users.a[i], object);
    }
}

static int is_shared_file(const struct job *j)
{
    uint8_t mode = 0;

    for (size_t i = 0; i < j->users.n; i++)
        mode |= j->users.a[i].mode;
    return j->users.n > 1 && (mode & 2);
}

static void add_object(struct job *j, const struct use *u, size_t n)
{
    struct graph_node *object;
    uint64_t pairs;

    gather(j, u, n);
    if (u->type == MAPPED_FILE && !is_shared_file(j))
        return; /* read by all, as libraries are */
    j->ctx->seen++;
    if (u->type == ANONYMOUS && j->users.n < 2) {
        j->alone++;
        return;
    }
    object = object_node(j, u, n);
    for (size_t i = 0; i < j->users.n; i++)
        add_user(j, &j->users.a[i], object);
    add_maker(j, u, object);
    pairs = (uint64_t)j->users.n * (j->users.n ? j->users.n - 1 : 0) / 2;
    j->crowds += pairs > j->ctx->limits.max_pairs;
    for (size_t i = 0; pairs <= j->ctx->limits.max_pairs && i < j->users.n; i++)
        for (size_t k = i + 1; k < j->users.n; k++)
            join(j, &j->users.a[i], &j->users.a[k], object);
}

/* ---- */

static void tell(struct job *j)
{
    struct buf b = {0};

    if (j->maps.left_out)
        buf_addf(&b, "; the mappings of %" PRIu64 " processes were left out, there is too much to read",
                 j->maps.left_out);
    if (j->maps.without)
        buf_addf(&b, "; %" PRIu64 " processes that touched no such memory were not looked into",
                 j->maps.without);
    if (j->crowds)
        buf_addf(&b, "; %" PRIu64 " that many processes share stand between them", j->crowds);
    if (j->alone)
        buf_addf(&b, "; %" PRIu64 " without a name are one process's own", j->alone);
    snprintf(j->ctx->detail, sizeof(j->ctx->detail), "%s", b.len ? b.data + 2 : "");
    buf_release(&b);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct job j = {.ctx = ctx, .g = g};

    maps_init(&j.maps, ctx);
    read_maps(&j);
    add_fds(&j);
    list_names(&j);
    read_sysv(&j);
    if (j.uses.n)
        qsort(j.uses.a, j.uses.n, sizeof(*j.uses.a), by_object);
    for (size_t i = 0, end; i < j.uses.n; i = end) {
        for (end = i + 1; end < j.uses.n && same_object(&j.uses.a[i], &j.uses.a[end]);)
            end++;
        add_object(&j, &j.uses.a[i], end - i);
    }
    tell(&j);
    for (size_t i = 0; i < j.texts.n; i++)
        free(j.texts.a[i]);
    vec_release(&j.texts);
    vec_release(&j.uses);
    vec_release(&j.users);
    vec_release(&j.sysv);
    maps_release(&j.maps);
    return 0;
}

const struct topo_source topo_source_shm = {
    .name = "shm",
    .summary = "shared memory: POSIX, memfd, System V, and who maps it how",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_SHARES,
    .witty = "SharedMemory",
    .collect = collect,
};
