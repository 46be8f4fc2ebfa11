/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's calls, which each library that marks by it hands to us at its first use. Not to CUPTI, which has its
 * ranges only where there is a driver: so they are there before CUDA begins, and in processes without it.
 * Names of domains, categories and threads, payloads and colours are left out.
 *
 * The functions' numbers and types: nvtx3/nvtxDetail/nvtxTypes.h and nvtx3/nvToolsExt.h of NVTX 3, which
 * those of NVTX 2 are, too.
 */
#include "agent/nvtx.h"

#include "agent/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { ETID_CALLBACKS = 1 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE, MESSAGE_REGISTERED };
enum { NO_TRACKING = -2 }; /* of ranges: what push and pop give where their depth is not known */
enum { DEPTH = 64 };       /* of a thread's ranges: deeper ones are left out */

/* nvtxEventAttributes_v2 */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

_Static_assert(offsetof(struct attributes, message_type) == 32 && offsetof(struct attributes, message) == 40,
               "as nvtxEventAttributes_v2 lies");

typedef void (*function)(void);

/* NvtxExportTableCallbacks */
struct callbacks {
    size_t size;
    int (*module)(int module, function ***table, unsigned *n);
};

/* A text as it comes: characters, or wide ones; NULL: none. */
struct text {
    const char *narrow;
    const wchar_t *wide;
};

static __thread struct {
    unsigned depth;
    struct {
        const void *domain;
        uint32_t id;
    } open[DEPTH];
} self;

static atomic_uint_fast32_t ids;

/* ---- what is written ---- */

/* What is not ASCII becomes '?'. */
static size_t narrow(const wchar_t *from, char to[GPU_WIRE_TEXT])
{
    size_t n = 0;

    for (; from[n] && n < GPU_WIRE_TEXT; n++)
        to[n] = from[n] > 0 && from[n] < 128 ? (char)from[n] : '?';
    return n;
}

static uint32_t text_id(struct agent *a, const struct text *t)
{
    char buf[GPU_WIRE_TEXT];

    if (t && t->wide)
        return agent_text(a, buf, narrow(t->wide, buf));
    return t && t->narrow ? agent_text(a, t->narrow, strnlen(t->narrow, GPU_WIRE_TEXT)) : 0;
}

static void put(enum gpu_mark kind, uint32_t id, const struct text *text, pid_t tid)
{
    struct agent *a = agent_get();
    uint64_t now = agent_clock();
    int before = errno;
    uint32_t name;

    if (inject_log(a)) {
        errno = before;
        return;
    }
    out_lock(&a->out);
    name = text_id(a, text);
    out_reserve(&a->out, 64);
    out_u8(&a->out, GPU_MARK);
    out_number(&a->out, now);
    out_number(&a->out, kind);
    out_number(&a->out, id);
    out_number(&a->out, name);
    out_number(&a->out, (uint64_t)tid);
    out_unlock(&a->out);
    errno = before;
}

static uint32_t begin(const struct text *text, pid_t tid)
{
    uint32_t id = (uint32_t)atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;

    put(GPU_MARK_BEGIN, id, text, tid);
    return id;
}

/* Of a thread. */
static int push(const void *domain, const struct text *text)
{
    if (self.depth < DEPTH) {
        self.open[self.depth].domain = domain;
        self.open[self.depth].id = begin(text, agent_tid());
    }
    self.depth++;
    return NO_TRACKING;
}

/* The last one of its domain. */
static int pop(const void *domain)
{
    unsigned i;

    if (self.depth > DEPTH) {
        self.depth--;
        return NO_TRACKING;
    }
    for (i = self.depth; i && self.open[i - 1].domain != domain;)
        i--;
    if (!i)
        return NO_TRACKING;
    put(GPU_MARK_END, self.open[i - 1].id, NULL, agent_tid());
    memmove(&self.open[i - 1], &self.open[i], (self.depth - i) * sizeof(*self.open));
    self.depth--;
    return NO_TRACKING;
}

/* ---- NVTX's functions ---- */

/* Registered strings are copies, which stay. */
static struct text message_of(const struct attributes *x)
{
    struct text t = {0};

    if (!x || x->size < sizeof(*x))
        return t;
    if (x->message_type == MESSAGE_ASCII || x->message_type == MESSAGE_REGISTERED)
        t.narrow = x->message;
    else if (x->message_type == MESSAGE_UNICODE)
        t.wide = x->message;
    return t;
}

static void mark_domain(const void *domain, const struct attributes *x)
{
    struct text t = message_of(x);

    (void)domain;
    put(GPU_MARK_INSTANT, 0, &t, agent_tid());
}

static void mark_ex(const struct attributes *x)
{
    mark_domain(NULL, x);
}

static void mark_a(const char *text)
{
    put(GPU_MARK_INSTANT, 0, &(struct text){.narrow = text}, agent_tid());
}

static void mark_w(const wchar_t *text)
{
    put(GPU_MARK_INSTANT, 0, &(struct text){.wide = text}, agent_tid());
}

/* Ranges that any thread may end are the process's. */
static uint64_t start_domain(const void *domain, const struct attributes *x)
{
    struct text t = message_of(x);

    (void)domain;
    return begin(&t, getpid());
}

static uint64_t start_ex(const struct attributes *x)
{
    return start_domain(NULL, x);
}

static uint64_t start_a(const char *text)
{
    return begin(&(struct text){.narrow = text}, getpid());
}

static uint64_t start_w(const wchar_t *text)
{
    return begin(&(struct text){.wide = text}, getpid());
}

static void end(uint64_t id)
{
    put(GPU_MARK_END, (uint32_t)id, NULL, getpid());
}

static void end_domain(const void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static int push_domain(const void *domain, const struct attributes *x)
{
    struct text t = message_of(x);

    return push(domain, &t);
}

static int push_ex(const struct attributes *x)
{
    return push_domain(NULL, x);
}

static int push_a(const char *text)
{
    return push(NULL, &(struct text){.narrow = text});
}

static int push_w(const wchar_t *text)
{
    return push(NULL, &(struct text){.wide = text});
}

static int pop_domain(const void *domain)
{
    return pop(domain);
}

static int pop_default(void)
{
    return pop(NULL);
}

static const void *register_a(const void *domain, const char *text)
{
    (void)domain;
    return text ? strndup(text, GPU_WIRE_TEXT) : NULL;
}

static const void *register_w(const void *domain, const wchar_t *text)
{
    char buf[GPU_WIRE_TEXT];

    (void)domain;
    return text ? strndup(buf, narrow(text, buf)) : NULL;
}

static const void *create_a(const char *name)
{
    return register_a(NULL, name);
}

static const void *create_w(const wchar_t *name)
{
    return register_w(NULL, name);
}

/* ---- handing over ---- */

static const struct {
    uint8_t module, number; /* NVTX_CBID_CORE_*, NVTX_CBID_CORE2_* */
    function ours;
} functions[] = {
    {MODULE_CORE, 1, (function)mark_ex},       {MODULE_CORE, 2, (function)mark_a},
    {MODULE_CORE, 3, (function)mark_w},        {MODULE_CORE, 4, (function)start_ex},
    {MODULE_CORE, 5, (function)start_a},       {MODULE_CORE, 6, (function)start_w},
    {MODULE_CORE, 7, (function)end},           {MODULE_CORE, 8, (function)push_ex},
    {MODULE_CORE, 9, (function)push_a},        {MODULE_CORE, 10, (function)push_w},
    {MODULE_CORE, 11, (function)pop_default},  {MODULE_CORE2, 1, (function)mark_domain},
    {MODULE_CORE2, 2, (function)start_domain}, {MODULE_CORE2, 3, (function)end_domain},
    {MODULE_CORE2, 4, (function)push_domain},  {MODULE_CORE2, 5, (function)pop_domain},
    {MODULE_CORE2, 10, (function)register_a},  {MODULE_CORE2, 11, (function)register_w},
    {MODULE_CORE2, 12, (function)create_a},    {MODULE_CORE2, 13, (function)create_w},
};

int nvtx_take(const void *(*get)(uint32_t table))
{
    const struct callbacks *c = get ? get(ETID_CALLBACKS) : NULL;
    int taken = 0;

    if (!c || c->size < sizeof(*c) || !c->module)
        return 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        function **table = NULL;
        unsigned n = 0;

        if (!c->module(functions[i].module, &table, &n) || !table || functions[i].number >= n ||
            !table[functions[i].number])
            continue;
        *table[functions[i].number] = functions[i].ours;
        taken = 1;
    }
    return taken;
}
