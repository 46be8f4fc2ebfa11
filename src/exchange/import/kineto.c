/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's profiler (Kineto) writes: an object with a list of traceEvents and, before or behind it,
 * what machine and which rank it was. Times are us since the epoch, or since baseTimeNanoseconds. A file that
 * was cut off counts up to there.
 */
#include "exchange/import/kineto.h"

#include "base/log.h"
#include "exchange/import/nest.h"
#include "exchange/import/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- beside the events ---- */

static void set_string(char **to, const struct json_token *t)
{
    if (t->type != JSON_STRING || *to)
        return;
    *to = mem_strndup(t->text, t->len);
}

static int read_distributed(struct kineto *k, struct json_stream *js, struct err *e)
{
    struct json_token t;
    int rc;

    while ((rc = json_stream_next(js, &t, e)) > 0 && !t.ends) {
        struct trace_number n = trace_number_of(&t);

        if (json_key_is(&t, "rank") && trace_has(&n) && n.whole >= 0 && n.whole < RANKS_UNTOLD)
            k->rank = (int)n.whole;
        else if (json_key_is(&t, "world_size") && trace_has(&n) && n.whole > 0 && n.whole < INT32_MAX)
            k->world = (int)n.whole;
        else if (json_key_is(&t, "backend"))
            set_string(&k->backend, &t);
        if (json_stream_skip(js, &t, e))
            return -1;
    }
    return rc < 0 ? -1 : 0;
}

static int read_devices(struct kineto *k, struct json_stream *js, struct err *e)
{
    struct json_token t;
    int rc, depth = js->depth;

    while ((rc = json_stream_next(js, &t, e)) > 0 && js->depth >= depth) {
        k->devices += t.type == JSON_OBJECT && !t.ends && js->depth == depth + 1;
        if (json_key_is(&t, "name"))
            set_string(&k->device, &t);
    }
    return rc < 0 ? -1 : 0;
}

static int read_member(void *kineto, struct json_stream *js, const struct json_token *t, struct err *e)
{
    struct trace_number n = trace_number_of(t);
    struct kineto *k = kineto;

    if (json_key_is(t, "distributedInfo") && t->type == JSON_OBJECT)
        return read_distributed(k, js, e);
    if (json_key_is(t, "deviceProperties") && t->type == JSON_ARRAY)
        return read_devices(k, js, e);
    if (json_key_is(t, "baseTimeNanoseconds") && trace_has(&n) && n.whole > 0)
        k->base = n.whole;
    return json_stream_skip(js, t, e);
}

/* ---- when all is read ---- */

/* From the file's times to ns since the epoch, or, where some are before that, since the first of them. */
static void place_in_time(struct kineto *k)
{
    int64_t base = k->timeline ? 0 : k->base, least = 0;
    uint64_t before = 0;

    for (size_t i = k->first; i < k->s->events.n; i++) {
        int64_t ts = (int64_t)k->s->events.a[i].ts + base;

        before += ts < 0;
        least = ts < least ? ts : least;
    }
    for (size_t i = k->first; i < k->s->events.n; i++)
        k->s->events.a[i].ts += (uint64_t)(base - least);
    import_count(k->r.st, IMPORT_NOTED, "from before time 0 (times count from the first of them)", before);
}

/* Copies and sets whose size only their call tells. */
static void give_sizes(struct kineto *k)
{
    for (size_t i = k->first; i < k->s->events.n && k->sizes.n; i++) {
        struct event *ev = &k->s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&k->works, ev->attr) : NULL;
        const uint64_t *bytes = w && (w->op == GPU_COPY || w->op == GPU_SET) && !w->bytes && ev->value
                                    ? map_get(&k->sizes, ev->value)
                                    : NULL;
        struct gpu_work sized;

        if (!bytes)
            continue;
        sized = *w;
        sized.bytes = *bytes;
        ev->attr = kineto_work(k, &sized);
    }
}

/* The file's rows into the session's table, with the rank. */
static void settle_works(struct kineto *k)
{
    uint32_t *to = mem_calloc(k->works.list.n + 1, sizeof(*to));

    for (uint32_t id = 1; id <= k->works.list.n; id++) {
        struct gpu_work w = *gpu_works_get(&k->works, id);

        w.rank = (uint16_t)(k->rank + 1);
        to[id] = gpu_works_add(&k->s->gpus, &w);
    }
    for (size_t i = k->first; i < k->s->events.n; i++)
        if (k->s->events.a[i].kind == EVENT_GPU)
            k->s->events.a[i].attr = to[k->s->events.a[i].attr];
    free(to);
}

static void finish(struct kineto *k)
{
    uint64_t deep, orphans;

    place_in_time(k);
    if (k->r.in->count > 1 && k->rank < 0)
        k->rank = RANKS_UNTOLD + (int)k->r.in->index;
    deep = nest_spans(k->s, k->first, k->frames.a, k->frames.n);
    kineto_plain_launches(k);
    orphans = nest_launches(k->s, k->first, &k->works);
    import_count(k->r.st, IMPORT_NOTED, "nested deeper than 512", deep);
    import_count(k->r.st, IMPORT_NOTED, "without the call that launched them", orphans);
    give_sizes(k);
    lanes_finish(&k->lanes, k->first);
    if (k->r.in->count > 1)
        ranks_add(k->r.st, k->s, k->r.in->name, NULL, (uint32_t)k->rank, k->first, k->first_task);
    settle_works(k);
}

static void describe(struct kineto *k)
{
    struct buf text = {0};

    buf_addf(&text, "recorded by PyTorch's profiler%s",
             k->timeline            ? ": a memory timeline"
             : k->plain.functions.n ? " (without Kineto: times count from its start)"
                                    : " (Kineto)");
    if (k->rank >= 0 && k->rank < RANKS_UNTOLD) {
        buf_addf(&text, ", rank %d", k->rank);
        if (k->world)
            buf_addf(&text, " of %d", k->world);
    }
    if (k->backend)
        buf_addf(&text, " (%s)", k->backend);
    if (k->device)
        buf_addf(&text, ", on %zu %s", k->devices, k->device);
    if (k->unknown)
        buf_addf(&text, "; the first category that is not known is '%s'", k->unknown);
    *vec_push(&k->m->notes) = buf_detach(&text);
    if (k->python)
        meta_add_language(k->m, "python");
}

static void release(struct kineto *k)
{
    trace_reader_release(&k->r);
    lanes_release(&k->lanes);
    gpu_works_release(&k->works);
    vec_release(&k->frames);
    map_release(&k->sizes);
    kineto_plain_release(k);
    free(k->backend);
    free(k->device);
    free(k->unknown);
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct kineto k = {.s = s,
                       .m = m,
                       .lanes = {.store = s},
                       .first = s->events.n,
                       .first_task = s->tasks.list.n,
                       .rank = -1};
    int rc;

    k.r = (struct trace_reader){
        .in = in, .st = st, .ctx = &k, .event = kineto_event, .member = read_member, .rows = kineto_memory};
    rc = trace_reader_run(&k.r, e);
    if (!rc) {
        finish(&k);
        describe(&k);
    }
    release(&k);
    return rc;
}

/* The members that Kineto writes and nobody else, and its categories where the head has events only. */
static int probe(const char *head, size_t n)
{
    static const char *const marks[] = {
        "\"deviceProperties\"", "\"distributedInfo\"",  "\"cpu_op\"",           "\"cuda_runtime\"",
        "\"gpu_memcpy\"",       "\"user_annotation\"",  "\"python_function\"",  "\"baseTimeNanoseconds\"",
        "\"schemaVersion\"",    "\"gpu_memset\"",       "\"cat\": \"kernel\"",  "\"cat\":\"kernel\"",
        "\"cat\": \"Kernel\"",  "\"cat\": \"Runtime\"", "\"cat\": \"Operator\""};
    const char *p = head;

    if (import_holds(head, n, "\"pid\": \"CPU functions\"") ||
        import_holds(head, n, "\"pid\": \"CUDA functions\""))
        return 1;
    if (import_first(head) == '[') { /* [[-1, 1, 512, 7], ...: a memory timeline */
        p = strchr(head, '[') + 1;
        p += strspn(p, " \t\r\n");
        if (*p == '[' && strspn(p + 1, "-0123456789, \n") > 6)
            return 1;
    } else if (import_first(head) != '{') {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (import_holds(head, n, marks[i]))
            return 1;
    return 0;
}

const struct importer import_kineto = {
    .name = "kineto",
    .summary = "traces of PyTorch's profiler, a file a rank, and its raw memory timelines",
    .many = 1,
    .probe = probe,
    .run = run,
};
