/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include "base/mem.h"

#include <string.h>

static const char *const metrics[] = {"oncpu", "offcpu", "waker",      "runq", "gil",
                                      "gpu",   "alloc",  "alloc-peak", "spans"};

int page_add_metrics(struct profile *p, const struct session *s, struct fold_opts fold, struct err *e)
{
    const char *first = fold.metric;
    struct profile other = {0};
    int rc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(metrics) && !rc; i++) {
        fold.metric = metrics[i];
        if (!strcmp(fold.metric, first) || !fold_has(&s->store, fold.metric))
            continue;
        rc = fold_profile(&other, s, &fold, e);
        if (!rc)
            profile_merge(p, &other);
        profile_release(&other);
    }
    return rc;
}
