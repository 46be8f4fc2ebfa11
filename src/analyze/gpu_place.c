/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_place.h"

#include "analyze/python_file.h"
#include "analyze/waits_top.h"

#include <string.h>

struct gpu_place_of gpu_place_of(const struct store *s, uint32_t stack)
{
    struct gpu_place_of found = {0};
    uint32_t at = stack;

    for (const struct stack_node *n; (n = stacks_get(&s->stacks, at)); at = n->parent) {
        const struct frame *f = frames_get(&s->frames, n->frame);
        const struct frame_name *names;
        struct frame_name self;
        const char *file;

        if (!f || f->kind != FRAME_PYTHON || !frames_names(&s->frames, n->frame, &self, &names))
            continue;
        file = strtab_get(&s->strings, names[0].file);
        if (python_file_is_standard(file))
            continue;
        if (!found.where)
            found.where = names[0].func;
        if (!python_file_is_package(file)) {
            found.caller = names[0].func;
            break;
        }
    }
    if (!found.where)
        found.where = waits_place(s, stack);
    if (found.caller == found.where)
        found.caller = 0;
    return found;
}

uint32_t gpu_place_outside(const struct store *s, uint32_t stack, uint32_t name)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);
    const struct frame *f = n ? frames_get(&s->frames, n->frame) : NULL;

    return f && f->func == name ? n->parent : stack;
}

void gpu_place_spell(const struct store *s, uint32_t stack, struct buf *out)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);
    const struct frame_name *names;
    struct frame_name self;
    const char *name;

    if (!n)
        return;
    gpu_place_spell(s, n->parent, out);
    name = frames_names(&s->frames, n->frame, &self, &names) ? strtab_get(&s->strings, names[0].func)
                                                             : "[unknown]";
    if (out->len)
        buf_addch(out, ';');
    for (; *name; name++)
        buf_addch(out, *name == ';' || (unsigned char)*name < ' ' ? '_' : *name);
}
