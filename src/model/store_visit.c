/* SPDX-License-Identifier: Apache-2.0 */
#include "model/store_visit.h"

#include "model/store_compact.h"

static void visit(struct store_visit *v, uint8_t *used, const uint32_t *new, uint32_t *id)
{
    if (v->moved)
        *id = new[*id];
    else
        used[*id] = 1;
}

void store_visit_string(struct store_visit *v, uint32_t *id)
{
    visit(v, v->used_string, v->string, id);
}

void store_visit_frame(struct store_visit *v, uint32_t *id)
{
    visit(v, v->used_frame, v->frame, id);
}

void store_visit_stack(struct store_visit *v, uint32_t *id)
{
    visit(v, v->used_stack, v->stack, id);
}

void store_visit_wait(struct store_visit *v, uint32_t *id)
{
    visit(v, v->used_wait, v->wait, id);
}

void store_visit_wait_itself(struct store_visit *v, struct wait *w)
{
    store_visit_stack(v, &w->waker_stack);
    store_visit_string(v, &w->what);
}

void store_visit_cache(struct store_visit *v, struct map *cache)
{
    if (v->moved)
        map_release(cache);
}

void store_visit_begin(struct store_visit *v, struct store *to, struct store *from, store_visitor each,
                       void *arg)
{
    size_t strings = strtab_count(&from->strings) + 1, frames = from->frames.list.n + 1,
           stacks = from->stacks.nodes.n + 1, waits = from->waits.list.n + 1;

    *v = (struct store_visit){.store = from,
                              .pass = v->pass + 1,
                              .used_string = mem_calloc(strings, 1),
                              .used_frame = mem_calloc(frames, 1),
                              .used_stack = mem_calloc(stacks, 1),
                              .used_wait = mem_calloc(waits, 1),
                              .string = mem_calloc(strings, sizeof(uint32_t)),
                              .frame = mem_calloc(frames, sizeof(uint32_t)),
                              .stack = mem_calloc(stacks, sizeof(uint32_t)),
                              .wait = mem_calloc(waits, sizeof(uint32_t))};
    each(arg, v);
    store_compact_visited(to, v);
}

static void release(struct store_visit *v)
{
    free(v->used_string);
    free(v->used_frame);
    free(v->used_stack);
    free(v->used_wait);
    free(v->string);
    free(v->frame);
    free(v->stack);
    free(v->wait);
    *v = (struct store_visit){.pass = v->pass};
}

void store_visit_move(struct store_visit *v, struct store *to, struct store *from, store_visitor each,
                      void *arg)
{
    store_compact_replace(from, to);
    v->moved = 1;
    v->pass++;
    each(arg, v);
    release(v);
}

void store_visit_drop(struct store_visit *v, struct store *to)
{
    store_release(to);
    release(v);
}
