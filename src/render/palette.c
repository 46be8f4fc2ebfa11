/* SPDX-License-Identifier: Apache-2.0 */
#include "render/palette.h"

/* Hues apart enough for the common colour deficiencies: amber, blue, vermilion, green, violet, greys. Text is
 * dark on the light shades and light on the dark ones, at a contrast of 4.5 or better (WCAG 2.1, 1.4.3). */
static const struct palette_kind kinds[PALETTE_KINDS] = {
    [FRAME_NONE] = {"task",
                    "process, thread",
                    {"#cfd6df", "#c6ced8", "#d8dee6"},
                    {"#46505d", "#3f4955", "#4d5866"}},
    [FRAME_KERNEL] = {"kernel",
                      "kernel",
                      {"#f0a08c", "#eb937d", "#f4ae9c"},
                      {"#8c4534", "#80402f", "#974d3b"}},
    [FRAME_NATIVE] = {"native",
                      "native",
                      {"#94bfe8", "#86b5e2", "#a4c9ed"},
                      {"#2f5f8f", "#2b5783", "#35689b"}},
    [FRAME_PYTHON] = {"python",
                      "Python",
                      {"#f3cf6b", "#efc755", "#f6d880"},
                      {"#7d6216", "#735a13", "#876a1b"}},
    [FRAME_JIT] = {"jit", "JIT", {"#93d1a0", "#84c993", "#a3d9ae"}, {"#2e6b41", "#29623b", "#347548"}},
    [FRAME_GPU] = {"gpu", "GPU", {"#c0a6e8", "#b698e3", "#cab4ed"}, {"#624699", "#5a408e", "#6b4ea4"}},
    [FRAME_MARKER] = {"marker",
                      "marker",
                      {"#dddddd", "#d5d5d5", "#e4e4e4"},
                      {"#4a4a4a", "#444444", "#515151"}},
    [FRAME_GIL] = {"gil",
                   "waiting for the GIL",
                   {"#ef9ad0", "#ea8bc7", "#f3aad8"},
                   {"#8a3a70", "#803567", "#954079"}},
};

const struct palette_kind *palette_kind(unsigned kind)
{
    return &kinds[kind < PALETTE_KINDS ? kind : FRAME_MARKER];
}

unsigned palette_shade(const char *func)
{
    uint32_t h = 2166136261u; /* FNV-1a, 32 bits */

    for (; *func; func++)
        h = (h ^ (uint8_t)*func) * 16777619u;
    return (h >> 16) % PALETTE_SHADES;
}

void palette_css(struct buf *out, int dark)
{
    for (unsigned k = 0; k < PALETTE_KINDS; k++)
        for (unsigned s = 0; s < PALETTE_SHADES; s++)
            buf_addf(out, "--%s-%u:%s;", kinds[k].id, s, dark ? kinds[k].dark[s] : kinds[k].light[s]);
}
