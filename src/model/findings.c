/* SPDX-License-Identifier: Apache-2.0 */
#include "model/findings.h"

#include "base/mem.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *finding_severity_name(enum finding_severity s)
{
    static const char *const names[] = {"info", "low", "medium", "high"};

    return s < ARRAY_SIZE(names) ? names[s] : "info";
}

const char *finding_certainty_name(enum finding_certainty c)
{
    static const char *const names[] = {"guess", "likely", "measured"};

    return c < ARRAY_SIZE(names) ? names[c] : "guess";
}

const char *check_state_name(unsigned state)
{
    static const char *const names[] = {"clean", "found", "not checked", "left out"};

    return state < ARRAY_SIZE(names) ? names[state] : "not checked";
}

void finding_release(struct finding *x)
{
    char *const texts[] = {x->id,   x->title, x->evidence, x->advice, x->why,
                           x->line, x->stack, x->process,  x->device};

    for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
        free(texts[k]);
    vec_release(&x->claims);
}

void findings_release(struct findings *f)
{
    for (size_t i = 0; i < f->list.n; i++)
        finding_release(&f->list.a[i]);
    for (size_t i = 0; i < f->checks.n; i++)
        free(f->checks.a[i].detail);
    vec_release(&f->list);
    vec_release(&f->checks);
}

struct finding *findings_add(struct findings *f, const char *id)
{
    struct finding *x = vec_push(&f->list);

    *x = (struct finding){.id = mem_strdup(id), .share = NAN};
    return x;
}

void finding_claim(struct finding *x, uint64_t start, uint64_t end, uint64_t ns)
{
    x->timed = 1;
    if (end > start && ns)
        *vec_push(&x->claims) = (struct finding_claim){start, end, ns < end - start ? ns : end - start, 0};
}

size_t findings_count(const struct findings *f, unsigned state)
{
    size_t n = 0;

    for (size_t i = 0; i < f->checks.n; i++)
        n += f->checks.a[i].state == state;
    return n;
}

/* ---- JSON ---- */

static void where_json(const struct finding *x, struct json_writer *w)
{
    json_object(w, "where");
    json_str(w, "process", x->process);
    json_str(w, "line", x->line);
    json_str(w, "stack", x->stack);
    json_str(w, "device", x->device);
    if (x->to) {
        json_u64(w, "from_ns", x->from);
        json_u64(w, "to_ns", x->to);
    }
    json_end_object(w);
}

static void finding_json(const struct findings *f, const struct finding *x, struct json_writer *w)
{
    json_object(w, NULL);
    json_str(w, "id", x->id);
    json_str(w, "severity", finding_severity_name(x->severity));
    json_str(w, "title", x->title);
    if (x->timed) {
        json_u64(w, "cost_ns", x->cost_ns);
        json_u64(w, "total_ns", x->total_ns);
    } else {
        json_null(w, "cost_ns");
        json_null(w, "total_ns");
    }
    json_f64(w, "share", x->share);
    json_str(w, "evidence", x->evidence);
    where_json(x, w);
    json_str(w, "advice", x->advice);
    json_str(w, "certainty", finding_certainty_name(x->certainty));
    json_str(w, "certainty_why", x->why);
    json_str(w, "within", x->within ? f->list.a[x->within - 1].id : NULL);
    json_end_object(w);
}

void finding_within(const struct finding *x, struct buf *out)
{
    uint64_t elsewhere = x->total_ns - x->cost_ns;
    char ns[32];

    units_duration(ns, sizeof(ns), elsewhere);
    if (x->within_ns >= elsewhere)
        buf_addf(out, "%s of it are counted in finding %zu.", ns, x->within);
    else
        buf_addf(out, "%s of it are counted in others, most in finding %zu.", ns, x->within);
}

void findings_json(const struct findings *f, struct json_writer *w)
{
    json_u64(w, "wall_ns", f->wall_ns);
    json_u64(w, "findings_ns", f->told_ns);
    json_array(w, "findings");
    for (size_t i = 0; i < f->list.n; i++)
        finding_json(f, &f->list.a[i], w);
    json_end_array(w);
    json_array(w, "checks");
    for (size_t i = 0; i < f->checks.n; i++) {
        const struct check *c = &f->checks.a[i];

        json_object(w, NULL);
        json_str(w, "id", c->id);
        json_str(w, "title", c->title);
        json_str(w, "state", check_state_name(c->state));
        json_str(w, "detail", c->detail);
        json_end_object(w);
    }
    json_end_array(w);
}
