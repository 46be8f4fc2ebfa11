/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 23, 28, 29, 33 and 34: what the figures of each second tell. */
#include "analyze/programs.h"
#include "analyze/rules/check.h"

#include <stdlib.h>

#define MILLION 1e6

/* Samples a CPU from which on it is no chance that the others have none. */
enum { SEEN_LEAST = 20 };

/* A counter's whole increase over all tasks but the machine's; -1: it was not measured. */
static int is_of_process(const struct rule_data *d, uint32_t task)
{
    return !metrics_sums_is_machine(&d->sums, task);
}

static double total(const struct rule_data *d, enum metric_id id)
{
    double sum = -1;

    for (size_t i = 0; i < d->sums.list.n; i++)
        if (d->sums.list.a[i].id == id && is_of_process(d, d->sums.list.a[i].task))
            sum = (sum < 0 ? 0 : sum) + d->sums.list.a[i].total;
    return sum;
}

static double machine_total(const struct rule_data *d, enum metric_id id)
{
    const struct metrics_sum *m = metrics_sums_of_machine(&d->sums, id);

    return m ? m->total : -1;
}

static double seconds(const struct rule_data *d)
{
    return (double)d->wall_ns / 1e9;
}

/* Of the process with most of it, its task. */
static uint32_t most_of(const struct rule_data *d, enum metric_id id)
{
    double most = -1;
    uint32_t task = 0;

    for (size_t i = 0; i < d->sums.list.n; i++)
        if (d->sums.list.a[i].id == id && d->sums.list.a[i].total > most &&
            is_of_process(d, d->sums.list.a[i].task)) {
            most = d->sums.list.a[i].total;
            task = d->sums.list.a[i].task;
        }
    return task;
}

/* Each of the metric's intervals from `from` on, claimed for as long as its value says. */
static void claim_intervals(struct finding *x, const struct rule_data *d, enum metric_id id, double ns_each)
{
    uint32_t name = strtab_find(&d->s->store.strings, metrics_get(id)->name);

    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind == EVENT_METRIC && name && ev->metric == name && ev->dur && ev->value)
            finding_claim(x, ev->ts, ev->ts + ev->dur, (uint64_t)((double)ev->value * ns_each));
    }
}

static int is_reason(const struct rule_data *d, const struct lead_span *x, unsigned reason)
{
    const struct wait *w = lead_wait(d, x);

    return w && w->reason == reason;
}

static void waits_of(struct lead_time *t, const struct rule_data *d, unsigned reason)
{
    lead_time_init(t, d);
    for (size_t i = 0; i < d->lead.spans.n; i++)
        if (is_reason(d, &d->lead.spans.a[i], reason))
            lead_time_wait(t, d, i);
}

static void set_process(struct finding *x, const struct rule_data *d, uint32_t task)
{
    struct buf name = {0};

    if (!task)
        return;
    lead_name(&d->s->store, task, &name);
    free(x->process);
    x->process = buf_detach(&name);
}

/* Of a recording without a main thread, or where other programs than its have most of it: "cc1 (39 processes)
 * 65.2 %, sh 20.1 %". Nothing: none is worth naming. */
static void name_programs(const struct rule_data *d, enum programs_by by, uint32_t most, struct buf *out)
{
    const struct store *s = &d->s->store;
    struct programs p;

    if (d->lead.task && programs_comm(s, most) == programs_comm(s, d->lead.task))
        return;
    programs_init(&p, d->s, &d->sums);
    programs_name(&p, s, by, out);
    programs_release(&p);
}

/* ---- disks ---- */

void check_io_bound(struct rule_run *r, const struct rule_data *d)
{
    double wait = machine_total(d, METRIC_ID_CPU_IOWAIT), share = 0;
    unsigned cpus = d->s->meta.ncpus ? d->s->meta.ncpus : 1;
    struct words w = {0};
    struct lead_time t;

    if (wait >= 0 && d->wall_ns)
        share = wait / ((double)d->wall_ns * cpus);
    waits_of(&t, d, WAIT_DISK);
    lead_time_short(&t, d, WAIT_DISK);
    if (share > rule_threshold(r, "iowait") || lead_time_share(&t, d) > rule_threshold(r, "blocked")) {
        struct finding *x = rule_found(r);
        uint32_t node = places_hot(&d->places, &t.where, 0.5, NULL);

        if (t.ns)
            finding_of_lead(x, &t, d);
        finding_at(x, d, &t.where, node);
        x->title = mem_printf("The run waits for disks%s%s", node ? ", in " : "",
                              node ? places_func(&d->places, node) : "");
        x->evidence =
            mem_printf("CPUs idled for a disk %s of their time; %s was blocked on disks for %s in %s.",
                       wait < 0 ? "(not measured)" : words_share(&w, share), lead_noun_in(d),
                       words_ns(&w, t.ns), lead_time_waits(&w, &t));
        x->advice =
            mem_strdup(lead_time_writes(&t, d)
                           ? lead_writes_advice
                           : "Cache what is read again, read ahead in other threads, keep data in fewer "
                             "and larger files, or on a faster disk.");
        if (!t.ns) {
            x->certainty = FINDING_LIKELY;
            x->why = mem_strdup(
                "I/O wait is the whole machine's, and the main thread was not seen waiting for a disk");
        }
    }
    lead_time_release(&t);
}

/* ---- quotas ---- */

void check_throttled(struct rule_run *r, const struct rule_data *d)
{
    double periods = total(d, METRIC_ID_CGROUP_PERIODS),
           throttled = total(d, METRIC_ID_CGROUP_THROTTLED_PERIODS);
    double ns = total(d, METRIC_ID_CGROUP_THROTTLED);
    uint32_t task = most_of(d, METRIC_ID_CGROUP_PERIODS);
    const struct metrics_sum *limit = metrics_sums_find(&d->sums, task, METRIC_ID_CGROUP_LIMIT);
    struct words w = {0};
    struct finding *x;

    if (periods < 0) {
        rule_note(r, "the target's control group has no CPU quota, or it was not measured");
        return;
    }
    if (periods <= 0 || throttled / periods <= rule_threshold(r, "periods"))
        return;
    x = rule_found(r);
    x->weight = RULE_WEIGHT_CAUSE;
    claim_intervals(x, d, METRIC_ID_CGROUP_THROTTLED, 1);
    set_process(x, d, task);
    x->title = mem_strdup("The control group's CPU quota stops the program");
    x->evidence = mem_printf(
        "In %s of %s periods (%s) the quota was used up; the group was kept off CPUs for %s, CPUs added up.",
        words_count(&w, (uint64_t)throttled), words_count(&w, (uint64_t)periods),
        words_share(&w, throttled / periods), ns < 0 ? "a time not measured" : words_ns(&w, (uint64_t)ns));
    x->advice =
        limit
            ? mem_printf("Raise the limit, which is %.2f CPUs now, or start no more threads than it allows.",
                         limit->last / MILLION)
            : mem_strdup("Raise the limit, or start no more threads than it allows.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup(
        "throttled time is the group's: how much of it held the main thread up is bounded, not known");
}

/* ---- too many threads ---- */

/* The CPUs that it may use, as far as is known: those that it was sampled on; all of them where samples are
 * too few to tell. */
static unsigned cpus_allowed(const struct rule_data *d)
{
    uint64_t seen[16] = {0}; /* of the first 1,024 CPUs */
    unsigned samples = 0, n = 0;

    if (programs_of_machine(&d->s->meta))
        return d->s->meta.ncpus;
    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind != EVENT_SAMPLE || ev->cpu >= 64 * ARRAY_SIZE(seen))
            continue;
        seen[ev->cpu / 64] |= 1ull << ev->cpu % 64;
        samples++;
    }
    for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
        n += (unsigned)__builtin_popcountll(seen[i]);
    return n && samples >= SEEN_LEAST * n && n < d->s->meta.ncpus ? n : d->s->meta.ncpus;
}

/* Whatever share of a short run it is: a turn or two that others had before it are worth no word. */
#define LEAST_DELAY_NS 10e6

/* Its own threads are too many, those of others, or both. */
static void tell_oversubscribed(struct finding *x, const struct rule_data *d, double own, double others,
                                double limit)
{
    unsigned cpus = d->s->meta.ncpus, allowed = cpus_allowed(d);
    int mine = own > limit * allowed, whole = programs_of_machine(&d->s->meta);
    char *more = NULL;

    x->title = mem_strdup(mine || whole  ? "More threads want to run than there are CPUs"
                          : others > own ? "Other programs take the CPUs that this one wants"
                                         : "More threads want to run than there are CPUs");
    if (mine && allowed < cpus) /* a thread alone may be on one CPU by chance */
        more = mem_printf(
            "%s On average %.1f of its own threads wanted the %u CPU%s that its samples are on; the "
            "machine has %u.",
            x->evidence, own, allowed, allowed == 1 ? "" : "s", cpus);
    else if (whole && own + others > 0)
        more =
            mem_printf("%s On average %.1f threads wanted one of %u CPUs.", x->evidence, own + others, cpus);
    else if (others > 0)
        more = mem_printf(
            "%s On average %.1f threads of the machine wanted one of %u CPUs, %.1f of them its own.",
            x->evidence, own + others, cpus, own);
    if (more) {
        free(x->evidence);
        x->evidence = more;
    }
    x->advice =
        mem_strdup(mine && allowed < cpus ? "Let it use more CPUs (its affinity, taskset, a cpuset keeps it "
                                            "on these), or start fewer threads."
                   : whole ? "Run fewer of these at a time (make -j, workers), or with fewer threads each "
                             "(OMP_NUM_THREADS, MKL_NUM_THREADS, torch.set_num_threads), or on more CPUs."
                   : mine || others <= own
                       ? "Fewer threads a process: OMP_NUM_THREADS, MKL_NUM_THREADS, "
                         "torch.set_num_threads, fewer workers; or more CPUs."
                       : "Run it where less else runs, or give it CPUs of its own (cpusets, taskset).");
}

void check_oversubscribed(struct rule_run *r, const struct rule_data *d)
{
    const struct metrics_sum *running = metrics_sums_of_machine(&d->sums, METRIC_ID_SCHED_RUNNING);
    double delay = total(d, METRIC_ID_SCHED_DELAY), cpu = cpus_used(d) * (double)d->wall_ns, share;
    double most = rule_threshold(r, "threads") * cpus_allowed(d);
    double own = d->wall_ns ? (cpu + (delay > 0 ? delay : 0)) / (double)d->wall_ns : 0;
    unsigned cpus = d->s->meta.ncpus;
    struct words w = {0};
    struct buf who = {0};
    struct lead_time t;
    struct finding *x;

    if (delay < 0 || !cpus) {
        rule_not_checked(r, "needs the run queue's delay, which the metrics of this session lack");
        return;
    }
    share = cpu + delay > 0 ? delay / (cpu + delay) : 0;
    if (share <= rule_threshold(r, "delay") || delay < LEAST_DELAY_NS)
        return;
    if (running && running->mean <= rule_threshold(r, "threads") * cpus && own <= most) {
        rule_note(
            r, "threads waited %s of their time for a CPU, but on average no more than %.1f wanted one of %u",
            words_share(&w, share), running->mean, cpus);
        return;
    }
    lead_time_init(&t, d);
    for (size_t i = 0; i < d->lead.spans.n; i++)
        if (d->lead.spans.a[i].kind == LEAD_QUEUE)
            lead_time_wait(&t, d, i);
    lead_time_short(&t, d, LEAD_SHORT_QUEUE);
    if (own <= most && d->lead.task && (d->has & NEED_OFFCPU) &&
        lead_time_share(&t, d) <= rule_threshold(r, "share")) {
        rule_note(r, "threads waited %s of their time for a CPU, %s %s of the run", words_share(&w, share),
                  lead_noun_in(d), words_share(&w, lead_time_share(&t, d)));
        lead_time_release(&t);
        return;
    }
    x = rule_found(r);
    if (t.ns)
        finding_of_lead(x, &t, d);
    set_process(x, d, most_of(d, METRIC_ID_SCHED_DELAY));
    name_programs(d, PROGRAMS_DELAY, most_of(d, METRIC_ID_SCHED_DELAY), &who);
    x->evidence = mem_printf(
        "The threads waited %s for a CPU, %s of the time that they ran or could have%s%s%s%s%s%s.",
        words_ns(&w, (uint64_t)delay), words_share(&w, share), t.ns ? "; " : "", t.ns ? lead_noun_in(d) : "",
        t.ns ? " " : "", t.ns ? words_ns(&w, t.ns) : "", who.len ? "; most of it " : "", buf_str(&who));
    buf_release(&who);
    if (!d->lead.task) {
        x->severity = FINDING_MEDIUM;
        x->why = mem_strdup("there is no one main thread whose time it could be taken from");
    }
    tell_oversubscribed(x, d, own, running && running->mean > own ? running->mean - own : 0,
                        rule_threshold(r, "threads"));
    x->certainty = running ? FINDING_MEASURED : FINDING_LIKELY;
    lead_time_release(&t);
}

/* ---- page faults ---- */

/* Increase of a counter of the targets from a moment on. */
static double increase_after(const struct rule_data *d, enum metric_id id, uint64_t from)
{
    uint32_t name = strtab_find(&d->s->store.strings, metrics_get(id)->name);
    double sum = 0;

    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind == EVENT_METRIC && name && ev->metric == name && ev->ts >= from &&
            is_of_process(d, ev->task))
            sum += (double)ev->value;
    }
    return sum;
}

void check_major_faults(struct rule_run *r, const struct rule_data *d)
{
    uint64_t warm = d->start + (uint64_t)(rule_threshold(r, "warm-up") * (double)d->wall_ns);
    double left = seconds(d) * (1 - rule_threshold(r, "warm-up")), rate;
    struct words w = {0};
    struct lead_time t;

    if (total(d, METRIC_ID_FAULTS_MAJOR) < 0 || left <= 0) {
        rule_not_checked(r, "needs counts of page faults, which the metrics of this session lack");
        return;
    }
    rate = increase_after(d, METRIC_ID_FAULTS_MAJOR, warm) / left;
    lead_time_init(&t, d);
    t.where.waits = 1;
    for (size_t i = 0; i < d->lead.spans.n; i++)
        if (is_reason(d, &d->lead.spans.a[i], WAIT_FAULT) && d->lead.spans.a[i].start >= warm)
            lead_time_wait(&t, d, i);
    if (t.waits || rate > rule_threshold(r, "rate"))
        lead_time_short(&t, d, WAIT_FAULT);
    if (rate > rule_threshold(r, "rate") || lead_time_share(&t, d) > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);
        uint64_t self;
        uint32_t node = places_top(&d->places, &t.where, &self);

        if (t.ns)
            finding_of_lead(x, &t, d);
        set_process(x, d, most_of(d, METRIC_ID_FAULTS_MAJOR));
        finding_at(x, d, &t.where, node);
        x->title = mem_printf("Pages are read from disk long after the start%s%s", node ? ", in " : "",
                              node ? places_func(&d->places, node) : "");
        x->evidence = mem_printf("%.1f major faults/s after the first %s; %s waited %s for pages, %s.", rate,
                                 words_share(&w, rule_threshold(r, "warm-up")), lead_noun_in(d),
                                 words_ns(&w, t.ns), lead_time_waits(&w, &t));
        x->advice = mem_strdup(
            "More memory, or less of it in use; a file that is mapped may be read once, in large pieces or "
            "ahead (madvise's MADV_WILLNEED, MADV_SEQUENTIAL), or locked (mlock).");
    }
    lead_time_release(&t);
}

void check_minor_faults(struct rule_run *r, const struct rule_data *d)
{
    static const struct place_match faults[] = {
        {"asm_exc_page_fault", NULL, NULL}, {"handle_mm_fault", NULL, NULL},
        {"do_user_addr_fault", NULL, NULL}, {"__x64_sys_munmap", NULL, NULL},
        {"__x64_sys_mmap", NULL, NULL},     {"__x64_sys_madvise", NULL, NULL},
        {"__x64_sys_brk", NULL, NULL}};
    double n = total(d, METRIC_ID_FAULTS_MINOR), rate = d->wall_ns ? n / seconds(d) : 0;
    struct buf who = {0}, text = {0};
    struct words w = {0};
    struct lead_time t;
    struct finding *x;
    uint8_t *stacks;

    if (n < 0) {
        rule_not_checked(r, "needs counts of page faults, which the metrics of this session lack");
        return;
    }
    if (rate <= rule_threshold(r, "rate") || n <= rule_threshold(r, "rate")) /* what a start takes is none */
        return;
    stacks = places_match(&d->places, faults, ARRAY_SIZE(faults));
    lead_time_init(&t, d);
    lead_time_samples(&t, d, stacks, 0);
    x = rule_found(r);
    if (t.ns)
        finding_of_lead(x, &t, d);
    set_process(x, d, most_of(d, METRIC_ID_FAULTS_MINOR));
    x->title = mem_strdup("Memory is mapped anew all the time");
    name_programs(d, PROGRAMS_FAULTS, most_of(d, METRIC_ID_FAULTS_MINOR), &who);
    buf_addf(&text, "%s minor faults/s%s%s", words_count(&w, (uint64_t)rate), who.len ? ", of them " : "",
             buf_str(&who));
    if (t.samples)
        buf_addf(&text, "; %s spent %s in page faults, mmap and munmap (%s)", lead_noun_in(d),
                 words_ns(&w, t.ns), words_plural(&w, t.samples, "sample"));
    buf_addch(&text, '.');
    x->evidence = buf_detach(&text);
    buf_release(&who);
    x->advice =
        mem_strdup("Keep large buffers and use them again; let malloc keep memory (MALLOC_TRIM_THRESHOLD_, "
                   "MALLOC_MMAP_THRESHOLD_, jemalloc); use huge pages for them.");
    free(stacks);
    lead_time_release(&t);
}
