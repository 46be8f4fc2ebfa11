/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 31, 45, 49 and 60: what the main thread, or who works for it, waits for, where no rule knows better.
 */
#include "analyze/rules/chase.h"
#include "analyze/timeouts.h"

#include "base/hash.h"

#include <stdlib.h>

#define HOT_LEAST 0.5
/* Of less than that of the time nothing is said to be where the others were. */
#define NAMED_LEAST 0.35

typedef int (*wanted)(const struct rule_data *d, const struct lead_span *x, uint64_t arg);

static void collect(struct lead_time *t, struct chase *c, const struct rule_data *d, wanted want,
                    uint64_t arg)
{
    lead_time_init(t, d);
    t->where.waits = 1;
    if (c)
        chase_init(c, d);
    for (size_t i = 0; i < d->lead.spans.n; i++) {
        if (!want(d, &d->lead.spans.a[i], arg))
            continue;
        lead_time_wait(t, d, i);
        if (c && d->lead.spans.a[i].kind == LEAD_WAIT)
            chase_wait(c, d, i);
    }
}

/* What a kernel thread's stack begins with, x86 and arm64. */
static int is_kernel_thread(const struct rule_data *d, uint32_t stack)
{
    const struct store *s = &d->s->store;

    for (const struct stack_node *n; (n = stacks_get(&s->stacks, stack)); stack = n->parent) {
        const struct frame *f = frames_get(&s->frames, n->frame);
        const char *func = f && f->kind == FRAME_KERNEL ? strtab_get(&s->strings, f->func) : "";

        if (!strcmp(func, "kthread") || !strncmp(func, "ret_from_fork", 13))
            return 1;
    }
    return 0;
}

/* Another process ended it, whose work it is that takes the time: a disk's is not that of the thread, the
 * kernel's or another program's, that the disk was done in. */
static int is_outside(const struct rule_data *d, const struct lead_span *x)
{
    const struct wait *w = lead_wait(d, x);
    const struct tasks *tasks = &d->s->store.tasks;

    return w && w->waker_task && w->waker_task <= tasks->list.n &&
           !task_same_process(&tasks->list.a[w->waker_task - 1],
                              &tasks->list.a[d->lead.threads.a[x->thread].task - 1]) &&
           w->reason != WAIT_DISK && w->reason != WAIT_FAULT && !is_kernel_thread(d, w->waker_stack);
}

/* ---- a lock ---- */

/* A lock by its name without who held it, who is another one each time; 0: it has none. */
static uint64_t lock_key(const struct rule_data *d, uint32_t what, int *len)
{
    const char *name = what ? strtab_get(&d->s->store.strings, what) : "", *held = strstr(name, ", held by");

    *len = held ? (int)(held - name) : (int)strlen(name);
    return *len ? hash_bytes(name, (size_t)*len) | 1 : 0;
}

static int is_lock(const struct rule_data *d, const struct lead_span *x, uint64_t key)
{
    const struct wait *w = lead_wait(d, x);
    int len;

    return w && w->reason == WAIT_FUTEX && !is_outside(d, x) && (!key || lock_key(d, w->what, &len) == key);
}

/* The lock with the most time, and its share of all; 0: none has a name. */
static uint64_t worst_lock(const struct rule_data *d, uint32_t *what, double *share)
{
    struct map sums = {0};
    uint64_t most = 0, all = 0, worst = 0;

    for (size_t i = 0; i < d->lead.spans.n; i++) {
        const struct lead_span *x = &d->lead.spans.a[i];
        uint64_t key, *sum;
        int len;

        if (!is_lock(d, x, 0))
            continue;
        all += x->end - x->start;
        key = lock_key(d, lead_wait(d, x)->what, &len);
        if (!key)
            continue;
        sum = map_put(&sums, key);
        *sum += x->end - x->start;
        if (*sum > most) {
            most = *sum;
            worst = key;
            *what = lead_wait(d, x)->what;
        }
    }
    map_release(&sums);
    *share = all ? (double)most / (double)all : 0;
    return worst;
}

/* "in crunch (app.py:12)", or "" */
static uint32_t hot_of(const struct chase *c, const struct rule_data *d, struct buf *out)
{
    uint32_t node = places_hot(&d->places, &c->where, HOT_LEAST, NULL);
    uint64_t self;

    if (!node) {
        node = places_top(&d->places, &c->where, &self);
        if ((double)self < NAMED_LEAST * (double)c->where.sum)
            node = 0;
    }
    if ((double)(c->told + c->woken) < NAMED_LEAST * (double)c->asked || places_is_start(&d->places, node) ||
        frame_name_is_place(places_func(&d->places, node)))
        node = 0;
    if (node)
        places_label(&d->places, node, places_line(&d->places, &c->where, node), out);
    return node;
}

static void who_was_where(struct buf *text, const struct chase *c, const struct rule_data *d,
                          const char *place)
{
    struct buf who = {0};
    struct words w = {0};
    size_t n = chase_name(c, d, &who);

    if (n)
        buf_addf(text, " For %s of it %s %s what ended the waits", words_ns(&w, c->told + c->woken),
                 buf_str(&who), n == 1 ? "was" : "were");
    if (n && *place)
        buf_addf(text, ", mostly in %s%s%s", place, chase_state(c) ? ", " : "",
                 chase_state(c) ? chase_state(c) : "");
    if (n)
        buf_addch(text, '.');
    buf_release(&who);
}

/* Its time is in Python's threading.Lock, as far as that is not how a condition waits. */
static int is_python_lock(const struct rule_data *d, const struct lead_time *t)
{
    static const struct place_match locks[] = {{"PyThread_acquire_lock_timed", NULL, NULL},
                                               {"_PyMutex_LockTimed", NULL, NULL}};
    static const struct place_match conditions[] = {{"wait", "threading.py", NULL},
                                                    {"wait_for", "threading.py", NULL},
                                                    {"_wait_for_tstate_lock", "threading.py", NULL},
                                                    {"join", "threading.py", NULL}};

    return lead_time_mostly_in(t, d, locks, ARRAY_SIZE(locks)) &&
           !lead_time_mostly_in(t, d, conditions, ARRAY_SIZE(conditions));
}

/* "futex 0x10 (mutex)", or that it has none. */
static void lock_name(const struct rule_data *d, uint32_t what, struct buf *out)
{
    int len;

    if (!lock_key(d, what, &len)) {
        buf_addstr(out, "a futex");
        return;
    }
    buf_addf(out, "%.*s", len, strtab_get(&d->s->store.strings, what));
    if (memchr(out->data, '(', out->len) && out->data[out->len - 1] != ')')
        buf_addch(out, ')');
}

/* Short waits are for what most of the listed ones are for, as far as anybody knows. */
#define MOSTLY 0.5

/* The waits for the worst lock: its key. *brief: the short ones are taken for its, too. */
static uint64_t lock_time(const struct rule_data *d, struct lead_time *t, struct chase *c, uint32_t *what,
                          int *brief)
{
    double share;
    uint64_t key = worst_lock(d, what, &share);

    collect(t, c, d, is_lock, key);
    *brief = t->waits && (!key || share > MOSTLY);
    if (*brief)
        lead_time_short(t, d, WAIT_FUTEX);
    return key;
}

void check_lock_wait(struct rule_run *r, const struct rule_data *d)
{
    uint32_t what = 0, waiting;
    int brief;
    struct buf place = {0}, text = {0}, name = {0};
    struct words w = {0};
    struct lead_time t;
    struct chase c;
    struct finding *x;

    lock_time(d, &t, &c, &what, &brief);
    if (lead_time_share(&t, d) > rule_threshold(r, "share")) {
        int mutex;

        lock_name(d, what, &name);
        mutex = strstr(buf_str(&name), "mutex") != NULL || is_python_lock(d, &t);
        x = rule_found(r);
        x->weight = RULE_WEIGHT_GENERAL;
        x->least_ns = (uint64_t)(rule_threshold(r, "share") * (double)d->wall_ns);
        finding_of_lead(x, &t, d);
        hot_of(&c, d, &place);
        waiting = places_hot(&d->places, &t.where, HOT_LEAST, NULL);
        finding_at(x, d, &t.where, waiting);
        x->title = mem_printf("%s waits for %s%s%s", lead_noun(d),
                              mutex                          ? "a lock"
                              : c.other_process > c.told / 2 ? "other processes"
                                                             : "another thread",
                              place.len ? ", held up in " : "", buf_str(&place));
        buf_addf(&text, "%s for %s: %s, the longest %s", lead_time_waits(&w, &t), buf_str(&name),
                 words_ns(&w, t.ns), words_ns(&w, t.longest));
        buf_addf(&text, "%s%s.", x->line ? ", in " : "", x->line ? x->line : "");
        who_was_where(&text, &c, d, buf_str(&place));
        x->evidence = buf_detach(&text);
        x->advice = mem_strdup(
            mutex ? "Hold the lock for less, or give each thread data of its own."
            : c.other_process > c.told / 2
                ? "What those processes do is what this one waits for: make it cheaper, or divide it among "
                  "more "
                  "of them."
                : "Make what the other thread does cheaper, or let it begin earlier; wprof show --waits has "
                  "all waits.");
        x->certainty = chase_certainty(&c);
        if (t.short_ns > t.ns / 2) {
            x->certainty = FINDING_LIKELY;
            x->why =
                mem_strdup("most waits were too short to be listed: that they are for the same lock as the "
                           "listed ones is taken for granted");
        }
    }
    buf_release(&place);
    buf_release(&name);
    lead_time_release(&t);
    chase_release(&c);
}

/* ---- another process ---- */

static const char inferred_why[] = "nobody saw who ended the waits: it is inferred from what both did";

static int is_process_wait(const struct rule_data *d, const struct lead_span *x, uint64_t arg)
{
    return is_outside(d, x);
}

/* The file whose lock most of another process's waits are for, where most are for locks: "/x/log.txt", "";
 * NULL: they are not. */
static const char *locked_file(const struct rule_data *d, const struct lead_time *t)
{
    struct map sums = {0};
    uint64_t all = 0, most = 0;
    uint32_t what = 0;

    for (size_t i = 0; i < d->lead.spans.n; i++) {
        const struct lead_span *x = &d->lead.spans.a[i];
        const struct wait *w = lead_wait(d, x);
        uint64_t *sum;

        if (!is_outside(d, x) || w->reason != WAIT_LOCK)
            continue;
        all += x->end - x->start;
        sum = map_put(&sums, w->what);
        *sum += x->end - x->start;
        if (*sum > most && w->what) {
            most = *sum;
            what = w->what;
        }
    }
    map_release(&sums);
    if (all <= t->ns / 2)
        return NULL;
    return what && *strtab_get(&d->s->store.strings, what) == '/' ? strtab_get(&d->s->store.strings, what)
                                                                  : "";
}

/* What they wait for is that the other one lets a file go. */
static void tell_file_lock(struct finding *x, const char *who, const char *file, const char *comm,
                           const char *place, const char *state)
{
    const char *slash = strrchr(file, '/');

    free(x->title);
    x->title = mem_printf("%s waits for a file lock%s%s%s%s%s%s", who, *file ? ", of " : "",
                          slash && slash[1] ? slash + 1 : file,
                          *place ? ", held up in "
                          : comm ? ", held by "
                                 : "",
                          *place ? place
                          : comm ? comm
                                 : "",
                          state ? ", " : "", state ? state : "");
    free(x->advice);
    x->advice =
        mem_strdup("Hold the lock for less, take it less often, or give each process a file of its own "
                   "(what is appended in one write needs none); wprof show --waits has all waits.");
}

void check_process_wait(struct rule_run *r, const struct rule_data *d)
{
    struct buf place = {0}, text = {0};
    struct words w = {0};
    struct lead_time t;
    struct chase c;

    collect(&t, &c, d, is_process_wait, 0);
    if (lead_time_share(&t, d) > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);
        uint32_t hot = hot_of(&c, d, &place);
        const char *comm, *state, *file = locked_file(d, &t);

        x->weight = RULE_WEIGHT_GENERAL;
        x->least_ns = (uint64_t)(rule_threshold(r, "share") * (double)d->wall_ns);
        finding_of_lead(x, &t, d);
        finding_at(x, d, &c.where, hot);
        comm = chase_comm(&c, d);
        state = hot ? chase_state(&c) : NULL;
        x->title = mem_printf("%s waits for another process%s%s%s%s%s%s", lead_noun(d), comm ? ", " : "",
                              comm ? comm : "", hot ? ", which is in " : "",
                              hot ? places_func(&d->places, hot) : "", state ? ", " : "", state ? state : "");
        buf_addf(&text, "%s that another process ended: %s, the longest %s.",
                 words_plural(&w, t.waits, "wait"), words_ns(&w, t.ns), words_ns(&w, t.longest));
        who_was_where(&text, &c, d, buf_str(&place));
        x->evidence = buf_detach(&text);
        x->advice = mem_strdup(
            "Make that cheaper, let it begin earlier, or have several of those processes; wprof show --waits "
            "has the chain of each wait.");
        if (file)
            tell_file_lock(x, lead_noun(d), file, comm, buf_str(&place), state);
        x->certainty = chase_certainty(&c);
        if (c.inferred > c.told / 2)
            x->why = mem_strdup(inferred_why);
    }
    buf_release(&place);
    lead_time_release(&t);
    chase_release(&c);
}

/* ---- any cause ---- */

struct cause {
    const char *title, *advice;
};

static const struct cause causes[WAIT_OTHER + 1] = {
    [WAIT_UNKNOWN] = {"is blocked, nothing tells in what",
                      "Record as root, or with the capabilities that wprof doctor names: "
                      "then the cause is seen."},
    [WAIT_SLEEP] =
        {"sleeps",
         "Wait for the event itself (a condition, a queue, poll) where it sleeps for a fixed time."},
    [WAIT_DISK] = {"waits for a disk", "Read ahead in another thread, cache, or read less."},
    [WAIT_FUTEX] = {"waits for other threads", "See what they do: wprof show --waits."},
    [WAIT_POLL] = {"waits in poll or select",
                   "See who ends those waits: wprof show --waits; what comes from the network or a "
                   "device shows as [irq]."},
    [WAIT_PIPE] = {"waits for a pipe",
                   "See who is at its other end: wprof show --waits, wprof render --view topology."},
    [WAIT_SOCKET] = {"waits for a socket",
                     "Ask for more at a time, or for several things at once; see the other end."},
    [WAIT_FAULT] = {"waits for pages", "Give it more memory, or touch less of it."},
    [WAIT_LOCK] = {"waits for a lock in the kernel",
                   "Fewer threads that map and unmap memory, or use one file, wait less."},
    [WAIT_CHILD] = {"waits for a child process",
                    "What the child does is what counts: wprof show --by process."},
    [WAIT_GIL] = {"waits for Python's GIL", "Work in processes, or in native code that gives the GIL up."},
    [WAIT_OTHER] = {"is blocked in a system call", "wprof show --waits names the call."},
};

static int is_cause(const struct rule_data *d, const struct lead_span *x, uint64_t reason)
{
    const struct wait *w = lead_wait(d, x);

    return x->kind == LEAD_WAIT && wait_reason_of(w) == reason;
}

/* What ends waits for that is another thread's doing, who may be far away. */
static int has_other_end(unsigned reason)
{
    return reason == WAIT_SOCKET || reason == WAIT_PIPE || reason == WAIT_POLL || reason == WAIT_OTHER;
}

static void tell_blocked(struct finding *x, const struct lead_time *t, unsigned reason)
{
    struct buf text = {0};
    struct words w = {0};

    buf_addf(&text, "%s, %s in all", lead_time_waits(&w, t), words_ns(&w, t->ns));
    if (t->waits)
        buf_addf(&text, ", the longest %s", words_ns(&w, t->longest));
    if (x->line)
        buf_addf(&text, "; most in %s", x->line);
    if (t->short_n)
        buf_addf(&text, "; the shorter ones are %s of it, and only their sum was kept",
                 words_ns(&w, t->short_ns));
    buf_addch(&text, '.');
    x->evidence = buf_detach(&text);
    if (t->short_ns > t->ns / 2) {
        x->certainty = FINDING_LIKELY;
        x->why =
            mem_printf("most of the waits%s were too short to be listed: record with a shorter --min-block "
                       "to see where and for whom they are",
                       reason == WAIT_UNKNOWN ? ", of unknown cause," : "");
    }
}

/* Its process has a socket that others connect to. */
static int listens(const struct rule_data *d)
{
    uint32_t pid = d->s->store.tasks.list.a[d->lead.task - 1].ns_pid;

    for (size_t i = 0; d->topology && i < d->topology->edges.n; i++) {
        const struct graph_edge *e = d->topology->edges.a[i];

        if (e->kind == GRAPH_EDGE_LISTEN && e->a->kind == GRAPH_PROCESS && pid &&
            graph_attr_int(&e->a->attrs, "pid", 0) == pid)
            return 1;
    }
    return 0;
}

/* An event loop that waits for the next event: nothing is to be done then, in a server. Where steps or
 * requests are marked, what each of them waits for is told by them. */
static int is_idle_loop(const struct rule_data *d, const struct lead_time *t)
{
    static const struct place_match loops[] = {{"_run_once", "asyncio/base_events.py", NULL},
                                               {"run_forever", "asyncio/base_events.py", NULL},
                                               {"uv__io_poll", NULL, NULL},
                                               {"guest_tick", "trio/_core/_run.py", NULL},
                                               {"unrolled_run", "trio/_core/_run.py", NULL}};

    return (d->units.list.n || listens(d)) && lead_time_mostly_in(t, d, loops, ARRAY_SIZE(loops));
}

/* Who is at the other end, and what holds it up, where that is known of enough of the waits. */
static void tell_other_end(struct finding *x, const struct chase *c, const struct rule_data *d,
                           const char *what)
{
    struct buf place = {0}, text = {0};
    const char *state = chase_state(c);

    if (hot_of(c, d, &place)) {
        free(x->title);
        x->title = mem_printf("%s %s, held up in %s%s%s", lead_noun(d), what, buf_str(&place),
                              state ? ", " : "", state ? state : "");
        free(x->advice);
        x->advice = mem_strdup("Make what is done at the other end cheaper, let it begin earlier, or ask for "
                               "several things at once; wprof show --waits has all waits.");
    }
    buf_addstr(&text, x->evidence);
    who_was_where(&text, c, d, buf_str(&place));
    if (c->inferred > c->told / 2 && !x->why) {
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup(inferred_why);
    }
    free(x->evidence);
    x->evidence = buf_detach(&text);
    buf_release(&place);
}

/* Those of the waits that ran into their timeout. */
struct timed_out {
    uint64_t ns, n, longest; /* of all of them; of the one with the longest */
    uint64_t timeout;        /* its timeout */
    uint32_t what;           /* what it was for */
    int several;             /* there are others */
};

static void find_timed_out(struct timed_out *out, const struct rule_data *d, unsigned reason)
{
    uint64_t *timeouts = timeouts_find(&d->s->store);

    *out = (struct timed_out){0};
    for (size_t i = 0; i < d->lead.spans.n; i++) {
        const struct lead_span *x = &d->lead.spans.a[i];
        uint64_t ns = x->end - x->start;

        if (!is_cause(d, x, reason) || !timeouts[x->event])
            continue;
        out->several |= out->timeout && out->timeout != timeouts[x->event];
        if (ns > out->longest) {
            out->timeout = timeouts[x->event];
            out->what = lead_wait(d, x)->what;
            out->longest = ns;
        }
        out->ns += ns;
        out->n++;
    }
    free(timeouts);
}

/* Nothing came: who ended the waits is nobody, but who did not answer. */
static void tell_timeouts(struct finding *x, const struct rule_data *d, const struct lead_time *t,
                          unsigned reason)
{
    struct timed_out of;
    struct words w = {0};
    struct buf text = {0};
    const char *what;

    find_timed_out(&of, d, reason);
    if (of.ns <= t->ns / 2)
        return;
    what = strtab_get(&d->s->store.strings, of.what);
    buf_addf(&text, "%s, until it times out", x->title);
    free(x->title);
    x->title = buf_detach(&text);
    buf_addf(&text, "%s Nothing came: %s ran into a timeout of %s%s, %s in all%s%s.", x->evidence,
             words_plural(&w, of.n, "wait"), words_ns(&w, of.timeout), of.several ? " or another one" : "",
             words_ns(&w, of.ns), *what ? ", for " : "", what);
    free(x->evidence);
    x->evidence = buf_detach(&text);
    free(x->advice);
    x->advice = mem_strdup(
        "Find who should have answered, and why it did not: wrong address, a server that is gone, a message "
        "that was lost. Where nothing has to come, wait for what does, without a timeout.");
    free(x->why);
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("that their own timer ended the waits is inferred: an interrupt did, and they lasted "
                        "the same, round time");
}

static int is_no_lock(const struct rule_data *d, const struct lead_span *x, uint64_t key)
{
    return is_cause(d, x, WAIT_FUTEX) && !is_lock(d, x, key);
}

/* What is left to tell of the waits for other threads: not those for the lock that lock-wait names. */
static void collect_futex(struct lead_time *t, struct chase *c, const struct rule_run *r,
                          const struct rule_data *d)
{
    uint32_t what = 0;
    int brief, told;
    uint64_t key = lock_time(d, t, NULL, &what, &brief);

    told = lead_time_share(t, d) > rule_setting(r->set, rule_find("lock-wait"), "share");
    lead_time_release(t);
    if (told)
        collect(t, c, d, is_no_lock, key);
    else
        collect(t, c, d, is_cause, WAIT_FUTEX);
    if (!told || !brief)
        lead_time_short(t, d, WAIT_FUTEX);
}

static void collect_cause(struct lead_time *t, struct chase *c, const struct rule_run *r,
                          const struct rule_data *d, unsigned reason)
{
    if (reason == WAIT_FUTEX) {
        collect_futex(t, c, r, d);
        return;
    }
    collect(t, c, d, is_cause, reason);
    lead_time_short(t, d, reason);
}

void check_blocked(struct rule_run *r, const struct rule_data *d)
{
    for (unsigned reason = 0; reason <= WAIT_OTHER; reason++) {
        struct lead_time t;
        struct words w = {0};
        struct chase c;

        collect_cause(&t, &c, r, d, reason);
        if (reason == WAIT_POLL && is_idle_loop(d, &t)) {
            rule_note(r, "its event loop had nothing to do for %s", words_ns(&w, t.ns));
        } else if (lead_time_share(&t, d) > rule_threshold(r, "share")) {
            struct finding *x = rule_found(r);
            uint32_t node = places_hot(&d->places, &t.where, HOT_LEAST, NULL);
            uint64_t self;

            node = node ? node : places_top(&d->places, &t.where, &self);
            x->weight = RULE_WEIGHT_LAST;
            x->least_ns = (uint64_t)(rule_threshold(r, "share") * (double)d->wall_ns);
            finding_of_lead(x, &t, d);
            finding_at(x, d, &t.where, node);
            x->title = mem_printf("%s %s%s%s", lead_noun(d), causes[reason].title, node ? ", in " : "",
                                  node ? places_func(&d->places, node) : "");
            tell_blocked(x, &t, reason);
            x->advice = mem_strdup(reason == WAIT_DISK && lead_time_writes(&t, d) ? lead_writes_advice
                                                                                  : causes[reason].advice);
            if (has_other_end(reason))
                tell_other_end(x, &c, d, causes[reason].title);
            tell_timeouts(x, d, &t, reason);
        }
        lead_time_release(&t);
        chase_release(&c);
    }
}

/* ---- no CPU ---- */

static int is_delay(const struct rule_data *d, const struct lead_span *x, uint64_t least)
{
    return x->kind == LEAD_QUEUE && x->end - x->start > least;
}

void check_sched_delay(struct rule_run *r, const struct rule_data *d)
{
    double limit = rule_threshold(r, "delay");
    struct words w = {0};
    struct lead_time t;

    collect(&t, NULL, d, is_delay, (uint64_t)(limit * 1e9));
    if (lead_time_share(&t, d) > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);

        x->least_ns = (uint64_t)(rule_threshold(r, "share") * (double)d->wall_ns);
        finding_of_lead(x, &t, d);
        x->title = mem_printf("%s is ready to run and gets no CPU", lead_noun(d));
        x->evidence = mem_printf("%s of more than %s on the run queue: %s in all, the longest %s.",
                                 words_plural(&w, t.waits, "delay"), words_ns(&w, (uint64_t)(limit * 1e9)),
                                 words_ns(&w, t.ns), words_ns(&w, t.longest));
        x->advice = mem_strdup(
            "Use fewer threads (OMP_NUM_THREADS), give the program CPUs of its own (taskset, cpusets), or a "
            "higher priority; see what else runs on this machine.");
    }
    lead_time_release(&t);
}
