/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/pprof_profile.h"

#include "exchange/export/pprof_write.h"
#include "exchange/import/gunzip.h"

#include "base/map.h"
#include "base/proto.h"

#include <string.h>

struct writer {
    const struct profile *p;
    const struct profile_metric *m;
    struct pprof to;
    struct map mappings; /* module's string -> id */
    uint64_t period, nmappings;
};

static void put_types(struct writer *w)
{
    if (!strcmp(w->m->unit, "samples"))
        pprof_types_of_samples(&w->to, w->period);
    else
        pprof_type(&w->to, PROFILE_SAMPLE_TYPE, w->m->name, pprof_unit(w->m->unit));
}

/* A location is a frame of the profile: its id is the frame's index + 1. */
static void put_sample(struct writer *w, uint32_t node)
{
    const struct profile_node *n = w->p->nodes.a;
    size_t sample = proto_begin(w->to.out, PROFILE_SAMPLE), at = proto_begin(w->to.out, SAMPLE_LOCATION);

    for (uint32_t k = node; k; k = n[k].parent)
        buf_add_varint(w->to.out, (uint64_t)n[k].frame + 1);
    proto_end(w->to.out, at);
    at = proto_begin(w->to.out, SAMPLE_VALUE);
    buf_add_varint(w->to.out, w->m->self[node]);
    if (w->period)
        buf_add_varint(w->to.out, w->m->self[node] * w->period);
    proto_end(w->to.out, at);
    proto_end(w->to.out, sample);
}

static uint64_t mapping_of(struct writer *w, uint32_t module)
{
    uint64_t *id = map_put(&w->mappings, module);
    size_t at;

    if (*id)
        return *id;
    *id = ++w->nmappings;
    at = proto_begin(w->to.out, PROFILE_MAPPING);
    proto_u64(w->to.out, MAPPING_ID, *id);
    proto_u64(w->to.out, MAPPING_FILE, pprof_text(&w->to, strtab_get(&w->p->strings, module)));
    for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
        proto_u64(w->to.out, field, 1); /* all names that there are stand here */
    proto_end(w->to.out, at);
    return *id;
}

static void put_location(struct writer *w, uint32_t frame)
{
    const struct profile_frame *f = &w->p->frames.a[frame];
    uint64_t mapping = f->module ? mapping_of(w, f->module) : 0;
    size_t at = proto_begin(w->to.out, PROFILE_LOCATION);

    proto_u64(w->to.out, LOCATION_ID, (uint64_t)frame + 1);
    if (mapping)
        proto_u64(w->to.out, LOCATION_MAPPING, mapping);
    pprof_line(&w->to, strtab_get(&w->p->strings, f->func), strtab_get(&w->p->strings, f->file), f->line);
    proto_end(w->to.out, at);
}

int pprof_profile(const struct export_input *in, struct buf *out, struct err *e)
{
    const struct profile *p = in->profile;
    struct buf plain = {0};
    struct writer w = {.p = p, .m = &p->metrics.a[0], .to = {.out = &plain}};

    (void)e;
    w.period = strcmp(w.m->unit, "samples") ? 0 : pprof_period(&in->session->meta);
    put_types(&w);
    for (uint32_t node = 1; node < p->nodes.n; node++)
        if (w.m->self[node])
            put_sample(&w, node);
    for (uint32_t frame = 0; frame < p->frames.n; frame++)
        put_location(&w, frame);
    pprof_end(&w.to, &in->session->meta);
    gunzip_reverse(plain.data, plain.len, out);
    pprof_release(&w.to);
    map_release(&w.mappings);
    buf_release(&plain);
    return 0;
}
