/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/pprof_write.h"

#include "base/mem.h"
#include "base/proto.h"

#include <stdlib.h>
#include <string.h>

enum { TYPE_NAME = 1, TYPE_UNIT };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

#define NS_PER_S 1000000000ull

void pprof_release(struct pprof *w)
{
    strtab_release(&w->strings);
    vec_release(&w->functions);
    index_release(&w->function_index);
}

uint32_t pprof_text(struct pprof *w, const char *s)
{
    return strtab_add(&w->strings, s);
}

/* ---- types ---- */

const char *pprof_unit(const char *unit)
{
    return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "bytes") ? "bytes" : "count";
}

void pprof_type(struct pprof *w, unsigned field, const char *name, const char *unit)
{
    size_t at = proto_begin(w->out, field);

    proto_u64(w->out, TYPE_NAME, pprof_text(w, name));
    proto_u64(w->out, TYPE_UNIT, pprof_text(w, unit));
    proto_end(w->out, at);
}

uint64_t pprof_period(const struct meta *m)
{
    return m->frequency ? NS_PER_S / m->frequency : 0;
}

void pprof_types_of_samples(struct pprof *w, uint64_t period)
{
    pprof_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
    if (!period)
        return;
    pprof_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    pprof_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
    proto_u64(w->out, PROFILE_PERIOD, period);
}

/* ---- functions ---- */

struct wanted_function {
    const struct pprof_function *list;
    struct pprof_function key;
};

static int same_function(const void *ctx, uint32_t id)
{
    const struct wanted_function *k = ctx;

    return k->list[id - 1].name == k->key.name && k->list[id - 1].file == k->key.file;
}

static uint32_t function_id(struct pprof *w, const char *name, const char *file)
{
    struct wanted_function k = {w->functions.a, {pprof_text(w, name), pprof_text(w, file)}};
    uint64_t hash = hash_u64((uint64_t)k.key.name << 32 | k.key.file);
    uint32_t id = index_find(&w->function_index, hash, same_function, &k);

    if (!id) {
        *vec_push(&w->functions) = k.key;
        id = (uint32_t)w->functions.n;
        index_add(&w->function_index, hash, id);
    }
    return id;
}

void pprof_line(struct pprof *w, const char *name, const char *file, uint32_t line)
{
    size_t at = proto_begin(w->out, LOCATION_LINE);

    proto_u64(w->out, LINE_FUNCTION, function_id(w, name, file));
    if (line)
        proto_u64(w->out, LINE_NUMBER, line);
    proto_end(w->out, at);
}

static void put_functions(struct pprof *w)
{
    for (size_t i = 0; i < w->functions.n; i++) {
        const struct pprof_function *f = &w->functions.a[i];
        size_t at = proto_begin(w->out, PROFILE_FUNCTION);

        proto_u64(w->out, FUNCTION_ID, i + 1);
        proto_u64(w->out, FUNCTION_NAME, f->name);
        proto_u64(w->out, FUNCTION_SYSTEM_NAME, f->name);
        proto_u64(w->out, FUNCTION_FILE, f->file);
        proto_end(w->out, at);
    }
}

/* ---- the end ---- */

static void put_strings(struct pprof *w)
{
    proto_str(w->out, PROFILE_STRING, "");
    for (uint32_t id = 1; id <= strtab_count(&w->strings); id++)
        proto_str(w->out, PROFILE_STRING, strtab_get(&w->strings, id));
}

static void put_about(struct pprof *w, const struct meta *m)
{
    char *comment = mem_printf("wprof session %s", m->session_id ? m->session_id : "");

    if (m->start_ts > 0)
        proto_u64(w->out, PROFILE_TIME, (uint64_t)(m->start_ts * NS_PER_S));
    if (m->duration_s > 0)
        proto_u64(w->out, PROFILE_DURATION, (uint64_t)(m->duration_s * NS_PER_S));
    proto_u64(w->out, PROFILE_COMMENT, pprof_text(w, comment));
    free(comment);
}

void pprof_end(struct pprof *w, const struct meta *m)
{
    put_functions(w);
    put_about(w, m);
    put_strings(w);
}
