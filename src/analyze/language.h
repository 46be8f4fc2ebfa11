/* SPDX-License-Identifier: Apache-2.0 */
/* The languages that sampled code was written in, as far as its symbols tell: meta.json's `languages`. */
#ifndef WPROF_ANALYZE_LANGUAGE_H
#define WPROF_ANALYZE_LANGUAGE_H

enum language {
    LANGUAGE_NONE,
    LANGUAGE_PYTHON,
    LANGUAGE_C,
    LANGUAGE_RUST,
    LANGUAGE_GO,
    LANGUAGE_JAVA,
    LANGUAGE_JAVASCRIPT,
    LANGUAGE_N
};

/* Of an ELF symbol, not yet demangled: Rust's and Go's have forms of their own, all others count as C's. */
enum language language_of_symbol(const char *raw);

/* "c/c++"; NULL for LANGUAGE_NONE. */
const char *language_name(enum language l);

#endif
