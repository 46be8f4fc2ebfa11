/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log: first as it is, then as payloads behind good headers, since no mutation gets past the sums. Whatever
 * loads must be sound: ids in range, parents before children, and what it folds to likewise.
 */
#include "analyze/fold.h"
#include "analyze/gpu_blame.h"
#include "analyze/gpu_busy.h"
#include "analyze/gpu_calls.h"
#include "analyze/gpu_kernels.h"
#include "analyze/timeline.h"
#include "base/hash.h"
#include "model/store_compact.h"
#include "model/store_log.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS_MAX = 20000 }; /* a constant column makes many rows of few bytes */

static void require(int ok)
{
    if (!ok)
        abort();
}

static void check_ids(const struct store *s)
{
    uint32_t strings = strtab_count(&s->strings);

    for (size_t i = 0; i < s->frames.list.n; i++) {
        const struct frame *f = &s->frames.list.a[i];

        require(f->module <= s->frames.modules.n && f->func <= strings && f->file <= strings);
        require((size_t)f->names + f->names_n <= s->frames.names.n);
    }
    for (size_t i = 0; i < s->frames.names.n; i++)
        require(s->frames.names.a[i].func <= strings && s->frames.names.a[i].file <= strings);
    for (size_t i = 0; i < s->stacks.nodes.n; i++)
        require(s->stacks.nodes.a[i].parent <= i && s->stacks.nodes.a[i].frame <= s->frames.list.n);
    for (size_t i = 0; i < s->tasks.list.n; i++)
        require(s->tasks.list.a[i].leader && s->tasks.list.a[i].leader <= s->tasks.list.n);
    for (size_t i = 0; i < s->gpus.list.n; i++)
        require(s->gpus.list.a[i].name <= strings && s->gpus.list.a[i].result <= 1 && !s->gpus.list.a[i].pad);
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        require(ev->task <= s->tasks.list.n && ev->stack <= s->stacks.nodes.n && ev->metric <= strings);
        require(!i || s->events.a[i - 1].ts <= ev->ts);
    }
}

/* Of what ran, every stream has its part, and no row is of anything else. */
static void use_gpus(const struct store *s)
{
    const struct session session = {.store = *s};
    struct timeline timeline;
    struct gpu_trace x;
    struct table t;
    size_t ran = 0;

    gpu_trace_init(&x, &session);
    for (size_t i = 0; i < x.streams.n; i++)
        ran += x.streams.a[i].n;
    require(ran == x.ran.n && x.streams.n >= x.devices.n);
    gpu_devices_table(&t, &x, 0, 0);
    table_release(&t);
    gpu_streams_table(&t, &x, UINT32_MAX, 0);
    table_release(&t);
    gpu_kernels_table(&t, &x, UINT32_MAX, 0);
    table_release(&t);
    gpu_stalls_table(&t, &x, 0);
    table_release(&t);
    gpu_blame_table(&t, &x, 0);
    table_release(&t);
    gpu_trace_release(&x);
    timeline_build(&timeline, &session, &(struct timeline_opts){.max_spans = 100, .max_ticks = 100});
    for (size_t i = 0; i < timeline.spans.n; i++)
        require(timeline.spans.a[i].launch <= timeline.spans.n &&
                timeline.spans.a[i].work <= timeline.works.n);
    timeline_release(&timeline);
}

static void use(const struct store *s)
{
    struct fold_opts o = {.inlines = 1, .samples = 1};
    struct store small = {0};
    struct profile p;
    struct buf text = {0};

    if (s->events.n > EVENTS_MAX || s->stacks.nodes.n > EVENTS_MAX || s->frames.list.n > EVENTS_MAX)
        return;
    store_compact(&small, s);
    require(small.events.n == s->events.n && small.stacks.nodes.n == s->stacks.nodes.n &&
            small.gpus.list.n == s->gpus.list.n);
    if (!fold_store(&p, s, 0, &o, NULL) && p.nodes.n < EVENTS_MAX)
        profile_folded(&p, 0, &text);
    profile_release(&p);
    use_gpus(s);
    buf_release(&text);
    store_release(&small);
}

static void load(const void *p, size_t n)
{
    struct store s = {0};
    struct store_load l;
    struct err e = {0};

    if (store_log_load(&s, -1, p, n, &l, &e)) {
        require(e.msg[0] != '\0');
    } else {
        require(l.good_bytes <= n && (l.good_bytes == n || l.ended || l.why.msg[0] || n < WLOG_FILE_HEADER));
        check_ids(&s);
        use(&s);
    }
    store_release(&s);
}

static void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

/* type, length, payload; again and again. */
static void dress(const uint8_t *data, size_t size, struct buf *out)
{
    uint8_t file[WLOG_FILE_HEADER] = {'W', 'P', 'R', 'O', 'F', 'L', 'O', 'G', WLOG_MAJOR};

    put32(file + 12, crc32c(0, file, 12));
    buf_add(out, file, sizeof(file));
    while (size >= 2) {
        size_t n = data[1] < size - 2 ? data[1] : size - 2;
        uint8_t h[WLOG_BLOCK_HEADER] = {'W', 'B', 'L', 'K', data[0] % 16, 0, 1, WLOG_STORED};

        put32(h + 8, (uint32_t)n);
        put32(h + 12, (uint32_t)n);
        put32(h + 16, crc32c(0, data + 2, n));
        put32(h + 20, crc32c(0, h, 20));
        buf_add(out, h, sizeof(h));
        buf_add(out, data + 2, n);
        data += 2 + n;
        size -= 2 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf log = {0};

    load(data, size);
    dress(data, size > 4096 ? 4096 : size, &log);
    load(log.data, log.len);
    buf_release(&log);
    return 0;
}
