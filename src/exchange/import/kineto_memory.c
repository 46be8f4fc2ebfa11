/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw memory timeline of PyTorch (export_memory_timeline with a name that ends in .raw.json.gz): rows of
 * [time in ns, action, bytes, category]; actions as torch/profiler/_memory_profiler.py numbers them. Bytes
 * are negative where they go. What was there before has the time -1.
 */
#include "exchange/import/kineto.h"

enum { PREEXISTING = 1, CREATE, INCREMENT_VERSION, DESTROY };
enum { ROW = 4 };

static void push(struct kineto *k, uint64_t ts, int64_t bytes, const char *what)
{
    struct gpu_work w = {.op = bytes < 0 ? GPU_FREE : GPU_ALLOC,
                         .bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes};

    *vec_push(&k->s->events) = (struct event){.ts = ts, .kind = EVENT_GPU, .attr = kineto_work(k, &w)};
    import_count(k->r.st, IMPORT_TOOK, what, 1);
}

static void take(struct kineto *k, const int64_t row[ROW])
{
    k->r.events++;
    if (row[1] == PREEXISTING)
        push(k, 0, row[2], "allocation from before|allocations from before");
    else if (row[1] == CREATE)
        push(k, (uint64_t)row[0], row[2], "allocation|allocations");
    else if (row[1] == DESTROY)
        push(k, (uint64_t)row[0], row[2], "free|frees");
    else if (row[1] == INCREMENT_VERSION)
        import_count(k->r.st, IMPORT_LEFT,
                     "change of what memory is used for|changes of what memory is used for", 1);
    else
        import_count(k->r.st, IMPORT_LOST, "row with an unknown action|rows with an unknown action", 1);
}

static int read_row(struct kineto *k, struct json_stream *js, struct err *e)
{
    int64_t row[ROW] = {0};
    struct json_token t;
    int rc, n = 0, bad = 0;

    while ((rc = json_stream_next(js, &t, e)) > 0 && !t.ends) {
        struct trace_number v = trace_number_of(&t);

        bad |= t.type != JSON_NUMBER || v.how == TRACE_BAD;
        if (n < ROW)
            row[n++] = v.whole;
        if (json_stream_skip(js, &t, e))
            return -1;
    }
    if (rc < 0)
        return -1;
    if (bad || n < ROW || row[0] < -1 || row[0] > INT64_MAX / 4)
        import_count(k->r.st, IMPORT_LOST, "row that make no sense|rows that make no sense", 1);
    else
        take(k, row);
    return 0;
}

/* What was there before is so from the first moment that is told. */
static void settle(struct kineto *k)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = k->first; i < k->s->events.n; i++)
        if (k->s->events.a[i].ts && k->s->events.a[i].ts < first)
            first = k->s->events.a[i].ts;
    for (size_t i = k->first; i < k->s->events.n && first < UINT64_MAX; i++)
        if (!k->s->events.a[i].ts)
            k->s->events.a[i].ts = first;
}

int kineto_memory(void *kineto, struct json_stream *js, struct err *e)
{
    struct kineto *k = kineto;
    struct json_token t = {.type = JSON_ARRAY};
    int rc = 1;

    k->timeline = 1;
    do {
        if (t.type != JSON_ARRAY)
            return json_stream_fail(js, e, "a row [time, action, bytes, category] was expected");
        if (read_row(k, js, e))
            return -1;
    } while ((rc = json_stream_next(js, &t, e)) > 0 && !t.ends);
    settle(k);
    return rc < 0 ? -1 : 0;
}
