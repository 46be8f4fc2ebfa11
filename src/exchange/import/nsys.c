/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's Nsight Systems exports with `nsys export --type sqlite`: a table for each kind of activity,
 * of which files have those that were recorded, with the columns of their version. Times are ns since the
 * session's start, names are ids of StringIds. A global id holds the pid and the tid in 24 bits each. Of
 * several files each is a rank's, or a part of it.
 */
#include "exchange/import/import.h"
#include "exchange/import/lanes.h"
#include "exchange/import/nest.h"
#include "exchange/import/nsys_who.h"
#include "exchange/import/ranks.h"
#include "model/numbered.h"
#include "platform/sqlite.h"

#include <string.h>

/* NVTX_EVENTS.eventType: ENUM_NSYS_EVENT_TYPE of the exported files. */
enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

/* CUPTI_ACTIVITY_KIND_RUNTIME.eventClass: ENUM_NSYS_EVENT_CLASS. */
enum { CLASS_RUNTIME = 0, CLASS_DRIVER = 1 };

struct nsys {
    struct sqlite *db;
    struct store *s;
    struct meta *m;
    struct import_stats *st;
    struct lanes lanes;
    struct map processes; /* pid -> its number, from 1 */
    struct map asked;     /* correlation -> the event of what it allocated or freed, + 1 */
    VEC(uint32_t) frames; /* by id of struct gpu_works: the frame in stacks, 0: none */
    size_t first, first_task;
    int64_t base; /* ns since the epoch of the time 0; 0: not told */
    struct nsys_who who;
    uint16_t rank; /* + 1; 0: none. Of several files that tell none: a number for now (ranks.h) */
    unsigned file; /* which of several, from 0 */
};

static uint32_t pid_of(int64_t global)
{
    return (uint32_t)(global >> 24 & 0xffffff);
}

static uint32_t tid_of(int64_t global)
{
    return (uint32_t)(global & 0xffffff);
}

/* Each process counts correlation ids on its own; files have the same pids. */
static uint64_t correlation(struct nsys *x, uint32_t pid, int64_t id)
{
    uint64_t *number = map_put(&x->processes, pid);

    if (!*number)
        *number = x->processes.n;
    return id > 0 ? (uint64_t)x->file << 56 | ((*number - 1) & 0xffffff) << 32 | (uint32_t)id : 0;
}

/* + 1, as in struct gpu_work. */
static uint16_t rank_of(struct nsys *x, uint32_t pid)
{
    const uint64_t *rank = map_get(&x->who.processes, pid);

    if (!x->who.processes.n)
        return x->rank;
    return rank ? (uint16_t)*rank : 0;
}

static uint32_t work_of(struct nsys *x, const struct gpu_work *w)
{
    uint32_t id = gpu_works_add(&x->s->gpus, w);

    while (x->frames.n <= id)
        *vec_push(&x->frames) = 0;
    return id;
}

static uint32_t span_of(struct nsys *x, const struct gpu_work *w, enum frame_kind kind)
{
    uint32_t id = work_of(x, w);
    struct frame f = {.kind = (uint8_t)kind, .func = w->name};

    if (!x->frames.a[id])
        x->frames.a[id] = frames_add(&x->s->frames, &f);
    return id;
}

static uint32_t name_of(struct nsys *x, struct sqlite_rows *r, int column, const char *otherwise)
{
    const char *text = sqlite_text(r, column);

    return strtab_add(&x->s->strings, text && *text ? text : otherwise);
}

/* Columns 0 and 1 of every query are start and end. -1: they are no times, which is counted. */
static int set_time(struct nsys *x, struct sqlite_rows *r, struct event *ev)
{
    int64_t start = sqlite_int(r, 0), end = sqlite_int(r, 1);

    if (sqlite_is_null(r, 0) || sqlite_is_null(r, 1)) {
        import_count(x->st, IMPORT_LOST, "row without a start or an end|rows without a start or an end", 1);
        return -1;
    }
    if (end < start || start < 0 || end > INT64_MAX / 4) {
        import_count(x->st, IMPORT_LOST, "row that ends before it begins|rows that end before they begin", 1);
        return -1;
    }
    ev->ts = (uint64_t)start;
    ev->dur = (uint64_t)(end - start);
    return 0;
}

static void push(struct nsys *x, struct event *ev, const char *what)
{
    *vec_push(&x->s->events) = *ev;
    import_count(x->st, IMPORT_TOOK, what, 1);
}

/* ---- rows of each table ---- */

/* From column 2 on: device, context, stream, correlation, process, graph, node. */
static void set_device(struct nsys *x, struct sqlite_rows *r, struct event *ev, struct gpu_work *w)
{
    int64_t device = sqlite_int(r, 2);

    ev->kind = EVENT_GPU;
    w->rank = rank_of(x, pid_of(sqlite_int(r, 6)));
    w->device = (uint16_t)(!sqlite_is_null(r, 2) && device >= 0 && device < UINT16_MAX ? device + 1 : 0);
    w->context = (uint32_t)sqlite_int(r, 3);
    w->stream = (uint32_t)sqlite_int(r, 4);
    ev->value = correlation(x, pid_of(sqlite_int(r, 6)), sqlite_int(r, 5));
    w->graph = (uint32_t)sqlite_int(r, 7);
    w->node = (uint32_t)sqlite_int(r, 8);
}

static void take_kernel(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_KERNEL};
    struct event ev = {0};

    if (set_time(x, r, &ev))
        return;
    set_device(x, r, &ev, &w);
    w.name = name_of(x, r, 9, "kernel");
    for (int i = 0; i < 3; i++) {
        w.grid[i] = (uint32_t)sqlite_int(r, 10 + i);
        w.block[i] = (uint32_t)sqlite_int(r, 13 + i);
    }
    w.registers = (uint16_t)sqlite_int(r, 16);
    w.shared = (uint32_t)(sqlite_int(r, 17) + sqlite_int(r, 18));
    ev.attr = work_of(x, &w);
    push(x, &ev, "kernel|kernels");
}

/* ENUM_CUDA_MEM_KIND of the exported files, not CUPTI's numbers; those allocated statically (5, 6) are as the
 * others. */
static uint8_t place_of(struct sqlite_rows *r, int column)
{
    static const uint8_t places[] = {GPU_PAGEABLE, GPU_PINNED, GPU_DEVICE, GPU_ARRAY,
                                     GPU_MANAGED,  GPU_DEVICE, GPU_MANAGED};
    int64_t kind = sqlite_is_null(r, column) ? -1 : sqlite_int(r, column);

    return kind >= 0 && kind < (int64_t)sizeof(places) ? places[kind] : GPU_PLACE_UNKNOWN;
}

/* As PyTorch's profiler has it: "Memcpy HtoD (Pinned -> Device)". CUpti_ActivityMemcpyKind. */
static uint32_t copy_name(struct nsys *x, int64_t kind, const struct gpu_work *w)
{
    static const char *const kinds[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    static const char *const places[GPU_PLACES] = {"Unknown", "Pageable", "Pinned", "Device",
                                                   "Array",   "Managed",  "Host"};
    const char *how = kind > 0 && kind < (int64_t)ARRAY_SIZE(kinds) ? kinds[kind] : "?";
    struct buf text = {0};
    uint32_t id;

    buf_addf(&text, "Memcpy %s (%s -> %s)", how, places[w->from], places[w->to]);
    id = strtab_add(&x->s->strings, text.data);
    buf_release(&text);
    return id;
}

static void take_copy(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_COPY};
    struct event ev = {0};

    if (set_time(x, r, &ev))
        return;
    set_device(x, r, &ev, &w);
    w.bytes = (uint64_t)sqlite_int(r, 9);
    w.from = place_of(r, 11);
    w.to = place_of(r, 12);
    w.name = copy_name(x, sqlite_int(r, 10), &w);
    ev.attr = work_of(x, &w);
    push(x, &ev, "copy|copies");
}

static void take_set(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_SET, .name = strtab_add(&x->s->strings, "Memset (Device)")};
    struct event ev = {0};

    if (set_time(x, r, &ev))
        return;
    set_device(x, r, &ev, &w);
    w.bytes = (uint64_t)sqlite_int(r, 9);
    ev.attr = work_of(x, &w);
    push(x, &ev, "memset|memsets");
}

static void take_graph(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_GRAPH, .name = strtab_add(&x->s->strings, "CUDA graph")};
    struct event ev = {0};

    if (set_time(x, r, &ev))
        return;
    set_device(x, r, &ev, &w);
    ev.attr = work_of(x, &w);
    push(x, &ev, "graph run|graph runs");
}

static void take_wait(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_SYNC, .name = strtab_add(&x->s->strings, "Synchronization")};
    struct event ev = {0};

    if (set_time(x, r, &ev))
        return;
    set_device(x, r, &ev, &w);
    ev.attr = work_of(x, &w);
    push(x, &ev, "synchronization|synchronizations");
}

/* ENUM_CUDA_DEV_MEM_EVENT_OPER of the exported files. */
enum { MEMORY_ALLOCATED = 0, MEMORY_FREED = 1 };

/* As any other from the device on; 9: bytes, kind of memory, operation, address. */
static void take_memory(struct nsys *x, struct sqlite_rows *r)
{
    int64_t operation = sqlite_is_null(r, 11) ? -1 : sqlite_int(r, 11), address = sqlite_int(r, 12);
    int freed = operation == MEMORY_FREED;
    struct gpu_work w = {.op = freed ? GPU_FREE : GPU_ALLOC};
    struct event ev = {0};

    if (operation != MEMORY_ALLOCATED && !freed) {
        import_count(x->st, IMPORT_LEFT, "other operation on memory|other operations on memory", 1);
        return;
    }
    if (set_time(x, r, &ev))
        return;
    set_device(x, r, &ev, &w);
    w.bytes = (uint64_t)sqlite_int(r, 9);
    w.to = place_of(r, 10);
    w.name = strtab_add(&x->s->strings, freed ? "free" : "allocate");
    ev.task = lanes_task(&x->lanes, pid_of(sqlite_int(r, 6)), pid_of(sqlite_int(r, 6)));
    if (ev.value)
        *map_put(&x->asked, ev.value) = x->s->events.n + 1;
    ev.value = (uint64_t)address;
    ev.attr = work_of(x, &w);
    push(x, &ev, freed ? "free|frees" : "allocation|allocations");
}

/* Of a thread's call: when it was, and whose. 2: thread. -1: it is left out, and counted. */
static int take_caller(struct nsys *x, struct sqlite_rows *r, struct event *ev)
{
    int64_t thread = sqlite_int(r, 2);

    if (set_time(x, r, ev))
        return -1;
    if (!pid_of(thread) || !tid_of(thread)) {
        import_count(x->st, IMPORT_LOST, "call without a thread|calls without a thread", 1);
        return -1;
    }
    ev->task = lanes_task(&x->lanes, pid_of(thread), tid_of(thread));
    return 0;
}

/* What the operating system's libraries did for a thread: waits, reads. 2: thread, 3: name */
static void take_os_call(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_OPERATOR};
    struct event ev = {.kind = EVENT_GPU};

    if (take_caller(x, r, &ev))
        return;
    w.name = name_of(x, r, 3, "call of the system");
    ev.attr = span_of(x, &w, FRAME_NATIVE);
    push(x, &ev, "call of the system|calls of the system");
}

/* 2: thread, 3: correlation, 4: name, 5: what it returned, 6: class */
static void take_call(struct nsys *x, struct sqlite_rows *r)
{
    int driver = sqlite_int(r, 6) == CLASS_DRIVER;
    struct gpu_work w = {.op = driver ? GPU_DRIVER : GPU_RUNTIME, .result = sqlite_int(r, 5) != 0};
    struct event ev = {.kind = EVENT_GPU};

    if (take_caller(x, r, &ev))
        return;
    ev.value = correlation(x, pid_of(sqlite_int(r, 2)), sqlite_int(r, 3));
    w.name = name_of(x, r, 4, driver ? "driver call" : "runtime call");
    ev.attr = span_of(x, &w, FRAME_NATIVE);
    push(x, &ev, driver ? "driver call|driver calls" : "runtime call|runtime calls");
}

static void take_range(struct nsys *x, struct event *ev, struct gpu_work *w)
{
    uint32_t word, mark;

    if (numbered_names(&x->s->strings, strtab_get(&x->s->strings, w->name), &word, &mark)) {
        numbered_push(x->s, ev, mark);
        w->name = word;
    }
    ev->kind = EVENT_GPU;
    ev->value = 0;
    ev->attr = span_of(x, w, FRAME_MARKER);
}

/* 2: thread, 3: type, 4: text */
static void take_nvtx(struct nsys *x, struct sqlite_rows *r)
{
    struct gpu_work w = {.op = GPU_OPERATOR};
    int64_t thread = sqlite_int(r, 2), type = sqlite_int(r, 3);
    struct event ev = {.kind = EVENT_MARKER, .value = 1};

    if (type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END) {
        import_count(x->st, IMPORT_LEFT, "definition of NVTX|definitions of NVTX", 1);
        return;
    }
    if (set_time(x, r, &ev))
        return;
    if (pid_of(thread) && tid_of(thread))
        ev.task = lanes_task(&x->lanes, pid_of(thread), tid_of(thread));
    w.name = name_of(x, r, 4, "(no text)");
    if (type == NVTX_PUSH_POP && ev.task)
        take_range(x, &ev, &w);
    else
        ev.metric = w.name;
    push(x, &ev, type == NVTX_MARK ? "NVTX mark|NVTX marks" : "NVTX range|NVTX ranges");
}

/* ---- tables ---- */

#define DEVICE "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId", "graphNodeId"

/* Columns that a file lacks are NULL; a name that ends in @ is looked up in StringIds. */
static const struct table_spec {
    const char *table;
    void (*take)(struct nsys *x, struct sqlite_rows *r);
    const char *columns[20];
} tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     take_kernel,
     {"start", "end", DEVICE, "demangledName@", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
      "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     take_copy,
     {"start", "end", DEVICE, "bytes", "copyKind", "srcKind", "dstKind"}},
    {"CUPTI_ACTIVITY_KIND_MEMSET", take_set, {"start", "end", DEVICE, "bytes"}},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", take_graph, {"start", "end", DEVICE}},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", take_wait, {"start", "end", DEVICE}},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS",
     take_memory,
     {"start", "start", DEVICE, "bytes", "memKind", "memoryOperationType", "address"}},
    {"OSRT_API", take_os_call, {"start", "end", "globalTid", "nameId@"}},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     take_call,
     {"start", "end", "globalTid", "correlationId", "nameId@", "returnValue", "eventClass"}},
};

/* "SELECT t.start, ..., (SELECT value FROM StringIds WHERE id = t.nameId), NULL FROM ... t" */
static void write_query(struct nsys *x, const struct table_spec *t, struct buf *sql)
{
    for (int i = 0; t->columns[i]; i++) {
        const char *name = t->columns[i];
        size_t n = strcspn(name, "@");
        char column[64] = "";

        memcpy(column, name, n);
        buf_addstr(sql, i ? ", " : "SELECT ");
        if (!sqlite_has(x->db, t->table, column))
            buf_addstr(sql, "NULL");
        else if (name[n])
            buf_addf(sql, "(SELECT value FROM StringIds WHERE id = t.%s)", column);
        else
            buf_addf(sql, "t.\"%s\"", column);
    }
    buf_addf(sql, " FROM %s t", t->table);
}

static int each_row(struct nsys *x, const char *sql, void (*take)(struct nsys *x, struct sqlite_rows *r),
                    struct err *e)
{
    struct sqlite_rows *r = sqlite_query(x->db, sql, e);
    int rc;

    if (!r)
        return -1;
    while ((rc = sqlite_next(r, e)) > 0)
        take(x, r);
    sqlite_rows_free(r);
    return rc;
}

static int read_table(struct nsys *x, const struct table_spec *t, struct err *e)
{
    struct buf sql = {0};
    int rc;

    if (!sqlite_has(x->db, t->table, NULL))
        return 0;
    write_query(x, t, &sql);
    rc = each_row(x, sql.data, t->take, e);
    buf_release(&sql);
    return rc ? err_wrap(e, "%s", t->table) : 0;
}

/* A mark has no end; text is in the row, or in StringIds. */
static int read_nvtx(struct nsys *x, struct err *e)
{
    static const char table[] = "NVTX_EVENTS";
    int text = sqlite_has(x->db, table, "text"), id = sqlite_has(x->db, table, "textId");
    const char *name = text && id ? "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
                       : id       ? "(SELECT value FROM StringIds WHERE id = textId)"
                       : text     ? "text"
                                  : "NULL";
    struct buf sql = {0};
    int rc;

    if (!sqlite_has(x->db, table, NULL))
        return 0;
    buf_addf(&sql,
             "SELECT start, coalesce(end, CASE eventType WHEN %d THEN start END), globalTid, eventType, %s "
             "FROM %s",
             NVTX_MARK, name, table);
    rc = each_row(x, sql.data, take_nvtx, e);
    buf_release(&sql);
    return rc ? err_wrap(e, "%s", table) : 0;
}

/* ---- names, times, what is not taken ---- */

static void take_process(struct nsys *x, struct sqlite_rows *r)
{
    const char *name = sqlite_text(r, 1), *slash = name ? strrchr(name, '/') : NULL;

    if (name && pid_of(sqlite_int(r, 0)))
        lanes_name(&x->lanes, pid_of(sqlite_int(r, 0)), 0, slash && slash[1] ? slash + 1 : name);
}

static void take_thread(struct nsys *x, struct sqlite_rows *r)
{
    const char *name = sqlite_text(r, 1);

    if (name && tid_of(sqlite_int(r, 0)))
        lanes_name(&x->lanes, pid_of(sqlite_int(r, 0)), tid_of(sqlite_int(r, 0)), name);
}

static void take_base(struct nsys *x, struct sqlite_rows *r)
{
    x->base = sqlite_int(r, 0);
}

static void take_gpu(struct nsys *x, struct sqlite_rows *r)
{
    const char *name = sqlite_text(r, 1);

    *vec_push(&x->m->notes) = mem_printf("%lld %s", (long long)sqlite_int(r, 0), name ? name : "GPU");
}

static int read_names(struct nsys *x, struct err *e)
{
    static const struct {
        const char *table, *sql;
        void (*take)(struct nsys *x, struct sqlite_rows *r);
    } names[] = {
        {"PROCESSES", "SELECT globalPid, name FROM PROCESSES", take_process},
        {"ThreadNames", "SELECT globalTid, (SELECT value FROM StringIds WHERE id = nameId) FROM ThreadNames",
         take_thread},
        {"TARGET_INFO_SESSION_START_TIME", "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME",
         take_base},
        {"TARGET_INFO_GPU", "SELECT count(*), name FROM TARGET_INFO_GPU GROUP BY name", take_gpu},
    };
    struct err ignored = {0};

    /* Their columns differ between versions: what is not there is not needed. */
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (sqlite_has(x->db, names[i].table, NULL))
            each_row(x, names[i].sql, names[i].take, &ignored);
    return 0;
}

static void take_other(struct nsys *x, struct sqlite_rows *r)
{
    import_count(x->st, IMPORT_LEFT,
                 "row of other tables (scheduling, metrics)|rows of other tables (scheduling, metrics)",
                 (uint64_t)sqlite_int(r, 0));
}

static void count_others(struct nsys *x)
{
    static const char *const others[] = {
        "SCHED_EVENTS",  "COMPOSITE_EVENTS", "GPU_METRICS",           "CUPTI_ACTIVITY_KIND_OVERHEAD",
        "CUBLAS_EVENTS", "CUDNN_EVENTS",     "MPI_COLLECTIVES_EVENTS"};
    struct err ignored = {0};

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        char *sql = mem_printf("SELECT count(*) FROM %s", others[i]);

        if (sqlite_has(x->db, others[i], NULL))
            each_row(x, sql, take_other, &ignored);
        free(sql);
    }
}

static void read_rank(struct nsys *x, const struct input *in)
{
    nsys_who_read(&x->who, x->db);
    x->file = in->index;
    if (x->who.rank >= 0)
        x->rank = (uint16_t)(x->who.rank + 1);
    else if (in->count > 1)
        x->rank = (uint16_t)(RANKS_UNTOLD + in->index + 1);
}

static int read_all(struct nsys *x, struct err *e)
{
    if (read_names(x, e))
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (read_table(x, &tables[i], e))
            return -1;
    if (read_nvtx(x, e))
        return -1;
    count_others(x);
    if (x->s->events.n == x->first)
        return err_set(e, "no activity in it (a database of `nsys export --type sqlite` was expected)");
    return 0;
}

/* Who allocated and freed is who made the call. */
static void find_askers(struct nsys *x)
{
    for (size_t i = x->first; i < x->s->events.n; i++) {
        const struct event *call = &x->s->events.a[i];
        const struct gpu_work *w = call->kind == EVENT_GPU ? gpu_works_get(&x->s->gpus, call->attr) : NULL;
        const uint64_t *event = w && (w->op == GPU_RUNTIME || w->op == GPU_DRIVER) && call->value
                                    ? map_get(&x->asked, call->value)
                                    : NULL;

        if (!event)
            continue;
        x->s->events.a[*event - 1].task = call->task;
        x->s->events.a[*event - 1].stack = call->stack;
    }
}

static void finish(struct nsys *x)
{
    if (x->base > 0 && x->base < INT64_MAX / 2)
        for (size_t i = x->first; i < x->s->events.n; i++)
            x->s->events.a[i].ts += (uint64_t)x->base;
    import_count(x->st, IMPORT_NOTED, "nested deeper than 512",
                 nest_spans(x->s, x->first, x->frames.a, x->frames.n));
    import_count(x->st, IMPORT_NOTED, "without the call that launched them",
                 nest_launches(x->s, x->first, &x->s->gpus));
    find_askers(x);
    lanes_finish(&x->lanes, x->first);
}

static void describe(struct nsys *x)
{
    struct buf text = {0};

    buf_addstr(&text, "recorded by NVIDIA's Nsight Systems");
    if (x->who.rank >= 0)
        buf_addf(&text, ", rank %d", x->who.rank);
    else if (x->who.processes.n)
        buf_addf(&text, ", %d ranks", x->who.ranks);
    else if (x->who.ranks > 1)
        buf_addf(&text, ", %d ranks: their processes are told apart, their devices by number alone",
                 x->who.ranks);
    if (x->who.host)
        buf_addf(&text, ", on %s", x->who.host);
    *vec_push(&x->m->notes) = buf_detach(&text);
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct nsys x = {
        .s = s, .m = m, .st = st, .lanes = {.store = s}, .first = s->events.n, .first_task = s->tasks.list.n};
    int rc;

    if (in->own_fd < 0 || input_is_packed(in))
        return err_set(e, "a database is read from a file, unpacked, not through a pipe");
    x.db = sqlite_open(in->path, e);
    if (!x.db)
        return -1;
    read_rank(&x, in);
    rc = read_all(&x, e);
    if (!rc) {
        finish(&x);
        describe(&x);
        if (x.who.processes.n)
            ranks_split(st, s, in->name, x.who.host, &x.who.processes, x.first, x.first_task);
        else if (in->count > 1)
            ranks_add(st, s, in->name, x.who.host, x.rank - 1u, x.first, x.first_task);
    }
    in->bytes = in->size;
    sqlite_close(x.db);
    lanes_release(&x.lanes);
    nsys_who_release(&x.who);
    map_release(&x.processes);
    map_release(&x.asked);
    vec_release(&x.frames);
    return rc;
}

static int probe(const char *head, size_t n)
{
    static const char magic[] = "SQLite format 3";

    return n >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

const struct importer import_nsys = {
    .name = "nsys",
    .summary = "databases of NVIDIA's Nsight Systems: nsys export --type sqlite, a file a rank",
    .many = 1,
    .probe = probe,
    .run = run,
};
