/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/native.h"

#include "unwind/ehframe.h"
#include "unwind/ehframe_leb.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

static int walk_read(void *mem, __u64 addr, void *dst, __u32 size)
{
    return self_read(mem, addr, dst, size);
}

#include "bpf/walk_native.h"

/* ---- modules ---- */

struct looking {
    struct native *n;
    uint64_t changes;
    size_t count;
};

static void note_build_id(struct native_module *m, const uint8_t *p, size_t n)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) h;
        size_t name, desc;

        memcpy(&h, p, sizeof(h));
        name = (h.n_namesz + 3u) & ~3u;
        desc = (h.n_descsz + 3u) & ~3u;
        if (name > n || desc > n || sizeof(h) + name + desc > n)
            return;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p + sizeof(h), "GNU", 4) &&
            h.n_descsz <= NATIVE_BUILD_ID) {
            m->build_id_len = (uint8_t)h.n_descsz;
            memcpy(m->build_id, p + sizeof(h) + name, h.n_descsz);
            return;
        }
        p += sizeof(h) + name + desc;
        n -= sizeof(h) + name + desc;
    }
}

static void name_module(struct native_module *m, const char *name)
{
    size_t n = strlen(name);

    if (n && *name != '/') { /* by a relative LD_LIBRARY_PATH; the directory may be another one by now */
        ssize_t len = readlink("/proc/self/cwd", m->path, sizeof(m->path));

        if (len > 0 && (size_t)len + n + 2 <= sizeof(m->path)) {
            m->path[len] = '/';
            memcpy(m->path + len + 1, name, n + 1);
        } else {
            m->path[0] = '\0';
        }
    } else if (n && n < sizeof(m->path)) {
        memcpy(m->path, name, n + 1);
    } else if (!n) { /* the program itself */
        ssize_t len = readlink("/proc/self/exe", m->path, sizeof(m->path) - 1);

        m->path[len > 0 ? len : 0] = '\0';
    }
    m->skip = strstr(m->path, "libcupti.so") != NULL || strstr(m->path, "libwprof-cuda.so") != NULL;
}

static void segments(struct native_module *m, const struct dl_phdr_info *info)
{
    m->start = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;

        if (p->p_type == PT_LOAD && from < m->start)
            m->start = from;
        if (p->p_type == PT_LOAD && to > m->end)
            m->end = to;
        if (p->p_type == PT_GNU_EH_FRAME) {
            m->hdr = from;
            m->hdr_end = to;
        }
        if (p->p_type == PT_NOTE && !m->build_id_len)
            note_build_id(m, (const uint8_t *)from, p->p_memsz); /* NOLINT: where it is mapped */
    }
    for (int i = 0; i < info->dlpi_phnum && m->hdr; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && m->hdr >= from && m->hdr < from + p->p_filesz)
            m->frames_end = from + p->p_filesz;
    }
}

/* Keeps them sorted: the loader's order is nearly that of addresses, downwards. */
static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct looking *l = arg;
    struct native *n = l->n;
    struct native_module m = {.bias = info->dlpi_addr};
    size_t at;

    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        l->changes = info->dlpi_adds + (info->dlpi_subs << 32);
    if (!l->count++ && l->changes && l->changes == n->changes)
        return 1;
    if (l->count == 1)
        n->nfresh = 0;
    segments(&m, info);
    if (m.start >= m.end || n->nfresh == NATIVE_MODULES)
        return 0;
    name_module(&m, info->dlpi_name ? info->dlpi_name : "");
    for (at = n->nfresh; at && n->fresh[at - 1].start > m.start; at--)
        n->fresh[at] = n->fresh[at - 1];
    n->fresh[at] = m;
    n->nfresh++;
    return 0;
}

int native_look(struct native *n)
{
    struct looking l = {.n = n};

    if (dl_iterate_phdr(add_module, &l))
        return 0;
    n->changes = l.changes;
    return 1;
}

void native_take(struct native *n)
{
    memcpy(n->modules, n->fresh, n->nfresh * sizeof(*n->fresh));
    n->n = n->nfresh;
    memset(n->rows, 0, sizeof(n->rows));
}

static const struct native_module *module_of(const struct native *n, uint64_t pc)
{
    size_t lo = 0, hi = n->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (n->modules[mid].start <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && pc < n->modules[lo - 1].end ? &n->modules[lo - 1] : NULL;
}

/* ---- rows ---- */

/* .eh_frame_hdr, LSB Core 5.0 section 10.6.2: a version, three encodings, where .eh_frame is, how many FDEs,
 * and a sorted table of {function, FDE}, both 32 bits from the header's start. */
enum { HDR_VERSION = 1, HDR_COUNT_ENC = 0x03, HDR_TABLE_ENC = 0x3b };

struct hdr {
    struct cfi_section frames;
    const uint8_t *table;
    uint32_t n;
};

static int32_t s32(const uint8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static int read_hdr(struct hdr *h, const struct native_module *m)
{
    const uint8_t *p = (const uint8_t *)m->hdr; /* NOLINT: where it is mapped */
    struct cursor c = cursor_init(p, (size_t)(m->hdr_end - m->hdr));
    uint8_t version = leb_u8(&c), enc = leb_u8(&c), count = leb_u8(&c), table = leb_u8(&c);
    uint64_t at = cfi_pointer(&c, enc, 8, m->hdr + 4, m->hdr);

    if (version != HDR_VERSION || count != HDR_COUNT_ENC || table != HDR_TABLE_ENC || c.bad)
        return -1;
    h->n = (uint32_t)leb_fixed(&c, 4);
    h->table = c.p;
    if (c.bad || at < m->start || at >= m->frames_end || (size_t)(c.end - c.p) / 8 < h->n)
        return -1;
    h->frames = (struct cfi_section){
        .p = (const uint8_t *)at, .n = (size_t)(m->frames_end - at), .vaddr = at}; /* NOLINT: the same */
    return 0;
}

/* Where in .eh_frame the FDE of pc is. */
static int find_fde(const struct hdr *h, const struct native_module *m, uint64_t pc, size_t *off)
{
    uint32_t lo = 0, hi = h->n;
    uint64_t fde;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (m->hdr + (uint64_t)(int64_t)s32(h->table + 8 * (size_t)mid) <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo)
        return -1;
    fde = m->hdr + (uint64_t)(int64_t)s32(h->table + 8 * (size_t)(lo - 1) + 4);
    *off = (size_t)(fde - h->frames.vaddr);
    return fde < h->frames.vaddr || *off >= h->frames.n ? -1 : 0;
}

static int compute_row(const struct native_module *m, uint64_t pc, struct unw_row *row)
{
    struct cfi_reader r = {0};
    struct cfi_cie cie;
    struct cfi_fde fde;
    struct cfi_run run;
    struct hdr h;
    size_t off;

    if (!m->hdr || !m->frames_end || read_hdr(&h, m) || find_fde(&h, m, pc, &off) ||
        cfi_fde_at(&h.frames, off, &cie, &fde) || pc < fde.pc || pc - fde.pc >= fde.len)
        return -1;
    r.sec = h.frames;
    r.cies.a = &cie;
    r.cies.n = 1;
    cfi_run_init(&run, &r, &fde);
    while (cfi_run_next(&run))
        if (pc >= run.from && pc < run.to)
            return cfi_state_row(&run.state, row);
    return -1;
}

static const struct unw_row *row_of(struct native *n, const struct native_module *m, uint64_t pc)
{
    struct native_row *r = &n->rows[(pc * 0x9e3779b97f4a7c15u) >> 51]; /* Knuth, volume 3, 6.4 */

    if (r->pc != pc) {
        r->row = (struct unw_row){0};
        r->pc = pc;
        if (!m || compute_row(m, pc, &r->row))
            r->row = (struct unw_row){.rule = UNW_NONE};
    }
    return &r->row;
}

size_t native_walk(struct native *n, struct native_frame out[NATIVE_MAX], const struct walk_regs *regs,
                   struct native_ended *end)
{
    enum walk_status st = WALK_RUNNING;
    struct walk_regs r = *regs;
    size_t count = 0;
    int top = 1;

    *end = (struct native_ended){0};
    while (count < NATIVE_MAX && st == WALK_RUNNING) {
        uint64_t pc = walk_lookup_pc(&r, top);
        const struct native_module *m = module_of(n, pc);
        const struct unw_row *row = row_of(n, m, pc);

        end->unknown |= !m;
        out[count++] = (struct native_frame){r.ip, r.sp, m ? (uint32_t)(m - n->modules) + 1 : 0};
        st = walk_native_step(n->self, &r, row, pc, top);
        top = walk_row_signal(row);
    }
    end->whole = st == WALK_ROOT;
    return count;
}
