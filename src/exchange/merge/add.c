/* SPDX-License-Identifier: Apache-2.0 */
/* A session into the merged one. */
#include "exchange/merge/merge.h"

#include <string.h>

/* Files that are derived of the log, and the log itself, are not missed; they can be made anew. */
static int is_derived(const struct meta_artifact *a)
{
    static const char *const kinds[] = {"events", "folded", "offcpu-folded", "timeline", "topology"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (a->kind && !strcmp(a->kind, kinds[i]))
            return 1;
    return 0;
}

/* Of what these are there is something in the merged session. */
static int is_carried(const struct meta_artifact *a)
{
    return a->path && (!strncmp(a->path, "extra/", 6) || !strcmp(a->path, SOURCE_TEXT));
}

static void count_left(struct merge *m, const struct session *s, const struct merge_part *p)
{
    m->left.blocks += s->skipped_blocks;
    m->left.damaged += s->meta.damage != NULL;
    m->left.unsealed += !s->sealed && !s->meta.damage;
    for (size_t i = 0; i < p->meta.artifacts.n; i++) {
        const struct meta_artifact *a = &p->meta.artifacts.a[i];

        if (a->kind && !strcmp(a->kind, "topology-lines"))
            m->left.looks++;
        else if (!is_derived(a) && !is_carried(a))
            m->left.files++;
    }
}

int merge_add(struct merge *m, size_t part, const struct session *s, struct err *e)
{
    struct merge_part *p = &m->parts.a[part];

    if (merge_topology_add(m, part, s, e))
        return -1;
    merge_tables_add(m, p, &s->store);
    merge_counters_add(m, &s->store);
    merge_meta_add(m, p);
    merge_source_add(m, s);
    count_left(m, s, p);
    return 0;
}
