/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a picture is laid out: the one asked for, and a cheaper one where that is too much. */
#include "render/gvc.h"

/* Nodes and edges together. Beyond the first, dot draws straight lines: its splines cost more than all the
 * rest. Beyond the second, even its ranks take too long. */
enum { MAX_CURVED = 700, MAX_DOT = 4000 };

static int draw_columns(struct picture *p, const char *format, struct buf *out, struct err *e)
{
    struct gvc_job job = {
        .engine = "nop", .format = format, .straight = p->nodes.n + p->edges.n > MAX_CURVED};
    enum gvc_end end;

    picture_columns(p);
    if (!format)
        return 0;
    end = gvc_run(p, &job, out, e);
    if (end == GVC_TOO_MUCH && !job.straight) {
        job.straight = 1;
        end = gvc_run(p, &job, out, e);
    }
    return end == GVC_DONE ? 0 : -1;
}

static void note_no_boxes(struct picture *p)
{
    picture_note(p, "too large for the layered layout: placed by forces%s",
                 p->boxes.n ? ", without what is in which container, host or process" : "");
}

int picture_draw(struct picture *p, enum picture_layout how, const char *format, struct buf *out,
                 struct err *e)
{
    size_t size = p->nodes.n + p->edges.n;
    struct gvc_job job = {.engine = "dot", .format = format, .boxes = 1, .straight = size > MAX_CURVED};
    enum gvc_end end = GVC_TOO_MUCH;

    if (how == PICTURE_NESTED && size <= MAX_DOT) {
        end = gvc_run(p, &job, out, e);
        if (end == GVC_TOO_MUCH && !job.straight) {
            job.straight = 1;
            end = gvc_run(p, &job, out, e);
        }
        if (end != GVC_TOO_MUCH)
            return end == GVC_DONE ? 0 : -1;
    }
    if (how != PICTURE_CONSTRAINT) {
        if (how == PICTURE_NESTED)
            note_no_boxes(p);
        job = (struct gvc_job){.engine = "sfdp", .format = format, .straight = 1};
        end = gvc_run(p, &job, out, e);
        if (end != GVC_TOO_MUCH)
            return end == GVC_DONE ? 0 : -1;
        picture_note(p, "too large for that layout: placed in columns");
    }
    return draw_columns(p, format, out, e);
}
