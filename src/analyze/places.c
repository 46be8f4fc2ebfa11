/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/places.h"

#include "analyze/libc.h"
#include "analyze/python_file.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct lookup {
    const struct places *p;
    struct place key;
};

static int same_place(const void *ctx, uint32_t id)
{
    const struct lookup *l = ctx;

    return !memcmp(&l->p->list.a[id - 1], &l->key, sizeof(l->key));
}

static uint32_t place_of(struct places *p, uint32_t frame)
{
    const struct store *s = p->s;
    const struct frame *f = frames_get(&s->frames, frame);
    const struct module *m = f ? frames_module(&s->frames, f->module) : NULL;
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frames_names(&s->frames, frame, &self, &names), id;
    struct lookup l = {.p = p};
    uint64_t hash;

    if (!f)
        return 0;
    l.key = (struct place){n ? names[0].func : 0, n ? names[0].file : 0, m ? m->path : 0, f->kind};
    hash = hash_bytes(&l.key, sizeof(l.key));
    id = index_find(&p->index, hash, same_place, &l);
    if (!id) {
        *vec_push(&p->list) = l.key;
        id = (uint32_t)p->list.n;
        index_add(&p->index, hash, id);
    }
    return id;
}

void places_init(struct places *p, const struct store *s)
{
    *p = (struct places){.s = s};
    p->place_of = mem_calloc(s->frames.list.n + 1, sizeof(*p->place_of));
    p->node_of = mem_calloc(s->stacks.nodes.n + 1, sizeof(*p->node_of));
    for (uint32_t i = 1; i <= s->frames.list.n; i++)
        p->place_of[i] = place_of(p, i);
    for (uint32_t i = 1; i <= s->stacks.nodes.n; i++) {
        const struct stack_node *n = stacks_get(&s->stacks, i);
        uint32_t frame = n->frame <= s->frames.list.n ? n->frame : 0;

        p->node_of[i] = stacks_push(&p->tree, n->parent < i ? p->node_of[n->parent] : 0, p->place_of[frame]);
    }
}

void places_release(struct places *p)
{
    stacks_release(&p->tree);
    vec_release(&p->list);
    index_release(&p->index);
    free(p->place_of);
    free(p->node_of);
    *p = (struct places){0};
}

const struct place *places_get(const struct places *p, uint32_t node)
{
    const struct stack_node *n = stacks_get(&p->tree, node);

    return n && n->frame && n->frame <= p->list.n ? &p->list.a[n->frame - 1] : NULL;
}

void place_time_init(struct place_time *t, const struct store *s)
{
    *t = (struct place_time){.of = mem_calloc(s->stacks.nodes.n + 1, sizeof(*t->of))};
}

void place_time_release(struct place_time *t)
{
    free(t->of);
    *t = (struct place_time){0};
}

/* The last part of a dotted name. */
static const char *last_part(const char *func)
{
    const char *dot = strrchr(func, '.');

    return dot && dot[1] ? dot + 1 : func;
}

const char *places_func(const struct places *p, uint32_t node)
{
    const struct place *x = places_get(p, node);

    return x ? strtab_get(&p->s->strings, x->func) : "";
}

/* "<listcomp>", "<lambda>", "<module>" say little. */
static int has_name(const struct places *p, const struct place *x)
{
    const char *func = last_part(strtab_get(&p->s->strings, x->func));

    return *func && *func != '<' && *func != '[';
}

/* The nearest Python function that may stand for the others above it; 0: none. */
static uint32_t nearest_python(const struct places *p, uint32_t node, int named)
{
    for (; node; node = stacks_get(&p->tree, node)->parent) {
        const struct place *x = places_get(p, node);

        if (x && x->kind == FRAME_PYTHON && (!named || has_name(p, x)))
            return node;
    }
    return 0;
}

/* The same of functions outside of the kernel, and with `callers` outside of libc. Code without a name is who
 * it is, but for libc's: its caller is another one. */
static uint32_t nearest_native(const struct places *p, uint32_t node, int callers)
{
    for (; node; node = stacks_get(&p->tree, node)->parent) {
        const struct place *x = places_get(p, node);
        int libc = x && libc_is(strtab_get(&p->s->strings, x->module));

        if (!x || x->kind == FRAME_KERNEL || (libc && (callers || !has_name(p, x))) ||
            (!has_name(p, x) && x->kind != FRAME_NATIVE))
            continue;
        return places_is_start(p, node) ? 0 : node;
    }
    return 0;
}

/* The nearest Python function with a name, or any Python code; else the nearest native one outside of libc,
 * where it was called and not just in it (callers), or any; where there is none the node itself. */
static uint32_t for_people(const struct places *p, uint32_t node, int callers)
{
    uint32_t n = nearest_python(p, node, 1);

    n = n ? n : nearest_python(p, node, 0);
    n = n || !callers ? n : nearest_native(p, node, 1);
    n = n ? n : nearest_native(p, node, 0);
    return n ? n : node;
}

uint32_t places_stands(const struct places *p, uint32_t stack)
{
    return stack <= p->s->stacks.nodes.n ? for_people(p, p->node_of[stack], 0) : 0;
}

int places_is_start(const struct places *p, uint32_t node)
{
    static const struct place_match starts[] = {{"_start", NULL, NULL},
                                                {"__libc_start_main", NULL, NULL},
                                                {"__libc_start_main_impl", NULL, NULL},
                                                {"__libc_start_call_main", NULL, NULL},
                                                {"start_thread", NULL, NULL},
                                                {"clone", NULL, NULL},
                                                {"clone3", NULL, NULL},
                                                {"__clone3", NULL, NULL},
                                                {NULL, "threading.py", NULL}};
    const struct place *x = places_get(p, node);

    return !x || x->kind == FRAME_MARKER || places_is(p, node, starts, ARRAY_SIZE(starts));
}

static uint64_t *self_times(const struct places *p, const struct place_time *t)
{
    uint64_t *sum = mem_calloc(p->tree.nodes.n + 1, sizeof(*sum));

    for (size_t i = 1; i <= p->s->stacks.nodes.n; i++)
        sum[p->node_of[i]] += t->of[i];
    return sum;
}

uint32_t places_hot(const struct places *p, const struct place_time *t, double least, uint64_t *total)
{
    uint64_t *sum = self_times(p, t);
    uint32_t hot = 0;

    for (size_t i = p->tree.nodes.n; i > 0; i--)
        sum[p->tree.nodes.a[i - 1].parent] += sum[i];
    /* Nodes with more than half are one path, and a child's id is above its parent's. */
    for (uint32_t i = (uint32_t)p->tree.nodes.n; i > 0 && !hot && t->sum; i--)
        if ((double)sum[i] > least * (double)t->sum)
            hot = for_people(p, i, 1);
    if (total)
        *total = hot ? sum[hot] : 0;
    free(sum);
    return hot;
}

uint32_t places_top(const struct places *p, const struct place_time *t, uint64_t *self)
{
    uint64_t *sum = self_times(p, t), *of = mem_calloc(p->list.n + 1, sizeof(*of)), most = 0;
    uint32_t *node = mem_calloc(p->list.n + 1, sizeof(*node)), best = 0;

    for (uint32_t i = 1; i <= p->tree.nodes.n; i++) {
        uint32_t who = sum[i] ? for_people(p, i, t->waits) : 0,
                 place = who ? stacks_get(&p->tree, who)->frame : 0;

        if (!place)
            continue;
        of[place] += sum[i];
        node[place] = who;
        if (of[place] > most) {
            most = of[place];
            best = place;
        }
    }
    best = best ? node[best] : 0;
    *self = most;
    free(sum);
    free(of);
    free(node);
    return best;
}

uint8_t *places_own(const struct places *p, uint32_t node)
{
    uint8_t *own = mem_calloc(p->tree.nodes.n + 1, 1), *out = mem_calloc(p->s->stacks.nodes.n + 1, 1);
    const struct place *x = places_get(p, node);

    for (uint32_t i = 1; i <= p->tree.nodes.n; i++)
        own[i] = places_get(p, for_people(p, i, 0)) == x;
    for (size_t i = 1; x && i <= p->s->stacks.nodes.n; i++)
        out[i] = own[p->node_of[i]];
    free(own);
    return out;
}

static int is_own(const struct places *p, uint32_t node)
{
    const struct place *x = places_get(p, node);
    const char *file = x && x->kind == FRAME_PYTHON ? strtab_get(&p->s->strings, x->file) : "";

    return *file && !python_file_is_package(file) && !python_file_is_standard(file);
}

/* The innermost of the program's own functions in it; 0: the innermost Python function is one, or none is. */
static uint32_t asker_of(const struct places *p, uint32_t node)
{
    const struct stack_node *n;

    for (int inner = 1; (n = stacks_get(&p->tree, node)); node = n->parent) {
        if (places_get(p, node)->kind != FRAME_PYTHON)
            continue;
        if (is_own(p, node))
            return inner ? 0 : node;
        inner = 0;
    }
    return 0;
}

uint32_t places_asker(const struct places *p, const struct place_time *t, const uint8_t *stacks,
                      uint64_t *part)
{
    uint64_t *of = mem_calloc(p->list.n + 1, sizeof(*of));
    uint32_t best = 0;

    *part = 0;
    for (uint32_t i = 1; i <= p->s->stacks.nodes.n; i++) {
        uint32_t node = stacks[i] && t->of[i] ? asker_of(p, p->node_of[i]) : 0, place;

        if (!node)
            continue;
        place = stacks_get(&p->tree, node)->frame;
        of[place] += t->of[i];
        if (of[place] > *part) {
            *part = of[place];
            best = node;
        }
    }
    free(of);
    return best;
}

uint32_t places_line(const struct places *p, const struct place_time *t, uint32_t node)
{
    const struct stack_node *at = stacks_get(&p->tree, node);
    struct map lines = {0};
    uint64_t most = 0;
    uint32_t best = 0;

    for (uint32_t i = 1; at && i <= p->s->stacks.nodes.n; i++) {
        uint32_t stack = t->of[i] ? i : 0;

        for (const struct stack_node *n; (n = stacks_get(&p->s->stacks, stack)); stack = n->parent) {
            const struct frame_name *names;
            struct frame_name self;
            uint64_t *sum;

            if (p->place_of[n->frame] != at->frame || !frames_names(&p->s->frames, n->frame, &self, &names) ||
                !names[0].line)
                continue;
            sum = map_put(&lines, names[0].line);
            *sum += t->of[i];
            if (*sum > most) {
                most = *sum;
                best = names[0].line;
            }
            break;
        }
    }
    map_release(&lines);
    return best;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

void places_label(const struct places *p, uint32_t node, uint32_t line, struct buf *out)
{
    const struct place *x = places_get(p, node);
    const char *func = places_func(p, node), *file;

    if (!x)
        return;
    file = base_name(strtab_get(&p->s->strings, x->file ? x->file : x->module));
    buf_addstr(out, *func ? func : "[no name]");
    if (*file && !strchr(func, '(') && line)
        buf_addf(out, " (%s:%u)", file, line);
    else if (*file && !strchr(func, '('))
        buf_addf(out, " (%s)", file);
}

char *places_stack(const struct places *p, uint32_t node, size_t max)
{
    uint32_t *path = mem_alloc((max + 1) * sizeof(*path));
    struct buf out = {0};
    size_t n = 0;

    for (const struct stack_node *x; n < max && (x = stacks_get(&p->tree, node)); node = x->parent)
        path[n++] = node;
    if (node)
        buf_addstr(&out, "...");
    while (n-- > 0) {
        if (out.len)
            buf_addch(&out, ';');
        places_label(p, path[n], 0, &out);
    }
    free(path);
    return buf_detach(&out);
}

/* ---- matching ---- */

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && !strcmp(s + n - k, end) && (n == k || *end == '/' || s[n - k - 1] == '/');
}

static int matches(const struct places *p, const struct place *x, const struct place_match *m)
{
    const struct strtab *t = &p->s->strings;

    /* A file's own body runs when it is imported: nothing in it is used yet. */
    if (!m->func && !strcmp(strtab_get(t, x->func), "<module>"))
        return 0;
    return (!m->func || !strcmp(last_part(strtab_get(t, x->func)), m->func)) &&
           (!m->file || ends_with(strtab_get(t, x->file), m->file)) &&
           (!m->module || strstr(base_name(strtab_get(t, x->module)), m->module));
}

struct any {
    const struct place_match *m;
    size_t n;
};

static int matches_any(const struct places *p, const struct place *x, void *arg)
{
    const struct any *a = arg;

    for (size_t i = 0; i < a->n; i++)
        if (matches(p, x, &a->m[i]))
            return 1;
    return 0;
}

int places_is(const struct places *p, uint32_t node, const struct place_match *m, size_t n)
{
    const struct place *x = places_get(p, node);
    struct any a = {m, n};

    return x && matches_any(p, x, &a);
}

uint8_t *places_match(const struct places *p, const struct place_match *m, size_t n)
{
    struct any a = {m, n};

    return places_match_by(p, matches_any, &a);
}

uint8_t *places_match_by(const struct places *p,
                         int (*is)(const struct places *p, const struct place *x, void *arg), void *arg)
{
    uint8_t *hit = mem_calloc(p->list.n + 1, 1), *out = mem_calloc(p->s->stacks.nodes.n + 1, 1);

    for (size_t i = 0; i < p->list.n; i++)
        hit[i + 1] = (uint8_t)is(p, &p->list.a[i], arg);
    for (uint32_t i = 1; i <= p->s->stacks.nodes.n; i++) {
        const struct stack_node *n = stacks_get(&p->s->stacks, i);

        out[i] = (n->parent < i && out[n->parent]) ||
                 hit[n->frame <= p->s->frames.list.n ? p->place_of[n->frame] : 0];
    }
    free(hit);
    return out;
}

uint32_t places_matched(const struct places *p, uint32_t stack, const struct place_match *m, size_t n)
{
    if (stack > p->s->stacks.nodes.n)
        return 0;
    for (uint32_t node = p->node_of[stack]; node; node = stacks_get(&p->tree, node)->parent)
        if (places_is(p, node, m, n))
            return node;
    return 0;
}
