/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of callgrind and cachegrind (valgrind's manual, "Callgrind Format Specification"), which Xdebug
 * and others write, too: what each line of a function cost, and what its calls of other functions cost.
 * Positions may be relative to those before, names are compressed to a number after their first time.
 */
#include "exchange/import/call_graph.h"
#include "exchange/import/folded_line.h"
#include "exchange/import/import.h"
#include "exchange/import/lines.h"
#include "exchange/import/python_text.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 64 };

struct callgrind {
    struct store *s;
    struct import_stats *st;
    struct call_graph graph;
    struct map functions, files, objects; /* names by their number: "(3) main" first, "(3)" later */
    uint32_t object, file;                /* current: strtab */
    uint32_t called_object, called_file;  /* of the call that comes; 0: as the caller's */
    uint32_t function, callee;            /* index in the graph + 1; 0: none */
    int call;                             /* the next costs are those of the call */
    unsigned positions, events, event;    /* how many; which of them is wanted */
    const char *wanted;
    char *event_name, *command;
    struct buf have; /* "Ir, Dr" */
    uint32_t pid;
    uint64_t told; /* what the file says it all cost; 0: it does not */
    uint64_t own;  /* and what it adds up to */
};

/* ---- names ---- */

/* A string of the store. */
static uint32_t name_of(struct callgrind *x, struct map *names, const char *s)
{
    char *rest;
    unsigned long long number;
    uint64_t *name;

    if (*s != '(')
        return strtab_add(&x->s->strings, s);
    number = strtoull(s + 1, &rest, 10);
    if (rest == s + 1 || *rest != ')') /* "(below main)" without a number */
        return strtab_add(&x->s->strings, s);
    rest += 1 + strspn(rest + 1, " \t");
    name = map_put(names, number);
    if (*rest)
        *name = strtab_add(&x->s->strings, rest);
    return (uint32_t)*name;
}

static uint32_t function_of(struct callgrind *x, uint32_t name, uint32_t file, uint32_t object)
{
    const char *path = strtab_get(&x->s->strings, file);
    struct module m = {.kind = MODULE_FILE, .path = object, .fd = -1};
    struct frame f = {.kind = FRAME_NATIVE, .func = name, .file = file};

    if (python_text_is_file(path, strlen(path)))
        f.kind = FRAME_PYTHON;
    if (!strcmp(path, "???"))
        f.file = 0;
    if (!f.func)
        f.func = strtab_add(&x->s->strings, "?");
    if (object)
        f.module = frames_add_module(&x->s->frames, &m);
    return call_graph_function(&x->graph, frames_add(&x->s->frames, &f)) + 1;
}

/* ---- lines ---- */

/* "events: Ir Dr Dw" */
static void take_events(struct callgrind *x, char *s)
{
    char *name;

    x->events = 0;
    buf_clear(&x->have);
    while ((name = strsep(&s, " \t"))) {
        if (!*name || x->events == EVENTS_MAX)
            continue;
        if (x->wanted ? !strcmp(name, x->wanted) : !x->events) {
            x->event = x->events;
            free(x->event_name);
            x->event_name = mem_strdup(name);
        }
        buf_addf(&x->have, "%s%s", x->events ? ", " : "", name);
        x->events++;
    }
}

/* The number of the event that is wanted in "120 30 4". */
static uint64_t nth(const struct callgrind *x, const char *s)
{
    uint64_t v = 0;

    for (unsigned i = 0; i <= x->event; i++) {
        char *rest;

        v = strtoull(s, &rest, 0);
        if (rest == s)
            return 0;
        s = rest;
    }
    return v;
}

static void take_header(struct callgrind *x, const char *key, char *value)
{
    if (!strcmp(key, "events"))
        take_events(x, value);
    else if (!strcmp(key, "positions"))
        x->positions = strstr(value, "instr") && strstr(value, "line") ? 2 : 1;
    else if (!strcmp(key, "cmd") && !x->command)
        x->command = mem_strdup(value);
    else if (!strcmp(key, "pid") && !x->pid)
        x->pid = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(key, "totals") || (!strcmp(key, "summary") && !x->told))
        x->told = nth(x, value);
}

/* "fn=(1) main", "calls=3 12". 0: no such line. */
static int take_name(struct callgrind *x, const char *key, const char *value)
{
    if (!strcmp(key, "fn")) {
        x->function = function_of(x, name_of(x, &x->functions, value), x->file, x->object);
    } else if (!strcmp(key, "fl") || !strcmp(key, "fi") || !strcmp(key, "fe")) {
        x->file = name_of(x, &x->files, value); /* what is inlined from elsewhere is the function's */
    } else if (!strcmp(key, "ob")) {
        x->object = name_of(x, &x->objects, value);
    } else if (!strcmp(key, "cfi") || !strcmp(key, "cfl")) {
        x->called_file = name_of(x, &x->files, value);
    } else if (!strcmp(key, "cob")) {
        x->called_object = name_of(x, &x->objects, value);
    } else if (!strcmp(key, "cfn")) {
        x->callee =
            function_of(x, name_of(x, &x->functions, value), x->called_file ? x->called_file : x->file,
                        x->called_object ? x->called_object : x->object);
    } else if (!strcmp(key, "calls")) {
        x->call = 1;
    } else {
        return 0;
    }
    return 1;
}

/* Costs behind the positions, of the function or of the call. -1: it makes no sense. */
static int take_costs(struct callgrind *x, const char *s, struct err *e)
{
    uint64_t cost;
    int call = x->call, bad;

    for (unsigned i = 0; i < x->positions; i++) {
        s += strcspn(s, " \t");
        s += strspn(s, " \t");
    }
    cost = nth(x, s);
    x->call = 0;
    if (!call) {
        if (!x->function)
            return 1;
        bad = call_graph_self(&x->graph, x->function - 1, cost) ||
              __builtin_add_overflow(x->own, cost, &x->own);
    } else {
        if (!x->function || !x->callee)
            return 1;
        bad = call_graph_call(&x->graph, x->function - 1, x->callee - 1, cost);
        x->callee = x->called_file = x->called_object = 0;
    }
    return bad ? err_set(e, "costs add up to more than 64 bits can hold") : 0;
}

/* 1: it makes no sense. */
static int take_line(struct callgrind *x, char *s, struct err *e)
{
    char *sign = s + strcspn(s, "=:");

    if (!*s || *s == '#')
        return 0;
    if (strchr("0123456789+-*", *s))
        return take_costs(x, s, e);
    if (!*sign)
        return 1;
    if (*sign == ':') {
        *sign = '\0';
        take_header(x, s, sign + 1 + strspn(sign + 1, " \t"));
        return 0;
    }
    *sign = '\0';
    /* What else has a sign are jumps and what other writers add. */
    if (!take_name(x, s, sign + 1))
        import_count(x->st, IMPORT_LEFT, "line of jumps or other notes|lines of jumps or other notes", 1);
    return 0;
}

static int read_lines(struct callgrind *x, struct input *in, struct err *e)
{
    struct lines lines;
    struct buf text = {0};
    const char *line;
    size_t n;
    int rc;

    lines_init(&lines, in);
    while ((rc = lines_next(&lines, &line, &n, e)) > 0) {
        buf_clear(&text);
        buf_add(&text, line, n);
        rc = take_line(x, text.data, e);
        if (rc < 0)
            break;
        if (rc)
            folded_bad_line(x->st, lines.number, line, n);
    }
    buf_release(&text);
    lines_release(&lines);
    return rc;
}

/* ---- what it makes ---- */

static uint32_t task_of(struct callgrind *x)
{
    struct task t = {.pid = x->pid ? x->pid : 1};
    const char *end, *base;
    char *name;
    uint32_t id;

    if (!x->command || !*x->command)
        return 0;
    end = x->command + strcspn(x->command, " ");
    base = memrchr(x->command, '/', (size_t)(end - x->command));
    base = base ? base + 1 : x->command;
    name = mem_strndup(base, (size_t)(end - base));
    t.tid = t.ns_pid = t.ns_tid = t.own_pid = t.pid;
    t.comm = strtab_add(&x->s->strings, name);
    id = tasks_add(&x->s->tasks, &t);
    free(name);
    return id;
}

static void describe(struct callgrind *x, struct meta *m, const struct call_stats *stats)
{
    struct buf note = {0};

    buf_addf(&note,
             "of callgrind's format, which has calls and no stacks: these are estimates, each function's "
             "%s shared among its callers in proportion to what their calls cost",
             x->event_name);
    if (stats->recursed)
        buf_addstr(&note, "; recursion is folded");
    if (stats->cut)
        buf_addf(&note,
                 "; parts below 1/100,000 were not followed further, %.2g %% in all: their functions' "
                 "heaviest stacks have them",
                 100 * stats->cut / (double)x->own);
    if (x->told && x->told != x->own)
        buf_addf(&note, "; the file says that all is %llu, its lines add up to %llu",
                 (unsigned long long)x->told, (unsigned long long)x->own);
    if (x->events > 1)
        buf_addf(&note, "; events in it (--event): %s", buf_str(&x->have));
    *vec_push(&m->notes) = buf_detach(&note);
    if (!m->event)
        m->event = mem_strdup(x->event_name);
}

static int make_samples(struct callgrind *x, struct meta *m, struct err *e)
{
    struct event like = {.kind = EVENT_SAMPLE, .task = task_of(x)};
    struct call_stats stats;

    if (!x->events)
        return err_set(e, "no line \"events:\" in it (a file of callgrind was expected)");
    if (!x->event_name)
        return err_set(e, "no event '%s' in it (it has: %s)", x->wanted, buf_str(&x->have));
    if (!x->own)
        return err_set(e, "nothing in it has a cost (%s)", x->event_name);
    like.metric = strtab_add(&x->s->strings, x->event_name);
    if (call_graph_samples(&x->graph, x->s, &like, &stats))
        return err_set(e, "costs add up to more than 64 bits can hold");
    import_count(x->st, IMPORT_TOOK, "function|functions", x->graph.functions.n);
    import_count(x->st, IMPORT_TOOK, "call from one to another|calls from one to another", x->graph.edges.n);
    if (x->told > x->own)
        import_count(
            x->st, IMPORT_LOST,
            "cost that the file says it has, and no line of it: was it cut off?|costs that the file says it "
            "has, and no line of it: was it cut off?",
            x->told - x->own);
    describe(x, m, &stats);
    return 0;
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct callgrind x = {.s = s, .st = st, .positions = 1, .wanted = in->event};
    int rc = read_lines(&x, in, e);

    if (!rc)
        rc = make_samples(&x, m, e);
    st->samples = x.own;
    st->measured = IMPORT_COSTS;
    call_graph_release(&x.graph);
    map_release(&x.functions);
    map_release(&x.files);
    map_release(&x.objects);
    free(x.event_name);
    free(x.command);
    buf_release(&x.have);
    return rc;
}

static int probe(const char *head, size_t n)
{
    int events = import_holds(head, n, "\nevents:") || !strncmp(head, "events:", 7);

    return !strncmp(head, "# callgrind format", 18) || (events && import_holds(head, n, "\nfn="));
}

const struct importer import_callgrind = {
    .name = "callgrind",
    .summary = "callgrind's and cachegrind's format, as Xdebug and others write it, too",
    .events = 1,
    .probe = probe,
    .run = run,
};
