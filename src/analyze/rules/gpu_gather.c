/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule finds of many devices, as one finding: with a job of 64 ranks, one each would be a list of
 * hundreds that says one thing. */
#include "analyze/rules/gpu.h"

#include <stdlib.h>

enum { FEW = 2, NAMED = 3 };

/* Who is this much of the run above the median, and half above it, is far from the others. */
#define FAR_SHARE 0.05
/* Below it, they are alike. */
#define ALIKE 0.01

struct crowd {
    struct finding *all;
    size_t n, devices; /* findings, devices that they are of */
    uint64_t wall;
    VEC(double) sorted; /* their shares of the run; none: they claim no time */
    size_t most, least; /* indices */
};

static uint64_t claimed(const struct finding *x)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < x->claims.n; i++)
        sum += x->claims.a[i].ns;
    return sum;
}

static double share_of(const struct crowd *c, size_t i)
{
    return c->wall ? (double)claimed(&c->all[i]) / (double)c->wall : 0;
}

static int by_value(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static void measure(struct crowd *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->devices += !i || strcmp(c->all[i].device, c->all[i - 1].device) != 0;
        if (!c->wall || !c->all[i].timed)
            continue;
        *vec_push(&c->sorted) = share_of(c, i);
        if (share_of(c, i) > share_of(c, c->most))
            c->most = i;
        if (share_of(c, i) < share_of(c, c->least))
            c->least = i;
    }
    if (c->sorted.n)
        qsort(c->sorted.a, c->sorted.n, sizeof(*c->sorted.a), by_value);
}

static double mean(const struct crowd *c)
{
    double sum = 0;

    for (size_t i = 0; i < c->sorted.n; i++)
        sum += c->sorted.a[i];
    return sum / (double)c->sorted.n;
}

static int is_far(const struct crowd *c, size_t i)
{
    double median = c->sorted.a[c->sorted.n / 2], share = share_of(c, i);

    return share > median + FAR_SHARE && share > median * 1.5;
}

/* " Far above the others: rank 17 GPU 0 (41 %), rank 18 GPU 0 (40 %) and 3 more." */
static void name_far(const struct crowd *c, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct words w = {0};

        if (is_far(c, i) && n++ < NAMED)
            buf_addf(out, "%s%s (%s)", n > 1 ? ", " : " Far above the others: ", c->all[i].device,
                     words_share(&w, share_of(c, i)));
    }
    if (n > NAMED)
        buf_addf(out, " and %zu more", n - NAMED);
    if (n)
        buf_addch(out, '.');
}

static void spell_shares(const struct crowd *c, struct buf *out)
{
    const struct finding *most = &c->all[c->most], *least = &c->all[c->least];
    struct words w = {0};

    if (share_of(c, c->most) - share_of(c, c->least) < ALIKE) {
        buf_addf(out, "Alike on all of them: %s of the run.", words_share(&w, mean(c)));
        return;
    }
    buf_addf(out, "%s of the run on average, the most on %s, %s, the least on %s, %s.",
             words_share(&w, mean(c)), most->device, words_share(&w, share_of(c, c->most)), least->device,
             words_share(&w, share_of(c, c->least)));
    name_far(c, out);
}

/* "64 GPUs", "12 of 64 GPUs" */
static char *spell_devices(const struct crowd *c, size_t of)
{
    return c->devices == of ? mem_printf("%zu GPUs", of) : mem_printf("%zu of %zu GPUs", c->devices, of);
}

static char *spell_title(const struct crowd *c, const char *of_many, const char *devices)
{
    const char *at = strstr(of_many, "%s");
    struct words w = {0};
    struct buf b = {0};

    buf_addf(&b, "%.*s%s%s", (int)(at - of_many), of_many, devices, at + 2);
    if (c->sorted.n && share_of(c, c->most) - mean(c) >= ALIKE)
        buf_addf(&b, ", %s most (%s)", c->all[c->most].device, words_share(&w, share_of(c, c->most)));
    return buf_detach(&b);
}

static void set(char **text, char *to)
{
    free(*text);
    *text = to;
}

/* A lane is the same device in all findings. */
static uint32_t lane_of(const struct gpu_trace *t, const char *device)
{
    uint32_t lane = 0;
    struct buf b = {0};

    do {
        buf_clear(&b);
        gpu_device_label(&t->devices.a[lane++], &b);
    } while (strcmp(buf_str(&b), device) && lane < t->devices.n);
    buf_release(&b);
    return lane;
}

static void join_claims(struct finding *x, const struct crowd *c, const struct gpu_trace *t)
{
    x->claims = (typeof(x->claims)){0};
    x->lanes = (uint32_t)c->n;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t lane = lane_of(t, c->all[i].device);

        for (size_t k = 0; k < c->all[i].claims.n; k++) {
            *vec_push(&x->claims) = c->all[i].claims.a[k];
            x->claims.a[x->claims.n - 1].lane = lane;
        }
    }
}

/* The least that one of them is sure of. */
static void join_certainty(struct finding *x, const struct crowd *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->all[i].certainty < x->certainty) {
            x->certainty = c->all[i].certainty;
            set(&x->why, c->all[i].why ? mem_strdup(c->all[i].why) : NULL);
        }
}

void gpu_gather(struct rule_run *r, const struct rule_data *d, size_t before, const char *of_many)
{
    struct crowd c = {.all = r->out->list.a + before, .n = r->out->list.n - before, .wall = d->wall_ns};
    struct buf text = {0};
    struct finding x;
    char *devices;

    if (c.n <= FEW)
        return;
    measure(&c);
    x = c.all[c.most];
    devices = spell_devices(&c, d->gpu->devices.n);
    if (c.sorted.n)
        spell_shares(&c, &text);
    buf_addf(&text, "%sOf %s: %s", text.len ? " " : "", x.device, x.evidence);
    x.title = spell_title(&c, of_many, devices);
    x.evidence = buf_detach(&text);
    x.why = x.why ? mem_strdup(x.why) : NULL;
    join_claims(&x, &c, d->gpu);
    join_certainty(&x, &c);
    /* what stays as it is of the worst goes over */
    c.all[c.most].id = c.all[c.most].advice = c.all[c.most].line = NULL;
    c.all[c.most].stack = c.all[c.most].process = NULL;
    x.device = devices;
    for (size_t i = 0; i < c.n; i++)
        finding_release(&c.all[i]);
    r->out->list.n = before;
    *vec_push(&r->out->list) = x;
    vec_release(&c.sorted);
}
