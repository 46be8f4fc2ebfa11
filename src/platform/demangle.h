/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as people write them, of C++ (Itanium ABI) and Rust (legacy and v0) symbols. Without parameters and
 * return types: in a flame graph they are most of the text and none of the sense, and overloads belong side
 * by side; template arguments and `(anonymous namespace)` stay. Rust's hash suffix (`::h0123456789abcdef`)
 * goes.
 */
#ifndef WPROF_PLATFORM_DEMANGLE_H
#define WPROF_PLATFORM_DEMANGLE_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/strtab.h"

#define DEMANGLE_MAX 4096 /* bytes of a name; what is longer is cut and ends in U+2026 */

/* Appends the name of a symbol. A clone's suffix (`.cold`, `.isra.0`) stays in C and goes in C++, as
 * parameters do. What is not mangled, or not decodable, is appended as it is. */
void demangle(const char *raw, struct buf *out);

/* The same, remembered: a profile asks for the same names many times. */
struct demangle_cache {
    struct strtab raw, names;
    VEC(uint32_t) name_of; /* of raw id - 1 */
};

const char *demangle_cached(struct demangle_cache *c, const char *raw); /* valid until the next call */
void demangle_cache_release(struct demangle_cache *c);

#endif
