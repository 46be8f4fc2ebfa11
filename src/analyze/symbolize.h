/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the raw frames of a store: native, kernel, vdso, JIT. */
#ifndef WPROF_ANALYZE_SYMBOLIZE_H
#define WPROF_ANALYZE_SYMBOLIZE_H

#include "base/err.h"
#include "model/store.h"

#include <stdint.h>

struct symbolize_opts {
    int inlines;            /* also DWARF lines and inlined functions, where there is DWARF */
    const char *debug_root; /* NULL: /usr/lib/debug */
    const char *proc_root;  /* NULL: /proc (kallsyms, perf maps of live processes) */
    int same_boot;          /* 0: kernel addresses can't be resolved here (another boot or machine) */
    int starts;             /* what has no name gets the place of its function as text: see below */
};

struct symbolize_stats {
    uint64_t frames, named, unnamed, inlined;
    uint64_t modules, modules_without_symbols;
    unsigned languages; /* that names tell, bits of 1 << enum language (analyze/language.h) */
    uint64_t ns;        /* time it took */
};

/*
 * Names every frame of kind NATIVE, KERNEL or JIT that has none. Files are read through module.fd where it is
 * open, else by path, and then only if the build id (or dev and inode) is the one recorded. Frames that can't
 * be named stay unnamed: views print "[module+0x...]". C++ and Rust names are demangled. Never uses the
 * network. A broken file is said in the log and skipped: fails only on what makes no sense to go on from.
 *
 * With `starts`, an unnamed frame of a file gets "[module+0x...]" for a name, with the address where its
 * function starts (from .eh_frame_hdr), so that a function of a stripped program is one box in a flame graph
 * and not one for each of its sampled instructions. Such frames are not named: stats count them as unnamed,
 * and frame_name_is_place() tells them.
 */
int symbolize_store(struct store *s, const struct symbolize_opts *o, struct symbolize_stats *stats,
                    struct err *e);

#endif
