/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WPROF_BASE_LOWER_H
#define WPROF_BASE_LOWER_H

#include <stddef.h>

/* Index of the first of a VEC's elements whose `field` is not below `key`, in a list sorted by that field;
 * the list's length where there is none. */
#define lower_bound(list, field, key)                                                                        \
    ({                                                                                                       \
        size_t low_ = 0, high_ = (list).n;                                                                   \
                                                                                                             \
        while (low_ < high_) {                                                                               \
            size_t middle_ = low_ + (high_ - low_) / 2;                                                      \
                                                                                                             \
            if ((list).a[middle_].field < (key))                                                             \
                low_ = middle_ + 1;                                                                          \
            else                                                                                             \
                high_ = middle_;                                                                             \
        }                                                                                                    \
        low_;                                                                                                \
    })

#endif
