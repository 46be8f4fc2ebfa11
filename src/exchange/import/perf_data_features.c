/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind perf.data's records: sections by number, as in tools/perf/util/header.h of Linux. */
#include "exchange/import/perf_data_file.h"

#include "base/hash.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum feature {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CPUDESC = 8,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_DIR_FORMAT = 24,
    FEATURE_COMPRESSED = 27,
    FEATURE_CLOCK_DATA = 29,
};

/* Of a record of HEADER_BUILD_ID: the build id's length is told. */
#define MISC_BUILD_ID_SIZE (1u << 15)

enum { BUILD_ID_PATH = 36, BUILD_ID_PATH_OLD = 32, TEXTS_MAX = 1 << 16 };

/* A text with its padded length in front. NULL: it makes no sense. */
static char *text_read(struct perf_words *w)
{
    uint32_t n = perf_u32(w);
    const char *text = cursor_bytes(&w->c, n);

    return text ? mem_strndup(text, strnlen(text, n)) : NULL;
}

static int take_text(char **to, struct perf_words *w)
{
    char *text = text_read(w);

    if (!text)
        return -1;
    free(*to);
    *to = text;
    return 0;
}

static int take_command(struct perf_file *f, struct perf_words *w)
{
    uint32_t n = perf_u32(w);
    struct buf all = {0};

    for (uint32_t i = 0; i < n && i < TEXTS_MAX && !w->c.bad; i++) {
        char *text = text_read(w);

        if (text)
            buf_addf(&all, "%s%s", i ? " " : "", text);
        free(text);
    }
    if (w->c.bad) {
        buf_release(&all);
        return -1;
    }
    free(f->about.command);
    f->about.command = mem_strdup(buf_str(&all));
    buf_release(&all);
    return 0;
}

/* ---- events ---- */

/* The event that these ids are of; without any, the `nth`. */
static int event_of(const struct perf_file *f, struct perf_words *ids, uint32_t nth)
{
    int event = -1;

    if (!perf_words_left(ids))
        return nth < f->attrs.n ? (int)nth : -1;
    while (event < 0 && perf_words_left(ids) >= 8)
        event = perf_file_event(f, perf_u64(ids));
    return event;
}

/* Names of the events, each with its attr and ids. */
static int take_events(struct perf_file *f, struct perf_words *w)
{
    uint32_t n = perf_u32(w), size = perf_u32(w);

    for (uint32_t i = 0; i < n && !w->c.bad; i++) {
        uint32_t ids_n;
        struct perf_words ids;
        const void *p;
        char *name;
        int event;

        (void)cursor_bytes(&w->c, size);
        ids_n = perf_u32(w);
        name = text_read(w);
        p = cursor_bytes(&w->c, (size_t)ids_n * 8);
        if (!name || !p) {
            free(name);
            return -1;
        }
        ids = perf_words_init(p, (size_t)ids_n * 8, f->big);
        event = event_of(f, &ids, i);
        if (event < 0) {
            free(name);
            continue;
        }
        free(f->attrs.a[event].name);
        f->attrs.a[event].name = name;
    }
    return w->c.bad ? -1 : 0;
}

/* ---- build ids ---- */

static void add_build_id(struct perf_file *f, const uint8_t *record, size_t n, size_t path)
{
    struct perf_words w = perf_words_init(record, n, f->big);
    struct perf_build_id b = {.n = 20};
    uint16_t misc;
    uint64_t *slot;

    (void)perf_u32(&w);
    misc = perf_u16(&w);
    (void)perf_u16(&w);
    if (path == BUILD_ID_PATH)
        (void)perf_u32(&w); /* a pid: of guests */
    memcpy(b.id, w.c.p, sizeof(b.id));
    if (misc & MISC_BUILD_ID_SIZE && w.c.p[20] <= sizeof(b.id))
        b.n = w.c.p[20];
    b.path = mem_strndup((const char *)record + path, strnlen((const char *)record + path, n - path));
    *vec_push(&f->build_ids) = b;
    slot = map_put(&f->by_path, hash_bytes(b.path, strlen(b.path)));
    if (!*slot)
        *slot = f->build_ids.n;
}

int perf_file_build_id(struct perf_file *f, const uint8_t *record, size_t n)
{
    if (n <= BUILD_ID_PATH)
        return -1;
    add_build_id(f, record, n, BUILD_ID_PATH);
    return 0;
}

/* Some old perfs wrote no pid: what should be the kernel's name lacks its beginning. */
static int lacks_pids(const struct perf_words *all)
{
    static const char rest[] = "nel.kallsyms]";
    size_t n = sizeof(rest) - 1;

    return perf_words_left(all) >= BUILD_ID_PATH + n && !memcmp(all->c.p + BUILD_ID_PATH, rest, n);
}

static int take_build_ids(struct perf_file *f, struct perf_words *w)
{
    size_t path = lacks_pids(w) ? BUILD_ID_PATH_OLD : BUILD_ID_PATH;

    while (perf_words_left(w)) {
        struct perf_words head = *w;
        const uint8_t *p = w->c.p;
        uint16_t size;

        (void)perf_u32(&head);
        (void)perf_u16(&head);
        size = perf_u16(&head);
        if (head.c.bad || size <= path || !cursor_bytes(&w->c, size))
            return -1;
        add_build_id(f, p, size, path);
    }
    return 0;
}

/* ---- all ---- */

/* version, clock, then the same moment on the wall's and on the samples' clock */
static int take_clock(struct perf_file *f, struct perf_words *w)
{
    (void)perf_u32(w);
    (void)perf_u32(w);
    f->about.wall_ns = perf_u64(w);
    f->about.clock_ns = perf_u64(w);
    f->about.wall_told = !w->c.bad;
    return w->c.bad ? -1 : 0;
}

int perf_file_feature(struct perf_file *f, uint64_t feature, const uint8_t *p, size_t n)
{
    struct perf_words w = perf_words_init(p, n, f->big);
    struct perf_about *a = &f->about;

    switch (feature) {
    case FEATURE_BUILD_ID:
        return take_build_ids(f, &w);
    case FEATURE_HOSTNAME:
        return take_text(&a->host, &w);
    case FEATURE_OSRELEASE:
        return take_text(&a->release, &w);
    case FEATURE_VERSION:
        return take_text(&a->version, &w);
    case FEATURE_ARCH:
        return take_text(&a->arch, &w);
    case FEATURE_CPUDESC:
        return take_text(&a->cpu, &w);
    case FEATURE_NRCPUS:
        (void)perf_u32(&w); /* there could be */
        a->ncpus = perf_u32(&w);
        return w.c.bad ? -1 : 0;
    case FEATURE_CMDLINE:
        return take_command(f, &w);
    case FEATURE_EVENT_DESC:
        return take_events(f, &w);
    case FEATURE_CLOCK_DATA:
        return take_clock(f, &w);
    case FEATURE_DIR_FORMAT:
        f->in_directory = 1;
        return 0;
    case FEATURE_COMPRESSED:
        f->compressed = 1;
        return 0;
    }
    return 0; /* of the machine, or for other uses */
}

/* ---- names of events that the file doesn't tell ---- */

static const char *name_in(const char *const *names, size_t n, uint64_t i)
{
    return i < n ? names[i] : NULL;
}

/* As perf calls them: its own parser's names for PERF_COUNT_HW_* and PERF_COUNT_SW_*. */
static const char *known_name(const struct perf_attr *a)
{
    static const char *const hardware[] = {
        "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
        "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
    };
    static const char *const software[] = {
        "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
        "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
        "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
    };

    if (a->type == PERF_TYPE_HARDWARE)
        return name_in(hardware, sizeof(hardware) / sizeof(hardware[0]), a->config & UINT32_MAX);
    if (a->type == PERF_TYPE_SOFTWARE)
        return name_in(software, sizeof(software) / sizeof(software[0]), a->config);
    return NULL;
}

const char *perf_file_event_name(struct perf_file *f, size_t event)
{
    struct perf_attr *a = &f->attrs.a[event];
    unsigned long long config = a->config;

    if (a->name)
        return a->name;
    if (known_name(a))
        a->name = mem_strdup(known_name(a));
    else if (a->type == PERF_TYPE_TRACEPOINT)
        a->name = mem_printf("tracepoint-%llu", config);
    else if (a->type == PERF_TYPE_RAW)
        a->name = mem_printf("raw-0x%llx", config);
    else
        a->name = mem_printf("type-%u-config-0x%llx", a->type, config);
    return a->name;
}
