/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include "base/mem.h"
#include "platform/clock.h"
#include "unwind/table_build.h"
#include "unwind/table_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int unw_layout_bias(const struct unw_layout *l, uint64_t start, uint64_t pgoff, uint64_t *bias)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct unw_segment *s = &l->seg[i];

        if (pgoff >= (s->offset & ~4095ull) && pgoff < s->offset + s->filesz) {
            *bias = start - pgoff + s->offset - s->vaddr;
            return 0;
        }
    }
    return -1;
}

int unw_layout_read(int fd, struct unw_layout *l, struct err *e)
{
    struct elf f;
    int rc;

    if (elf_open_fd(&f, fd, e))
        return -1;
    rc = elf_cfi_layout(&f, l, e);
    elf_close(&f);
    return rc;
}

static struct unw_table *build(const struct elf_cfi *elf)
{
    struct unw_table *t = mem_calloc(1, sizeof(*t));
    uint64_t t0 = clock_monotonic();
    struct unw_row *rows;

    t->layout = elf->layout;
    unw_build(elf, &rows, &t->n, &t->stats);
    t->rows = t->map = rows;
    t->build_ns = clock_monotonic() - t0;
    return t;
}

struct unw_table *unw_table_open_image(const void *image, size_t size, struct err *e)
{
    struct unw_table *t = NULL;
    struct elf_cfi elf;

    if (!elf_cfi_open_image(&elf, image, size, e))
        t = build(&elf);
    elf_cfi_close(&elf);
    return t;
}

static struct unw_table *build_file(int fd, struct err *e)
{
    struct unw_table *t = NULL;
    struct elf_cfi elf;

    if (!elf_cfi_open(&elf, fd, e))
        t = build(&elf);
    elf_cfi_close(&elf);
    return t;
}

struct unw_table *unw_table_open(struct unw_cache *cache, int fd, const uint8_t *build_id,
                                 size_t build_id_len, struct err *e)
{
    struct unw_layout layout;
    struct unw_table *t;

    if (!cache)
        return build_file(fd, e);
    if (unw_layout_read(fd, &layout, e))
        return NULL;
    if (build_id_len && build_id_len <= UNW_MAX_BUILD_ID) {
        memcpy(layout.build_id, build_id, build_id_len);
        layout.build_id_len = (uint32_t)build_id_len;
    }
    t = unw_cache_load(cache, &layout);
    if (t)
        return t;
    t = build_file(fd, e);
    if (!t)
        return NULL;
    t->layout = layout;
    unw_cache_store(cache, t);
    return t;
}

void unw_table_free(struct unw_table *t)
{
    if (!t)
        return;
    if (t->map_len)
        munmap(t->map, t->map_len);
    else
        free(t->map);
    free(t);
}

const struct unw_row *unw_table_find(const struct unw_table *t, uint64_t vaddr)
{
    uint64_t rel = vaddr - t->layout.base;
    uint32_t lo = 0, hi = t->n;

    if (vaddr < t->layout.base || rel > UINT32_MAX)
        return NULL;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (t->rows[mid].pc <= rel)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &t->rows[lo - 1] : NULL;
}
