/* SPDX-License-Identifier: Apache-2.0 */
/* A growable array of any type: VEC(struct foo) v = {0}; *vec_push(&v) = foo; v.a[i], v.n; vec_release(&v).
 */
#ifndef WPROF_BASE_VEC_H
#define WPROF_BASE_VEC_H

#include "base/mem.h"

#include <stdlib.h>

#define VEC(T)                                                                                               \
    struct {                                                                                                 \
        T *a;                                                                                                \
        size_t n, cap;                                                                                       \
    }

/* Makes room for `want` elements in all. Contents of the new ones are undefined. */
#define vec_reserve(v, want)                                                                                 \
    do {                                                                                                     \
        size_t want_ = (want);                                                                               \
        if (want_ > (v)->cap) {                                                                              \
            size_t cap_ = (v)->cap ? (v)->cap : 16;                                                          \
            while (cap_ < want_)                                                                             \
                cap_ *= 2;                                                                                   \
            (v)->a = mem_realloc((v)->a, cap_, sizeof(*(v)->a));                                             \
            (v)->cap = cap_;                                                                                 \
        }                                                                                                    \
    } while (0)

/* Appends one element and gives its address: *vec_push(&v) = x. */
#define vec_push(v)                                                                                          \
    (__extension__({                                                                                         \
        vec_reserve(v, (v)->n + 1);                                                                          \
        &(v)->a[(v)->n++];                                                                                   \
    }))

/* Exchanges the contents of two vectors of one element type. */
#define vec_swap(v, w)                                                                                       \
    do {                                                                                                     \
        __typeof__((v)->a) a_ = (v)->a;                                                                      \
        size_t n_ = (v)->n, cap_ = (v)->cap;                                                                 \
        (v)->a = (w)->a;                                                                                     \
        (v)->n = (w)->n;                                                                                     \
        (v)->cap = (w)->cap;                                                                                 \
        (w)->a = a_;                                                                                         \
        (w)->n = n_;                                                                                         \
        (w)->cap = cap_;                                                                                     \
    } while (0)

#define vec_clear(v)   ((void)((v)->n = 0))
#define vec_release(v) (free((v)->a), (v)->a = NULL, (v)->n = (v)->cap = 0)

#endif
