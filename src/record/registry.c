/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from collectors.c, so that a program with collectors of its own (a test) does not bring in all of
 * ours. */
#include "record/collectors.h"

const struct collector_ops *const *collectors_all(size_t *n)
{
#define COLLECTOR(name) &collector_##name,
    static const struct collector_ops *const all[] = {
#include "collect/collectors.def"
    };
#undef COLLECTOR

    *n = ARRAY_SIZE(all);
    return all;
}
