/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/symbolize_job.h"

#include "base/log.h"
#include "platform/kallsyms.h"

#include <stdlib.h>

/* A function of a loadable module has "[module]" as its file: a frame's own module is all that the recorder
 * knew. */
static uint32_t module_name(struct job *j, const char *module)
{
    char *text = mem_printf("[%s]", module);
    uint32_t id = strtab_add(&j->strings, text);

    free(text);
    return id;
}

void symbolize_kernel(struct job *j)
{
    struct kallsyms_hit *hits;
    struct err e = {""};
    char *text;

    if (!j->opts->same_boot) {
        log_debug("kernel frames stay unnamed: they were recorded under another boot");
        j->no_symbols = 1;
        return;
    }
    hits = mem_calloc(j->n, sizeof(*hits));
    if (kallsyms_resolve(j->opts->proc_root, j->addrs, j->n, hits, &text, &e)) {
        log_warn("%s", e.msg);
        j->no_symbols = 1;
        free(hits);
        return;
    }
    for (size_t i = 0; i < j->n; i++) {
        struct frame_name name = {0};

        if (!hits[i].name)
            continue;
        name.func = strtab_add(&j->strings, hits[i].name);
        name.file = hits[i].module ? module_name(j, hits[i].module) : 0;
        job_set(j, i, &name, 1);
    }
    free(text);
    free(hits);
}
