/* SPDX-License-Identifier: Apache-2.0 */
/* One module's share of symbolizing, inside of symbolize*.c. Jobs run in threads: they read the store, and
 * write only their own results. */
#ifndef WPROF_ANALYZE_SYMBOLIZE_JOB_H
#define WPROF_ANALYZE_SYMBOLIZE_JOB_H

#include "analyze/symbolize.h"
#include "platform/demangle.h"

struct job_frame {
    uint64_t addr;  /* what to look up: addr - 1 of a return address */
    uint32_t frame; /* frame id */
};

struct job_result {
    uint32_t first, n; /* in job.names; n 0: nothing known */
    int place;         /* the name only says where the code is */
};

struct job {
    const struct symbolize_opts *opts;
    const struct module *module;
    const char *path;             /* the module's */
    const struct task *task;      /* of MODULE_JIT; NULL: unknown */
    VEC(struct job_frame) frames; /* by addr */
    uint64_t *addrs;              /* the same, each once */
    size_t n;
    /* results */
    struct job_result *results;   /* [n] */
    VEC(struct frame_name) names; /* string ids are of job.strings */
    struct strtab strings;
    struct demangle_cache demangled;
    unsigned languages; /* bits of 1 << enum language */
    int no_symbols;     /* there was no table that could name anything */
    int not_recorded;   /* the file at the path is another one now */
};

void job_set(struct job *j, size_t i, const struct frame_name *names,
             size_t n); /* replaces what addrs[i] had */
uint32_t job_symbol(struct job *j,
                    const char *raw); /* the string id of a symbol's name, demangled; notes its language */

void symbolize_file(struct job *j);   /* MODULE_FILE, MODULE_VDSO */
void symbolize_kernel(struct job *j); /* MODULE_KERNEL and MODULE_KMOD: one job for all */
void symbolize_jit(struct job *j);    /* MODULE_JIT */

#endif
