/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/modules.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "unwind/jit_runtime.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char deleted[] = " (deleted)";

static void file_free(struct code_file *f)
{
    unw_lazy_free(f->lazy);
    if (f->fd >= 0 && !f->fd_given)
        close(f->fd);
    free(f->path);
    free(f);
}

void modules_release(struct modules *m)
{
    for (size_t i = 0; i < m->list.n; i++)
        file_free(m->list.a[i]);
    vec_release(&m->list);
    map_release(&m->by_identity);
    *m = (struct modules){0};
}

/* The image's end is that of its section headers, which the kernel's vDSO has last. */
const void *modules_vdso(size_t *n)
{
    const Elf64_Ehdr *h = (const void *)getauxval(AT_SYSINFO_EHDR);

    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG))
        return NULL;
    *n = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
    return h;
}

static char *plain_path(const char *path)
{
    size_t n = strlen(path), cut = sizeof(deleted) - 1;

    if (n > cut && !strcmp(path + n - cut, deleted))
        n -= cut;
    return mem_strndup(path, n);
}

static uint32_t add(struct modules *m, struct code_file *f)
{
    struct code_file *copy = mem_dup(f, sizeof(*f));

    *vec_push(&m->list) = copy;
    return (uint32_t)m->list.n;
}

static uint32_t find_vdso(struct modules *m)
{
    struct code_file f = {.fd = -1, .kind = MODULE_VDSO, .lazy_tried = 1};
    const void *image;
    size_t n;

    if (m->vdso)
        return m->vdso;
    image = modules_vdso(&n);
    f.lazy = image ? unw_lazy_open_image(image, n, NULL) : NULL;
    if (!f.lazy)
        return 0;
    f.layout = *unw_lazy_layout(f.lazy);
    f.path = mem_strdup("[vdso]");
    return m->vdso = add(m, &f);
}

/* dev and inode are the identity. A build id in their place (one shape of the kernel's record) leaves the
 * path and it. */
static uint64_t identity(const struct procfs_map *map, const uint8_t *build_id, size_t n)
{
    uint64_t h = hash_mix(map->dev + 1, map->ino);

    if (!map->ino)
        h = hash_mix(h, hash_bytes(map->path, strlen(map->path)));
    return build_id && n && !map->ino ? hash_mix(h, hash_bytes(build_id, n)) : h;
}

static uint32_t add_file(struct modules *m, pid_t pid, const struct procfs_map *map, const uint8_t *build_id,
                         size_t build_id_len)
{
    struct code_file f = {.kind = MODULE_FILE, .dev = map->dev, .ino = map->ino};
    struct err e = {0};
    struct stat st;

    f.fd = procfs_open_mapped(pid, map);
    if (f.fd < 0)
        log_debug("%s: mapped by process %d, can't be opened", map->path, (int)pid);
    else if (unw_layout_read(f.fd, &f.layout, &e) < 0 || !f.layout.n) {
        log_debug("%s: %s", map->path, e.msg);
        close(f.fd); /* memory that only looks like a file: JIT code in a memfd, a java archive */
        return 0;
    }
    if (f.fd >= 0 && !f.ino && !fstat(f.fd, &st)) {
        f.dev = st.st_dev;
        f.ino = st.st_ino;
    }
    if (!f.layout.build_id_len && build_id && build_id_len <= sizeof(f.layout.build_id)) {
        f.layout.build_id_len = (uint32_t)build_id_len;
        memcpy(f.layout.build_id, build_id, build_id_len);
    }
    f.path = plain_path(map->path);
    f.runtime = (uint8_t)jit_runtime_of(f.path);
    return add(m, &f);
}

uint32_t modules_find(struct modules *m, pid_t pid, const struct procfs_map *map, const uint8_t *build_id,
                      size_t build_id_len)
{
    uint64_t key, *slot;
    uint32_t id;

    if (!strcmp(map->path, "[vdso]"))
        return find_vdso(m);
    if (map->path[0] != '/' || map->path[1] == '/') /* "//anon" */
        return 0;
    key = identity(map, build_id, build_id_len);
    slot = map_get(&m->by_identity, key);
    if (slot && (!*slot || modules_get(m, (uint32_t)*slot)->fd >= 0))
        return (uint32_t)*slot;
    if (slot) { /* known, but not opened so far: this process may let us */
        struct code_file *f = modules_get(m, (uint32_t)*slot);

        f->fd = procfs_open_mapped(pid, map);
        if (f->fd >= 0 && unw_layout_read(f->fd, &f->layout, NULL) < 0)
            log_debug("%s: not the file that was mapped before", f->path);
        return (uint32_t)*slot;
    }
    id = add_file(m, pid, map, build_id, build_id_len);
    *map_put(&m->by_identity, key) = id;
    return id;
}

struct unw_lazy *modules_lazy(struct code_file *f)
{
    struct err e = {0};

    if (!f->lazy_tried && f->fd >= 0) {
        f->lazy = unw_lazy_open(f->fd, &e);
        if (!f->lazy)
            log_debug("%s: %s", f->path, e.msg);
    }
    f->lazy_tried = 1;
    return f->lazy;
}

uint32_t modules_store_id(struct code_file *f, struct frames *frames, struct strtab *strings)
{
    struct module key = {.kind = f->kind, .dev = f->dev, .ino = f->ino, .fd = f->fd};

    if (f->store_id)
        return f->store_id;
    key.path = strtab_add(strings, f->path);
    key.build_id_len = f->layout.build_id_len > sizeof(key.build_id) ? sizeof(key.build_id)
                                                                     : (uint8_t)f->layout.build_id_len;
    memcpy(key.build_id, f->layout.build_id, key.build_id_len);
    f->store_id = frames_add_module(frames, &key);
    if (f->fd >= 0) { /* an equal one may have been there: then ours is closed, and its is used */
        f->fd = frames_module(frames, f->store_id)->fd;
        f->fd_given = 1;
    }
    return f->store_id;
}
