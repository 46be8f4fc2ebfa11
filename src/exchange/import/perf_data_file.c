/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_file.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_SIZE = 104,     /* magic, size, attr size, three sections, 256 feature bits */
    HEADER_SIZE_OLD = 72,  /* without the feature bits */
    HEADER_SIZE_PIPE = 16, /* magic, size */
    SECTION_SIZE = 16,     /* offset, size */
    FEATURE_WORDS = 4,
    ATTR_SIZE_FIRST = 64, /* PERF_ATTR_SIZE_VER0 */
    ATTR_SIZE_MAX = 4096,
    EVENTS_MAX = 4096,
};

#define HOSTNAME_BIT 3

struct section {
    uint64_t at, n;
};

const struct perf_build_id *perf_file_find_build_id(const struct perf_file *f, const char *path)
{
    const uint64_t *index = map_get(&f->by_path, hash_bytes(path, strlen(path)));
    const struct perf_build_id *b = index ? &f->build_ids.a[*index - 1] : NULL;

    return b && !strcmp(b->path, path) ? b : NULL;
}

const char *perf_text(struct perf_words *w, size_t *n)
{
    const char *text = (const char *)w->c.p;

    *n = strnlen(text, perf_words_left(w));
    w->c.p += *n;
    w->c.p += w->c.p < w->c.end;
    return text;
}

int perf_file_is(const void *p, size_t n)
{
    return n >= HEADER_SIZE_PIPE &&
           (!memcmp(p, "PERFILE2", 8) || !memcmp(p, "2ELIFREP", 8) || !memcmp(p, "PERFFILE", 8));
}

/* ---- events ---- */

static uint8_t reversed_bits(uint8_t b)
{
    b = (uint8_t)((b & 0xf0) >> 4 | (b & 0x0f) << 4);
    b = (uint8_t)((b & 0xcc) >> 2 | (b & 0x33) << 2);
    return (uint8_t)((b & 0xaa) >> 1 | (b & 0x55) << 1);
}

/* Bit fields begin at the other end of the word where bytes do. */
static uint64_t flags_word(struct perf_words *w)
{
    uint64_t v = cursor_uint(&w->c, 8), out = 0;

    for (unsigned i = 0; i < 64; i += 8)
        out |= (uint64_t)(w->big ? reversed_bits((uint8_t)(v >> i)) : (uint8_t)(v >> i)) << i;
    return out;
}

/* struct perf_event_attr of any version: what it hasn't is 0. */
static int read_attr(struct perf_attr *a, struct perf_words *w)
{
    struct perf_words all = *w;
    size_t left = perf_words_left(w);

    *a = (struct perf_attr){.type = perf_u32(&all), .size = perf_u32(&all)};
    if (!a->size)
        a->size = ATTR_SIZE_FIRST;
    if (a->size < ATTR_SIZE_FIRST || a->size > ATTR_SIZE_MAX || a->size > left)
        return -1;
    all.c.end = w->c.p + a->size;
    w->c.p += a->size;
    a->config = perf_u64(&all);
    a->period = perf_u64(&all);
    a->sample_type = perf_u64(&all);
    a->read_format = perf_u64(&all);
    a->flags = flags_word(&all);
    (void)cursor_bytes(&all.c, 24); /* wakeup, bp_type, config1, config2 */
    a->branch_type = perf_u64(&all);
    a->regs_user = perf_u64(&all);
    (void)cursor_bytes(&all.c, 8); /* sample_stack_user, clockid */
    a->regs_intr = perf_u64(&all);
    return 0;
}

static int add_attr(struct perf_file *f, const struct perf_attr *a, struct perf_words *ids)
{
    if (f->attrs.n == EVENTS_MAX)
        return -1;
    *vec_push(&f->attrs) = *a;
    while (perf_words_left(ids) >= 8)
        *map_put(&f->by_id, perf_u64(ids)) = f->attrs.n;
    return 0;
}

int perf_file_attr(struct perf_file *f, struct perf_words *w)
{
    struct perf_attr a;

    return read_attr(&a, w) ? -1 : add_attr(f, &a, w);
}

int perf_file_event_update(struct perf_file *f, struct perf_words *w)
{
    enum { UPDATE_NAME = 2 };
    uint64_t type = perf_u64(w), id = perf_u64(w);
    int event = perf_file_event(f, id);
    const char *text;
    size_t n;

    if (w->c.bad || event < 0)
        return -1;
    if (type != UPDATE_NAME)
        return 0;
    text = perf_text(w, &n);
    free(f->attrs.a[event].name);
    f->attrs.a[event].name = n ? mem_strndup(text, n) : NULL;
    return 0;
}

int perf_file_event(const struct perf_file *f, uint64_t id)
{
    const uint64_t *index = map_get(&f->by_id, id);

    return index ? (int)*index - 1 : -1;
}

/* ---- the header ---- */

static struct section section_read(struct perf_words *w)
{
    struct section s = {perf_u64(w), 0};

    s.n = perf_u64(w);
    return s;
}

static int section_words(const struct perf_file *f, const struct section *s, struct perf_words *w)
{
    if (s->at > f->n || s->n > f->n - s->at)
        return -1;
    *w = perf_words_init(f->p + s->at, (size_t)s->n, f->big);
    return 0;
}

static int read_attrs(struct perf_file *f, const struct section *s, uint64_t entry, struct err *e)
{
    struct perf_words all, w, ids;
    struct section at;
    struct perf_attr a;

    if (entry < ATTR_SIZE_FIRST + SECTION_SIZE || entry > ATTR_SIZE_MAX || section_words(f, s, &all))
        return err_set(e, "its list of events lies outside of it, or has entries of %llu bytes",
                       (unsigned long long)entry);
    while (perf_words_left(&all) >= entry) {
        w = perf_words_init(all.c.p, (size_t)entry - SECTION_SIZE, f->big);
        if (read_attr(&a, &w))
            return err_set(e, "an event of %u bytes in it makes no sense", a.size);
        w = perf_words_init(all.c.p + entry - SECTION_SIZE, SECTION_SIZE, f->big);
        at = section_read(&w);
        if (section_words(f, &at, &ids))
            return err_set(e, "ids of an event lie outside of it: it was cut off, or is damaged");
        if (add_attr(f, &a, &ids))
            return err_set(e, "it has more than %d events", EVENTS_MAX);
        all.c.p += entry;
    }
    return f->attrs.n ? 0 : err_set(e, "it has no event");
}

/* Words of unsigned longs, whose size is the recording machine's: on those of 32 bits and the other order,
 * halves of 64 are exchanged. Every perf writes the host's name. */
static void features_read(struct perf_words *w, uint64_t bits[FEATURE_WORDS])
{
    for (int i = 0; i < FEATURE_WORDS; i++)
        bits[i] = perf_u64(w);
    if (!w->big || bits[0] >> HOSTNAME_BIT & 1)
        return;
    for (int i = 0; i < FEATURE_WORDS; i++)
        bits[i] = bits[i] << 32 | bits[i] >> 32;
}

/* A section for each bit that is set, in a list behind the records. */
static void read_features(struct perf_file *f, const uint64_t bits[FEATURE_WORDS])
{
    struct perf_words list = perf_words_init(f->p + f->data_end, f->n - f->data_end, f->big), w;

    for (unsigned bit = 0; bit < 64 * FEATURE_WORDS; bit++) {
        struct section s;

        if (!(bits[bit / 64] >> bit % 64 & 1))
            continue;
        s = section_read(&list);
        if (list.c.bad) {
            f->bad++; /* cut off: all the rest is gone */
            return;
        }
        if (section_words(f, &s, &w) || perf_file_feature(f, bit, w.c.p, perf_words_left(&w)))
            f->bad++;
    }
}

static int open_file(struct perf_file *f, uint64_t size, struct err *e)
{
    struct perf_words w = perf_words_init(f->p + HEADER_SIZE_PIPE, f->n - HEADER_SIZE_PIPE, f->big);
    uint64_t entry = perf_u64(&w), bits[FEATURE_WORDS] = {0};
    struct section attrs = section_read(&w), data = section_read(&w);

    (void)section_read(&w); /* names of events, of perfs before Linux 3.2 */
    if (size == HEADER_SIZE)
        features_read(&w, bits);
    else if (size != HEADER_SIZE_OLD)
        return err_set(e, "its header has %llu bytes, where perf writes %d: another version of the format",
                       (unsigned long long)size, HEADER_SIZE);
    if (w.c.bad)
        return err_set(e, "it was cut off in its header");
    if (read_attrs(f, &attrs, entry, e))
        return -1;
    if (data.at > f->n)
        return err_set(e, "its records lie outside of it: it was cut off, or is damaged");
    f->data_at = (size_t)data.at;
    /* The length is written at the end, after it come the features. */
    f->unfinished = !data.n || data.n > f->n - data.at;
    f->data_end = f->unfinished ? f->n : (size_t)(data.at + data.n);
    if (!f->unfinished)
        read_features(f, bits);
    return 0;
}

int perf_file_open(struct perf_file *f, const void *p, size_t n, struct err *e)
{
    struct perf_words w;
    uint64_t size;

    *f = (struct perf_file){.p = p, .n = n, .data_at = HEADER_SIZE_PIPE, .data_end = n};
    if (!perf_file_is(p, n))
        return err_set(e, "no perf.data: it doesn't begin with PERFILE2");
    if (!memcmp(p, "PERFFILE", 8))
        return err_set(e, "perf.data as perf wrote it before Linux 2.6.36 (PERFFILE): that isn't read");
    f->big = !memcmp(p, "2ELIFREP", 8);
    w = perf_words_init(f->p + 8, 8, f->big);
    size = perf_u64(&w);
    f->piped = size == HEADER_SIZE_PIPE;
    if (f->piped)
        return 0;
    return open_file(f, size, e);
}

static void about_release(struct perf_about *a)
{
    free(a->host);
    free(a->release);
    free(a->version);
    free(a->arch);
    free(a->cpu);
    free(a->command);
}

void perf_file_release(struct perf_file *f)
{
    for (size_t i = 0; i < f->attrs.n; i++)
        free(f->attrs.a[i].name);
    for (size_t i = 0; i < f->build_ids.n; i++)
        free(f->build_ids.a[i].path);
    vec_release(&f->attrs);
    vec_release(&f->build_ids);
    map_release(&f->by_id);
    map_release(&f->by_path);
    about_release(&f->about);
}
