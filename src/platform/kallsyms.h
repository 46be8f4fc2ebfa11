/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel symbols: "ADDRESS TYPE NAME [\t[MODULE]]" lines, as proc(5) has /proc/kallsyms. */
#ifndef WPROF_PLATFORM_KALLSYMS_H
#define WPROF_PLATFORM_KALLSYMS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct kallsyms_hit {
    const char *name;   /* NULL: none; points into the text that was parsed */
    const char *module; /* "nf_tables", "bpf"; NULL: the kernel itself */
    uint64_t value;     /* where the symbol starts */
    int code;           /* 0: the nearest symbol is data */
};

/*
 * For each of n addresses (sorted, each once) the function that starts last at or below it. The text is
 * changed (names are terminated in place) and must outlive the hits. Returns how many symbols with a nonzero
 * address were seen: 0 means that the kernel hides them.
 */
size_t kallsyms_parse(char *text, size_t len, const uint64_t *addrs, size_t n, struct kallsyms_hit *hits);

/* Reads proc_root/kallsyms (NULL: /proc) into hits. *text is what they point into, for the caller to free.
 * -1, with a message that says what to do, when it can't be read or its addresses are hidden
 * (kernel.kptr_restrict). */
int kallsyms_resolve(const char *proc_root, const uint64_t *addrs, size_t n, struct kallsyms_hit *hits,
                     char **text, struct err *e);

/* Calls `each` for every function of the kernel itself (not of modules), [start, end): end is where the next
 * symbol begins. The text is changed. */
typedef void kallsyms_function(void *arg, const char *name, uint64_t start, uint64_t end);
void kallsyms_functions(char *text, size_t len, kallsyms_function *each, void *arg);

/* The same of proc_root/kallsyms (NULL: /proc). */
int kallsyms_read(const char *proc_root, kallsyms_function *each, void *arg, struct err *e);

/* Where a symbol of the kernel itself is, by proc_root/kallsyms (NULL: /proc); 0: it isn't in there, or
 * hidden.
 */
uint64_t kallsyms_address(const char *proc_root, const char *name);

#endif
