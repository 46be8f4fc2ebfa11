/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the array of mappings that BPF searches. A slice is written once and then only read, here and in
 * the kernel; several processes may share one (a fork shares its parent's). What nobody refers to any more is
 * used again only after SLICES_REST_NS, when no walk that began with it can be under way.
 */
#ifndef WPROF_UNWIND_SLICES_H
#define WPROF_UNWIND_SLICES_H

#include <linux/types.h>

#include "base/vec.h"
#include "bpf/wire.h"

#include <stddef.h>
#include <stdint.h>

enum { SLICES_CLASSES = 12, SLICES_SMALLEST = 32 }; /* 32, 64, ... 65536 mappings */

#define SLICES_REST_NS 1000000000ull

struct slice {
    uint32_t first, n;
    uint32_t number; /* that no other contents had: what the kernel's side remembers rows by */
    uint32_t refs;
    uint8_t size_class;
    uint64_t freed_ns;
};

struct slices {
    struct wire_mapping *at; /* borrowed */
    size_t room, used;
    uint32_t last_number;
    VEC(struct slice) list; /* slice id is index + 1 */
    struct {
        VEC(uint32_t) ids; /* oldest first */
        size_t head;
    } unused[SLICES_CLASSES];
};

void slices_init(struct slices *s, struct wire_mapping *at, size_t room);
void slices_release(struct slices *s);

/* Writes n mappings into a slice of their own, with one reference. 0 when there is no room. */
uint32_t slices_put(struct slices *s, const struct wire_mapping *m, uint32_t n, uint64_t now);
void slices_ref(struct slices *s, uint32_t id);                 /* id 0 is ignored */
void slices_unref(struct slices *s, uint32_t id, uint64_t now); /* the same */

static inline const struct slice *slices_get(const struct slices *s, uint32_t id)
{
    return id && id <= s->list.n ? &s->list.a[id - 1] : NULL;
}

#endif
