/* SPDX-License-Identifier: Apache-2.0 */
/* The table of an accelerator's works, in the log: a column a field, in the order of `fields`. */
#include "model/column.h"
#include "model/store_log.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

struct field {
    uint8_t at, size;
};

#define FIELD(name)                                                                                          \
    {                                                                                                        \
        offsetof(struct gpu_work, name), sizeof(((struct gpu_work *)0)->name)                                \
    }
#define ITEM(name, i)                                                                                        \
    {                                                                                                        \
        offsetof(struct gpu_work, name) + (i) * sizeof(((struct gpu_work *)0)->name[0]),                     \
            sizeof(((struct gpu_work *)0)->name[0])                                                          \
    }

static const struct field fields[] = {
    FIELD(op),     FIELD(name),   FIELD(device),  FIELD(context),   FIELD(stream),    ITEM(grid, 0),
    ITEM(grid, 1), ITEM(grid, 2), ITEM(block, 0), ITEM(block, 1),   ITEM(block, 2),   FIELD(shared),
    FIELD(graph),  FIELD(node),   FIELD(bytes),   FIELD(registers), FIELD(occupancy), FIELD(rank),
    FIELD(from),   FIELD(to),     FIELD(result),
};

/* Little-endian, as the rest of the log: a narrow field is the low bytes of its number. */
static uint64_t field_get(const struct gpu_work *w, const struct field *f)
{
    uint64_t v = 0;

    memcpy(&v, (const char *)w + f->at, f->size);
    return v;
}

static int field_set(struct gpu_work *w, const struct field *f, uint64_t v)
{
    if (f->size < sizeof(v) && v >> (CHAR_BIT * f->size))
        return -1;
    memcpy((char *)w + f->at, &v, f->size);
    return 0;
}

void store_gpu_put(struct wlog_payload *p, const struct gpu_work *a, size_t n, struct zpacker *trial)
{
    uint64_t *v = mem_alloc(n * sizeof(*v));

    for (size_t f = 0; f < ARRAY_SIZE(fields); f++) {
        for (size_t i = 0; i < n; i++)
            v[i] = field_get(&a[i], &fields[f]);
        store_log_column(p, v, n, WLOG_GPU, trial);
    }
    free(v);
}

static int is_sound(const struct store *s, const struct gpu_work *w)
{
    return w->name <= strtab_count(&s->strings) && w->result <= 1;
}

int store_gpu_get(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *v = mem_alloc(n * sizeof(*v));
    size_t before = s->gpus.list.n;
    struct gpu_work *to;

    vec_reserve(&s->gpus.list, before + n);
    to = n ? s->gpus.list.a + before : NULL;
    if (n)
        memset(to, 0, n * sizeof(*to));
    for (size_t f = 0; f < ARRAY_SIZE(fields) && !c->bad; f++) {
        column_get(c, v, n);
        for (size_t i = 0; i < n && !c->bad; i++)
            c->bad = field_set(&to[i], &fields[f], v[i]) != 0;
    }
    for (size_t i = 0; i < n && !c->bad; i++)
        c->bad = !is_sound(s, &to[i]);
    if (!c->bad)
        s->gpus.list.n += n;
    free(v);
    return c->bad ? -1 : 0;
}
