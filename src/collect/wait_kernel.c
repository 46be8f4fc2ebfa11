/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/wait_kernel.h"

#include "base/log.h"
#include "platform/kallsyms.h"

#include <string.h>

/* The entry stubs of arch/x86/include/asm/idtentry.h: one for each system vector, and one for devices. */
static int is_entry(const char *name)
{
    return !strncmp(name, "asm_sysvec_", 11) || !strcmp(name, "asm_common_interrupt") ||
           !strcmp(name, "asm_spurious_interrupt") || !strcmp(name, "asm_exc_nmi");
}

/* Compilers add to the names of what they cut: "__schedule.constprop.0". The part ".cold" lies elsewhere and
 * has no calls of interest. */
static int is_function(const char *name, const char *base)
{
    size_t n = strlen(base);

    return !strncmp(name, base, n) && (!name[n] || (name[n] == '.' && !strstr(name + n, ".cold")));
}

static void on_function(void *arg, const char *name, uint64_t start, uint64_t end)
{
    struct wait_kernel *k = arg;
    struct kernel_range r = {start, end};

    if (name[0] == '_' && is_function(name, "__schedule"))
        k->schedule = r;
    else if (name[0] == 't' && is_function(name, "try_to_wake_up"))
        k->wake = r;
    else if (name[0] == 'a' && is_entry(name))
        *vec_push(&k->entries) = r;
}

void wait_kernel_init(struct wait_kernel *k, const char *proc_root)
{
    struct err e = {0};

    *k = (struct wait_kernel){0};
    if (kallsyms_read(proc_root, on_function, k, &e))
        log_debug("%s", e.msg);
}

void wait_kernel_release(struct wait_kernel *k)
{
    vec_release(&k->entries);
}

static int inside(const struct kernel_range *r, uint64_t addr)
{
    return addr >= r->start && addr < r->end;
}

uint32_t wait_kernel_inner(const struct kernel_range *r, const uint64_t *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (inside(r, frames[i]))
            return i;
    return 0;
}

int wait_kernel_interrupted(const struct wait_kernel *k, const uint64_t *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (size_t j = 0; j < k->entries.n; j++)
            if (inside(&k->entries.a[j], frames[i]))
                return 1;
    return 0;
}
