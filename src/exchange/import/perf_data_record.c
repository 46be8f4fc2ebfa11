/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_record.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/sysmacros.h>

/* What older headers lack. */
#define SAMPLE_AUX            (1ull << 20)
#define SAMPLE_CGROUP         (1ull << 21)
#define SAMPLE_DATA_PAGE_SIZE (1ull << 22)
#define SAMPLE_CODE_PAGE_SIZE (1ull << 23)
#define SAMPLE_WEIGHT_STRUCT  (1ull << 24)
#define FORMAT_LOST           (1ull << 4)
#define BRANCH_HW_INDEX       (1ull << 17)
#define BRANCH_COUNTERS       (1ull << 19)
#define MISC_MMAP_DATA        (1u << 13)
#define MISC_MMAP_BUILD_ID    (1u << 14)

enum { BRANCH_SIZE = 24, MODE_MASK = 7 };

int perf_rec_read(struct perf_rec *r, const uint8_t *p, size_t n, int big)
{
    struct perf_words w = perf_words_init(p, n, big);

    *r = (struct perf_rec){.p = p, .type = perf_u32(&w), .misc = perf_u16(&w), .size = perf_u16(&w)};
    if (w.c.bad || r->size < PERF_RECORD_HEAD || r->size > n)
        return -1;
    r->body = perf_words_init(p + PERF_RECORD_HEAD, r->size - PERF_RECORD_HEAD, big);
    return 0;
}

enum perf_mode perf_rec_mode(const struct perf_rec *r)
{
    switch (r->misc & MODE_MASK) {
    case PERF_RECORD_MISC_KERNEL:
        return PERF_MODE_KERNEL;
    case PERF_RECORD_MISC_USER:
        return PERF_MODE_USER;
    case PERF_RECORD_MISC_HYPERVISOR:
        return PERF_MODE_HYPERVISOR;
    case PERF_RECORD_MISC_GUEST_KERNEL:
    case PERF_RECORD_MISC_GUEST_USER:
        return PERF_MODE_GUEST;
    }
    return PERF_MODE_UNKNOWN;
}

/* ---- samples ---- */

static void skip(struct perf_words *w, uint64_t n)
{
    if (n > perf_words_left(w)) {
        w->c.bad = 1;
        w->c.p = w->c.end;
    } else {
        w->c.p += n;
    }
}

/* n things of `size` bytes. */
static void skip_many(struct perf_words *w, uint64_t n, uint64_t size)
{
    skip(w, n > perf_words_left(w) ? UINT64_MAX : n * size);
}

/* Words of a counter in a group: value, id, how many were lost. */
static uint64_t words_of_read(uint64_t format)
{
    return 1 + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST);
}

/* Of a group: how many, times, then each; else the value, times, then the rest. */
static void read_counters(struct perf_words *w, uint64_t format, struct perf_sample *s)
{
    uint64_t times = 8 * (uint64_t)(!!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
                                    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING));
    int grouped = (format & PERF_FORMAT_GROUP) != 0;

    s->reads_n = grouped ? perf_u64(w) : 1;
    if (grouped)
        skip(w, times);
    s->reads = format & PERF_FORMAT_ID ? w->c.p : NULL;
    skip_many(w, s->reads_n, 8 * words_of_read(format));
    if (!grouped)
        skip(w, times);
}

void perf_sample_value(const struct perf_file *f, const struct perf_attr *a, const struct perf_sample *s,
                       uint64_t i, uint64_t *id, uint64_t *value)
{
    uint64_t format = a->read_format, each = 8 * words_of_read(format);
    uint64_t times =
        !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    struct perf_words w = perf_words_init(s->reads + i * each, each + 8 * times, f->big);

    *value = perf_u64(&w);
    if (!(format & PERF_FORMAT_GROUP))
        (void)cursor_bytes(&w.c, 8 * times);
    *id = perf_u64(&w);
}

static void read_chain(struct perf_words *w, struct perf_sample *s)
{
    s->chain_n = perf_u64(w);
    s->chain = w->c.p;
    skip_many(w, s->chain_n, 8);
}

static void skip_branches(const struct perf_attr *a, struct perf_words *w, struct perf_sample *s)
{
    uint64_t n = perf_u64(w);

    s->has_branches = n > 0;
    if (a->branch_type & BRANCH_HW_INDEX)
        skip(w, 8);
    skip_many(w, n, BRANCH_SIZE);
    if (a->branch_type & BRANCH_COUNTERS)
        skip_many(w, n, 8);
}

static uint64_t read_regs(struct perf_words *w, uint64_t mask, const uint8_t **regs)
{
    uint64_t abi = perf_u64(w);

    *regs = w->c.p;
    if (abi)
        skip(w, 8 * (uint64_t)__builtin_popcountll(mask));
    return abi;
}

static void read_stack(struct perf_words *w, struct perf_sample *s)
{
    uint64_t size = perf_u64(w), filled;

    s->stack = w->c.p;
    skip(w, size);
    if (!size)
        return;
    filled = perf_u64(w);
    s->stack_n = filled < size ? filled : size;
}

/* From WEIGHT on. */
static void skip_tail(const struct perf_attr *a, struct perf_words *w)
{
    static const uint64_t words[] = {SAMPLE_CGROUP, SAMPLE_DATA_PAGE_SIZE, SAMPLE_CODE_PAGE_SIZE};
    uint64_t type = a->sample_type;
    const uint8_t *regs;

    if (type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
        skip(w, 8);
    if (type & PERF_SAMPLE_DATA_SRC)
        skip(w, 8);
    if (type & PERF_SAMPLE_TRANSACTION)
        skip(w, 8);
    if (type & PERF_SAMPLE_REGS_INTR)
        (void)read_regs(w, a->regs_intr, &regs);
    if (type & PERF_SAMPLE_PHYS_ADDR)
        skip(w, 8);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (type & words[i])
            skip(w, 8);
    if (type & SAMPLE_AUX)
        skip(w, perf_u64(w));
}

/* The part that is the same size for every sample of an event. */
static void read_front(uint64_t type, struct perf_words *w, struct perf_sample *s)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        s->id = perf_u64(w);
    if (type & PERF_SAMPLE_IP)
        s->ip = perf_u64(w);
    if (type & PERF_SAMPLE_TID) {
        s->pid = perf_u32(w);
        s->tid = perf_u32(w);
    }
    if (type & PERF_SAMPLE_TIME)
        s->time = perf_u64(w);
    if (type & PERF_SAMPLE_ADDR)
        skip(w, 8);
    if (type & PERF_SAMPLE_ID)
        s->id = perf_u64(w);
    if (type & PERF_SAMPLE_STREAM_ID)
        skip(w, 8);
    if (type & PERF_SAMPLE_CPU) {
        s->cpu = perf_u32(w);
        skip(w, 4);
    }
    if (type & PERF_SAMPLE_PERIOD)
        s->period = perf_u64(w);
}

int perf_sample_read(const struct perf_attr *a, const struct perf_rec *r, struct perf_sample *s)
{
    struct perf_words w = r->body;
    uint64_t type = a->sample_type;

    *s = (struct perf_sample){.ip_told = (type & PERF_SAMPLE_IP) != 0,
                              .tid_told = (type & PERF_SAMPLE_TID) != 0,
                              .period_told = (type & PERF_SAMPLE_PERIOD) != 0};
    read_front(type, &w, s);
    if (type & PERF_SAMPLE_READ)
        read_counters(&w, a->read_format, s);
    if (type & PERF_SAMPLE_CALLCHAIN)
        read_chain(&w, s);
    if (type & PERF_SAMPLE_RAW)
        skip(&w, perf_u32(&w));
    if (type & PERF_SAMPLE_BRANCH_STACK)
        skip_branches(a, &w, s);
    if (type & PERF_SAMPLE_REGS_USER)
        s->regs_abi = read_regs(&w, a->regs_user, &s->regs);
    if (type & PERF_SAMPLE_STACK_USER)
        read_stack(&w, s);
    skip_tail(a, &w);
    return w.c.bad ? -1 : 0;
}

uint64_t perf_sample_reg(const struct perf_file *f, const struct perf_attr *a, const struct perf_sample *s,
                         unsigned bit)
{
    uint64_t below = a->regs_user & ((1ull << bit) - 1);
    struct perf_words w;

    if (!(a->regs_user >> bit & 1) || !s->regs_abi)
        return 0;
    w = perf_words_init(s->regs + 8 * (size_t)__builtin_popcountll(below), 8, f->big);
    return perf_u64(&w);
}

/* ---- which event, and when ---- */

/* Where a sample's id is, in words from its beginning; -1: it has none. */
static int id_in_sample(uint64_t type)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        return 0;
    if (!(type & PERF_SAMPLE_ID))
        return -1;
    return __builtin_popcountll(type &
                                (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
}

/* The same of other records, in words from their end: TID TIME ID STREAM_ID CPU IDENTIFIER, those there are.
 */
static int id_in_trailer(uint64_t type)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        return 1;
    if (!(type & PERF_SAMPLE_ID))
        return -1;
    return 1 + __builtin_popcountll(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
}

static uint64_t word_at(const struct perf_rec *r, size_t word, int *bad)
{
    struct perf_words w = r->body;

    skip(&w, 8 * (uint64_t)word);
    *bad = perf_words_left(&w) < 8;
    return perf_u64(&w);
}

static uint64_t word_from_end(const struct perf_rec *r, size_t word, int *bad)
{
    size_t n = perf_words_left(&r->body) / 8;

    *bad = word > n;
    return *bad ? 0 : word_at(r, n - word, bad);
}

/* All events of a file keep it at one place, else perf could not read it. */
int perf_rec_event(const struct perf_file *f, const struct perf_rec *r)
{
    uint64_t type, id;
    int at, bad;

    if (!f->attrs.n)
        return -1;
    type = f->attrs.a[0].sample_type;
    at = r->type == PERF_REC_SAMPLE ? id_in_sample(type) : id_in_trailer(type);
    if (f->attrs.n == 1 || at < 0)
        return 0;
    id = r->type == PERF_REC_SAMPLE ? word_at(r, (size_t)at, &bad) : word_from_end(r, (size_t)at, &bad);
    if (bad)
        return -1;
    return !id && r->type != PERF_REC_SAMPLE ? 0 : perf_file_event(f, id); /* 0: perf made it up */
}

static uint64_t sample_time(const struct perf_rec *r, uint64_t type)
{
    uint64_t before =
        type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID); /* each of them a word */
    int bad;

    return word_at(r, (size_t)__builtin_popcountll(before), &bad);
}

static uint64_t trailer_time(const struct perf_rec *r, uint64_t type)
{
    uint64_t behind =
        type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
    int bad;

    return word_from_end(r, 1 + (size_t)__builtin_popcountll(behind), &bad);
}

uint64_t perf_rec_time(const struct perf_file *f, const struct perf_rec *r)
{
    int event = perf_rec_event(f, r);
    const struct perf_attr *a = event >= 0 ? &f->attrs.a[event] : NULL;
    uint64_t ns;

    if (!a || !(a->sample_type & PERF_SAMPLE_TIME))
        return 0;
    if (r->type == PERF_REC_SAMPLE)
        ns = sample_time(r, a->sample_type);
    else
        ns = perf_attr_flag(a, PERF_ATTR_SAMPLE_ID_ALL) ? trailer_time(r, a->sample_type) : 0;
    return ns == UINT64_MAX ? 0 : ns;
}

/* ---- mappings ---- */

static void read_identity(struct perf_words *w, int by_build_id, struct perf_mmap *m)
{
    uint32_t major, minor;
    const uint8_t *p;

    if (by_build_id) {
        p = cursor_bytes(&w->c, 24); /* length, three spare bytes, the id */
        if (!p)
            return;
        m->build_id_n = p[0] <= sizeof(m->build_id) ? p[0] : sizeof(m->build_id);
        memcpy(m->build_id, p + 4, sizeof(m->build_id));
        return;
    }
    major = perf_u32(w);
    minor = perf_u32(w);
    m->ino = perf_u64(w);
    (void)perf_u64(w); /* the inode's generation */
    m->dev = m->ino ? makedev(major, minor) : 0;
}

int perf_mmap_read(const struct perf_rec *r, struct perf_mmap *m)
{
    enum { PROT_BIT_EXEC = 4 };
    struct perf_words w = r->body;

    *m = (struct perf_mmap){.pid = perf_u32(&w), .tid = perf_u32(&w), .start = perf_u64(&w)};
    m->len = perf_u64(&w);
    m->pgoff = perf_u64(&w);
    m->exec = !(r->misc & MISC_MMAP_DATA);
    if (r->type == PERF_REC_MMAP2) {
        uint32_t prot;

        read_identity(&w, (r->misc & MISC_MMAP_BUILD_ID) != 0, m);
        prot = perf_u32(&w);
        (void)perf_u32(&w); /* flags */
        m->exec = (prot & PROT_BIT_EXEC) != 0;
    }
    m->path = perf_text(&w, &m->path_n);
    return w.c.bad || !m->path_n || m->len > UINT64_MAX - m->start ? -1 : 0;
}
