/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/kernel_lines.h"

#include "exchange/import/folded_line.h"
#include "exchange/import/lines.h"

#include <math.h>

struct kernel_lines {
    struct store *s;
    struct import_stats *st;
};

/* In the object, or in its args. */
static const struct json_value *field(const struct json_value *row, const char *name)
{
    const struct json_value *v = json_get(row, name);

    return v ? v : json_get(json_get(row, "args"), name);
}

/* A time as ns, from a field in ns or one in us. 0, or -1: neither is there, or it is out of range. */
static int time_of(const struct json_value *row, const char *in_ns, const char *in_us, uint64_t *ns)
{
    const struct json_value *v = field(row, in_ns);
    double unit = 1, value;

    if (!v) {
        v = field(row, in_us);
        unit = 1000;
    }
    if (!v || v->type != JSON_NUMBER)
        return -1;
    if (unit == 1 && v->is_integer && v->integer >= 0) {
        *ns = (uint64_t)v->integer;
        return 0;
    }
    value = v->number * unit;
    if (!(value >= 0 && value < 0x1p62))
        return -1;
    *ns = (uint64_t)llround(value);
    return 0;
}

static uint64_t whole(const struct json_value *row, const char *name)
{
    const struct json_value *v = field(row, name);

    return v && v->type == JSON_NUMBER && v->is_integer && v->integer > 0 ? (uint64_t)v->integer : 0;
}

static enum gpu_op op_of(const char *name)
{
    return !strncmp(name, "Memcpy", 6) ? GPU_COPY : !strncmp(name, "Memset", 6) ? GPU_SET : GPU_KERNEL;
}

/* -1: it is no kernel. */
static int take_row(struct kernel_lines *x, const struct json_value *row)
{
    const char *name = json_get_str(row, "name", NULL);
    struct gpu_work w = {.device = 1};
    struct event ev = {.kind = EVENT_GPU};
    uint64_t end;

    if (!name || time_of(row, "start_ns", "ts", &ev.ts))
        return -1;
    if (time_of(row, "dur_ns", "dur", &ev.dur)) {
        if (time_of(row, "end_ns", "end", &end) || end < ev.ts)
            return -1;
        ev.dur = end - ev.ts;
    }
    if (ev.ts > UINT64_MAX / 2 || ev.dur > UINT64_MAX / 2)
        return -1;
    w.name = strtab_add(&x->s->strings, name);
    w.op = (uint8_t)op_of(name);
    w.device = (uint16_t)(1 + whole(row, "device") % (UINT16_MAX - 1));
    w.context = (uint32_t)whole(row, "context");
    w.stream = (uint32_t)whole(row, "stream");
    w.bytes = whole(row, "bytes");
    ev.value = whole(row, "correlation");
    ev.attr = gpu_works_add(&x->s->gpus, &w);
    *vec_push(&x->s->events) = ev;
    import_count(x->st, IMPORT_TOOK,
                 w.op == GPU_KERNEL ? "kernel|kernels"
                 : w.op == GPU_COPY ? "copy|copies"
                                    : "memset|memsets",
                 1);
    return 0;
}

static void take_line(struct kernel_lines *x, uint64_t number, const char *s, size_t n)
{
    struct err e = {0};
    struct json_doc *doc;

    if (!n)
        return;
    doc = json_parse(s, n, &e);
    if (!doc || take_row(x, json_root(doc)))
        folded_bad_line(x->st, number, s, n);
    json_free(doc);
}

int kernel_lines_run(struct input *in, struct store *s, struct meta *m, struct import_stats *st,
                     struct err *e)
{
    struct kernel_lines x = {s, st};
    size_t before = s->events.n;
    struct lines lines;
    const char *line;
    size_t n;
    int rc;

    lines_init(&lines, in);
    while ((rc = lines_next(&lines, &line, &n, e)) > 0)
        take_line(&x, lines.number, line, n);
    lines_release(&lines);
    if (!rc && s->events.n == before)
        rc = err_set(e, "no kernel in it (a line is an object with name, ts and dur)");
    return rc;
}
