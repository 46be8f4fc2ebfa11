/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/units.h"

#include "base/hash.h"
#include "base/opt.h"
#include "base/units.h"
#include "model/numbered.h"

#include <stdlib.h>
#include <string.h>

/* ---- collecting ---- */

static int by_start(const void *pa, const void *pb)
{
    const struct unit *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static uint64_t name_key(const struct store *s, const struct unit *x)
{
    uint32_t leader = x->task ? s->tasks.list.a[x->task - 1].leader : 0;

    return hash_mix((uint64_t)x->kind << 32 | x->id, leader ? leader : x->task);
}

/* Whether a, which began before b or with it, and b are one, marked twice. */
static int is_double(const struct unit *a, const struct unit *b)
{
    return a->kind == b->kind && a->id == b->id && (b->end <= a->end || a->start == b->start);
}

/* A program that marks its steps for two tools has each twice: one kind and number in one process, within
 * another's time. The longer stays, but for one without an end. */
static void drop_doubles(struct units *u, const struct store *s)
{
    struct map last = {0};
    size_t n = 0;

    for (size_t i = 0; i < u->list.n; i++) {
        const struct unit *x = &u->list.a[i];
        uint64_t *at = x->id ? map_put(&last, name_key(s, x)) : NULL;
        struct unit *before = at && *at ? &u->list.a[*at - 1] : NULL;

        if (before && is_double(before, x)) {
            if (before->open != x->open ? before->open : x->end > before->end) {
                before->kind = 0; /* is left out below */
                *at = i + 1;
            } else {
                u->list.a[i].kind = 0;
            }
        } else if (at) {
            *at = i + 1;
        }
    }
    for (size_t i = 0; i < u->list.n; i++)
        if (u->list.a[i].kind)
            u->list.a[n++] = u->list.a[i];
    u->list.n = n;
    map_release(&last);
}

/* Where marks were lost, ends are among them: what has none and is longer than each of its kind that has one
 * did not go on all the time. How many marks were lost is told with how well it was measured. */
static void drop_endless(struct units *u, const struct store *s)
{
    struct map longest = {0};
    size_t n = 0;

    if (!store_counter(s, "marks.unsent", 0) && !store_counter(s, "marks.dropped", 0))
        return;
    for (size_t i = 0; i < u->list.n; i++) {
        const struct unit *x = &u->list.a[i];
        uint64_t *most = x->open ? NULL : map_put(&longest, x->kind);

        if (most && x->end - x->start > *most)
            *most = x->end - x->start;
    }
    for (size_t i = 0; i < u->list.n; i++) {
        const struct unit *x = &u->list.a[i];
        const uint64_t *most = x->open ? map_get(&longest, x->kind) : NULL;

        if (!most || x->end - x->start <= *most)
            u->list.a[n++] = *x;
    }
    u->list.n = n;
    map_release(&longest);
}

void units_collect(struct units *u, const struct session *s)
{
    const struct store *st = &s->store;

    *u = (struct units){0};
    for (size_t i = 0; i < st->events.n; i++) {
        const struct event *ev = &st->events.a[i];
        const char *text = strtab_get(&st->strings, ev->metric);
        size_t word = strcspn(text, " ");

        if (ev->kind != EVENT_MARKER || ev->flags & EVENT_JOINED || (!ev->dur && !(ev->flags & EVENT_OPEN)) ||
            !word || !strcmp(text, GPU_TAKEN_MARK)) /* which is nobody's unit of work */
            continue;
        *vec_push(&u->list) = (struct unit){.kind = strtab_addn(&u->strings, text, word),
                                            .id = strtab_add(&u->strings, text + word + (text[word] == ' ')),
                                            .start = ev->ts,
                                            .end = ev->ts + ev->dur,
                                            .task = ev->task <= st->tasks.list.n ? ev->task : 0,
                                            .open = (ev->flags & EVENT_OPEN) != 0};
    }
    if (u->list.n)
        qsort(u->list.a, u->list.n, sizeof(*u->list.a), by_start);
    drop_doubles(u, st);
    drop_endless(u, st);
    units_take_joins(u, s);
}

void units_release(struct units *u)
{
    strtab_release(&u->strings);
    vec_release(&u->list);
    vec_release(&u->joins);
    *u = (struct units){0};
}

void units_label(const struct units *u, const struct unit *x, struct buf *out)
{
    buf_addf(out, "%s%s%s", strtab_get(&u->strings, x->kind), x->id ? " " : "",
             strtab_get(&u->strings, x->id));
}

void units_row_add(struct units_row *r, uint32_t unit, uint64_t end)
{
    uint64_t latest = r->ends.n ? r->ends.a[r->ends.n - 1] : 0;

    *vec_push(&r->units) = unit;
    *vec_push(&r->ends) = end > latest ? end : latest;
}

size_t units_row_find(const struct units_row *r, uint64_t ts)
{
    size_t low = 0, high = r->ends.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->ends.a[mid] <= ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void units_row_release(struct units_row *r)
{
    vec_release(&r->units);
    vec_release(&r->ends);
}

/* ---- the main kind ---- */

enum { LEAST = 3 }; /* of steps, requests or the like, to be what the program is about */

static int is_usual(const char *kind)
{
    return numbered_is_usual(kind, strlen(kind));
}

uint32_t units_main_kind(const struct units *u)
{
    struct map n = {0};
    uint64_t most = 0;
    uint32_t kind = 0;
    int usual = 0;

    for (size_t i = 0; i < u->list.n; i++) {
        uint32_t k = u->list.a[i].kind;
        uint64_t count = ++*map_put(&n, k);
        int better = count >= LEAST && is_usual(strtab_get(&u->strings, k));

        if (better > usual || (better == usual && count > most)) {
            most = count;
            kind = k;
            usual = better;
        }
    }
    map_release(&n);
    return kind;
}

/* ---- choosing ---- */

enum { KINDS_NAMED = 16 };

/* The kinds there are, for who asked for another one. */
static int no_kind(const struct units *u, const char *kind, struct err *e)
{
    const char *names[KINDS_NAMED], *near;
    uint32_t seen[KINDS_NAMED];
    struct buf have = {0};
    size_t n = 0;

    for (size_t i = 0; i < u->list.n && n < KINDS_NAMED; i++) {
        size_t k = 0;

        while (k < n && seen[k] != u->list.a[i].kind)
            k++;
        if (k < n)
            continue;
        seen[n] = u->list.a[i].kind;
        names[n] = strtab_get(&u->strings, u->list.a[i].kind);
        buf_addf(&have, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    near = n ? opt_nearest(kind, names, n) : NULL;
    if (!n)
        err_set(e, "the session has no marks that begin and end: the program says its steps by WPROF_MARKS "
                   "(wprof help "
                   "mark)");
    else if (near)
        err_set(e, "no marks of the kind '%s'; did you mean '%s'? (there are: %s)", kind, near,
                buf_str(&have));
    else
        err_set(e, "no marks of the kind '%s' (there are: %s)", kind, buf_str(&have));
    buf_release(&have);
    return -1;
}

int units_choose_kind(struct units_choice *c, const struct units *u, const char *kind, struct err *e)
{
    *c = (struct units_choice){.kind = strtab_find(&u->strings, kind)};
    for (size_t i = 0; c->kind && i < u->list.n; i++)
        if (u->list.a[i].kind == c->kind)
            *vec_push(&c->chosen) = i;
    return c->chosen.n ? 0 : no_kind(u, kind, e);
}

void units_choice_release(struct units_choice *c)
{
    vec_release(&c->chosen);
    *c = (struct units_choice){0};
}

/* "12-20" to its two numbers; 0: it is no range. */
static int parse_range(const char *text, uint64_t *from, uint64_t *to)
{
    const char *dash = strchr(text, '-');
    char *left;
    int ok;

    if (!dash)
        return 0;
    left = mem_strndup(text, (size_t)(dash - text));
    ok = !units_parse_uint(left, from, NULL) && !units_parse_uint(dash + 1, to, NULL);
    free(left);
    return ok;
}

/* Marks those that one item of the list means: the id itself, else a range of numbers. How many. */
static size_t take_item(const struct units *u, const struct units_choice *c, const char *item, uint8_t *taken)
{
    uint32_t id = strtab_find(&u->strings, item);
    uint64_t from, to, number;
    size_t n = 0;

    for (size_t i = 0; i < c->chosen.n; i++) {
        if (id && u->list.a[c->chosen.a[i]].id == id) {
            taken[i] = 1;
            n++;
        }
    }
    if (n || !parse_range(item, &from, &to))
        return n;
    for (size_t i = 0; i < c->chosen.n; i++) {
        const char *text = strtab_get(&u->strings, u->list.a[c->chosen.a[i]].id);

        if (!units_parse_uint(text, &number, NULL) && number >= from && number <= to) {
            taken[i] = 1;
            n++;
        }
    }
    return n;
}

static int no_item(const struct units *u, const struct units_choice *c, const char *kind, const char *item,
                   struct err *e)
{
    const struct unit *first = &u->list.a[c->chosen.a[0]], *last = &u->list.a[c->chosen.a[c->chosen.n - 1]];

    return err_set(e, "no %s '%s' in this session (it has %zu, from '%s' to '%s')", kind, item, c->chosen.n,
                   strtab_get(&u->strings, first->id), strtab_get(&u->strings, last->id));
}

/* Of all of the kind those that the list names stay. */
static int take_list(struct units_choice *c, const struct units *u, const char *kind, const char *list,
                     struct err *e)
{
    uint8_t *taken = mem_calloc(c->chosen.n, 1);
    size_t kept = 0;
    int rc = 0;

    for (const char *at = list, *end; !rc && at; at = *end ? end + 1 : NULL) {
        char *item;

        end = at + strcspn(at, ",");
        item = mem_strndup(at, (size_t)(end - at));
        if (!take_item(u, c, item, taken))
            rc = no_item(u, c, kind, item, e);
        free(item);
    }
    for (size_t i = 0; !rc && i < c->chosen.n; i++)
        if (taken[i])
            c->chosen.a[kept++] = c->chosen.a[i];
    c->chosen.n = kept;
    free(taken);
    return rc;
}

int units_choose(struct units_choice *c, const struct units *u, const char *text, struct err *e)
{
    static const char outside[] = "outside:";
    int is_outside = !strncmp(text, outside, sizeof(outside) - 1);
    const char *name = text + (is_outside ? sizeof(outside) - 1 : 0);
    size_t n = is_outside ? strlen(name) : strcspn(name, ":");
    char *kind = mem_strndup(name, n);
    int rc = units_choose_kind(c, u, kind, e);

    c->outside = is_outside;
    if (!rc && name[n] == ':')
        rc = take_list(c, u, kind, name + n + 1, e);
    free(kind);
    if (rc)
        err_wrap(e, "--only %s", text);
    return rc;
}
