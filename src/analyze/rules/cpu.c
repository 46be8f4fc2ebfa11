/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 46, 51, 55, 57, 61 and the user's own: who uses the CPUs, and for what. */
#include "analyze/rules/check.h"

#include "analyze/python_file.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* A function that takes less of the wall time explains nothing, however hot it is. */
#define LEAST_OF_WALL 20
/* Of fewer samples a third is no share: 3 of 9 may be a sixth of the time (95 %, binomial). */
#define LEAST_SAMPLES 20
/* A native function with this part of a Python function's own time says what that does. */
#define NATIVE_PART 4

/* ---- functions ---- */

/* Samples of the main thread, or who works for it, where there is one; else of all. */
static void samples_of(struct place_time *t, const struct rule_data *d, int lead)
{
    const struct store *s = &d->s->store;

    place_time_init(t, s);
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind != EVENT_SAMPLE || ev->stack > s->stacks.nodes.n ||
            (lead && (ev->task > s->tasks.list.n || !d->lead.thread_of[ev->task])))
            continue;
        t->of[ev->stack] += ev->value;
        t->sum += ev->value;
    }
}

static int is_nameless(const struct rule_data *d, const struct place *x)
{
    return x && x->kind == FRAME_NATIVE && frame_name_is_place(strtab_get(&d->s->store.strings, x->func));
}

/* By the store's stack ids: what the function's own time is in. Code of one module without names is one. */
static uint8_t *own_stacks(const struct rule_data *d, uint32_t node)
{
    const struct place *x = places_get(&d->places, node), *y;
    uint8_t *own = places_own(&d->places, node);

    for (uint32_t i = 1; is_nameless(d, x) && i <= d->s->store.stacks.nodes.n; i++) {
        y = places_get(&d->places, places_stands(&d->places, i));
        own[i] = is_nameless(d, y) && y->module == x->module;
    }
    return own;
}

/* Of a function's own samples those in which the kernel worked for it. */
static uint64_t in_kernel(const struct rule_data *d, const struct place_time *t, uint32_t node)
{
    const struct store *s = &d->s->store;
    uint8_t *own = own_stacks(d, node);
    uint64_t n = 0;

    for (uint32_t i = 1; i <= s->stacks.nodes.n; i++) {
        const struct frame *f = own[i] ? frames_get(&s->frames, stacks_get(&s->stacks, i)->frame) : NULL;

        n += f && f->kind == FRAME_KERNEL ? t->of[i] : 0;
    }
    free(own);
    return n;
}

struct native {
    uint32_t func; /* string */
    uint64_t samples;
};

/* The native function that most of a Python function's own samples end in; 0 samples: none, or it is what
 * runs Python's own code. */
static struct native native_top(const struct rule_data *d, const struct place_time *t, uint32_t node)
{
    static const char eval[] = "_PyEval_EvalFrameDefault";
    const struct store *s = &d->s->store;
    uint64_t *of = mem_calloc((size_t)strtab_count(&s->strings) + 1, sizeof(*of));
    uint8_t *own = own_stacks(d, node);
    struct native top = {0};

    for (uint32_t i = 1; i <= s->stacks.nodes.n; i++) {
        uint32_t frame = own[i] && t->of[i] ? stacks_get(&s->stacks, i)->frame : 0;
        const struct frame *f = frames_get(&s->frames, frame);
        const struct frame_name *name;
        struct frame_name self;

        if (!f || f->kind != FRAME_NATIVE || !frames_names(&s->frames, frame, &self, &name) ||
            frame_name_is_place(strtab_get(&s->strings, name->func)))
            continue;
        of[name->func] += t->of[i];
        if (of[name->func] > top.samples)
            top = (struct native){name->func, of[name->func]};
    }
    free(own);
    free(of);
    return strncmp(strtab_get(&s->strings, top.func), eval, strlen(eval)) ? top : (struct native){0};
}

/* Where it is no Python function: ", 59.0 % of them in sre_ucs1_match". */
static void add_native(struct buf *out, const struct rule_data *d, const struct place_time *t, uint32_t node,
                       uint64_t self)
{
    const struct store *s = &d->s->store;
    struct native top = native_top(d, t, node);
    const char *func = strtab_get(&s->strings, top.func);
    struct words w = {0};

    buf_addstr(out, ", with what it calls that is no Python function with a name");
    if (top.samples * NATIVE_PART < self)
        return;
    buf_addf(out, ", %s of them in %.*s", words_share(&w, (double)top.samples / (double)self),
             (int)frame_name_whole(func, strlen(func)), func);
}

/* CPU time by samples, where the main thread's is not what is told of: ", 20.3 s of CPU time". */
static void add_seconds(struct buf *out, const struct rule_data *d, uint64_t samples)
{
    struct words w = {0};

    if (d->period_ns)
        buf_addf(out, ", %s of CPU time", words_ns(&w, samples * d->period_ns));
}

/* Who calls it, where that is another one's code: ", called by render (report.py:5)". */
static char *called_by(const struct rule_data *d, const struct place_time *t, uint32_t node, uint64_t self)
{
    uint8_t *own = own_stacks(d, node);
    struct buf text = {0};
    uint64_t part;
    uint32_t asker = places_asker(&d->places, t, own, &part);

    free(own);
    if (!asker || part * 2 < self)
        return mem_strdup("");
    buf_addstr(&text, ", called by ");
    places_label(&d->places, asker, places_line(&d->places, t, asker), &text);
    return buf_detach(&text);
}

static void tell_hot(struct finding *x, const struct rule_data *d, const struct place_time *t, uint32_t node,
                     uint64_t self, int lead)
{
    const char *func = places_func(&d->places, node);
    int python = places_get(&d->places, node)->kind == FRAME_PYTHON;
    uint64_t kernel = python ? 0 : in_kernel(d, t, node);
    struct buf text = {0};
    struct words w = {0};
    const char *module = strtab_get(&d->s->store.strings, places_get(&d->places, node)->module);
    int nameless = is_nameless(d, places_get(&d->places, node));
    const char *file = strtab_get(&d->s->store.strings, places_get(&d->places, node)->file);
    int importing = python && python_file_is_importer(file);
    char *caller = called_by(d, t, node, self);

    func = !nameless ? func : strrchr(module, '/') ? strrchr(module, '/') + 1 : module;
    x->title = mem_printf("Much of the CPU time is in %s%s%s%s", importing ? "imports, " : "", func,
                          nameless ? ", whose functions have no names" : "", caller);
    buf_addf(&text, "%s of %s%s are its own", words_share(&w, (double)self / (double)t->sum),
             words_plural(&w, t->sum, "sample"),
             !lead          ? ""
             : d->lead.crew ? " of its workers"
                            : " of the main thread");
    if (!lead)
        add_seconds(&text, d, self);
    if (python)
        add_native(&text, d, t, node, self);
    if (kernel)
        buf_addf(&text, ", %s of them in what the kernel does for it",
                 words_share(&w, (double)kernel / (double)self));
    buf_addch(&text, '.');
    x->evidence = buf_detach(&text);
    if (kernel > self / 2)
        x->advice =
            mem_printf("It is the kernel's work that takes the time, system calls or page faults: wprof "
                       "show --callees %s has which; fewer and larger ones, or memory that is kept.",
                       func);
    else if (nameless)
        x->advice = mem_printf("Record where %s's symbols are installed (debug packages, a build that is not "
                               "stripped): then its functions have names.",
                               func);
    else if (importing)
        x->advice =
            mem_strdup("Import less: python3 -X importtime lists what takes how long; a local disk and "
                       "compiled files (__pycache__) help.");
    else
        x->advice = mem_printf("%s it less often, or do several at once; wprof show --by "
                               "line and --callers %s say where and for whom.",
                               *caller ? "Call" : "Make it cheaper, call", func);
    free(caller);
}

/* The main thread has no samples: what is told of is the others' time, which is no part of its own. */
static void tell_others(struct finding *x, uint64_t self, const struct place_time *t,
                        const struct rule_data *d)
{
    double share = (double)self / (double)t->sum;

    x->severity = share > 0.5 ? FINDING_MEDIUM : FINDING_LOW;
    x->why =
        mem_strdup(d->lead.task ? "the main thread was hardly on a CPU: it is the other threads' CPU time"
                                : "it is the CPU time of all threads");
}

static int is_cuda(const struct places *p, const struct place *x, void *arg)
{
    return !strncmp(strtab_get(&p->s->strings, x->func), "CUDA:", 5);
}

void check_hot_function(struct rule_run *r, const struct rule_data *d)
{
    struct place_time t;
    uint64_t self = 0;
    uint32_t node;
    int lead = d->lead.task && d->lead.samples.n;

    samples_of(&t, d, lead);
    node = places_top(&d->places, &t, &self);
    if (is_nameless(d, places_get(&d->places, node))) {
        uint8_t *own = own_stacks(d, node);

        self = 0;
        for (uint32_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
            self += own[i] ? t.of[i] : 0;
        free(own);
    }
    if (node && places_get(&d->places, node)->kind == FRAME_MARKER) {
        rule_not_checked(r, "most samples are %s, which is no function", places_func(&d->places, node));
        node = 0;
    } else if (node && is_cuda(&d->places, places_get(&d->places, node), NULL)) {
        rule_note(r, "most samples are of %s, which runs on no CPU", places_func(&d->places, node));
        node = 0;
    }
    if (node && t.sum >= LEAST_SAMPLES && (double)self / (double)t.sum > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);

        x->weight = RULE_WEIGHT_LAST;
        if (lead && d->period_ns) {
            uint8_t *stacks = own_stacks(d, node);
            struct lead_time lt;

            lead_time_init(&lt, d);
            lead_time_samples(&lt, d, stacks, 0);
            x->least_ns = d->wall_ns / LEAST_OF_WALL;
            finding_of_lead(x, &lt, d);
            lead_time_release(&lt);
            free(stacks);
        }
        finding_at(x, d, &t, node);
        tell_hot(x, d, &t, node, self, lead);
        if (!x->timed && !d->period_ns)
            x->why = mem_strdup("shares are of samples: this session has no times");
        else if (!lead)
            tell_others(x, self, &t, d);
    }
    place_time_release(&t);
}

void check_cuda_launches(struct rule_run *r, const struct rule_data *d)
{
    uint8_t *stacks = places_match_by(&d->places, is_cuda, NULL);
    struct words w = {0};
    struct place_time t;
    uint64_t n = 0;
    double share;

    samples_of(&t, d, 0);
    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
        n += stacks[i] ? t.of[i] : 0;
    share = t.sum ? (double)n / (double)t.sum : 0;
    if (share > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);

        x->severity = share > 0.2 ? FINDING_MEDIUM : FINDING_LOW;
        x->title = mem_strdup("Much of what was sampled is in CUDA kernels");
        x->evidence = mem_printf("%s of %s have a CUDA: frame.", words_share(&w, share),
                                 words_plural(&w, t.sum, "sample"));
        x->advice = mem_strdup("Group small kernels, or record them once as a CUDA graph.");
        x->why = mem_strdup("shares are of samples: what it costs in time is not known");
    } else {
        rule_note(r, "%s of the samples have a CUDA: frame: it is bound by the CPU", words_share(&w, share));
    }
    free(stacks);
    place_time_release(&t);
}

/* ---- the user's ---- */

struct own {
    regex_t re;
    struct buf label;
};

static int matches(const struct places *p, const struct place *x, void *arg)
{
    struct own *o = arg;
    const char *file = strtab_get(&p->s->strings, x->file ? x->file : x->module), *end = strrchr(file, '/');

    /* With the folder that it is in: "loads (json/__init__.py)". */
    while (end && end > file && end[-1] != '/')
        end--;
    buf_clear(&o->label);
    buf_addf(&o->label, "%s (%s)", strtab_get(&p->s->strings, x->func), end ? end : file);
    return !regexec(&o->re, buf_str(&o->label), 0, NULL, 0);
}

void rule_own_check(struct findings *f, const struct rule_own *own, const struct rule_data *d)
{
    struct own o = {0};
    struct place_time t;
    struct words w = {0};
    struct buf text = {0};
    uint64_t hit = 0;
    uint8_t *stacks;
    struct check *c = vec_push(&f->checks);

    *c = (struct check){.id = own->name, .title = own->pattern, .state = CHECK_CLEAN};
    if (regcomp(&o.re, own->pattern, REG_EXTENDED | REG_NOSUB))
        return;
    stacks = places_match_by(&d->places, matches, &o);
    samples_of(&t, d, 0);
    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++) {
        if (stacks[i])
            hit += t.of[i];
        else
            t.of[i] = 0;
    }
    if (!(d->has & NEED_SAMPLES)) {
        c->state = CHECK_NOT_DONE;
        c->detail = mem_printf("needs samples: %s", rule_need_help(NEED_SAMPLES));
    } else if (t.sum && (double)hit / (double)t.sum > own->share) {
        struct finding *x = findings_add(f, own->name);
        struct lead_time lt;

        c->state = CHECK_FOUND;
        lead_time_init(&lt, d);
        if (d->lead.task && d->period_ns)
            lead_time_samples(&lt, d, stacks, 0);
        if (lt.ns)
            finding_of_lead(x, &lt, d);
        x->title = mem_printf("%s of the CPU time is in what matches %s",
                              words_share(&w, (double)hit / (double)t.sum), own->pattern);
        buf_addf(&text, "%s of %s", words_count(&w, hit), words_plural(&w, t.sum, "sample"));
        add_seconds(&text, d, hit);
        buf_addf(&text, "; allowed are %s.", words_share(&w, own->share));
        x->evidence = buf_detach(&text);
        t.sum = hit;
        finding_at(x, d, &t, places_hot(&d->places, &t, 0.5, NULL));
        x->advice = mem_strdup(own->advice);
        x->certainty = FINDING_MEASURED;
        x->weight = RULE_WEIGHT_CAUSE;
        lead_time_release(&lt);
    }
    regfree(&o.re);
    buf_release(&o.label);
    free(stacks);
    place_time_release(&t);
}

/* ---- threads and processes ---- */

struct use {
    uint64_t samples, switches, cpu_ns, from, to;
};

static struct use *uses(const struct rule_data *d)
{
    const struct store *s = &d->s->store;
    struct use *u = mem_calloc(s->tasks.list.n + 1, sizeof(*u));

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (!ev->task || ev->task > s->tasks.list.n)
            continue;
        if (ev->kind == EVENT_SAMPLE)
            u[ev->task].samples += ev->value;
        if (ev->kind == EVENT_OFFCPU || (ev->kind == EVENT_RUNQ && ev->flags & EVENT_PREEMPTED))
            u[ev->task].switches += ev->value;
    }
    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];
        struct use *x = &u[i + 1];

        x->from = t->first_ns > d->start ? t->first_ns : d->start;
        x->to = t->last_ns ? t->last_ns : d->start + d->wall_ns;
        x->cpu_ns = t->cpu_ns ? t->cpu_ns : x->samples * d->period_ns;
    }
    return u;
}

static double remote_of(const struct rule_data *d, uint32_t pid)
{
    for (size_t i = 0; d->topology && i < d->topology->edges.n; i++) {
        const struct graph_edge *e = d->topology->edges.a[i];
        const struct graph_attr *a;

        if (e->kind != GRAPH_EDGE_NUMA_ACCESS || graph_attr_int(&e->a->attrs, "pid", -1) != pid)
            continue;
        a = graph_attr(&e->attrs, "remote_share");
        if (a && a->type == GRAPH_F64)
            return a->f;
    }
    return 0;
}

void check_hot_thread(struct rule_run *r, const struct rule_data *d)
{
    struct use *u = uses(d);
    const struct tasks *tasks = &d->s->store.tasks;

    for (uint32_t i = 1; i <= tasks->list.n && d->wall_ns; i++) {
        uint64_t life = u[i].to > u[i].from ? u[i].to - u[i].from : 0;
        double cpu = life ? (double)u[i].cpu_ns / (double)life : 0,
               rate = life ? (double)u[i].switches * 1e9 / (double)life : 0;
        double remote = remote_of(d, tasks->list.a[i - 1].ns_pid);
        unsigned score = (cpu > rule_threshold(r, "cpu") ? 2 : 0) +
                         (rate > rule_threshold(r, "switches") ? 1 : 0) + (remote > 0.2 ? 2 : 0);
        struct buf name = {0};
        struct words w = {0};
        struct finding *x;

        if (life < d->wall_ns / 10 || score < rule_threshold(r, "score"))
            continue;
        x = rule_found(r);
        lead_name(&d->s->store, i, &name);
        x->process = buf_detach(&name);
        x->severity = score >= 5 ? FINDING_MEDIUM : FINDING_LOW;
        x->title = mem_printf("Thread %s has a score of %u (%s)", x->process, score,
                              score >= 5 ? "severe" : "medium");
        x->evidence =
            mem_printf("%s of a CPU, %s switches/s, %s of its process's accesses remote.",
                       words_share(&w, cpu), words_count(&w, (uint64_t)rate), words_share(&w, remote));
        x->advice = mem_strdup("Spread its work, wake it less often (batches instead of single items), keep "
                               "its memory on its node.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("cache misses, one point of the score, are not compared with references here");
    }
    free(u);
}

void check_one_thread(struct rule_run *r, const struct rule_data *d)
{
    double used = cpus_used(d), busy;
    unsigned cpus = d->s->meta.ncpus;
    uint64_t off = d->lead.short_ns, alive = d->lead.life_ns;
    struct words w = {0};

    if (!cpus || used <= 0) {
        rule_not_checked(r, "needs the CPU time of the processes and the number of CPUs");
        return;
    }
    if (d->lead.crew) {
        rule_note(r, "the main thread only waits, others of its threads work");
        return;
    }
    for (size_t i = 0; i < d->lead.spans.n; i++)
        off += d->lead.spans.a[i].end - d->lead.spans.a[i].start;
    busy = d->wall_ns && alive > off ? (double)(alive - off) / (double)d->wall_ns : 0;
    if (busy > rule_threshold(r, "busy") && used / cpus < rule_threshold(r, "cpu")) {
        struct finding *x = rule_found(r);
        struct buf name = {0};

        lead_name(&d->s->store, d->lead.task, &name);
        x->process = buf_detach(&name);
        x->severity = FINDING_LOW;
        x->title = mem_printf("One thread works, the other CPUs idle");
        x->evidence = mem_printf("The main thread was on a CPU %s of the time; %.1f of %u CPUs were used.",
                                 words_share(&w, busy), used, cpus);
        x->advice = mem_strdup("Divide the work among threads or processes, as far as it can be divided.");
        x->why = mem_strdup("how much of the work can be divided is not known");
        x->certainty = FINDING_LIKELY;
    }
}

struct group {
    uint32_t comm, parent, n, most;
    uint64_t sum, max;
};

void check_load_gap(struct rule_run *r, const struct rule_data *d)
{
    const struct store *s = &d->s->store;
    struct use *u = uses(d);
    uint64_t *cpu = mem_calloc(s->tasks.list.n + 1, sizeof(*cpu));
    VEC(struct group) groups = {0};

    for (uint32_t i = 1; i <= s->tasks.list.n; i++) {
        uint32_t leader = s->tasks.list.a[i - 1].leader;

        cpu[leader <= s->tasks.list.n ? leader : 0] += u[i].cpu_ns;
    }
    for (uint32_t i = 1; i <= s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i - 1];
        size_t k = 0;

        /* Those that were there most of the time: a process that ends early had little to do. */
        if (t->pid != t->tid || !t->parent || u[i].to - u[i].from < d->wall_ns / 2 || u[i].to < u[i].from ||
            !cpu[i])
            continue;
        while (k < groups.n && (groups.a[k].comm != t->comm || groups.a[k].parent != t->parent))
            k++;
        if (k == groups.n)
            *vec_push(&groups) = (struct group){.comm = t->comm, .parent = t->parent};
        groups.a[k].n++;
        groups.a[k].sum += cpu[i];
        if (cpu[i] > groups.a[k].max) {
            groups.a[k].max = cpu[i];
            groups.a[k].most = i;
        }
    }
    for (size_t k = 0; k < groups.n; k++) {
        const struct group *g = &groups.a[k];
        double mean = (double)g->sum / g->n, gap = g->max ? 1 - mean / (double)g->max : 0;
        struct buf name = {0};
        struct words w = {0};
        struct finding *x;

        /* What hardly uses a CPU at all is not unequal in a way that matters. */
        if (g->n < 2 || gap <= rule_threshold(r, "gap") || g->max < d->wall_ns / 10)
            continue;
        x = rule_found(r);
        lead_name(s, g->most, &name);
        x->process = buf_detach(&name);
        x->severity = FINDING_LOW;
        x->title = mem_printf("%s has more work than its like", x->process);
        x->evidence =
            mem_printf("%s of CPU time, of %u processes of that name %s on average: a gap of %s.",
                       words_ns(&w, g->max), g->n, words_ns(&w, (uint64_t)mean), words_share(&w, gap));
        x->advice = mem_strdup("Divide the work evenly: smaller pieces that are taken when one is done.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("whether others wait for it is not known");
    }
    vec_release(&groups);
    free(u);
    free(cpu);
}
