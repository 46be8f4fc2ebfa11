/* SPDX-License-Identifier: Apache-2.0 */
#include "render/diff.h"

#include "base/mem.h"

#include <string.h>

const struct diff_renderer *const diff_renderers[] = {
#define DIFF_RENDERER(name) &diff_##name,
#include "render/diff.def"
#undef DIFF_RENDERER
};

const size_t ndiff_renderers = ARRAY_SIZE(diff_renderers);

const struct diff_renderer *diff_renderer_find(const char *name)
{
    for (size_t i = 0; i < ndiff_renderers; i++)
        if (!strcmp(diff_renderers[i]->name, name))
            return diff_renderers[i];
    return NULL;
}
