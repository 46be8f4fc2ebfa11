/* SPDX-License-Identifier: Apache-2.0 */
#include "render/gvc.h"

enum gvc_end gvc_run(struct picture *p, const struct gvc_job *job, struct buf *out, struct err *e)
{
    err_set(e,
            "this wprof was built without Graphviz: %s %s is not in it (text and mermaid need none; drawio "
            "and gexf "
            "only --layout constraint)",
            job->format ? "format" : "layout", job->format ? job->format : job->engine);
    return GVC_CANNOT;
}
