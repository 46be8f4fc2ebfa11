/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal bytes have one id. Id 0 is the empty string, "none". Strings hold no NUL. */
#ifndef WPROF_MODEL_STRTAB_H
#define WPROF_MODEL_STRTAB_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

struct strtab {
    struct buf bytes;      /* every string with its NUL */
    VEC(uint32_t) offsets; /* of string id - 1 */
    struct index index;
};

void strtab_release(struct strtab *t);
uint32_t strtab_add(struct strtab *t, const char *s);            /* s NULL: 0 */
uint32_t strtab_addn(struct strtab *t, const char *s, size_t n); /* stops at a NUL inside s[0..n) */
uint32_t strtab_find(const struct strtab *t, const char *s);     /* 0 when absent */
const char *strtab_get(const struct strtab *t,
                       uint32_t id); /* "" for 0 and for an id out of range; valid until the next add */
/* Frees what only adding and finding need; the next addition makes it anew. */
void strtab_settle(struct strtab *t);
uint32_t strtab_count(const struct strtab *t); /* ids are 1..count */

#endif
