/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_reader.h"

#include "exchange/import/perf_data_describe.h"
#include "exchange/import/perf_data_names.h"
#include "exchange/import/perf_data_threads.h"

#include <linux/perf_event.h>
#include <string.h>

#define MISC_COMM_EXEC (1u << 13)

/* No time and no period is larger. */
#define SENSIBLE_MAX (INT64_MAX / 4)

/* What became of the samples of an event. */
struct event_state {
    uint64_t samples;
    uint32_t group; /* the first event of its name */
    uint8_t known;  /* group is set */
};

struct reader {
    struct perf_samples out;
    struct perf_file file;
    struct perf_maps maps;
    struct perf_threads threads;
    struct perf_stack stack;
    struct import_stats *st;
    VEC(struct event_state) events; /* by index of file.attrs */
    VEC(struct event) samples;      /* of the event that is taken, so far */
    struct map counters;            /* id -> its last value, where samples tell values */
    uint32_t taken;                 /* its group; UINT32_MAX: none yet */
    const char *asked;              /* for an event; NULL: the first one is taken */
};

/* ---- which event ---- */

static size_t bare_name(struct reader *x, size_t event, const char **name)
{
    *name = perf_file_event_name(&x->file, event);
    return perf_event_bare(*name, strlen(*name));
}

static int same_name(struct reader *x, size_t a, size_t b)
{
    const char *name_a, *name_b;
    size_t n = bare_name(x, a, &name_a);

    return n == bare_name(x, b, &name_b) && !memcmp(name_a, name_b, n);
}

static struct event_state *event_state(struct reader *x, size_t event)
{
    struct event_state *state;

    while (x->events.n <= event)
        *vec_push(&x->events) = (struct event_state){0};
    state = &x->events.a[event];
    if (!state->known) {
        while (state->group < event && !same_name(x, state->group, event))
            state->group++;
        state->known = 1;
    }
    return state;
}

static int is_asked(struct reader *x, size_t event)
{
    const char *name;
    size_t n = bare_name(x, event, &name);

    return strlen(x->asked) == n && !memcmp(name, x->asked, n);
}

/* Of the events that have samples, the first one is taken: what was taken of later ones goes again. */
static int is_wanted(struct reader *x, size_t event, uint32_t group)
{
    if (x->asked)
        return is_asked(x, event);
    if (group < x->taken) {
        vec_clear(&x->samples);
        x->taken = group;
    }
    return group == x->taken;
}

/* ---- records ---- */

/* A fixed period isn't told with each sample. */
static uint64_t weight_of(const struct perf_attr *a, const struct perf_sample *s)
{
    uint64_t period = s->period;

    if (!s->period_told)
        period = perf_attr_flag(a, PERF_ATTR_FREQ) ? 1 : a->period;
    return period ? period : 1;
}

/* a: what tells the sample's layout; of a group it is its leader, not the event. */
static void add_sample(struct reader *x, size_t event, const struct perf_attr *a, const struct perf_rec *r,
                       const struct perf_sample *s, uint64_t weight)
{
    struct event_state *state = event_state(x, event);

    if (s->time > SENSIBLE_MAX || weight > SENSIBLE_MAX) {
        import_count(x->st, IMPORT_LOST, "sample that makes no sense|samples that make no sense", 1);
        return;
    }
    state->samples++;
    if (!is_wanted(x, event, state->group))
        return;
    *vec_push(&x->samples) =
        (struct event){.ts = s->time,
                       .value = weight,
                       .task = s->tid_told ? perf_threads_task(&x->threads, s->pid, s->tid) : 0,
                       .stack = perf_stack_of(&x->stack, a, s, perf_rec_mode(r)),
                       .cpu = (uint16_t)s->cpu,
                       .kind = EVENT_SAMPLE};
}

static void count_unknown(struct reader *x)
{
    import_count(x->st, IMPORT_LOST,
                 "sample of an event that is not told|samples of events that are not told", 1);
}

/* A sample that tells what counters read is one of each of them, and counts as much as they went on since. */
static void add_counters(struct reader *x, const struct perf_attr *a, const struct perf_rec *r,
                         const struct perf_sample *s)
{
    for (uint64_t i = 0; i < s->reads_n; i++) {
        uint64_t id, value, *last, weight;
        int event;

        perf_sample_value(&x->file, a, s, i, &id, &value);
        event = perf_file_event(&x->file, id);
        if (event < 0) {
            count_unknown(x);
            continue;
        }
        last = map_put(&x->counters, id);
        weight = value - *last;
        *last = value;
        if (weight)
            add_sample(x, (size_t)event, a, r, s, weight);
    }
}

static void take_sample(struct reader *x, const struct perf_rec *r)
{
    int event = perf_rec_event(&x->file, r);
    const struct perf_attr *a;
    struct perf_sample s;

    if (event < 0) {
        count_unknown(x);
        return;
    }
    a = &x->file.attrs.a[event];
    if (perf_sample_read(a, r, &s))
        import_count(x->st, IMPORT_LOST, "sample that is not whole|samples that are not whole", 1);
    else if (s.reads)
        add_counters(x, a, r, &s);
    else
        add_sample(x, (size_t)event, a, r, &s, weight_of(a, &s));
}

static int take_comm(struct reader *x, const struct perf_rec *r)
{
    struct perf_words w = r->body;
    uint32_t pid = perf_u32(&w), tid = perf_u32(&w);
    const char *comm;
    size_t n;

    if (w.c.bad)
        return -1;
    comm = perf_text(&w, &n);
    if (r->misc & MISC_COMM_EXEC)
        perf_maps_exec(&x->maps, pid);
    perf_threads_comm(&x->threads, tid, comm, n);
    return 0;
}

static int take_fork(struct reader *x, const struct perf_rec *r)
{
    struct perf_words w = r->body;
    uint32_t pid = perf_u32(&w), parent = perf_u32(&w), tid = perf_u32(&w), from = perf_u32(&w);

    if (w.c.bad)
        return -1;
    perf_threads_fork(&x->threads, tid, from);
    perf_maps_fork(&x->maps, pid, parent);
    return 0;
}

/* LOST: an id, then how many; LOST_SAMPLES: how many. */
static int take_lost(struct reader *x, const struct perf_rec *r)
{
    struct perf_words w = r->body;
    uint64_t n = perf_u64(&w);

    if (r->type == PERF_REC_LOST)
        n = perf_u64(&w);
    if (w.c.bad)
        return -1;
    import_count(x->st, IMPORT_NOTED,
                 r->type == PERF_REC_LOST ? "record that perf lost|records that perf lost"
                                          : "sample that the kernel dropped|samples that the kernel dropped",
                 n);
    return 0;
}

static int take_other(struct reader *x, const struct perf_rec *r)
{
    switch (r->type) {
    case PERF_REC_COMM:
        return take_comm(x, r);
    case PERF_REC_FORK:
        return take_fork(x, r);
    case PERF_REC_MMAP:
    case PERF_REC_MMAP2:
        return perf_maps_mmap(&x->maps, r);
    case PERF_REC_KSYMBOL:
        return perf_maps_symbol(&x->maps, r);
    case PERF_REC_LOST:
    case PERF_REC_LOST_SAMPLES:
        return take_lost(x, r);
    case PERF_REC_THROTTLE:
        import_count(x->st, IMPORT_NOTED,
                     "time that the kernel throttled it|times that the kernel throttled it", 1);
        return 0;
    case PERF_REC_SWITCH:
    case PERF_REC_SWITCH_CPU_WIDE:
        import_count(x->st, IMPORT_LEFT, "context switch|context switches", 1);
        return 0;
    case PERF_REC_EXIT:
    case PERF_REC_UNTHROTTLE:
        return 0; /* nothing more to be known */
    }
    import_count(x->st, IMPORT_LEFT, PERF_SAMPLES_RECORD, 1);
    return 0;
}

static void take_record(void *ctx, const struct perf_rec *r)
{
    struct reader *x = ctx;

    if (r->type == PERF_REC_SAMPLE)
        take_sample(x, r);
    else if (take_other(x, r))
        import_count(x->st, IMPORT_LOST, "record that makes no sense|records that make no sense", 1);
}

/* ---- the samples ---- */

static void count_samples(struct reader *x)
{
    for (size_t i = 0; i < x->events.n; i++) {
        const char *name;
        size_t n;

        if (!x->events.a[i].samples || (x->asked ? is_asked(x, i) : x->events.a[i].group == x->taken))
            continue;
        n = bare_name(x, i, &name);
        perf_samples_other(&x->out, name, n, x->events.a[i].samples);
    }
    for (size_t i = 0; i < x->samples.n; i++) {
        x->samples.a[i].metric = x->out.event;
        perf_samples_add(&x->out, &x->samples.a[i]);
    }
    perf_describe_stacks(&x->stack, x->st);
}

/* Periods of the clocks are ns on a CPU. */
static void add_cpu_time(struct reader *x, size_t event)
{
    const struct perf_attr *a = &x->file.attrs.a[event];
    struct tasks *tasks = &x->out.s->tasks;

    if (a->type != PERF_TYPE_SOFTWARE ||
        (a->config != PERF_COUNT_SW_CPU_CLOCK && a->config != PERF_COUNT_SW_TASK_CLOCK))
        return;
    for (size_t i = 0; i < x->samples.n; i++) {
        struct task *t = tasks_get(tasks, x->samples.a[i].task);

        if (t) /* it is new, so that it is written anyway */
            t->cpu_ns += x->samples.a[i].value;
    }
}

/* The event that was taken: its index; -1: none. */
static int taken_event(struct reader *x)
{
    if (!x->asked)
        return x->taken == UINT32_MAX ? -1 : (int)x->taken;
    for (size_t i = 0; i < x->events.n; i++)
        if (x->events.a[i].samples && is_asked(x, i))
            return (int)i;
    return -1;
}

static void set_event(struct reader *x)
{
    int event = taken_event(x);
    const char *name;
    size_t n;

    if (event < 0)
        return;
    n = bare_name(x, (size_t)event, &name);
    x->out.event = strtab_addn(&x->out.s->strings, name, n);
    add_cpu_time(x, (size_t)event);
}

/* ---- all of it ---- */

static int read_records(struct reader *x, struct meta *m, const struct perf_source *from, struct err *e)
{
    struct perf_stream_stats stats;

    if (x->file.in_directory && !from->parts_n)
        return err_set(e,
                       "perf recorded with --threads, into a directory, and this is one of its files: name "
                       "the directory");
    perf_stream_read(&x->file, from->parts, from->parts_n, take_record, x, &stats);
    set_event(x);
    perf_describe(&x->file, &stats, m, x->st);
    perf_describe_time(&x->file, x->samples.a, x->samples.n, from->written, m);
    count_samples(x);
    if (perf_samples_describe(&x->out,
                              stats.damage[0] ? stats.damage : "records of `perf record` were expected", e))
        return -1;
    perf_names_kernel(&x->maps, m);
    perf_names_files(&x->maps, m);
    return 0;
}

int perf_source_read(const struct perf_source *from, struct store *s, struct meta *m, struct import_stats *st,
                     struct err *e)
{
    struct reader x = {.st = st, .taken = UINT32_MAX, .asked = from->event};
    int rc;

    perf_samples_init(&x.out, s, m, st, from->event);
    rc = perf_file_open(&x.file, from->p, from->n, e);
    perf_maps_init(&x.maps, s, &x.file);
    x.threads.out = &x.out;
    x.stack.maps = &x.maps;
    if (!rc)
        rc = read_records(&x, m, from, e);
    perf_stack_release(&x.stack);
    perf_threads_release(&x.threads);
    perf_maps_release(&x.maps);
    perf_file_release(&x.file);
    perf_samples_release(&x.out);
    vec_release(&x.events);
    vec_release(&x.samples);
    map_release(&x.counters);
    return rc;
}
