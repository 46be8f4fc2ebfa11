/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points: what the driver calls at cuInit, and NVTX at its first use. */
#include "agent/inject.h"

#include "agent/nvtx.h"
#include "agent/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

enum { DEVICE_BUFFER_BYTES = 8 << 20, TICK_MS = 1000, TICK_MOST_MS = 60000 };

VISIBLE int InitializeInjection(void);
VISIBLE int InitializeInjectionNvtx(const void *(*get)(uint32_t table));
VISIBLE int InitializeInjectionNvtx2(const void *(*get)(uint32_t table));

struct agent *agent_get(void)
{
    static struct agent agent = {.out = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1}};

    return &agent;
}

/* RUNTIME and DRIVER are what gives correlation ids. NVTX's ranges are ours (nvtx.c). With GRAPH_TRACE, which
 * is asked for apart, CUPTI leaves out what kernels, copies and sets of graphs would tell. */
static const int kinds[] = {
    CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY2,  CUPTI_MEMSET,  CUPTI_RUNTIME_CALL,
    CUPTI_DRIVER_CALL,       CUPTI_SYNC,   CUPTI_OVERHEAD, CUPTI_MEMORY2,
};

static void ask_for(struct agent *a, int kind)
{
    if (a->cupti.enable(kind) == CUPTI_OK)
        a->kinds_on++;
    else
        agent_state(a, GPU_KIND_REFUSED, (uint64_t)kind);
}

void inject_kinds(struct agent *a)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        ask_for(a, kinds[i]);
    if (a->whole_graphs)
        ask_for(a, CUPTI_GRAPH);
    calls_choose(a); /* last: a kind of calls begins with all of them */
}

void inject_kinds_off(struct agent *a)
{
    if (atomic_load(&a->taken)) /* they are the process's: the other profiler records by them */
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        a->cupti.disable(kinds[i]);
    if (a->whole_graphs)
        a->cupti.disable(CUPTI_GRAPH);
}

/* ---- the process's ends ---- */

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;

/* Locks may be held by threads that a child of fork(2) has not. */
static void in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    struct agent *a = agent_get();

    atomic_store(&a->on, 0);
    atomic_store(&a->log, LOG_NONE);
    a->out.lock = beginning = fresh;
    keeper_child();
    agent_child();
    a->subscriber = NULL; /* our copy of CUPTI is none that works */
    for (int i = 0; i < GPU_COUNTS_N; i++)
        atomic_store(&a->counts[i], 0);
    out_close(&a->out);
    a->out.n = 0;
}

static void at_exit(void)
{
    struct agent *a = agent_get();
    int before = errno;

    if (atomic_load(&a->log) == LOG_ON && getpid() == a->pid)
        keeper_stop(a, GPU_ENDED);
    errno = before;
}

/* ---- getting in ---- */

static int make_tables(struct agent *a)
{
    static const struct {
        uint32_t slots, room;
    } sizes[TABLES] = {
        [TABLE_TEXTS] = {1 << 14, 2 << 20},   [TABLE_WORKS] = {1 << 16, 5 << 20},
        [TABLE_MODULES] = {1 << 11, 1 << 20}, [TABLE_CODES] = {1 << 15, 1 << 19},
        [TABLE_FRAMES] = {1 << 17, 2 << 20},  [TABLE_STACKS] = {1 << 18, 2 << 20},
    };

    for (int i = 0; i < TABLES; i++) {
        if (a->tables[i].keys) /* of the process that we are a copy of */
            table_clear(&a->tables[i]);
        else if (table_init(&a->tables[i], sizes[i].slots, sizes[i].room))
            return -1;
    }
    a->generation++;
    return 0;
}

/* Which pids ours are: "pid:[4026531836]". 0: not known. */
static uint64_t pid_space(void)
{
    char text[64];
    ssize_t n = readlink("/proc/self/ns/pid", text, sizeof(text));
    uint64_t v = 0;

    for (ssize_t i = 0; i < n; i++)
        if (text[i] >= '0' && text[i] <= '9')
            v = v * 10 + (uint64_t)(text[i] - '0');
    return v;
}

static void hello(struct agent *a)
{
    out_lock(&a->out);
    out_u8(&a->out, GPU_HELLO);
    out_number(&a->out, GPU_WIRE_VERSION);
    out_number(&a->out, (uint64_t)a->pid);
    out_number(&a->out, agent_clock());
    out_number(&a->out, pid_space());
    out_unlock(&a->out);
    out_flush(&a->out);
}

/* At the first entry: programs clear their environment. */
static void settings(struct agent *a)
{
    const char *dir = getenv(GPU_WIRE_ENV), *tick = getenv(GPU_WIRE_TICK_ENV),
               *graphs = getenv(GPU_WIRE_GRAPHS_ENV);
    const char *marks = getenv(GPU_WIRE_MARKS_ENV);
    unsigned long ms = 0;

    if (dir && *dir == '/' && strlen(dir) < sizeof(a->dir))
        memcpy(a->dir, dir, strlen(dir) + 1);
    for (; tick && *tick >= '0' && *tick <= '9' && ms <= TICK_MOST_MS; tick++)
        ms = ms * 10 + (unsigned long)(*tick - '0');
    a->tick_ms = ms && ms <= TICK_MOST_MS ? ms : TICK_MS;
    if (marks && *marks == '/' && strlen(marks) < sizeof(a->recorder.sun_path)) {
        a->recorder.sun_family = AF_UNIX;
        memcpy(a->recorder.sun_path, marks, strlen(marks) + 1);
    }
    a->whole_graphs = graphs && !strcmp(graphs, "whole");
}

/* Each may be refused by some version: defaults do then. They are the process's, another profiler's too: that
 * CUPTI gets its buffers zeroed is not promised, as torch.profiler's are not, which would find remains in
 * fields that CUPTI leaves alone. */
static void attributes(struct agent *a)
{
    size_t bytes = DEVICE_BUFFER_BYTES, n = sizeof(bytes);

    if (a->cupti.thread_ids)
        a->cupti.thread_ids(CUPTI_THREADS_OF_SYSTEM);
    if (!a->cupti.set_attribute)
        return;
    a->cupti.set_attribute(CUPTI_ATTR_DEVICE_BUFFER, &n, &bytes);
}

/* -1: it was said why not. */
static int arm(struct agent *a)
{
    int rc = cupti_load(&a->cupti);

    if (rc) {
        agent_state(a, GPU_NO_CUPTI, rc > 0);
        return -1;
    }
    a->cupti.version(&a->version);
    rc = a->cupti.subscribe(&a->subscriber, calls_seen, a);
    if (rc != CUPTI_OK) {
        agent_state(a, rc == CUPTI_SUBSCRIBED ? GPU_OTHER : GPU_REFUSED, (uint64_t)rc);
        return -1;
    }
    attributes(a);
    atomic_store(&a->on, 1);
    rc = a->cupti.register_callbacks(records_requested, records_completed);
    if (rc != CUPTI_OK) {
        agent_state(a, GPU_REFUSED, (uint64_t)rc);
        return -1;
    }
    inject_kinds(a);
    return a->kinds_on ? 0 : -1; /* each was said */
}

/* Whatever the process does, a log that was begun is ended. */
static int watch_the_end(void)
{
    static int watched;

    return watched++ ? 0 : pthread_atfork(NULL, NULL, in_child) || atexit(at_exit) ? -1 : 0;
}

static int begin_log(struct agent *a)
{
    out_close(&a->out);
    a->pid = getpid();
    if (!*a->dir || out_open(&a->out, a->dir))
        return -1;
    hello(a);
    who_rank(a);
    if (make_tables(a) || watch_the_end()) {
        out_close(&a->out);
        return -1;
    }
    atomic_store(&a->log, LOG_ON);
    return keeper_start(a);
}

int inject_log(struct agent *a)
{
    if (atomic_load(&a->log) == LOG_NONE) {
        pthread_mutex_lock(&beginning);
        if (atomic_load(&a->log) == LOG_NONE && begin_log(a))
            atomic_store(&a->log, LOG_OVER);
        pthread_mutex_unlock(&beginning);
    }
    return atomic_load(&a->log) == LOG_ON ? 0 : -1;
}

static void begin(struct agent *a)
{
    if (inject_log(a))
        return;
    walk_init(a);
    if (arm(a)) {
        atomic_store(&a->on, 0);
        return;
    }
    walk_look(a); /* CUPTI, too, is there now */
    agent_state(a, GPU_ARMED, a->version);
    keeper_flush(a, 0);
    a->ask_devices = 1; /* from now on: we are called within cuInit, which is no place to ask the driver */
}

static struct agent *enter(void)
{
    static int entered;
    struct agent *a = agent_get();

    pthread_mutex_lock(&beginning);
    if (!entered++)
        settings(a);
    pthread_mutex_unlock(&beginning);
    return a;
}

/* CUPTI is not armed before the program itself begins with CUDA, as it may fork until then. */
int InitializeInjection(void)
{
    static atomic_int begun;
    int before = errno;
    struct agent *a = enter();

    if (*a->dir && !atomic_exchange(&begun, 1))
        begin(a);
    errno = before;
    return 1;
}

/* 0: NVTX unloads us and stays off. */
int InitializeInjectionNvtx2(const void *(*get)(uint32_t table))
{
    return *enter()->dir ? nvtx_take(get) : 0;
}

int InitializeInjectionNvtx(const void *(*get)(uint32_t table))
{
    return InitializeInjectionNvtx2(get);
}
