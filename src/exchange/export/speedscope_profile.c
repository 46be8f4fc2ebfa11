/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/speedscope_profile.h"

#include "base/json.h"

#include <string.h>

static void put_frames(const struct profile *p, struct json_writer *w)
{
    json_object(w, "shared");
    json_array(w, "frames");
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct profile_frame *f = &p->frames.a[i];

        buf_addch(w->out, '\n');
        json_object(w, NULL);
        json_str(w, "name", strtab_get(&p->strings, f->func));
        if (f->file)
            json_str(w, "file", strtab_get(&p->strings, f->file));
        if (f->line)
            json_u64(w, "line", f->line);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

struct path {
    VEC(uint32_t) frames; /* the leaf first */
};

static void put_stack(const struct profile *p, uint32_t node, struct path *path, struct json_writer *w)
{
    vec_clear(&path->frames);
    for (; node; node = p->nodes.a[node].parent)
        *vec_push(&path->frames) = p->nodes.a[node].frame;
    json_array(w, NULL);
    for (size_t i = path->frames.n; i--;)
        json_u64(w, NULL, path->frames.a[i]);
    json_end_array(w);
}

static void put_samples(const struct profile *p, struct json_writer *w)
{
    struct path path = {0};

    json_array(w, "samples");
    for (uint32_t node = 1; node < p->nodes.n; node++)
        if (p->metrics.a[0].self[node])
            put_stack(p, node, &path, w);
    json_end_array(w);
    vec_release(&path.frames);
}

const char *speedscope_unit(const char *unit)
{
    return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "bytes") ? "bytes" : "none";
}

static void put_profile(const struct profile *p, struct json_writer *w)
{
    const struct profile_metric *m = &p->metrics.a[0];

    json_array(w, "profiles");
    json_object(w, NULL);
    json_str(w, "type", "sampled");
    json_str(w, "name", m->name);
    json_str(w, "unit", speedscope_unit(m->unit));
    json_u64(w, "startValue", 0);
    json_u64(w, "endValue", m->sum);
    put_samples(p, w);
    json_array(w, "weights");
    for (uint32_t node = 1; node < p->nodes.n; node++)
        if (m->self[node])
            json_u64(w, NULL, m->self[node]);
    json_end_array(w);
    json_end_object(w);
    json_end_array(w);
}

int speedscope_profile(const struct export_input *in, struct buf *out, struct err *e)
{
    struct json_writer w = {.out = out};
    const struct meta *m = &in->session->meta;

    (void)e;
    json_object(&w, NULL);
    speedscope_about(m, &w);
    put_frames(in->profile, &w);
    put_profile(in->profile, &w);
    json_end_object(&w);
    buf_addch(out, '\n');
    return 0;
}
