/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a log into a store. A block's rows are checked against the tables before any of them is taken. */
#include "model/column.h"
#include "model/store_log.h"

#include <string.h>

static int strings_get(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *len = mem_alloc(n * sizeof(*len)), sum = 0;
    struct strtab *t = &s->strings;
    int rc = -1;

    column_get(c, len, n);
    for (size_t i = 0; i < n && !c->bad; i++) {
        if (!len[i] || len[i] > WLOG_RAW_MAX)
            c->bad = 1;
        sum += len[i];
    }
    if (c->bad || sum != (uint64_t)(c->end - c->p) || memchr(c->p, '\0', sum) ||
        t->bytes.len + sum + n > UINT32_MAX)
        goto out;
    buf_reserve(&t->bytes, sum + n);
    vec_reserve(&t->offsets, t->offsets.n + n);
    for (size_t i = 0; i < n; i++) {
        char *to = t->bytes.data + t->bytes.len;

        t->offsets.a[t->offsets.n++] = (uint32_t)t->bytes.len;
        memcpy(to, c->p, len[i]);
        to[len[i]] = '\0';
        c->p += len[i];
        t->bytes.len += len[i] + 1;
    }
    rc = 0;
out:
    free(len);
    return rc;
}

static int modules_get(struct store *s, struct cursor *c, size_t n)
{
    size_t before = s->frames.modules.n;

    for (size_t i = 0; i < n && !c->bad; i++) {
        struct module m = {.fd = -1};
        uint64_t path = cursor_varint(c), task;
        const void *id;

        m.kind = (uint8_t)cursor_uint(c, 1);
        m.build_id_len = (uint8_t)cursor_uint(c, 1);
        id = m.build_id_len <= sizeof(m.build_id) ? cursor_bytes(c, m.build_id_len) : NULL;
        task = cursor_varint(c);
        m.dev = cursor_varint(c);
        m.ino = cursor_varint(c);
        if (!id || path > strtab_count(&s->strings) || task > UINT32_MAX)
            c->bad = 1;
        else
            memcpy(m.build_id, id, m.build_id_len);
        m.path = (uint32_t)path;
        m.task = (uint32_t)task; /* tasks are written after modules: checked at the end */
        *vec_push(&s->frames.modules) = m;
    }
    if (c->bad)
        s->frames.modules.n = before;
    return c->bad ? -1 : 0;
}

static int frames_get_rows(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *v = mem_alloc(n * 7 * sizeof(*v)), *kind = v, *flags = v + n, *module = v + 2 * n,
             *addr = v + 3 * n, *func = v + 4 * n, *file = v + 5 * n, *line = v + 6 * n,
             strings = strtab_count(&s->strings);
    size_t before = s->frames.list.n;

    for (size_t i = 0; i < 7; i++)
        column_get(c, v + i * n, n);
    for (size_t i = 0; i < n && !c->bad; i++) {
        if (kind[i] > UINT8_MAX || flags[i] > UINT8_MAX || module[i] > s->frames.modules.n ||
            func[i] > strings || file[i] > strings || line[i] > UINT32_MAX) {
            c->bad = 1;
            break;
        }
        *vec_push(&s->frames.list) = (struct frame){.kind = (uint8_t)kind[i],
                                                    .flags = (uint8_t)flags[i],
                                                    .module = (uint32_t)module[i],
                                                    .addr = addr[i],
                                                    .func = (uint32_t)func[i],
                                                    .file = (uint32_t)file[i],
                                                    .line = (uint32_t)line[i]};
    }
    if (c->bad)
        s->frames.list.n = before;
    free(v);
    return c->bad ? -1 : 0;
}

/* Frames that were put as distances from what last stood below an equal frame. */
static int undo_distances(const struct stack_node *nodes, size_t before, size_t n, const uint64_t *up,
                          uint64_t *frame, size_t frames)
{
    uint32_t *below = mem_calloc(frames + 1, sizeof(*below));
    size_t i = 0;

    for (; i < n && up[i] <= before + i; i++) {
        size_t parent = before + i - up[i];
        uint64_t above = !parent ? 0 : parent > before ? frame[parent - before - 1] : nodes[parent - 1].frame;

        frame[i] = column_unzigzag(frame[i], below[above]);
        if (!frame[i] || frame[i] > frames)
            break;
        below[above] = (uint32_t)frame[i];
    }
    free(below);
    return i == n ? 0 : -1;
}

static int stacks_get_rows(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *v = mem_alloc(2 * n * sizeof(*v)), *up = v, *frame = v + n, coding = cursor_uint(c, 1);
    size_t before = s->stacks.nodes.n, frames = s->frames.list.n;
    struct stack_node *to;

    column_get(c, up, n);
    column_get(c, frame, n);
    if (coding > STORE_LOG_DISTANCES || before + n > INT32_MAX) /* stacks_push has 31 bits for an id */
        c->bad = 1;
    if (!c->bad && coding == STORE_LOG_DISTANCES)
        c->bad = undo_distances(s->stacks.nodes.a, before, n, up, frame, frames) != 0;
    if (!c->bad)
        stacks_reserve(&s->stacks, before + n);
    to = n && !c->bad ? s->stacks.nodes.a + before : NULL;
    for (size_t i = 0; i < n && !c->bad; i++) {
        if (up[i] > before + i || !frame[i] || frame[i] > frames)
            c->bad = 1;
        else
            to[i] = (struct stack_node){(uint32_t)(before + i - up[i]), (uint32_t)frame[i]};
    }
    if (!c->bad)
        s->stacks.nodes.n += n;
    free(v);
    return c->bad ? -1 : 0;
}

enum { TASK_FIELDS = 13 };

static int task_get(struct store *s, const uint64_t *f)
{
    static const uint8_t wide[TASK_FIELDS] = {[3] = 1, [10] = 1, [11] = 1, [12] = 1};
    struct task t;

    for (int i = 0; i < TASK_FIELDS; i++)
        if (!wide[i] && f[i] > UINT32_MAX)
            return -1;
    /* A known task is replaced, a new one comes next in order. */
    if (!f[0] || f[0] > s->tasks.list.n + 1 || f[9] > strtab_count(&s->strings))
        return -1;
    t = (struct task){.pid = (uint32_t)f[1],
                      .tid = (uint32_t)f[2],
                      .start_ns = f[3],
                      .leader = (uint32_t)f[4],
                      .parent = (uint32_t)f[5],
                      .ns_pid = (uint32_t)f[6],
                      .ns_tid = (uint32_t)f[7],
                      .own_pid = (uint32_t)f[8],
                      .comm = (uint32_t)f[9],
                      .first_ns = f[10],
                      .last_ns = f[11],
                      .cpu_ns = f[12]};
    if (f[0] > s->tasks.list.n)
        *vec_push(&s->tasks.list) = t;
    else
        s->tasks.list.a[f[0] - 1] = t; /* what other blocks say of it follows again */
    return 0;
}

static int tasks_get_rows(struct store *s, struct cursor *c, size_t n)
{
    for (size_t i = 0; i < n && !c->bad; i++) {
        uint64_t f[TASK_FIELDS];

        for (int j = 0; j < TASK_FIELDS; j++)
            f[j] = cursor_varint(c);
        if (!c->bad && task_get(s, f))
            c->bad = 1;
    }
    return c->bad ? -1 : 0;
}

static int names_get_rows(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *ids = mem_alloc(2 * n * sizeof(*ids)), *each = ids + n, *v = NULL, total = 0;
    uint64_t strings = strtab_count(&s->strings);
    int rc = -1;

    column_get(c, ids, n);
    column_get(c, each, n);
    for (size_t i = 0; i < n; i++) {
        if (!ids[i] || ids[i] > s->frames.list.n || each[i] > UINT16_MAX)
            goto out;
        total += each[i];
    }
    if (c->bad || total > STORE_LOG_BLOCK_MAX)
        goto out;
    v = mem_alloc(3 * total * sizeof(*v));
    for (size_t i = 0; i < 3; i++)
        column_get(c, v + i * total, total);
    for (size_t i = 0; i < total; i++)
        if (v[i] > strings || v[total + i] > strings || v[2 * total + i] > UINT32_MAX)
            goto out;
    if (c->bad)
        goto out;
    for (size_t i = 0, k = 0; i < n; k += each[i], i++) {
        struct frame *f = &s->frames.list.a[ids[i] - 1];

        f->names = (uint32_t)(s->frames.names.n);
        f->names_n = (uint16_t)each[i];
        for (size_t j = k; j < k + each[i]; j++)
            *vec_push(&s->frames.names) =
                (struct frame_name){(uint32_t)v[j], (uint32_t)v[total + j], (uint32_t)v[2 * total + j]};
    }
    rc = 0;
out:
    free(ids);
    free(v);
    return rc;
}

static int waits_get_rows(struct store *s, struct cursor *c, size_t n)
{
    uint64_t *v = mem_alloc(5 * n * sizeof(*v)), *reason = v, *irq = v + n, *task = v + 2 * n,
             *stack = v + 3 * n, *what = v + 4 * n, strings = strtab_count(&s->strings);
    size_t before = s->waits.list.n;

    for (size_t i = 0; i < 5; i++)
        column_get(c, v + i * n, n);
    for (size_t i = 0; i < n && !c->bad; i++) {
        if (reason[i] > UINT8_MAX || irq[i] > 1 || task[i] > s->tasks.list.n ||
            stack[i] > s->stacks.nodes.n || what[i] > strings) {
            c->bad = 1;
            break;
        }
        *vec_push(&s->waits.list) = (struct wait){.waker_task = (uint32_t)task[i],
                                                  .waker_stack = (uint32_t)stack[i],
                                                  .what = (uint32_t)what[i],
                                                  .reason = (uint8_t)reason[i],
                                                  .irq = (uint8_t)irq[i]};
    }
    if (c->bad)
        s->waits.list.n = before;
    free(v);
    return c->bad ? -1 : 0;
}

static int counters_get(struct store *s, struct cursor *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t name = cursor_varint(c), value = cursor_varint(c);
        size_t at = 0;

        if (c->bad || !name || name > strtab_count(&s->strings))
            return -1;
        while (at < s->counters.n && s->counters.a[at].name != name)
            at++;
        if (at == s->counters.n)
            *vec_push(&s->counters) = (struct counter){.name = (uint32_t)name};
        s->counters.a[at].value = value;
    }
    return 0;
}

static int block_get(struct store *s, const struct wlog_block *b, struct store_load *load)
{
    static int (*const get[])(struct store *, struct cursor *, size_t) = {
        [WLOG_STRINGS] = strings_get,
        [WLOG_MODULES] = modules_get,
        [WLOG_FRAMES] = frames_get_rows,
        [WLOG_STACKS] = stacks_get_rows,
        [WLOG_TASKS] = tasks_get_rows,
        [WLOG_NAMES] = names_get_rows,
        [WLOG_COUNTERS] = counters_get,
        [WLOG_EVENTS] = store_events_get,
        [WLOG_WAITS] = waits_get_rows,
        [WLOG_GPU] = store_gpu_get,
        [WLOG_ORIGINS] = store_origins_get,
        [WLOG_TASK_ORIGINS] = store_task_origins_get,
        [WLOG_TASK_ROOTS] = store_task_roots_get,
    };
    struct cursor c = cursor_init(b->p, b->n);
    uint64_t n;

    if (b->type == WLOG_END) {
        load->ended = 1;
        return 0;
    }
    if (b->type == WLOG_SESSION) {
        if (b->n > STORE_LOG_ID || load->id[0])
            return -1;
        memcpy(load->id, b->p, b->n);
        return 0;
    }
    if (b->type >= ARRAY_SIZE(get) || !get[b->type]) {
        load->skipped_blocks++;
        return 0;
    }
    n = cursor_varint(&c);
    if (c.bad || n > STORE_LOG_BLOCK_MAX)
        return -1;
    return get[b->type](s, &c, (size_t)n);
}

/* Task ids in tasks and modules may point ahead while a log is being read; afterwards they are good or 0. */
static void settle(struct store *s)
{
    size_t n = s->tasks.list.n;

    for (size_t i = 0; i < n; i++) {
        struct task *t = &s->tasks.list.a[i];

        if (!t->leader || t->leader > n)
            t->leader = (uint32_t)i + 1;
        if (t->parent > n)
            t->parent = 0;
        if (t->origin > s->origins.list.n)
            t->origin = 0;
    }
    for (size_t i = 0; i < s->origins.list.n; i++) {
        struct origin *o = &s->origins.list.a[i];

        o->task = o->task <= n ? o->task : 0;
        o->machine = o->machine <= n ? o->machine : 0;
    }
    for (size_t i = 0; i < s->frames.modules.n; i++)
        if (s->frames.modules.a[i].task > n)
            s->frames.modules.a[i].task = 0;
    if (s->as_written)
        return;
    store_events_sort(s->events.a, s->events.n, 1);
    event_kinds_init(&s->kinds, s->events.a, s->events.n);
}

/* The next block, taken in. As wlog_next(); -2: of a newer version, with `e`. */
static int take_next(struct wlog_reader *r, struct store *s, struct store_load *load, struct err *e)
{
    struct wlog_block b;
    int rc = wlog_next(r, &b, &load->why);

    if (rc <= 0)
        return rc;
    if (b.version > 1 && b.type < WLOG_TYPES) {
        err_set(e, "a block of type %u is in version %u, this wprof reads up to 1: use a newer wprof", b.type,
                b.version);
        return -2;
    }
    if (block_get(s, &b, load))
        return err_set(&load->why, "the block of type %u before %llu contradicts itself", b.type,
                       (unsigned long long)r->pos);
    load->good_bytes = r->pos;
    return 1;
}

/* Nothing refers to events: one block of them may be missing. */
static int leave_out(struct wlog_reader *r, struct store_load *load)
{
    struct wlog_block b;

    if (!wlog_skip(r, &b) || b.type != WLOG_EVENTS)
        return 0;
    load->lost_blocks++;
    load->why = (struct err){0};
    return 1;
}

static int load_log(struct store *s, int fd, const void *mem, size_t n, int salvage, struct store_load *load,
                    struct err *e)
{
    struct wlog_reader r;
    int rc;

    *load = (struct store_load){0};
    rc = wlog_open(&r, fd, mem, n, e) ? -2 : 1;
    load->good_bytes = r.pos;
    while (rc > 0 && !load->ended) {
        rc = take_next(&r, s, load, e);
        if (rc == -1 && salvage && leave_out(&r, load))
            rc = 1;
    }
    wlog_reader_release(&r);
    if (rc == -2)
        return -1;
    settle(s);
    return 0;
}

int store_log_load(struct store *s, int fd, const void *mem, size_t n, struct store_load *load, struct err *e)
{
    return load_log(s, fd, mem, n, 0, load, e);
}

int store_log_salvage(struct store *s, int fd, struct store_load *load, struct err *e)
{
    return load_log(s, fd, NULL, 0, 1, load, e);
}

int store_log_load_as_written(struct store *s, int fd, struct store_load *load, struct err *e)
{
    s->as_written = 1;
    return load_log(s, fd, NULL, 0, 0, load, e);
}
