/* SPDX-License-Identifier: Apache-2.0 */
/* Origins, and which task is of which, in the log. */
#include "model/column.h"
#include "model/store_log.h"

enum { FIELDS = 11 };

void store_origins_put(struct wlog_payload *p, const struct origin *o, size_t n)
{
    for (size_t i = 0; i < n; i++, o++) {
        const uint64_t fields[FIELDS] = {
            o->host,     o->session,   o->rank,  o->task,
            o->machine,  o->frequency, o->clock, column_zigzag((uint64_t)o->offset_ns, 0),
            o->error_ns, o->start_ns,  o->end_ns};

        for (size_t j = 0; j < FIELDS; j++)
            buf_add_varint(&p->raw, fields[j]);
    }
}

/* Tasks are written after origins: settled when all is read. */
int store_origins_get(struct store *s, struct cursor *c, size_t n)
{
    uint64_t strings = strtab_count(&s->strings);

    for (size_t i = 0; i < n; i++) {
        uint64_t f[FIELDS];

        for (size_t j = 0; j < FIELDS; j++)
            f[j] = cursor_varint(c);
        if (c->bad || f[0] > strings || f[1] > strings || f[2] > UINT32_MAX || f[3] > UINT32_MAX ||
            f[4] > UINT32_MAX || f[5] > UINT32_MAX || f[6] > UINT32_MAX)
            return -1;
        *vec_push(&s->origins.list) = (struct origin){.host = (uint32_t)f[0],
                                                      .session = (uint32_t)f[1],
                                                      .rank = (uint32_t)f[2],
                                                      .task = (uint32_t)f[3],
                                                      .machine = (uint32_t)f[4],
                                                      .frequency = (uint32_t)f[5],
                                                      .clock = (uint32_t)f[6],
                                                      .offset_ns = (int64_t)column_unzigzag(f[7], 0),
                                                      .error_ns = f[8],
                                                      .start_ns = f[9],
                                                      .end_ns = f[10]};
    }
    return 0;
}

void store_task_origins_put(struct wlog_payload *p, const struct tasks *t, const uint32_t *ids, size_t n,
                            struct zpacker *trial)
{
    uint64_t *v = mem_alloc(n * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = ids[i];
    store_log_column(p, v, n, WLOG_NAMES, trial);
    for (size_t i = 0; i < n; i++)
        v[i] = t->list.a[ids[i] - 1].origin;
    store_log_column(p, v, n, WLOG_NAMES, trial);
    free(v);
}

int store_task_origins_get(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *v = mem_alloc(2 * n * sizeof(*v)), *task = v, *origin = v + n;
    int rc = 0;

    column_get(c, task, n);
    column_get(c, origin, n);
    for (size_t i = 0; i < n && !rc; i++)
        rc = c->bad || !task[i] || task[i] > s->tasks.list.n || !origin[i] || origin[i] > s->origins.list.n
                 ? -1
                 : 0;
    for (size_t i = 0; i < n && !rc; i++)
        s->tasks.list.a[task[i] - 1].origin = (uint32_t)origin[i];
    free(v);
    return rc;
}

void store_task_roots_put(struct wlog_payload *p, const uint32_t *ids, size_t n, struct zpacker *trial)
{
    uint64_t *v = mem_alloc(n * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = ids[i];
    store_log_column(p, v, n, WLOG_NAMES, trial);
    free(v);
}

int store_task_roots_get(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *task = mem_alloc(n * sizeof(*task));
    int rc = 0;

    column_get(c, task, n);
    for (size_t i = 0; i < n && !rc; i++)
        rc = c->bad || !task[i] || task[i] > s->tasks.list.n ? -1 : 0;
    for (size_t i = 0; i < n && !rc; i++)
        s->tasks.list.a[task[i] - 1].is_root = 1;
    free(task);
    return rc;
}
