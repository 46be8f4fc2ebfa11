/* SPDX-License-Identifier: Apache-2.0 */
#include "model/strtab.h"

#include "base/hash.h"

#include <string.h>

/* What is looked for; `table` to get at the candidates. */
struct wanted {
    const struct strtab *table;
    const char *s;
    size_t n;
};

void strtab_release(struct strtab *t)
{
    buf_release(&t->bytes);
    vec_release(&t->offsets);
    index_release(&t->index);
}

void strtab_settle(struct strtab *t)
{
    index_release(&t->index);
}

static int same(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;
    size_t off = w->table->offsets.a[id - 1];

    /* The NUL is compared too: a longer string with this prefix is another one. */
    return w->table->bytes.len - off > w->n && !memcmp(w->table->bytes.data + off, w->s, w->n) &&
           !w->table->bytes.data[off + w->n];
}

static int indexed(const struct strtab *t)
{
    return t->index.n == t->offsets.n;
}

/* Tables that were read from disk have no index until the first string is added: most readers never add one.
 */
static void build_index(struct strtab *t)
{
    index_release(&t->index);
    index_reserve(&t->index, t->offsets.n);
    for (uint32_t id = 1; id <= t->offsets.n; id++) {
        const char *s = t->bytes.data + t->offsets.a[id - 1];

        index_add(&t->index, hash_bytes(s, strlen(s)), id);
    }
}

uint32_t strtab_addn(struct strtab *t, const char *s, size_t n)
{
    const char *nul = n ? memchr(s, '\0', n) : NULL;
    struct wanted w = {t, s, nul ? (size_t)(nul - s) : n};
    uint64_t hash;
    uint32_t id;

    if (!w.n)
        return 0;
    if (!indexed(t))
        build_index(t);
    hash = hash_bytes(s, w.n);
    id = index_find(&t->index, hash, same, &w);
    if (id)
        return id;
    if (t->bytes.len + w.n + 1 > UINT32_MAX)
        return 0;
    *vec_push(&t->offsets) = (uint32_t)t->bytes.len;
    buf_reserve(&t->bytes, w.n + 1);
    memcpy(t->bytes.data + t->bytes.len, s, w.n);
    t->bytes.len += w.n;
    buf_addch(&t->bytes, '\0');
    id = (uint32_t)t->offsets.n;
    index_add(&t->index, hash, id);
    return id;
}

uint32_t strtab_add(struct strtab *t, const char *s)
{
    return s ? strtab_addn(t, s, strlen(s)) : 0;
}

uint32_t strtab_find(const struct strtab *t, const char *s)
{
    struct wanted w = {t, s, s ? strlen(s) : 0};

    if (!w.n)
        return 0;
    if (indexed(t))
        return index_find(&t->index, hash_bytes(s, w.n), same, &w);
    for (uint32_t id = 1; id <= t->offsets.n; id++)
        if (same(&w, id))
            return id;
    return 0;
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
    return id && id <= t->offsets.n ? t->bytes.data + t->offsets.a[id - 1] : "";
}

uint32_t strtab_count(const struct strtab *t)
{
    return (uint32_t)t->offsets.n;
}
