/* SPDX-License-Identifier: Apache-2.0 */
#include "render/renderer.h"

#include "base/mem.h"

#define RENDERER(name) extern const struct renderer_ops renderer_##name;
#include "render/renderers.def"
#undef RENDERER

const struct renderer_ops *const renderers[] = {
#define RENDERER(name) &renderer_##name,
#include "render/renderers.def"
#undef RENDERER
};

const size_t nrenderers = ARRAY_SIZE(renderers);
