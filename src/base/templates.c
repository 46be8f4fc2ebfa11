/* SPDX-License-Identifier: Apache-2.0 */
#include "base/templates.h"

#include "base/mem.h"

#include <string.h>

/*
 * The assembler copies each file in, as it is. templates.def comes from the Makefile and has a line
 * TEMPLATE(id, "name") for each; TEMPLATES_DIR is their folder.
 */
#define TEMPLATE(id, name)                                                                                   \
    __asm__(".section .rodata\n"                                                                             \
            ".balign 16\n"                                                                                   \
            ".global wprof_template_" #id "\n"                                                               \
            ".global wprof_template_" #id "_end\n"                                                           \
            "wprof_template_" #id ": .incbin \"" TEMPLATES_DIR "/" name "\"\n"                               \
            "wprof_template_" #id "_end: .byte 0\n"                                                          \
            ".previous\n");                                                                                  \
    extern const char wprof_template_##id[], wprof_template_##id##_end[];
#include "templates.def"
#undef TEMPLATE

struct template
{
    const char *name, *start, *end;
};

static const struct template templates[] = {
#define TEMPLATE(id, name) {name, wprof_template_##id, wprof_template_##id##_end},
#include "templates.def"
#undef TEMPLATE
    {NULL, NULL, NULL},
};

const char *template_get(const char *name, size_t *len)
{
    for (const struct template *t = templates; t->name; t++) {
        if (strcmp(t->name, name))
            continue;
        if (len)
            *len = (size_t)(t->end - t->start);
        return t->start;
    }
    return NULL;
}
