/* SPDX-License-Identifier: Apache-2.0 */
#include "model/store.h"

#include <string.h>

void store_release(struct store *s)
{
    strtab_release(&s->strings);
    frames_release(&s->frames);
    stacks_release(&s->stacks);
    tasks_release(&s->tasks);
    waits_release(&s->waits);
    gpu_works_release(&s->gpus);
    origins_release(&s->origins);
    vec_release(&s->events);
    event_kinds_release(&s->kinds);
    vec_release(&s->counters);
}

void store_replace_events(struct store *s, struct store *from)
{
    event_kinds_release(&s->kinds);
    vec_release(&s->events);
    vec_swap(&s->events, &from->events);
}

void store_set_counter(struct store *s, const char *name, uint64_t value)
{
    uint32_t id = strtab_add(&s->strings, name);

    for (size_t i = 0; i < s->counters.n; i++) {
        if (s->counters.a[i].name == id) {
            s->counters.a[i].value = value;
            return;
        }
    }
    *vec_push(&s->counters) = (struct counter){id, value};
}

uint64_t store_counter(const struct store *s, const char *name, uint64_t otherwise)
{
    for (size_t i = 0; i < s->counters.n; i++)
        if (!strcmp(strtab_get(&s->strings, s->counters.a[i].name), name))
            return s->counters.a[i].value;
    return otherwise;
}
