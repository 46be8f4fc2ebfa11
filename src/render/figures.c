/* SPDX-License-Identifier: Apache-2.0 */
#include "render/figures.h"

#include "base/buf.h"
#include "base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What is good enough to say nothing about. */
#define MIN_TAKEN_SHARE   0.95
#define TAKEN_SIGMAS      4 /* samples of a timer come and go with the square root of their number */
#define MAX_LOST_SHARE    0.01
#define MIN_UNWOUND_SHARE 0.995
#define MAX_UNKNOWN_SHARE 0.01
#define MIN_PYTHON_SHARE  0.995
#define MAX_CUT_SHARE     0.01
#define MAX_COST_SHARE    0.05
#define MOSTLY_WAITS      0.1 /* of the time, on a CPU: at most */
#define FEW_SAMPLES       100

void figures_release(struct figures *f)
{
    for (size_t i = 0; i < f->warnings.n; i++)
        free(f->warnings.a[i]);
    vec_release(&f->quality);
    vec_release(&f->facts);
    vec_release(&f->warnings);
    vec_release(&f->notes);
}

static void __attribute__((format(printf, 2, 3))) warn(struct figures *f, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    *vec_push(&f->warnings) = buf_detach(&b);
}

static struct figure *add(struct figures *f, const char *label, const char *help)
{
    struct figure *x = vec_push(&f->quality);

    *x = (struct figure){.label = label, .help = help};
    strcpy(x->value, "not measured");
    return x;
}

static void add_fact(struct figures *f, const char *label, const char *value)
{
    struct figure *x;

    if (!value || !*value)
        return;
    x = vec_push(&f->facts);
    *x = (struct figure){.label = label};
    snprintf(x->value, sizeof(x->value), "%s", value);
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void set_count(struct figure *x, uint64_t n, uint64_t whole)
{
    char count[32], share[32];

    x->measured = 1;
    units_count(count, sizeof(count), n);
    if (whole && n)
        snprintf(x->value, sizeof(x->value), "%s (%s)", count,
                 units_share(share, sizeof(share), share_of(n, whole)));
    else
        snprintf(x->value, sizeof(x->value), "%s", count);
}

static void set_share(struct figure *x, double share)
{
    /* Two decimals near the ends: 99.97 % and 100 % are not the same news. */
    if (isnan(share))
        return;
    x->measured = 1;
    if (share == 0 || share == 1)
        snprintf(x->value, sizeof(x->value), "%.0f %%", share * 100);
    else if ((share > 0.99 && share < 1) || (share > 0 && share < 0.1))
        snprintf(x->value, sizeof(x->value), "%.2f %%", share * 100);
    else
        units_share(x->value, sizeof(x->value), share);
}

/* Fewer than chance alone would explain. */
static int too_few(const struct quality *q)
{
    double missing = (double)q->expected - (double)q->taken;

    return q->expected && share_of(q->taken, q->expected) < MIN_TAKEN_SHARE &&
           missing > TAKEN_SIGMAS * sqrt((double)q->expected);
}

static void add_samples(struct figures *f, const struct quality *q)
{
    struct figure *x = add(f, "expected", "samples that the target's run time would give at this frequency");

    if (q->expected)
        set_count(x, q->expected, 0);

    x = add(f, "taken", "samples that arrived, and their share of those expected");
    set_count(x, q->taken, q->expected);
    if (too_few(q)) {
        x->bad = 1;
        warn(f, "Only %s of the expected samples were taken: parts of the run are missing from this picture.",
             x->value);
    }

    if (q->imported)
        set_count(add(f, "imported", "samples besides, of which nobody knows how they were taken and walked"),
                  q->imported, 0);

    x = add(f, "lost", "samples dropped for want of ring space, or by the kernel");
    if (q->expected || q->lost)
        set_count(x, q->lost, q->taken + q->lost);
    if (share_of(q->lost, q->taken + q->lost) > MAX_LOST_SHARE) {
        x->bad = 1;
        warn(f, "%s of the samples were lost: busy moments may be under-represented.", x->value);
    }
}

static void add_stacks(struct figures *f, const struct quality *q)
{
    int measured = !isnan(q->unwound_share);
    struct figure *x = add(f, "unwound", "samples whose stack was walked to the thread's start");

    set_share(x, q->unwound_share);
    if (measured && q->unwound_share < MIN_UNWOUND_SHARE) {
        x->bad = 1;
        warn(f, "%s of the stacks reach the thread's start; the others hang from where their walk ended.",
             x->value);
    }

    x = add(f, "unknown", "samples with at least one frame that has no name");
    set_share(x, q->unknown_share);
    if (q->unknown_share > MAX_UNKNOWN_SHARE) {
        x->bad = 1;
        warn(f,
             "%s of the samples have a frame without a name ([module+0x...]): symbols are missing. Debug "
             "packages, "
             "installed where it is recorded, give them.",
             x->value);
    }

    x = add(f, "truncated", "samples whose stack was deeper than the limit");
    if (measured || q->truncated)
        set_count(x, q->truncated, q->taken);
    if (share_of(q->truncated, q->taken) > MAX_CUT_SHARE) {
        x->bad = 1;
        warn(f, "%s stacks were deeper than the limit: they hang below [truncated].", x->value);
    }

    x = add(f, "scanned", "samples with a frame that was found by scanning the stack for a return address");
    if (measured)
        set_count(x, q->scanned, q->taken);
}

static void add_python(struct figures *f, const struct quality *q)
{
    struct figure *x;

    if (!q->python)
        return;
    x = add(f, "with Python", "samples of threads that run Python with at least one Python frame");
    set_share(x, q->python_share);
    if (q->python_share < MIN_PYTHON_SHARE) {
        x->bad = 1;
        warn(f,
             "%s of the samples of Python threads show a Python frame; in the others it could not be read.",
             x->value);
    }
}

/* Of what mostly waits, samples are few and cost next to nothing. */
static const char *cheaper(const struct quality *q, const struct meta *m)
{
    return q->target_cpu_s < MOSTLY_WAITS * m->duration_s
               ? "it mostly waits; a longer --min-block, or --without offcpu or metrics, disturbs less"
               : "a lower frequency, a longer --min-block, or --without metrics, disturbs less";
}

static void add_cost(struct figures *f, const struct quality *q, const struct meta *m)
{
    struct figure *x = add(f, "cost",
                           "time in wprof's kernel programs and in its own process, as a share of the "
                           "target's CPU time");

    set_share(x, q->cost_share);
    if (q->cost_share > MAX_COST_SHARE) {
        x->bad = 1;
        warn(f, "Recording cost %s of the target's CPU time: %s.", x->value, cheaper(q, m));
    }
}

static void add_time(struct figures *f, const struct meta *m)
{
    char text[64];
    time_t t = (time_t)m->start_ts;
    struct tm tm;

    if (m->start_ts > 0 && gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
        add_fact(f, "started", text);
    if (m->duration_s > 0)
        add_fact(f, "duration", units_duration(text, sizeof(text), (uint64_t)(m->duration_s * 1e9)));
}

static void add_facts(struct figures *f, const struct meta *m)
{
    char text[64];

    add_fact(f, "host", m->host);
    add_time(f, m);
    if (m->event && m->frequency) {
        snprintf(text, sizeof(text), "%s at %llu Hz", m->event, (unsigned long long)m->frequency);
        add_fact(f, "event", text);
    } else {
        add_fact(f, "event", m->event);
    }
    add_fact(f, "ended by", m->end_reason);
    if (m->exit_code > 0) {
        snprintf(text, sizeof(text), "%lld", (long long)m->exit_code);
        add_fact(f, "exit code", text);
    }
    if (m->ncpus) {
        snprintf(text, sizeof(text), "%u", m->ncpus);
        add_fact(f, "CPUs", text);
    }
    add_fact(f, "CPU", m->cpu_model);
    add_fact(f, "kernel", m->kernel);
    add_fact(f, "system", m->os);
    add_fact(f, "session", m->session_id);
    add_fact(f, "kind", m->kind);
    add_fact(f, "recorded by", m->agent_ver);
}

static void add_state(struct figures *f, const struct meta *m)
{
    if (m->damage)
        warn(f, "The session is %s.", m->damage);
    else if (m->state && strcmp(m->state, "sealed"))
        warn(f, "The session is not sealed (%s): it holds what was written until then.", m->state);
    for (size_t i = 0; i < m->collectors.n; i++) {
        const struct meta_collector *c = &m->collectors.a[i];

        if (c->state && !strcmp(c->state, "failed"))
            warn(f, "Collector %s failed: %s.", c->name, c->detail ? c->detail : "no reason given");
    }
    for (size_t i = 0; i < m->notes.n; i++)
        *vec_push(&f->notes) = m->notes.a[i];
}

void figures_make(struct figures *f, const struct quality *q, const struct meta *m)
{
    int imported = meta_is_imported(m);

    add_facts(f, m);
    add_samples(f, q);
    add_stacks(f, q);
    add_python(f, q);
    add_cost(f, q, m);
    if ((!imported || q->counted) && q->taken && q->taken + q->imported < FEW_SAMPLES)
        warn(f, "Only %llu samples: shares are rough.", (unsigned long long)(q->taken + q->imported));
    add_state(f, m);
}

/* A module and how many of its functions have no name. */
struct nameless {
    uint32_t module;
    size_t n;
};

static int by_count(const void *a, const void *b)
{
    const struct nameless *x = a, *y = b;

    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x->module > y->module) - (x->module < y->module);
}

static int unknown_is_bad(const struct figures *f)
{
    for (size_t i = 0; i < f->quality.n; i++)
        if (f->quality.a[i].bad && !strcmp(f->quality.a[i].label, "unknown"))
            return 1;
    return 0;
}

void figures_add_nameless(struct figures *f, const struct profile *p)
{
    VEC(struct nameless) found = {0};
    struct buf out = {0};

    if (!unknown_is_bad(f))
        return;

    for (size_t i = 0; i < p->frames.n; i++) {
        size_t at = 0;

        if (!p->frames.a[i].unknown || !p->frames.a[i].module)
            continue;
        while (at < found.n && found.a[at].module != p->frames.a[i].module)
            at++;
        if (at == found.n)
            *vec_push(&found) = (struct nameless){p->frames.a[i].module, 0};
        found.a[at].n++;
    }
    if (found.n)
        qsort(found.a, found.n, sizeof(*found.a), by_count);
    for (size_t i = 0; i < found.n && i < 3; i++) {
        const char *path = strtab_get(&p->strings, found.a[i].module), *slash = strrchr(path, '/');

        buf_addf(&out, "%s%s", i ? ", " : "", slash ? slash + 1 : path);
    }
    if (found.n > 3)
        buf_addf(&out, " and %zu more", found.n - 3);
    if (found.n)
        warn(f, "Functions without a name are in %s.", buf_str(&out));
    buf_release(&out);
    vec_release(&found);
}

char *figures_command(const struct meta *m)
{
    struct buf b = {0};

    for (size_t i = 0; i < m->command.n; i++) {
        if (i)
            buf_addch(&b, ' ');
        buf_addstr(&b, m->command.a[i]);
    }
    if (!b.len)
        buf_addstr(&b, m->workload ? m->workload : m->session_id ? m->session_id : "profile");
    return buf_detach(&b);
}
