/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"

#include "model/frames.h"

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
    const char *func = strtab_get(&p->strings, f->func), *file = strtab_get(&p->strings, f->file);
    const char *slash = strrchr(file, '/');
    size_t n = strlen(func);

    buf_add(out, func, n);
    if (slash)
        file = slash + 1;
    if (!*file || (f->kind != FRAME_PYTHON && f->kind != FRAME_JIT && !f->line) ||
        (n && func[n - 1] == ')' && f->kind == FRAME_PYTHON))
        return;
    if (f->line)
        buf_addf(out, " (%s:%u)", file, f->line);
    else
        buf_addf(out, " (%s)", file);
}
