/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"

#include "model/frame_text.h"

#include <string.h>

void profile_release(struct profile *p)
{
    for (size_t i = 0; i < p->metrics.n; i++) {
        free(p->metrics.a[i].name);
        free(p->metrics.a[i].unit);
        free(p->metrics.a[i].self);
        free(p->metrics.a[i].total);
    }
    strtab_release(&p->strings);
    vec_release(&p->frames);
    vec_release(&p->nodes);
    vec_release(&p->metrics);
    vec_release(&p->samples);
}

void profile_frame_label(const struct profile *p, uint32_t frame, struct buf *out)
{
    const struct profile_frame *f = &p->frames.a[frame];

    frame_label(strtab_get(&p->strings, f->func), strtab_get(&p->strings, f->file), f->line, f->kind, out);
}
