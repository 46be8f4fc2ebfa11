/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the runs were recorded alike: what one side can't see is neither gone nor new. */
#include "analyze/compare_job.h"

#include "model/frames.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Joins "a", "b" to "a, b". */
static void add_word(struct buf *out, const char *word)
{
    buf_addf(out, "%s%s", out->len ? ", " : "", word);
}

static int key_is_frame(const struct compare *c, uint32_t key)
{
    enum frame_kind kind = key ? (enum frame_kind)c->keys.a[key - 1].kind : FRAME_NONE;

    return kind != FRAME_NONE && kind != FRAME_MARKER;
}

/* The share of the metric in stacks without any frame that could be compared. */
static double share_without_frames(const struct compare *c, const struct compare_run *run)
{
    const struct profile *p = &run->p;
    uint8_t *has = mem_calloc(p->nodes.n + 1, 1);
    double without = 0;

    for (size_t i = 0; i < p->nodes.n; i++) { /* parents come first */
        has[i] =
            (uint8_t)((i && has[p->nodes.a[i].parent]) || key_is_frame(c, run->key[p->nodes.a[i].frame]));
        without += has[i] ? 0 : (double)p->metrics.a[0].self[i];
    }
    free(has);
    return run->sum ? without / (double)run->sum : 0;
}

/* The share in stacks with a frame of the recorded program that has no name. */
static double share_without_names(const struct compare *c, const struct compare_run *run)
{
    const struct profile *p = &run->p;
    uint8_t *has = mem_calloc(p->nodes.n + 1, 1);
    double without = 0;

    for (size_t i = 1; i < p->nodes.n && run->program; i++) {
        has[i] =
            (uint8_t)(has[p->nodes.a[i].parent] || compare_is_nameless(c, run->key[p->nodes.a[i].frame]));
        without += has[i] ? (double)p->metrics.a[0].self[i] : 0;
    }
    free(has);
    return run->sum ? without / (double)run->sum : 0;
}

void compare_take_seen(const struct compare *c, struct compare_run *run, const struct session *s)
{
    struct buf collectors = {0};

    for (size_t i = 0; s->meta.tier && i < s->meta.collectors.n; i++)
        if (!strcmp(s->meta.collectors.a[i].state, "on"))
            add_word(&collectors, s->meta.collectors.a[i].name);
    run->seen[COMPARE_SEEN_TIER] = s->meta.tier ? mem_strdup(s->meta.tier) : NULL;
    run->seen[COMPARE_SEEN_EVENT] = s->meta.tier && s->meta.event ? mem_strdup(s->meta.event) : NULL;
    run->seen[COMPARE_SEEN_RATE] =
        s->meta.tier && s->meta.frequency
            ? mem_printf("%llu samples a second", (unsigned long long)s->meta.frequency)
            : NULL;
    run->seen[COMPARE_SEEN_COLLECTORS] = s->meta.tier ? buf_detach(&collectors) : NULL;
    run->session_id = s->meta.session_id ? mem_strdup(s->meta.session_id) : NULL;
    run->whole = s->meta.end_reason && !strcmp(s->meta.end_reason, "command ended");
    run->failed = s->meta.exit_code > 0 ? (int)s->meta.exit_code : 0;
    run->frameless = share_without_frames(c, run);
    run->nameless = share_without_names(c, run);
    buf_release(&collectors);
}

void compare_release_seen(struct compare_run *run)
{
    for (int k = 0; k < COMPARE_SEEN; k++)
        free(run->seen[k]);
    free(run->session_id);
}

/* Each value that runs of the side have, once: "A", or "A, C". */
static char *values_of(const struct compare *c, int what, int side)
{
    struct buf out = {0};

    for (size_t r = 0; r < c->runs.n; r++) {
        const char *value = c->runs.a[r].seen[what];
        int known = !value;

        for (size_t k = 0; value && k < r && !known; k++)
            known = c->runs.a[k].side == side && c->runs.a[k].seen[what] &&
                    !strcmp(c->runs.a[k].seen[what], value);
        if (c->runs.a[r].side == side && !known)
            add_word(&out, value);
    }
    return out.len ? buf_detach(&out) : NULL;
}

/* "base recorded with tier A, new with tier C"; NULL: all runs that say are alike. */
static char *difference(const struct compare *c, int what)
{
    static const char *const with[COMPARE_SEEN] = {"in tier ", "of the event ", "at ", "with "};
    char *value[COMPARISON_SIDES], *text = NULL;
    const char *first = NULL;
    int differ = 0;

    for (size_t r = 0; r < c->runs.n; r++) {
        const char *v = c->runs.a[r].seen[what];

        differ |= first && v && strcmp(first, v);
        first = first ? first : v;
    }
    if (!differ)
        return NULL;
    for (int side = 0; side < COMPARISON_SIDES; side++)
        value[side] = values_of(c, what, side);
    text = mem_printf("the base side was recorded %s%s, the new one %s%s", with[what],
                      value[0] ? value[0] : "nothing", with[what], value[1] ? value[1] : "nothing");
    for (int side = 0; side < COMPARISON_SIDES; side++)
        free(value[side]);
    return text;
}

/* The run before that is the same session; NULL: there is none. */
static const struct compare_run *same_session(const struct compare *c, size_t r)
{
    const char *id = c->runs.a[r].session_id;

    for (size_t i = 0; id && i < r; i++)
        if (c->runs.a[i].session_id && !strcmp(c->runs.a[i].session_id, id))
            return &c->runs.a[i];
    return NULL;
}

/* A session that is there twice tells nothing of how runs differ. */
static void note_twice(struct compare *c)
{
    for (size_t r = 0; r < c->runs.n; r++) {
        const struct compare_run *run = &c->runs.a[r], *first = same_session(c, r);

        if (first)
            *vec_push(&c->out->notes) =
                mem_printf("%s is the same session as %s (%s), and is counted as %s", run->label,
                           first->label, run->session_id,
                           first->side == run->side ? "another run, which it is not" : "the other side");
    }
}

static size_t failed_runs(const struct compare *c, int side, int *how)
{
    size_t n = 0;

    for (size_t r = 0; r < c->runs.n; r++)
        if (c->runs.a[r].side == side && c->runs.a[r].failed) {
            *how = c->runs.a[r].failed;
            n++;
        }
    return n;
}

/* "1 of 3 runs of the new side ended by signal 6"; NULL: none failed there. */
static char *failure_of(const struct compare *c, int side)
{
    int how = 0;
    size_t n = failed_runs(c, side, &how);

    if (!n)
        return NULL;
    return mem_printf("%zu of %zu run%s of the %s side ended %s %d", n, c->n[side],
                      c->n[side] == 1 ? "" : "s", side ? "new" : "base",
                      how > 128 ? "by signal" : "with exit code", how > 128 ? how - 128 : how);
}

static void note_failed(struct compare *c)
{
    for (int side = 0; side < COMPARISON_SIDES; side++) {
        char *text = failure_of(c, side);

        if (text)
            *vec_push(&c->out->notes) = text;
    }
}

/* What failed did less, or something else: it is compared with what failed as often. */
static int fails_alike(const struct compare *c, struct buf *why)
{
    int how, side;
    size_t base = failed_runs(c, COMPARISON_BASE, &how), new = failed_runs(c, COMPARISON_NEW, &how);
    char *text;

    if (!base == !new)
        return 1;
    side = new ? COMPARISON_NEW : COMPARISON_BASE;
    text = failure_of(c, side);
    buf_addf(why, "%s, of the %s side none", text, side ? "base" : "new");
    free(text);
    return 0;
}

void compare_note_seen(struct compare *c)
{
    static const char *const means[COMPARE_SEEN] = {
        [COMPARE_SEEN_TIER] = "frames that one of them does not see are neither gone nor new",
        [COMPARE_SEEN_EVENT] = "samples stand for different things",
        [COMPARE_SEEN_RATE] = "",
        [COMPARE_SEEN_COLLECTORS] = "what one side did not record is not compared",
    };

    for (int k = 0; k < COMPARE_SEEN; k++) {
        char *text = difference(c, k);

        if (text)
            *vec_push(&c->out->notes) = mem_printf("%s%s%s", text, *means[k] ? ": " : "", means[k]);
        free(text);
    }
    note_twice(c);
    note_failed(c);
}

/* Mean shares of the sides that differ by more than the gate. */
static int differ(const struct compare *c, size_t offset, double share[COMPARISON_SIDES])
{
    share[0] = share[1] = 0;
    for (size_t r = 0; r < c->runs.n; r++)
        share[c->runs.a[r].side] +=
            *(const double *)((const char *)&c->runs.a[r] + offset) / (double)c->n[c->runs.a[r].side];
    return fabs(share[0] - share[1]) > c->o.fail_above;
}

/* Processes are seen by all tiers, and what runs on devices by its own ways. */
int compare_sees_alike(const struct compare *c, struct buf *why)
{
    double share[COMPARISON_SIDES];
    char *tiers;

    if (!fails_alike(c, why))
        return 0;
    if (c->o.by >= COMPARISON_PROCESSES)
        return 1;
    tiers = difference(c, COMPARE_SEEN_TIER);
    if (tiers) {
        buf_addf(why, "%s: they do not see the same frames (record both in one, --tier)", tiers);
        free(tiers);
        return 0;
    }
    if (differ(c, offsetof(struct compare_run, frameless), share)) {
        buf_addf(why, "%.1f %% of the base side's %s and %.1f %% of the new one's have no frame to compare",
                 100 * share[0], c->out->unit, 100 * share[1]);
        return 0;
    }
    if (c->o.by != COMPARISON_MODULES && differ(c, offsetof(struct compare_run, nameless), share)) {
        buf_addf(why,
                 "%.1f %% of the base side's %s and %.1f %% of the new one's are in code of the program "
                 "without names: record both with symbols, or compare --by module",
                 100 * share[0], c->out->unit, 100 * share[1]);
        return 0;
    }
    return 1;
}
