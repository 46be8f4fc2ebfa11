/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own files: frames shared by all profiles, of which each is a process here, and is sampled
 * (stacks with weights) or evented (frames that open and close). Values in a unit of time become ns.
 */
#include "exchange/import/import.h"
#include "exchange/import/lanes.h"
#include "exchange/import/python_text.h"

#include <math.h>
#include <string.h>

#define TIME "time"

struct speedscope {
    struct store *s;
    struct import_stats *st;
    VEC(uint32_t) frames; /* of shared.frames */
    double scale;         /* of the profile's values */
    const char *unit;     /* of the profiles that are taken: TIME, "bytes", "none" */
    VEC(double) carry;    /* by stack: what rounding left of its values */
    struct event sample;  /* what the next one is like */
    struct lanes lanes;   /* of py-spy's profiles, which are threads */
    int by_pyspy, python;
    int by_wprof; /* a file of export's: profiles are threads, or whole stacks */
    double at;    /* where it begins, in the profile's unit */
};

static double scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"seconds", 1e9}, {"milliseconds", 1e6}, {"microseconds", 1e3}, {"nanoseconds", 1}};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (!strcmp(units[i].unit, unit))
            return units[i].ns;
    return 1;
}

static void take_frames(struct speedscope *x, const struct json_value *list)
{
    for (const struct json_value *v = list ? list->child : NULL; v; v = v->next) {
        const char *file = json_get_str(v, "file", NULL);
        uint64_t line = json_get_u64(v, "line", 0);
        struct frame f = {.kind = FRAME_NATIVE,
                          .func = strtab_add(&x->s->strings, json_get_str(v, "name", "?"))};

        if (!f.func)
            f.func = strtab_add(&x->s->strings, "?");
        f.file = strtab_add(&x->s->strings, file);
        f.line = line <= UINT32_MAX ? (uint32_t)line : 0;
        if (file && python_text_is_file(file, strlen(file)) &&
            (x->by_pyspy || *file != '<' || (x->by_wprof && !strncmp(file, "<frozen ", 8)))) {
            f.kind = FRAME_PYTHON;
            x->python = 1;
        }
        *vec_push(&x->frames) = frames_add(&x->s->frames, &f);
    }
}

/* 0 where there is none of that number, which is counted. */
static uint32_t frame_of(struct speedscope *x, const struct json_value *v)
{
    if (v && v->type == JSON_NUMBER && v->number >= 0 && v->number < (double)x->frames.n)
        return x->frames.a[(size_t)v->number];
    import_count(x->st, IMPORT_LOST, "frame that is not there|frames that are not there", 1);
    return 0;
}

/* What rounding takes from a stack or gives it is made good by its next value: its sum is right to a half. */
static uint64_t rounded(struct speedscope *x, uint32_t stack, double value)
{
    double whole;

    while (x->carry.n <= stack)
        *vec_push(&x->carry) = 0;
    value += x->carry.a[stack];
    whole = value > 0 ? round(value) : 0;
    x->carry.a[stack] = value - whole;
    return (uint64_t)whole;
}

static void push(struct speedscope *x, uint32_t stack, double weight, const char *what)
{
    double value = weight * x->scale, ts = x->at * x->scale;

    x->at += weight;
    if (!(value > 0) || value >= 0x1p53 || !(ts >= 0) || ts >= 0x1p62) {
        if (value != 0)
            import_count(x->st, IMPORT_LOST,
                         "value that is negative or out of range|values that are negative or "
                         "out of range",
                         1);
        return;
    }
    x->st->rounded += value != floor(value) && x->scale == 1;
    x->sample.ts = (uint64_t)llround(ts);
    x->sample.value = rounded(x, stack, value);
    x->sample.stack = stack;
    if (!x->sample.value)
        return;
    *vec_push(&x->s->events) = x->sample;
    import_count(x->st, IMPORT_TOOK, what, 1);
}

static void take_sampled(struct speedscope *x, const struct json_value *profile)
{
    const struct json_value *samples = json_get(profile, "samples"), *weights = json_get(profile, "weights");
    const struct json_value *w = weights && weights->type == JSON_ARRAY ? weights->child : NULL;

    for (const struct json_value *v = samples ? samples->child : NULL; v; v = v->next) {
        uint32_t stack = 0, frame;

        for (const struct json_value *f = v->type == JSON_ARRAY ? v->child : NULL; f; f = f->next)
            if ((frame = frame_of(x, f)))
                stack = stacks_push(&x->s->stacks, stack, frame);
        /* with a time it is one sample, where a number may be of many */
        push(x, stack, w && w->type == JSON_NUMBER ? w->number : 1,
             x->scale != 1 ? "sample|samples" : "stack|stacks");
        w = w ? w->next : NULL;
    }
}

/* What is open at a time is the stack from then to the next event. */
static void take_evented(struct speedscope *x, const struct json_value *profile)
{
    const struct json_value *events = json_get(profile, "events");
    VEC(uint32_t) open = {0}; /* stacks */

    x->st->measured = !strcmp(x->unit, TIME) ? IMPORT_NS : IMPORT_COSTS;
    for (const struct json_value *v = events ? events->child : NULL; v; v = v->next) {
        const char *type = json_get_str(v, "type", "");
        double at = json_get_f64(v, "at", x->at), weight = at - x->at;

        if (open.n)
            push(x, open.a[open.n - 1], weight, "stack|stacks");
        else
            x->at = at;
        if (*type == 'O') {
            uint32_t frame = frame_of(x, json_get(v, "frame")), above = open.n ? open.a[open.n - 1] : 0;

            *vec_push(&open) = frame ? stacks_push(&x->s->stacks, above, frame) : above;
        } else if (*type == 'C' && open.n) {
            open.n--;
        } else {
            import_count(x->st, IMPORT_LOST, "end without a beginning|ends without a beginning", 1);
        }
    }
    if (open.n) { /* it goes on until the profile ends */
        push(x, open.a[open.n - 1], json_get_f64(profile, "endValue", x->at) - x->at, "stack|stacks");
        import_count(x->st, IMPORT_LOST, "beginning without an end|beginnings without an end", open.n);
    }
    vec_release(&open);
}

/* The thread of `Process 12 Thread 13 "MainThread"`, or of `Thread 0x7F5A ""`. 0: it is none. */
static uint32_t pyspy_thread(struct speedscope *x, const char *name)
{
    char *text = mem_strdup(name), *p = text, *rest, *thread;
    uint32_t pid = 1, tid, id = 0; /* a process of its own where it is not told */

    if (!strncmp(p, "Process ", 8)) {
        unsigned long v = strtoul(p + 8, &p, 10);

        pid = v && v <= INT32_MAX ? (uint32_t)v : 1;
        p += *p == ' ';
    }
    if (!strncmp(p, "Thread ", 7)) {
        thread = p + 7;
        tid = lanes_narrow(&x->lanes, strtoull(thread, &rest, 0));
        if (rest > thread) {
            char *quote = strrchr(rest, '"');

            lanes_name(&x->lanes, pid, 0, "python");
            if (quote > rest + 2) {
                *quote = '\0';
                lanes_name(&x->lanes, pid, tid, rest + 2);
            } else {
                *rest = '\0';
                lanes_name(&x->lanes, pid, tid, p);
            }
            id = lanes_task(&x->lanes, pid, tid);
        }
    }
    free(text);
    return id;
}

/* "(12)" that ends at a blank or the text's end. *end: behind it. 0: it is none. */
static uint32_t id_in(const char *p, const char **end)
{
    char *rest;
    unsigned long v = *p == '(' && p[1] >= '1' && p[1] <= '9' ? strtoul(p + 1, &rest, 10) : 0;

    if (!v || v > INT32_MAX || *rest != ')' || (rest[1] && rest[1] != ' '))
        return 0;
    *end = rest + 1;
    return (uint32_t)v;
}

/* The thread of `python3 (12)`, or of `python3 (12) worker (13)`, as export writes them. 0: it is none, and
 * the stacks are whole. */
static uint32_t own_thread(struct speedscope *x, const char *name)
{
    const char *open = strchr(name, '('), *last = strrchr(name, '('), *end, *tail;
    uint32_t pid = 0, tid;
    char *text;

    for (; open && !(pid = id_in(open, &end)); open = strchr(open + 1, '('))
        ;
    if (!pid || open == name)
        return 0;
    text = mem_strndup(name, (size_t)(open - name - 1));
    lanes_name(&x->lanes, pid, 0, text);
    free(text);
    if (last == open)
        return *end ? 0 : lanes_task(&x->lanes, pid, pid);
    tid = id_in(last, &tail);
    if (!tid || *tail || last < end + 2)
        return 0;
    text = mem_strndup(end + 1, (size_t)(last - end - 2));
    lanes_name(&x->lanes, pid, tid, text);
    free(text);
    return lanes_task(&x->lanes, pid, tid);
}

static uint32_t task_of(struct speedscope *x, const char *name, uint32_t number)
{
    struct task t = {.pid = number, .tid = number, .ns_pid = number, .ns_tid = number, .own_pid = number};
    uint32_t id = x->by_pyspy ? pyspy_thread(x, name) : 0;

    if (x->by_wprof)
        return own_thread(x, name);
    t.comm = strtab_add(&x->s->strings, name);
    return id ? id : tasks_add(&x->s->tasks, &t);
}

/* Of profiles in several units those in the first one's are taken; all units of time are one. */
static int is_of_unit(struct speedscope *x, const char *unit)
{
    const char *of = scale_of(unit) != 1 || !strcmp(unit, "nanoseconds") ? TIME : unit;

    if (!x->unit)
        x->unit = of;
    return !strcmp(x->unit, of);
}

static void take_profile(struct speedscope *x, const struct json_value *v, uint32_t number)
{
    const char *type = json_get_str(v, "type", ""), *unit = json_get_str(v, "unit", "none");
    int sampled = !strcmp(type, "sampled");

    if (!sampled && strcmp(type, "evented") != 0) {
        import_count(x->st, IMPORT_LOST, "profile of an unknown type|profiles of an unknown type", 1);
        return;
    }
    if (!is_of_unit(x, unit)) {
        import_count(x->st, IMPORT_LEFT,
                     "profile in another unit than the first|profiles in another unit than the first", 1);
        return;
    }
    x->sample =
        (struct event){.kind = EVENT_SAMPLE, .task = task_of(x, json_get_str(v, "name", "profile"), number)};
    x->scale = scale_of(unit);
    if (!strcmp(unit, "bytes"))
        x->st->measured = IMPORT_BYTES;
    x->at = json_get_f64(v, "startValue", 0);
    if (sampled)
        take_sampled(x, v);
    else
        take_evented(x, v);
}

static int take_all(struct speedscope *x, const struct json_value *root, struct err *e)
{
    const struct json_value *profiles = json_get(root, "profiles");
    uint32_t number = 1; /* in the place of the pid that it hasn't */

    x->by_wprof = !strcmp(json_get_str(root, "exporter", ""), "wprof");
    x->by_pyspy = !strncmp(json_get_str(root, "exporter", ""), "py-spy", 6);
    take_frames(x, json_get(json_get(root, "shared"), "frames"));
    for (const struct json_value *v = profiles ? profiles->child : NULL; v; v = v->next)
        take_profile(x, v, number++);
    lanes_finish(&x->lanes, 0);
    return x->s->events.n ? 0 : err_set(e, "no stack in it (a file of speedscope was expected)");
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct speedscope x = {.s = s, .st = st, .lanes = {.store = s}};
    struct json_doc *doc = input_read_json(in, e);
    int rc = doc ? take_all(&x, json_root(doc), e) : -1;

    if (!rc && x.python)
        meta_add_language(m, "python");
    if (!rc)
        *vec_push(&m->notes) = mem_strdup("a file of speedscope; values in a unit of time are ns");
    json_free(doc);
    vec_release(&x.carry);
    vec_release(&x.frames);
    lanes_release(&x.lanes);
    return rc;
}

static int probe(const char *head, size_t n)
{
    return import_first(head) == '{' && import_holds(head, n, "speedscope.app/file-format-schema");
}

const struct importer import_speedscope = {
    .name = "speedscope",
    .summary = "speedscope's own files: each profile a process",
    .probe = probe,
    .run = run,
};
