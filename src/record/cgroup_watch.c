/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_watch.h"

#include "platform/procfs.h"
#include "record/cgroup_container.h"
#include "record/cgroup_find.h"

#include <string.h>

void cgroup_watch_release(struct cgroup_watch *w)
{
    cgroup_procs_release(&w->group);
    map_release(&w->known);
    w->on = 0;
}

/* The same process as at the last look? */
static int was_there(const struct cgroup_watch *w, pid_t pid, uint64_t start)
{
    uint64_t *known = map_get(&w->known, (uint64_t)pid);

    return known && *known == start;
}

static int is_child(const struct cgroup_watch *w, const struct proctask *st)
{
    uint64_t *parent = map_get(&w->known, (uint64_t)st->ppid);

    return parent && *parent <= st->start_ns;
}

size_t cgroup_watch_look(struct cgroup_watch *w, struct pid_list *entered)
{
    struct pid_list now = {0};
    struct map known = {0};
    size_t in = 0;

    cgroup_procs_list(&w->group, &now);
    for (size_t i = 0; i < now.list.n; i++) {
        pid_t pid = now.list.a[i];
        struct proctask st;

        if (proctask_stat(pid, 0, &st) || (st.state == 'Z' && !procfs_heir(pid)))
            continue;
        if (map_get(&known, (uint64_t)pid)) /* it moved while we looked */
            continue;
        *map_put(&known, (uint64_t)pid) = st.start_ns;
        in++;
        if (!was_there(w, pid, st.start_ns) && !is_child(w, &st))
            *vec_push(&entered->list) = pid;
    }
    map_release(&w->known);
    w->known = known;
    vec_release(&now.list);
    return in;
}

int cgroup_watch_begin(struct cgroup_watch *w, const char *path, const char *container, struct pid_list *out,
                       struct err *e)
{
    int rc = path ? cgroup_find(&w->group, "/sys/fs/cgroup", path, e)
                  : cgroup_container(&w->group, "", container, e);

    if (rc)
        return -1;
    w->on = 1;
    if (!cgroup_watch_look(w, out))
        return err_set(
            e, "--%s %s: no process is in it now, or none that can be seen from here: nothing to record",
            path ? "cgroup" : "container", path ? path : container);
    return 0;
}
