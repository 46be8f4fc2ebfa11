/* SPDX-License-Identifier: Apache-2.0 */
#include "render/renderer.h"

#include "base/mem.h"

#include <string.h>

#define RENDERER(name) extern const struct renderer_ops renderer_##name;
#include "render/renderers.def"
#undef RENDERER

const struct renderer_ops *const renderers[] = {
#define RENDERER(name) &renderer_##name,
#include "render/renderers.def"
#undef RENDERER
};

const size_t nrenderers = ARRAY_SIZE(renderers);

const struct renderer_ops *renderer_find(const char *name)
{
    for (size_t i = 0; i < nrenderers; i++)
        if (!strcmp(renderers[i]->name, name))
            return renderers[i];
    return NULL;
}
