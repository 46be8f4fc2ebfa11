/* SPDX-License-Identifier: Apache-2.0 */
/* Row 65: many threads or processes that are each started for little work. */
#include "analyze/rules/check.h"

#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>

#define HOT_LEAST 0.5

/* Threads or processes of one name that the main thread's process started, and that came and went. */
struct kind {
    uint32_t comm;
    int processes;
    uint64_t n, wait_ns;
    uint64_t ran, cpu_ns;    /* of those whose CPU time is known */
    uint64_t lives, life_ns; /* of those that were seen for a time */
};

struct brief {
    uint32_t *kind_of; /* task id -> index into kinds + 1; 0: none of these */
    VEC(struct kind) kinds;
};

/* A thread from its first program to its last. */
struct life {
    uint64_t from, to; /* to: where its end was not seen, that of the last that it was seen to do */
    uint32_t last;     /* task id */
};

static uint64_t key_of(const struct task *t)
{
    uint64_t key[] = {t->tid, t->start_ns, t->origin};

    return hash_bytes(key, sizeof(key)) | 1;
}

/* By task id, of all programs of a thread one. Owned by the caller. */
static uint32_t *lives(const struct rule_data *d, struct life *of)
{
    const struct tasks *tasks = &d->s->store.tasks;
    uint32_t *index = mem_calloc(tasks->list.n + 1, sizeof(*index)), n = 0;
    uint64_t *seen = lead_last_seen(&d->s->store);
    struct map known = {0};

    for (uint32_t i = 1; i <= tasks->list.n; i++) {
        const struct task *t = &tasks->list.a[i - 1];
        uint64_t *at = map_put(&known, key_of(t));
        struct life *x;

        if (!*at) {
            *at = ++n;
            of[n] = (struct life){.from = t->first_ns};
        }
        x = &of[*at];
        index[i] = (uint32_t)*at;
        x->from = t->first_ns && t->first_ns < x->from ? t->first_ns : x->from;
        x->to = t->last_ns ? t->last_ns : seen[i];
        x->last = i;
    }
    free(seen);
    map_release(&known);
    return index;
}

static struct kind *kind_for(struct brief *b, uint32_t comm, int processes)
{
    for (size_t i = 0; i < b->kinds.n; i++)
        if (b->kinds.a[i].comm == comm && b->kinds.a[i].processes == processes)
            return &b->kinds.a[i];
    *vec_push(&b->kinds) = (struct kind){.comm = comm, .processes = processes};
    return &b->kinds.a[b->kinds.n - 1];
}

static int is_started(const struct rule_data *d, const struct task *t, uint32_t task)
{
    if (t->pid != t->tid)
        return d->lead.process[task];
    return t->parent && t->parent <= d->s->store.tasks.list.n && d->lead.process[t->parent];
}

/* Those of which nothing was seen but that they ended a wait, have no length. */
static int is_short(const struct rule_data *d, const struct life *x, uint64_t most)
{
    uint64_t end = d->start + d->wall_ns;

    return x->from > d->start && x->from < end && x->to < end && (x->to < x->from || x->to - x->from <= most);
}

static void find(struct brief *b, const struct rule_data *d, uint64_t most)
{
    const struct tasks *tasks = &d->s->store.tasks;
    struct life *of = mem_calloc(tasks->list.n + 1, sizeof(*of));
    uint32_t *life = lives(d, of);

    b->kind_of = mem_calloc(tasks->list.n + 1, sizeof(*b->kind_of));
    for (uint32_t i = 1; i <= tasks->list.n; i++) {
        const struct task *t = &tasks->list.a[i - 1];
        const struct life *x = &of[life[i]];
        struct kind *k;

        if (!is_started(d, t, i) || !is_short(d, x, most))
            continue;
        k = kind_for(b, tasks->list.a[x->last - 1].comm, t->pid == t->tid);
        b->kind_of[i] = (uint32_t)(k - b->kinds.a) + 1;
        if (x->last != i)
            continue;
        k->n++;
        k->ran += t->cpu_ns != 0;
        k->cpu_ns += t->cpu_ns;
        k->lives += x->to > x->from;
        k->life_ns += x->to > x->from ? x->to - x->from : 0;
    }
    free(of);
    free(life);
}

static struct kind *waited_for(struct brief *b, const struct rule_data *d, const struct lead_span *x)
{
    const struct wait *w = lead_wait(d, x);
    uint32_t kind = w && w->waker_task <= d->s->store.tasks.list.n ? b->kind_of[w->waker_task] : 0;

    return kind ? &b->kinds.a[kind - 1] : NULL;
}

/* Those that were waited for most, of which there are many. */
static const struct kind *worst(struct brief *b, const struct rule_data *d, double count)
{
    const struct kind *most = NULL;

    for (size_t i = 0; i < d->lead.spans.n; i++) {
        struct kind *k = waited_for(b, d, &d->lead.spans.a[i]);

        if (k)
            k->wait_ns += d->lead.spans.a[i].end - d->lead.spans.a[i].start;
    }
    for (size_t i = 0; i < b->kinds.n; i++)
        if ((double)b->kinds.a[i].n >= count && b->kinds.a[i].lives &&
            (!most || b->kinds.a[i].wait_ns > most->wait_ns))
            most = &b->kinds.a[i];
    return most;
}

/* The lead's time with them: its waits for them, and what it takes to start one. */
static void measure(struct lead_time *t, struct brief *b, const struct rule_data *d, const struct kind *k)
{
    static const struct place_match starters[] = {
        {"pthread_create", NULL, NULL}, {"__pthread_create_2_1", NULL, NULL},
        {"create_thread", NULL, NULL},  {"__clone", NULL, NULL},
        {"__clone3", NULL, NULL},       {"clone3", NULL, NULL},
        {"fork", NULL, NULL},           {"vfork", NULL, NULL},
        {"posix_spawn", NULL, NULL},    {"__spawni", NULL, NULL},
        {"kernel_clone", NULL, NULL}};
    uint8_t *stacks = places_match(&d->places, starters, ARRAY_SIZE(starters));

    lead_time_init(t, d);
    t->where.waits = 1;
    for (size_t i = 0; i < d->lead.spans.n; i++)
        if (waited_for(b, d, &d->lead.spans.a[i]) == k)
            lead_time_wait(t, d, i);
    lead_time_samples(t, d, stacks, 0);
    free(stacks);
}

/* What they do, by their samples. */
static void seen(struct place_time *t, const struct brief *b, const struct rule_data *d, const struct kind *k)
{
    const struct store *s = &d->s->store;

    place_time_init(t, s);
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind != EVENT_SAMPLE || ev->task > s->tasks.list.n || ev->stack > s->stacks.nodes.n ||
            !b->kind_of[ev->task] || &b->kinds.a[b->kind_of[ev->task] - 1] != k)
            continue;
        t->of[ev->stack] += ev->value;
        t->sum += ev->value;
    }
}

/* Of these samples those in which a process begins or ends. */
static double to_and_fro(const struct place_time *t, const struct rule_data *d)
{
    static const struct place_match begins[] = {
        {NULL, NULL, "ld-linux"},           {NULL, NULL, "ld-musl"},       {"do_exit", NULL, NULL},
        {"do_group_exit", NULL, NULL},      {"bprm_execve", NULL, NULL},   {"__x64_sys_execve", NULL, NULL},
        {"__arm64_sys_execve", NULL, NULL}, {"ret_from_fork", NULL, NULL}, {"exit_mmap", NULL, NULL}};
    uint8_t *stacks = places_match(&d->places, begins, ARRAY_SIZE(begins));
    uint64_t sum = 0;

    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
        sum += stacks[i] ? t->of[i] : 0;
    free(stacks);
    return t->sum ? (double)sum / (double)t->sum : 0;
}

static void tell(struct finding *x, const struct kind *k, const struct lead_time *t, struct place_time *did,
                 const struct rule_data *d)
{
    uint32_t hot = places_hot(&d->places, did, HOT_LEAST, NULL);
    const char *what = k->processes ? "processes" : "threads";
    struct words w = {0};
    struct buf text = {0}, place = {0};
    double starts = k->processes ? to_and_fro(did, d) : 0;

    hot = places_is_start(&d->places, hot) || starts > HOT_LEAST ? 0 : hot;
    if (hot)
        places_label(&d->places, hot, places_line(&d->places, did, hot), &place);
    finding_at(x, d, &t->where, places_hot(&d->places, &t->where, HOT_LEAST, NULL));
    x->title = mem_printf("%s waits for %s that it starts, %s each%s%s", lead_noun(d), what,
                          words_ns(&w, k->lives ? k->life_ns / k->lives : 0), hot ? ", which are in " : "",
                          buf_str(&place));
    buf_addf(&text, "%s %s (%s) were started and ended in this time", words_count(&w, k->n), what,
             strtab_get(&d->s->store.strings, k->comm));
    if (k->ran && !k->processes)
        buf_addf(&text, ", each with %s on a CPU", words_ns(&w, k->cpu_ns / k->ran));
    buf_addf(&text, ". %s", words_plural(&w, t->waits, "wait"));
    if (t->samples)
        buf_addf(&text, " and %s starting them", words_plural(&w, t->samples, "sample"));
    buf_addf(&text, ": %s", words_ns(&w, t->ns));
    buf_addf(&text, "%s%s.", x->line ? ", most in " : "", x->line ? x->line : "");
    if (starts > 0 && did->sum)
        buf_addf(&text, " %s of %s in them %s in their beginning and end: exec, the dynamic linker, exit.",
                 words_share(&w, starts), words_plural(&w, did->sum, "sample"), did->sum == 1 ? "is" : "are");
    x->evidence = buf_detach(&text);
    x->advice = k->processes
                    ? mem_strdup("Do that in this process, or in one that is started once and takes "
                                 "one task after the other.")
                    : mem_strdup("Start a few threads once that take one task after the other (a pool), "
                                 "or give each more to do.");
    buf_release(&place);
}

void check_short_tasks(struct rule_run *r, const struct rule_data *d)
{
    struct brief b = {0};
    const struct kind *k;

    find(&b, d, (uint64_t)(rule_threshold(r, "life") * 1e9));
    k = worst(&b, d, rule_threshold(r, "count"));
    if (k) {
        struct place_time did;
        struct lead_time t;

        measure(&t, &b, d, k);
        seen(&did, &b, d, k);
        if (lead_time_share(&t, d) > rule_threshold(r, "share")) {
            struct finding *x = rule_found(r);

            finding_of_lead(x, &t, d);
            tell(x, k, &t, &did, d);
        }
        lead_time_release(&t);
        place_time_release(&did);
    }
    free(b.kind_of);
    vec_release(&b.kinds);
}
