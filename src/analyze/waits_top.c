/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/waits_top.h"

#include "analyze/kin.h"
#include "analyze/libc.h"
#include "analyze/timeouts.h"
#include "analyze/wake_chain.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
    {"thread", "thread", TABLE_TEXT},     {"tid", "tid", TABLE_ID, 6},
    {"ns", "waited", TABLE_NS},           {"share", "", TABLE_SHARE, 3},
    {"spans", "times", TABLE_COUNT, 5},   {"reason", "for", TABLE_TEXT, 2},
    {"what", "what", TABLE_TEXT, 7},      {"where", "in", TABLE_TEXT},
    {"waker", "woken by", TABLE_TEXT},    {"waker_tid", "tid", TABLE_ID, 9},
    {"waker_where", "in", TABLE_TEXT, 4}, {"meanwhile", "which was in", TABLE_TEXT},
    {"state", "and", TABLE_TEXT, 8},
};

enum { THREAD, TID, NS, SHARE, SPANS, REASON, WHAT, WHERE, WAKER, WAKER_TID, WAKER_WHERE, MEANWHILE, STATE };

/* Where the chain of those who ended a row's waits was meanwhile, and for how long of their time. */
struct place {
    uint32_t row, where;
    uint64_t ns;
    uint64_t blocked[WAIT_OTHER + 1]; /* part of ns, by reason; the rest it ran */
};

/* What makes a row; where: strings of the store. */
struct row {
    uint32_t task, what, waker, where, waker_where;
    uint32_t reason, irq;      /* irq: BY_TIMER, too */
    uint32_t child;            /* its name */
    uint32_t summed, inferred; /* no gaps: the key is compared as bytes */
    uint64_t ns, spans;
    uint32_t first, ender;   /* the child that it waited for first, as text and as the one that ended that */
    int others, enders;      /* there are more of them */
    uint32_t tasks, wakers;  /* of one name: how many there are, ... */
    uint32_t one, one_waker; /* ... and the first of them */
    uint32_t meanwhile;      /* the place of most of it, and its time */
    uint64_t meanwhile_ns;
    const char *state; /* what it was there; NULL: this and that */
};

struct rows {
    const struct store *s;
    VEC(struct row) list;
    struct index index;
    uint64_t sum;
    struct wake_chain chain;
    struct map place_of; /* {row, where} -> its index in places + 1 */
    VEC(struct place) places;
    uint32_t *kin; /* kin.h */
    struct kin_seen tasks, wakers;
};

struct lookup {
    const struct rows *rows;
    const struct row *key;
};

enum { BY_TIMER = 2 };

enum { KEY_BYTES = offsetof(struct row, ns) };

static int same_row(const void *ctx, uint32_t id)
{
    const struct lookup *l = ctx;

    return !memcmp(&l->rows->list.a[id - 1], l->key, KEY_BYTES);
}

static uint32_t add(struct rows *r, const struct row *key, const struct event *ev)
{
    struct lookup l = {r, key};
    uint64_t hash = hash_bytes(key, KEY_BYTES);
    uint32_t id = index_find(&r->index, hash, same_row, &l);

    if (!id) {
        *vec_push(&r->list) = *key;
        id = (uint32_t)r->list.n;
        index_add(&r->index, hash, id);
    }
    r->list.a[id - 1].ns += ev->dur;
    r->list.a[id - 1].spans += ev->value;
    r->sum += ev->dur;
    return id;
}

struct meanwhile {
    struct rows *r;
    uint32_t row;
};

static void add_place(void *arg, const struct wake_step *steps, unsigned n, uint64_t ns)
{
    struct meanwhile *m = arg;
    struct place *place;
    uint32_t where = waits_place(m->r->s, steps[n - 1].stack);
    uint64_t *known;

    if (!where)
        return;
    known = map_put(&m->r->place_of, (uint64_t)m->row << 32 | where);
    if (!*known) {
        *vec_push(&m->r->places) = (struct place){.row = m->row, .where = where};
        *known = m->r->places.n;
    }
    place = &m->r->places.a[*known - 1];
    place->ns += ns;
    if (steps[n - 1].wait)
        place->blocked[wait_reason_of(waits_get(&m->r->s->waits, steps[n - 1].wait->attr))] += ns;
}

/* What the thread was for most of its time there. */
static const char *state_of(const struct place *p)
{
    uint64_t blocked = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(p->blocked); i++) {
        if (p->blocked[i] > p->ns / 2)
            return waits_state(i);
        blocked += p->blocked[i];
    }
    return blocked < p->ns / 2 ? "running" : NULL;
}

/* Row by row, the longest first. */
static int by_row(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : (a->where > b->where) - (a->where < b->where);
}

static int is_libc(const struct store *s, const struct frame *f)
{
    const struct module *m = frames_module(&s->frames, f->module);

    return m && libc_is(strtab_get(&s->strings, m->path));
}

uint32_t waits_place(const struct store *s, uint32_t stack)
{
    uint32_t outside = 0, within = 0;

    for (const struct stack_node *n; (n = stacks_get(&s->stacks, stack)); stack = n->parent) {
        const struct frame *f = frames_get(&s->frames, n->frame);
        const struct frame_name *names;
        struct frame_name self;
        uint32_t count = frames_names(&s->frames, n->frame, &self, &names);

        if (!f || !count || f->kind == FRAME_KERNEL || f->kind == FRAME_GIL)
            continue;
        if (f->kind == FRAME_PYTHON)
            return names[count - 1].func;
        if (is_libc(s, f))
            within = within ? within : names[0].func;
        else if (!outside)
            outside = names[0].func;
    }
    return outside ? outside : within;
}

int waits_inferred(const struct store *s, uint32_t stack)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);
    const struct frame *f;
    const struct frame_name *names;
    struct frame_name self;

    while (n && n->parent)
        n = stacks_get(&s->stacks, n->parent);
    f = n ? frames_get(&s->frames, n->frame) : NULL;
    return f && f->kind == FRAME_MARKER && frames_names(&s->frames, n->frame, &self, &names) &&
           !strcmp(strtab_get(&s->strings, names[0].func), "[inferred]");
}

static int is_inferred_marker(const struct store *s, uint32_t name)
{
    return name && !strcmp(strtab_get(&s->strings, name), "[inferred]");
}

static uint32_t name_of(const struct store *s, uint32_t task)
{
    return task && task <= s->tasks.list.n ? s->tasks.list.a[task - 1].comm : 0;
}

/* "wait4 sh[42]", "wait4 42", but not "wait4 of any child", "vfork". */
static int names_one(const char *what)
{
    size_t n = strlen(what);

    return n && strchr("]0123456789", what[n - 1]) && strchr(what, ' ');
}

static void add_child(struct row *row, const struct wait *w)
{
    if (!row->first) {
        row->first = w->what;
        row->ender = w->waker_task;
    }
    row->others |= row->first != w->what;
    row->enders |= row->ender != w->waker_task;
}

/* Which of those that the row is of it was, and which of those that ended the wait. */
static void add_kin(struct rows *r, uint32_t id, uint32_t task, uint32_t waker)
{
    struct row *row = &r->list.a[id - 1];

    row->one = row->one ? row->one : task;
    row->one_waker = row->one_waker ? row->one_waker : waker;
    row->tasks += (uint32_t)kin_add(&r->tasks, id, task);
    row->wakers += row->waker ? (uint32_t)kin_add(&r->wakers, id, waker) : 0;
}

static uint32_t kin_of(const struct rows *r, uint32_t task)
{
    return task <= r->s->tasks.list.n ? r->kin[task] : task;
}

static void collect(struct rows *r)
{
    const struct store *s = r->s;
    struct meanwhile m = {.r = r};
    uint64_t *timeouts = timeouts_find(s);

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w = waits_get(&s->waits, ev->attr);
        struct row key = {.task = kin_of(r, ev->task)};

        if (ev->kind != EVENT_OFFCPU)
            continue;
        key.where = waits_place(s, ev->stack);
        key.summed = (ev->flags & EVENT_SHORT) != 0;
        if (w) {
            key.reason = w->reason;
            key.what = w->what;
            key.waker = kin_of(r, w->waker_task);
            key.irq = timeouts[i] ? BY_TIMER : w->irq;
            key.inferred = (uint32_t)waits_inferred(s, w->waker_stack);
            key.waker_where = waits_place(s, w->waker_stack);
            if (is_inferred_marker(s, key.waker_where)) /* of whom nothing is known but that */
                key.waker_where = 0;
        }
        if (key.reason == WAIT_CHILD) { /* those of one name are in one row */
            key.child = name_of(s, key.waker);
            key.waker = 0;
            if (names_one(strtab_get(&s->strings, key.what)))
                key.what = 0;
        }
        m.row = add(r, &key, ev);
        add_kin(r, m.row, ev->task, w ? w->waker_task : 0);
        if (w && key.reason == WAIT_CHILD)
            add_child(&r->list.a[m.row - 1], w);
        wake_chain_follow(&r->chain, ev, add_place, &m);
    }
    free(timeouts);
    if (r->places.n)
        qsort(r->places.a, r->places.n, sizeof(*r->places.a), by_row);
    for (size_t i = r->places.n; i-- > 0;) {
        struct row *row = &r->list.a[r->places.a[i].row - 1];

        row->meanwhile = r->places.a[i].where;
        row->meanwhile_ns = r->places.a[i].ns;
        row->state = state_of(&r->places.a[i]);
    }
}

static int longer(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return memcmp(a, b, KEY_BYTES);
}

static char *text(const struct store *s, uint32_t id)
{
    return id && id <= strtab_count(&s->strings) ? mem_strdup(strtab_get(&s->strings, id)) : NULL;
}

static void fill_task(const struct store *s, uint32_t id, union table_cell *name, union table_cell *tid)
{
    const struct task *k = id && id <= s->tasks.list.n ? &s->tasks.list.a[id - 1] : NULL;

    if (!k)
        return;
    name->text = k->comm ? origins_task_name(s, k, "") : NULL;
    tid->count = k->tid;
}

static void say_more(char **text, const char *more)
{
    char *whole = *text ? mem_printf("%s%s", *text, more) : NULL;

    free(*text);
    *text = whole;
}

/* "thrreq, 966 threads" where it is several. */
static void fill_kin(const struct store *s, uint32_t one, uint32_t n, union table_cell *name,
                     union table_cell *tid)
{
    const struct task *k = one && one <= s->tasks.list.n ? &s->tasks.list.a[one - 1] : NULL;
    char more[32];

    fill_task(s, one, name, tid);
    if (n < 2 || !k)
        return;
    snprintf(more, sizeof(more), ", %u %s", n, k->pid == k->tid ? "processes" : "threads");
    say_more(&name->text, more);
    tid->count = 0;
}

static void fill(union table_cell *c, const struct rows *r, const struct row *row)
{
    const struct store *s = r->s;

    fill_kin(s, row->one, row->tasks, &c[THREAD], &c[TID]);
    c[NS].count = row->ns;
    c[SHARE].share = r->sum ? (double)row->ns / (double)r->sum : 0;
    c[SPANS].count = row->spans;
    c[REASON].text = mem_strdup(waits_reason(row->reason));
    c[WHAT].text = text(s, row->first ? row->first : row->what);
    if (row->others)
        say_more(&c[WHAT].text, " and others");
    c[WHERE].text = text(s, row->where);
    if (row->ender)
        fill_task(s, row->ender, &c[WAKER], &c[WAKER_TID]);
    else
        fill_kin(s, row->waker ? row->one_waker : 0, row->wakers, &c[WAKER], &c[WAKER_TID]);
    if (row->enders) {
        say_more(&c[WAKER].text, " and others");
        c[WAKER_TID].count = 0;
    }
    if (row->inferred)
        say_more(&c[WAKER].text, " (inferred)");
    if (row->irq == BY_TIMER) {
        free(c[WAKER].text);
        c[WAKER].text = mem_strdup("[timer]");
    } else if (row->irq) {
        char *sender = c[WAKER].text;

        c[WAKER].text = sender ? mem_printf("[irq] for %s", sender) : mem_strdup("[irq]");
        free(sender);
    } else
        c[WAKER_WHERE].text = text(s, row->waker_where);
    if (row->meanwhile) {
        char share[32];

        c[MEANWHILE].text =
            mem_printf("%s %s", strtab_get(&s->strings, row->meanwhile),
                       units_share(share, sizeof(share), (double)row->meanwhile_ns / (double)row->ns));
        c[STATE].text = row->state ? mem_strdup(row->state) : NULL;
    }
}

void waits_top(struct table *t, const struct session *s, size_t limit)
{
    struct rows r = {.s = &s->store, .kin = kin_find(&s->store)};

    table_init(t, columns, ARRAY_SIZE(columns));
    wake_chain_init(&r.chain, &s->store);
    collect(&r);
    wake_chain_release(&r.chain);
    if (r.list.n)
        qsort(r.list.a, r.list.n, sizeof(*r.list.a), longer);
    for (size_t i = 0; i < r.list.n; i++) {
        if (limit && table_rows(t) >= limit)
            t->left_out++;
        else
            fill(table_add(t), &r, &r.list.a[i]);
    }
    free(r.kin);
    kin_seen_release(&r.tasks);
    kin_seen_release(&r.wakers);
    vec_release(&r.list);
    index_release(&r.index);
    map_release(&r.place_of);
    vec_release(&r.places);
}
