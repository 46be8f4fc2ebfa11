/* SPDX-License-Identifier: Apache-2.0 */
/* meta.json of the merged session: what is equal in all is said once, figures are added up, the rest is told
 * with whose it is. */
#include "base/units.h"
#include "exchange/merge/merge.h"
#include "model/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 8 }; /* hosts that are named in one text */

static int equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void set(char **to, char *text)
{
    free(*to);
    *to = text;
}

static char *copy(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

/* "node1, node2 and 3 more": as they were named, without what tells equal names apart. */
static char *host_names(const struct merge *m)
{
    struct buf out = {0};
    size_t n = m->hosts.n;

    for (size_t i = 0; i < n && i < NAMED; i++)
        buf_addf(&out, "%s%s", i ? "," : "", m->hosts.a[i].name);
    if (n > NAMED)
        buf_addf(&out, " and %zu more", n - NAMED);
    return buf_detach(&out);
}

/* What all say; NULL where they differ. */
static char *common(const struct merge *m, size_t at)
{
    const char *first = *(char **)((char *)&m->parts.a[0].meta + at);

    for (size_t i = 1; i < m->parts.n; i++)
        if (!equal(first, *(char **)((char *)&m->parts.a[i].meta + at)))
            return NULL;
    return copy(first);
}

static int has(char *const *a, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(a[i], s))
            return 1;
    return 0;
}

/* Of a list of texts: what all have, or what any has. */
#define TEXTS_COMMON(m, list)                                                                                \
    do {                                                                                                     \
        for (size_t i_ = 0; i_ < (m)->parts.a[0].meta.list.n; i_++) {                                        \
            const char *s_ = (m)->parts.a[0].meta.list.a[i_];                                                \
            size_t n_ = 1;                                                                                   \
            while (n_ < (m)->parts.n && has((m)->parts.a[n_].meta.list.a, (m)->parts.a[n_].meta.list.n, s_)) \
                n_++;                                                                                        \
            if (n_ == (m)->parts.n)                                                                          \
                *vec_push(&(m)->meta.list) = mem_strdup(s_);                                                 \
        }                                                                                                    \
    } while (0)
#define TEXTS_ANY(m, list)                                                                                   \
    do {                                                                                                     \
        for (size_t k_ = 0; k_ < (m)->parts.n; k_++)                                                         \
            for (size_t i_ = 0; i_ < (m)->parts.a[k_].meta.list.n; i_++)                                     \
                if (!has((m)->meta.list.a, (m)->meta.list.n, (m)->parts.a[k_].meta.list.a[i_]))              \
                    *vec_push(&(m)->meta.list) = mem_strdup((m)->parts.a[k_].meta.list.a[i_]);               \
    } while (0)

static int commands_equal(const struct meta *a, const struct meta *b)
{
    if (a->command.n != b->command.n)
        return 0;
    for (size_t i = 0; i < a->command.n; i++)
        if (strcmp(a->command.a[i], b->command.a[i]) != 0)
            return 0;
    return 1;
}

static void about_command(struct merge *m)
{
    const struct meta *first = &m->parts.a[0].meta;
    size_t same = 1;

    while (same < m->parts.n && commands_equal(first, &m->parts.a[same].meta))
        same++;
    for (size_t i = 0; i < first->command.n && same == m->parts.n; i++)
        *vec_push(&m->meta.command) = mem_strdup(first->command.a[i]);
    m->meta.workload = common(m, offsetof(struct meta, workload));
    if (!m->meta.workload)
        m->meta.workload = copy(first->workload);
    for (size_t i = 0; i < m->parts.n; i++)
        if (!m->meta.exit_code || m->meta.exit_code == -1)
            m->meta.exit_code = m->parts.a[i].meta.exit_code;
}

/* On the clock of the first. */
static void about_times(struct merge *m)
{
    struct meta *to = &m->meta;

    to->realtime_offset = m->parts.a[0].meta.realtime_offset;
    for (size_t i = 0; i < m->parts.n; i++) {
        const struct merge_part *p = &m->parts.a[i];
        int64_t by = m->domains.a[p->domain].offset.ns;
        uint64_t start = (uint64_t)((int64_t)p->meta.start_mono + by),
                 end = (uint64_t)((int64_t)p->meta.end_mono + by);

        if (!p->meta.start_mono)
            continue;
        to->start_mono = !to->start_mono || start < to->start_mono ? start : to->start_mono;
        to->end_mono = end > to->end_mono ? end : to->end_mono;
    }
    to->start_ts = (double)(to->start_mono + to->realtime_offset) / 1e9;
    to->end_ts = (double)(to->end_mono + to->realtime_offset) / 1e9;
    if (!to->start_mono) {
        to->start_ts = m->parts.a[0].meta.start_ts;
        to->end_ts = m->parts.a[0].meta.end_ts;
    }
    to->duration_s = to->end_ts - to->start_ts;
}

static void about_machine(struct merge *m)
{
    struct meta *to = &m->meta;

    to->machine = common(m, offsetof(struct meta, machine));
    to->kernel = common(m, offsetof(struct meta, kernel));
    to->os = common(m, offsetof(struct meta, os));
    to->cpu_model = common(m, offsetof(struct meta, cpu_model));
    to->cwd = common(m, offsetof(struct meta, cwd));
    to->user = common(m, offsetof(struct meta, user));
    to->event = common(m, offsetof(struct meta, event));
    to->tier = common(m, offsetof(struct meta, tier));
    to->end_reason = common(m, offsetof(struct meta, end_reason));
    to->clock_id = m->domains.n == 1 ? common(m, offsetof(struct meta, clock_id)) : NULL;
    to->frequency = m->parts.a[0].meta.frequency;
    for (size_t i = 0; i < m->parts.n; i++)
        if (m->parts.a[i].meta.frequency != to->frequency)
            to->frequency = 0;
    for (size_t d = 0; d < m->domains.n; d++)
        for (size_t i = 0; i < m->parts.n; i++)
            if (m->parts.a[i].domain == d) {
                to->ncpus += m->parts.a[i].meta.ncpus;
                break;
            }
}

/* ---- notes ---- */

struct said {
    const char *text;
    size_t n, first;
};

static void add_notes(struct merge *m)
{
    VEC(struct said) all = {0};

    for (size_t p = 0; p < m->parts.n; p++)
        for (size_t i = 0; i < m->parts.a[p].meta.notes.n; i++) {
            const char *text = m->parts.a[p].meta.notes.a[i];
            size_t k = 0;

            while (k < all.n && strcmp(all.a[k].text, text) != 0)
                k++;
            if (k == all.n)
                *vec_push(&all) = (struct said){text, 0, p};
            all.a[k].n++;
        }
    for (size_t i = 0; i < all.n; i++) {
        const struct merge_part *p = &m->parts.a[all.a[i].first];

        if (all.a[i].n == m->parts.n)
            *vec_push(&m->meta.notes) = mem_strdup(all.a[i].text);
        else if (all.a[i].n > 1)
            *vec_push(&m->meta.notes) =
                mem_printf("%zu of %zu recordings: %s", all.a[i].n, m->parts.n, all.a[i].text);
        else
            *vec_push(&m->meta.notes) =
                mem_printf("%s rank %ld: %s", m->hosts.a[p->host].name, p->rank, all.a[i].text);
    }
    vec_release(&all);
}

/* "node2: 1.2 ms later, +-80 us, by 12 bounds of sockets". */
static void add_clock_note(struct merge *m, const struct merge_host *h)
{
    const struct clocks_offset *o = &m->domains.a[h->domain].offset;
    char by[32], error[32];

    units_duration(by, sizeof(by), (uint64_t)(o->ns < 0 ? -o->ns : o->ns));
    if (o->error == ORIGIN_ERROR_UNKNOWN)
        snprintf(error, sizeof(error), "error not known");
    else
        units_duration(error, sizeof(error), o->error);
    *vec_push(&m->meta.notes) = mem_printf(
        "clock of %s: moved by %s%s, %s%s (%s; %llu bounds, %llu estimates)%s", h->name,
        o->ns < 0 ? "-" : "+", by, o->error == ORIGIN_ERROR_UNKNOWN ? "" : "+-", error,
        origins_clock_name(o->clock), (unsigned long long)o->bounds, (unsigned long long)o->estimates,
        o->contradict ? "; the bounds contradict each other: clocks that drift, or were set" : "");
}

void merge_about(struct merge *m)
{
    struct meta *to = &m->meta;

    to->schema_version = 1;
    to->exit_code = -1;
    to->host = host_names(m);
    for (size_t i = 0; i < m->hosts.n; i++)
        *vec_push(&to->hosts) = mem_strdup(m->hosts.a[i].name);
    TEXTS_ANY(m, sessions);
    for (size_t i = 0; i < m->parts.n; i++)
        if (m->parts.a[i].meta.session_id)
            *vec_push(&to->sessions) = mem_strdup(m->parts.a[i].meta.session_id);
    to->kind = mem_strdup("merged");
    *vec_push(&to->kinds) = mem_strdup("merged");
    TEXTS_ANY(m, kinds);
    TEXTS_ANY(m, languages);
    for (size_t i = 0; i < m->barriers.n; i++)
        *vec_push(&to->barriers) = mem_strdup(m->barriers.a[i]);
    TEXTS_COMMON(m, env);
    about_command(m);
    about_times(m);
    about_machine(m);
    *vec_push(&to->notes) = mem_printf("merged of %zu recordings of %zu host%s", m->parts.n, m->hosts.n,
                                       m->hosts.n == 1 ? "" : "s");
    if (m->numbered)
        *vec_push(&to->notes) =
            mem_strdup("the recordings tell no ranks, or one twice: they are numbered in the order given");
    for (size_t i = 0; i < m->hosts.n && m->domains.n > 1; i++)
        if (m->hosts.a[i].domain)
            add_clock_note(m, &m->hosts.a[i]);
    add_notes(m);
}

/* ---- collectors and counters ---- */

static struct meta_collector *collector(struct meta *m, const char *name)
{
    for (size_t i = 0; i < m->collectors.n; i++)
        if (equal(m->collectors.a[i].name, name))
            return &m->collectors.a[i];
    return NULL;
}

/* Where they differ it is on, in some. */
void merge_meta_add(struct merge *m, const struct merge_part *p)
{
    for (size_t i = 0; i < p->meta.collectors.n; i++) {
        const struct meta_collector *c = &p->meta.collectors.a[i];
        struct meta_collector *to = collector(&m->meta, c->name);

        if (!to) {
            *vec_push(&m->meta.collectors) =
                (struct meta_collector){copy(c->name), copy(c->state), copy(c->detail)};
            continue;
        }
        if (!equal(to->state, c->state)) {
            set(&to->state, mem_strdup(equal(to->state, "on") || equal(c->state, "on") ? "on" : "off"));
            set(&to->detail, mem_strdup("not in all recordings"));
        } else if (!equal(to->detail, c->detail) && !equal(to->detail, "not in all recordings")) {
            set(&to->detail, mem_strdup("differs between recordings"));
        }
    }
}

/* Figures that are no sums: the largest. */
static int is_largest(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && !strcmp(name + n - 4, "_max");
}

void merge_counters_add(struct merge *m, const struct store *from)
{
    for (size_t i = 0; i < from->counters.n; i++) {
        const char *name = strtab_get(&from->strings, from->counters.a[i].name);
        uint64_t before = store_counter(&m->store, name, 0), value = from->counters.a[i].value;

        if (!strncmp(name, METRICS_GROUP_COUNTER, sizeof(METRICS_GROUP_COUNTER) - 1))
            continue; /* a number and no count, of tasks that are others here */
        store_set_counter(&m->store, name,
                          is_largest(name) ? (value > before ? value : before) : before + value);
    }
}

void merge_sums(struct merge *m)
{
    struct map_slot *s;

    vec_clear(&m->store.events);
    for (size_t i = 0; (s = map_next(&m->samples, &i));)
        *vec_push(&m->store.events) = (struct event){.kind = EVENT_SAMPLE,
                                                     .value = s->val,
                                                     .stack = (uint32_t)(s->key >> 16),
                                                     .flags = (uint16_t)s->key};
}

static void note_count(struct merge *m, uint64_t n, const char *what)
{
    if (n)
        *vec_push(&m->meta.notes) = mem_printf("%llu %s", (unsigned long long)n, what);
}

void merge_finish(struct merge *m)
{
    note_count(m, m->joined, "connections between hosts joined by both ends' addresses and ports");
    note_count(m, m->left.frames, "frames have other names in other recordings: the first one's are kept");
    note_count(m, m->left.readings,
               "readings of a machine that another recording has read at the time are left out");
    note_count(m, m->left.lines,
               "lines of source have another text in other recordings: the first one's is kept");
    note_count(m, m->extra.n, "files of extra/ are carried over; what is equal in several is there once");
    note_count(m, m->left.renamed,
               "of them lie in extra/HOST-rRANK/: of another recording there is another file of the name");
    note_count(m, m->left.others, "links, devices or deep directories in extra/ are not carried over");
    note_count(m, m->left.files, "files beside the recordings' logs are not carried over");
    note_count(m, m->left.looks,
               "topology.ndjson are not carried over: topology.json has what they add up to");
    note_count(m, m->left.blocks, "blocks of newer versions of the log were skipped");
    note_count(m, m->left.damaged, "recordings were damaged: what can be read of them is here");
    note_count(m, m->left.unsealed, "recordings have no end: what was written of them is here");
}
