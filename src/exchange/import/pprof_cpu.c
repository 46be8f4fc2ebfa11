/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/pprof_cpu.h"

#include <stdio.h>
#include <string.h>

enum {
    HEADER_WORDS = 3, /* behind the first two, at least */
    DEPTH_MAX = 1 << 16,
    HANDLERS_MAX = 2, /* frames of the profiler itself, behind the innermost */
    MARGIN = 32,      /* one stack in so many may lack them */
};

enum order { ORDER_LITTLE, ORDER_BIG };

struct words {
    const unsigned char *p, *end;
    unsigned size; /* of a word */
    enum order order;
};

struct mapping {
    uint64_t start, end, offset;
    const char *path; /* borrowed */
    size_t path_n;
};

/* The addresses of `stacks` lie in `addresses`. */
struct stack {
    uint64_t count;
    size_t first, n;
};

struct profile_cpu {
    struct store *s;
    struct import_stats *st;
    VEC(struct stack) stacks;
    VEC(uint64_t) addresses;
    VEC(struct mapping) mappings;
    struct map frames; /* address -> frame */
    uint64_t period_us;
    unsigned handlers; /* frames that were the profiler's */
};

/* ---- words ---- */

static int next_word(struct words *w, uint64_t *v)
{
    if ((size_t)(w->end - w->p) < w->size)
        return -1;
    *v = 0;
    for (unsigned i = 0; i < w->size; i++)
        *v |= (uint64_t)w->p[i] << 8 * (w->order == ORDER_BIG ? w->size - 1 - i : i);
    w->p += w->size;
    return 0;
}

/* The header, with words of this kind. 0: it is one. */
static int take_header(struct words *w, uint64_t *period)
{
    uint64_t zero, more, version, skipped;

    if (next_word(w, &zero) || next_word(w, &more) || next_word(w, &version) || next_word(w, period))
        return -1;
    if (zero || more < HEADER_WORDS || more > 64 || version || !*period || *period > 1000000000)
        return -1;
    for (uint64_t i = 2; i < more; i++)
        if (next_word(w, &skipped))
            return -1;
    return 0;
}

static int begin(struct words *w, const char *text, size_t n, uint64_t *period)
{
    static const struct {
        unsigned size;
        enum order order;
    } kinds[] = {{8, ORDER_LITTLE}, {8, ORDER_BIG}, {4, ORDER_LITTLE}, {4, ORDER_BIG}};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        *w = (struct words){(const unsigned char *)text, (const unsigned char *)text + n, kinds[i].size,
                            kinds[i].order};
        if (!take_header(w, period))
            return 0;
    }
    return -1;
}

int pprof_cpu_is(const char *head, size_t n)
{
    struct words w;
    uint64_t period;

    return !begin(&w, head, n, &period);
}

/* Up to the end's mark. -1: there is none. */
static int take_stacks(struct profile_cpu *x, struct words *w)
{
    uint64_t count, depth, address = 0;

    while (!next_word(w, &count) && !next_word(w, &depth)) {
        struct stack s = {count, x->addresses.n, (size_t)depth};

        if (depth > DEPTH_MAX || (size_t)(w->end - w->p) / w->size < depth)
            return -1;
        for (uint64_t i = 0; i < depth; i++) {
            next_word(w, &address);
            *vec_push(&x->addresses) = address;
        }
        if (!count && depth == 1 && !address) {
            x->addresses.n = s.first;
            return 0;
        }
        if (depth)
            *vec_push(&x->stacks) = s;
    }
    return -1;
}

/* ---- mappings ---- */

/* "00400000-00fd4000 r-xp 00001000 00:00 1607   /lib/librt.so" */
static void take_mapping(struct profile_cpu *x, const char *s, size_t n)
{
    struct mapping m = {0};
    unsigned long long start, end, offset;
    char *line = mem_strndup(s, n), kind[5];
    int at = 0;

    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, kind, &offset, &at) == 4 && at &&
        (size_t)at < n) {
        m = (struct mapping){start, end, offset, s + at, n - (size_t)at};
        if (strchr(kind, 'x'))
            *vec_push(&x->mappings) = m;
    }
    free(line);
}

static void take_mappings(struct profile_cpu *x, const char *s, const char *end)
{
    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));

        eol = eol ? eol : end;
        take_mapping(x, s, (size_t)(eol - s));
        s = eol + 1;
    }
}

/* ---- frames ---- */

static uint32_t frame_of(struct profile_cpu *x, uint64_t address)
{
    uint64_t *known = map_put(&x->frames, address);
    struct frame f = {.kind = FRAME_NATIVE};
    const struct mapping *m = NULL;
    struct module module = {.kind = MODULE_FILE, .fd = -1};
    struct buf name = {0};
    const char *slash;

    if (*known)
        return (uint32_t)*known;
    for (size_t i = 0; i < x->mappings.n && !m; i++)
        if (address >= x->mappings.a[i].start && address < x->mappings.a[i].end)
            m = &x->mappings.a[i];
    if (m) {
        slash = memrchr(m->path, '/', m->path_n);
        slash = slash ? slash + 1 : m->path;
        buf_addf(&name, "[%.*s+0x%llx]", (int)(m->path + m->path_n - slash), slash,
                 (unsigned long long)(address - m->start + m->offset));
        module.path = strtab_addn(&x->s->strings, m->path, m->path_n);
        f.module = module.path ? frames_add_module(&x->s->frames, &module) : 0;
    } else {
        buf_addf(&name, "[unknown+0x%llx]", (unsigned long long)address);
    }
    f.func = strtab_add(&x->s->strings, name.data);
    *known = frames_add(&x->s->frames, &f);
    buf_release(&name);
    return (uint32_t)*known;
}

/* The second frame of nearly every stack is where the profiler's signal handler returns to. 1: it's gone. */
static int drop_handler(struct profile_cpu *x)
{
    struct map times = {0};
    struct map_slot *slot;
    uint64_t handler = 0;

    for (size_t i = 0; i < x->stacks.n; i++)
        if (x->stacks.a[i].n > 1)
            ++*map_put(&times, x->addresses.a[x->stacks.a[i].first + 1]);
    for (size_t i = 0; (slot = map_next(&times, &i));)
        if (x->stacks.n > 1 && slot->val >= x->stacks.n - x->stacks.n / MARGIN)
            handler = slot->key;
    map_release(&times);
    for (size_t i = 0; i < x->stacks.n && handler; i++) {
        struct stack *s = &x->stacks.a[i];

        if (s->n < 2 || x->addresses.a[s->first + 1] != handler)
            continue;
        x->addresses.a[s->first + 1] = x->addresses.a[s->first];
        s->first++;
        s->n--;
    }
    return handler != 0;
}

/* All but the innermost are return addresses: the call stands before. */
static int take_samples(struct profile_cpu *x, struct err *e)
{
    for (size_t i = 0; i < x->stacks.n; i++) {
        const struct stack *s = &x->stacks.a[i];
        struct event ev = {.kind = EVENT_SAMPLE, .value = s->count};

        for (size_t k = s->n; k-- > 0;) {
            uint64_t address = x->addresses.a[s->first + k];

            ev.stack = stacks_push(&x->s->stacks, ev.stack, frame_of(x, address - (k && address)));
        }
        if (!ev.value)
            continue;
        if (__builtin_add_overflow(x->st->samples, ev.value, &x->st->samples))
            return err_set(e, "its counts add up to more than 64 bits can hold");
        *vec_push(&x->s->events) = ev;
        import_count(x->st, IMPORT_TOOK, "stack|stacks", 1);
    }
    return x->s->events.n ? 0 : err_set(e, "no sample in it (a CPU profile of gperftools was expected)");
}

int pprof_cpu_run(const char *text, size_t n, struct store *s, struct meta *m, struct import_stats *st,
                  struct err *e)
{
    struct profile_cpu x = {.s = s, .st = st};
    struct words w;
    int rc = begin(&w, text, n, &x.period_us);

    if (rc)
        rc = err_set(e, "no header of a CPU profile of gperftools");
    else if (take_stacks(&x, &w))
        import_count(st, IMPORT_LOST, "end that is missing: it was cut off|ends that are missing", 1);
    else
        take_mappings(&x, (const char *)w.p, (const char *)w.end);
    while (!rc && x.handlers < HANDLERS_MAX && drop_handler(&x))
        x.handlers++;
    if (!rc)
        rc = take_samples(&x, e);
    if (!rc)
        *vec_push(&m->notes) = mem_printf("a CPU profile of gperftools: a sample each %llu us of CPU time, "
                                          "code by its place, since it has no "
                                          "names%s",
                                          (unsigned long long)x.period_us,
                                          x.handlers ? "; the frame of its signal handler is left out" : "");
    if (!rc && x.period_us) {
        free(m->event);
        m->event = mem_strdup("cpu-clock");
        m->frequency = (1000000 + x.period_us / 2) / x.period_us;
    }
    vec_release(&x.stacks);
    vec_release(&x.addresses);
    vec_release(&x.mappings);
    map_release(&x.frames);
    return rc;
}
