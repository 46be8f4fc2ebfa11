/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_rest.h"

#include "base/hash.h"
#include "collect/gpu_logs.h"
#include "collect/gpu_told.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What makes one event of an agent equal to another: read twice, it comes out the same. */
static uint64_t key_of(const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;
    uint64_t what = w ? (uint64_t)w->name << 32 | w->stream : ev->metric;

    return hash_mix(hash_mix(ev->ts, ev->dur), hash_mix(ev->value, what) ^ (w ? w->op : GPU_OPS));
}

static int is_agents(const struct event *ev)
{
    return ev->kind == EVENT_GPU || ev->kind == EVENT_MARKER;
}

/* The recorder had written the first of them; agents' logs begin at the beginning. */
static void drop_known(struct store *s, size_t before)
{
    struct map known = {0};
    size_t n = before;

    for (size_t i = 0; i < before; i++)
        if (is_agents(&s->events.a[i]))
            ++*map_put(&known, key_of(s, &s->events.a[i]));
    for (size_t i = before; i < s->events.n; i++) {
        uint64_t *times = map_get(&known, key_of(s, &s->events.a[i]));

        if (times && *times)
            --*times;
        else
            s->events.a[n++] = s->events.a[i];
    }
    s->events.n = n;
    map_release(&known);
}

static uint64_t unread(const struct gpu_logs *g)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < g->files.n; i++)
        bytes += g->files.a[i]->unread;
    return bytes;
}

/* Instead of what could be told of CUDA while nothing had been read. */
static void set_detail(struct meta *m, const struct gpu_logs *g)
{
    char text[512];

    for (size_t i = 0; i < m->collectors.n; i++) {
        struct meta_collector *c = &m->collectors.a[i];

        if (strcmp(c->name, "gpu") != 0)
            continue;
        free(c->detail);
        c->detail = mem_strdup(gpu_told_figures(g, text, sizeof(text)));
    }
}

void gpu_rest_take(struct session *s)
{
    int fd = s->agent_bytes ? open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    size_t before = s->store.events.n;
    struct gpu_logs g;

    if (fd >= 0 && !gpu_logs_open(&g, &s->store, fd)) {
        gpu_logs_read(&g, s->meta.start_mono, 0, 1);
        drop_known(&s->store, before);
        s->agent_events = s->store.events.n - before;
        s->agent_bytes = unread(&g);
        if (g.files.n) {
            gpu_told_counters(&g, &s->store);
            set_detail(&s->meta, &g);
        }
        if (s->agent_events)
            session_took(s);
        gpu_logs_release(&g);
    }
    if (fd >= 0)
        close(fd);
}
