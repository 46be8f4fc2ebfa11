/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_maps.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Mappings that children hold copies of: what a file that makes no sense could ask for is more than there is
 * memory. */
#define INHERITED_MAX ((size_t)1 << 24)

/* Mappings with code of one process: twice what the kernel lets it have of any kind (vm.max_map_count). */
enum { MAPPINGS_MAX = 1 << 17 };

static const char kernel_name[] = "[kernel.kallsyms]";

void perf_maps_init(struct perf_maps *m, struct store *s, const struct perf_file *f)
{
    *m = (struct perf_maps){.s = s, .f = f};
}

static void mappings_release(struct process *p)
{
    vec_release(&p->maps);
    map_release(&p->frames);
}

void perf_maps_release(struct perf_maps *m)
{
    for (size_t i = 0; i < m->code.n; i++)
        perf_code_release(&m->code.a[i]);
    vec_release(&m->code);
    map_release(&m->by_key);
    processes_release(&m->processes);
    mappings_release(&m->kernel);
    mappings_release(&m->symbols);
    free(m->ref_name);
}

/* Recorded on this machine, as far as the hosts' names tell? */
static int is_of_here(const struct perf_file *f)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    return !f->about.host || !strcmp(f->about.host, host);
}

/* ---- processes ---- */

struct process *perf_maps_process(struct perf_maps *m, uint32_t pid)
{
    struct process *p = processes_find(&m->processes, pid);
    struct wire_task t = {.tgid = pid};

    return p ? p : processes_add(&m->processes, &t);
}

/* What perf tells of processes that it found running comes without mappings to inherit: theirs follow. */
void perf_maps_fork(struct perf_maps *m, uint32_t pid, uint32_t from)
{
    const struct process *parent = processes_find(&m->processes, from);
    struct wire_task t = {.tgid = pid};
    struct process *p;

    if (pid == from)
        return;
    p = processes_add(&m->processes, &t);
    if (!parent)
        return;
    if (parent->maps.n > INHERITED_MAX - m->inherited) {
        m->uninherited++;
        return;
    }
    process_copy_maps(p, parent);
    m->inherited += p->maps.n;
}

/* The memory goes, too: most processes run another program at once. */
void perf_maps_exec(struct perf_maps *m, uint32_t pid)
{
    struct process *p = perf_maps_process(m, pid);

    m->inherited -= p->maps.n < m->inherited ? p->maps.n : m->inherited;
    process_unmap_all(p);
    vec_release(&p->maps);
}

/* ---- files ---- */

/* The build id that perf wrote down for the path when it ended. */
static void set_build_id(const struct perf_maps *m, struct perf_code *c)
{
    const struct perf_build_id *b = c->build_id_n ? NULL : perf_file_find_build_id(m->f, c->path);

    if (!b)
        return;
    c->build_id_n = b->n;
    memcpy(c->build_id, b->id, sizeof(c->build_id));
}

/* Takes c's path over. */
static uint32_t code_add(struct perf_maps *m, struct perf_code *c)
{
    uint64_t key = hash_mix(hash_bytes(c->path, strlen(c->path)), c->dev * 31 + c->ino), *known;

    if (c->build_id_n)
        key = hash_mix(key, hash_bytes(c->build_id, c->build_id_n));
    known = map_put(&m->by_key, key + c->kind);
    if (*known) {
        free(c->path);
        return (uint32_t)*known;
    }
    set_build_id(m, c);
    *vec_push(&m->code) = *c;
    *known = m->code.n;
    return (uint32_t)m->code.n;
}

static struct perf_code *code_get(const struct perf_maps *m, uint32_t id)
{
    return id && id <= m->code.n ? &m->code.a[id - 1] : NULL;
}

static int begins(const struct perf_mmap *map, const char *with)
{
    size_t n = strlen(with);

    return map->path_n >= n && !memcmp(map->path, with, n);
}

/* Memory without a file, or whose file says nothing: perf takes it for code that a run-time made, too. */
static int is_anonymous(const struct perf_mmap *map)
{
    static const char *const names[] = {"//anon", "/dev/zero", "/anon_hugepage", "[heap]", "[stack", "/SYSV"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (begins(map, names[i]))
            return 1;
    return 0;
}

/* Nothing ties a perf map to a recording but the pid, the machine, and that its owner may be believed. */
static int perf_map_usable(const struct perf_maps *m, const char *path)
{
    struct stat st;

    return is_of_here(m->f) && !lstat(path, &st) && S_ISREG(st.st_mode) &&
           (!st.st_uid || st.st_uid == geteuid());
}

/* Where perf kept none of the vdso, the kernel's build id tells. */
static void identify_vdso(struct perf_maps *m, struct perf_code *c)
{
    uint8_t id[20];
    size_t n;

    set_build_id(m, c);
    if (c->build_id_n)
        return;
    if (!m->vdso_asked) {
        n = perf_maps_kernel_id(m, id);
        if (n && perf_kernel_runs_here(id, n))
            perf_code_take_own_vdso(&m->vdso);
        m->vdso_asked = 1;
    }
    c->build_id_n = m->vdso.build_id_n;
    memcpy(c->build_id, m->vdso.build_id, sizeof(c->build_id));
}

static uint32_t code_of_user(struct perf_maps *m, const struct perf_mmap *map)
{
    static const char deleted[] = " (deleted)";
    struct perf_code c = {
        .kind = MODULE_FILE, .dev = map->dev, .ino = map->ino, .build_id_n = map->build_id_n};
    size_t n = map->path_n, cut = sizeof(deleted) - 1;

    memcpy(c.build_id, map->build_id, sizeof(c.build_id));
    if (is_anonymous(map)) {
        c = (struct perf_code){.path = mem_printf("/tmp/perf-%u.map", map->pid), .state = PERF_CODE_NONE};
        c.kind = perf_map_usable(m, c.path) ? MODULE_JIT : MODULE_OTHER;
        return code_add(m, &c);
    }
    if (n > cut && !memcmp(map->path + n - cut, deleted, cut))
        n -= cut;
    c.path = mem_strndup(map->path, n);
    if (!strcmp(c.path, "[vdso]")) {
        c.kind = MODULE_VDSO;
        identify_vdso(m, &c);
    }
    return code_add(m, &c);
}

static int map_user(struct perf_maps *m, const struct perf_mmap *map)
{
    struct mapping to = {.start = map->start, .end = map->start + map->len, .pgoff = map->pgoff};
    struct process *p;

    if (!map->exec || !map->len)
        return 0;
    p = perf_maps_process(m, map->pid);
    if (p->maps.n >= MAPPINGS_MAX)
        return -1;
    to.file = code_of_user(m, map);
    to.bias = map->start - map->pgoff; /* against offsets in the file, which needs not be at hand */
    process_map(p, &to);
    return 0;
}

/* ---- the kernel ---- */

static uint32_t kernel_code(struct perf_maps *m, const struct perf_mmap *map)
{
    struct perf_code c = {.kind = MODULE_KERNEL, .state = PERF_CODE_NONE};

    if (m->kernel_code)
        return m->kernel_code;
    c.path = mem_strdup(kernel_name);
    if (map) {
        c.build_id_n = map->build_id_n;
        memcpy(c.build_id, map->build_id, sizeof(c.build_id));
    }
    return m->kernel_code = code_add(m, &c);
}

/* The kernel itself, with where one of its symbols is as the offset; else one of its modules. */
static void map_kernel(struct perf_maps *m, const struct perf_mmap *map)
{
    struct mapping to = {.start = map->start, .end = map->start + map->len};
    struct perf_code c = {.kind = MODULE_KMOD, .state = PERF_CODE_NONE};
    size_t n = sizeof(kernel_name) - 1;

    if (begins(map, kernel_name)) {
        (void)kernel_code(m, map);
        if (map->path_n > n && map->pgoff && !m->ref_name) {
            m->ref_name = mem_strndup(map->path + n, map->path_n - n);
            m->ref = map->pgoff;
        }
        return;
    }
    if (!map->len || m->kernel.maps.n >= MAPPINGS_MAX || begins(map, "[guest") || begins(map, "[bpf"))
        return;
    c.path = mem_strndup(map->path, map->path_n);
    to.file = code_add(m, &c);
    process_map(&m->kernel, &to);
}

int perf_maps_mmap(struct perf_maps *m, const struct perf_rec *r)
{
    enum perf_mode mode = perf_rec_mode(r);
    struct perf_mmap map;

    if (perf_mmap_read(r, &map))
        return -1;
    if (mode == PERF_MODE_KERNEL)
        map_kernel(m, &map);
    else if (mode == PERF_MODE_USER || mode == PERF_MODE_UNKNOWN)
        return map_user(m, &map);
    return 0;
}

size_t perf_maps_kernel_id(const struct perf_maps *m, uint8_t id[20])
{
    const struct perf_code *c = code_get(m, m->kernel_code);

    if (!c || !c->build_id_n)
        return 0;
    memcpy(id, c->build_id, 20);
    return c->build_id_n;
}

/* address, length, kind, flags, name: of BPF programs, mostly */
int perf_maps_symbol(struct perf_maps *m, const struct perf_rec *r)
{
    enum { UNREGISTERED = 1 };
    struct perf_words w = r->body;
    struct mapping to = {.start = perf_u64(&w)};
    uint32_t len = perf_u32(&w);
    uint16_t flags;
    const char *name;
    size_t n;

    (void)perf_u16(&w);
    flags = perf_u16(&w);
    name = perf_text(&w, &n);
    if (w.c.bad || !n || to.start > UINT64_MAX - len)
        return -1;
    to.end = to.start + len;
    to.file = flags & UNREGISTERED ? 0 : strtab_addn(&m->s->strings, name, n);
    to.bias = to.start; /* so that no two are the same */
    if (len && m->symbols.maps.n < MAPPINGS_MAX)
        process_map(&m->symbols, &to);
    return 0;
}

/* ---- frames ---- */

static uint32_t unknown_frame(struct perf_maps *m, uint64_t ip)
{
    struct frame f = {.kind = FRAME_NATIVE, .flags = FRAME_NAMELESS, .addr = ip};

    f.func = strtab_add(&m->s->strings, "[unknown]");
    return frames_add(&m->s->frames, &f);
}

static uint32_t symbol_frame(struct perf_maps *m, const struct mapping *symbol)
{
    struct perf_code c = {.path = mem_strdup("[bpf]"), .kind = MODULE_KERNEL, .state = PERF_CODE_NONE};
    struct frame f = {.kind = FRAME_KERNEL, .func = symbol->file};

    f.module = perf_code_module(code_get(m, code_add(m, &c)), m->s);
    return frames_add(&m->s->frames, &f);
}

static uint32_t kernel_frame(struct perf_maps *m, uint64_t ip, int is_return)
{
    const struct mapping *symbol = process_lookup(&m->symbols, ip), *module;
    struct frame f = {.kind = FRAME_KERNEL, .flags = is_return ? FRAME_RETURN : 0, .addr = ip};

    if (symbol && symbol->file)
        return symbol_frame(m, symbol);
    module = process_lookup(&m->kernel, ip);
    f.module = perf_code_module(code_get(m, module ? module->file : kernel_code(m, NULL)), m->s);
    return frames_add(&m->s->frames, &f);
}

/* The file's own address of an offset in it; the offset where the file isn't known. */
static uint64_t own_address(const struct perf_code *c, uint64_t offset)
{
    for (uint32_t i = 0; i < c->layout.n; i++) {
        const struct unw_segment *s = &c->layout.seg[i];

        if (offset >= s->offset && offset - s->offset < s->filesz)
            return offset - s->offset + s->vaddr;
    }
    return offset;
}

static uint32_t user_frame(struct perf_maps *m, struct process *p, uint64_t ip, int is_return)
{
    const struct mapping *map = process_lookup(p, is_return && ip ? ip - 1 : ip);
    struct frame f = {.kind = FRAME_NATIVE, .flags = is_return ? FRAME_RETURN : 0, .addr = ip};
    struct perf_code *c;

    if (!map)
        return unknown_frame(m, ip);
    c = code_get(m, map->file);
    f.module = perf_code_module(c, m->s);
    if (c->state == PERF_CODE_NONE && !strncmp(c->path, "/tmp/perf-", 10))
        f.kind = FRAME_JIT;
    else
        f.addr = own_address(c, ip - map->bias);
    return frames_add(&m->s->frames, &f);
}

static uint32_t make_frame(struct perf_maps *m, struct process *p, uint64_t ip, enum perf_mode mode,
                           int is_return)
{
    switch (mode) {
    case PERF_MODE_KERNEL: /* interrupts are told late: the address may be the user's side's already */
        return ip >> 63 ? kernel_frame(m, ip, is_return) : unknown_frame(m, ip);
    case PERF_MODE_USER:
        return user_frame(m, p, ip, is_return);
    default:
        return unknown_frame(m, ip);
    }
}

uint32_t perf_maps_frame(struct perf_maps *m, struct process *p, uint64_t ip, enum perf_mode mode,
                         int is_return)
{
    struct process *of = mode == PERF_MODE_KERNEL ? &m->kernel : p;
    uint64_t *known;
    uint32_t frame;

    if (mode != PERF_MODE_KERNEL && mode != PERF_MODE_USER)
        return unknown_frame(m, ip);
    known = map_get(&of->frames, ip ^ (uint64_t)(is_return != 0) << 62);
    if (known)
        return (uint32_t)*known;
    frame = make_frame(m, p, ip, mode, is_return);
    *map_put(&of->frames, ip ^ (uint64_t)(is_return != 0) << 62) = frame;
    return frame;
}

/* ---- walks ---- */

int perf_maps_walk(struct perf_maps *m, const struct process *p, uint64_t pc, struct walk_map *out)
{
    const struct mapping *map = process_lookup(p, pc);
    struct perf_code *c;

    if (!map)
        return -1;
    c = code_get(m, map->file);
    *out = (struct walk_map){.start = map->start, .end = map->end, .module = map->file};
    out->lazy = perf_code_lazy(c);
    if (unw_layout_bias(&c->layout, map->start, map->pgoff, &out->bias))
        out->lazy = NULL;
    return 0;
}
