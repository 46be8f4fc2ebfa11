/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what connections carry, which record and topo share. */
#ifndef WPROF_CMD_TOPO_LIMITS_H
#define WPROF_CMD_TOPO_LIMITS_H

#include "base/opt.h"

#include <string.h>

/* Three options, of fields of these names: limits, min_bytes, min_messages. */
#define OPT_LIMITS(type, what)                                                                               \
    OPT_SIZE(0, "min-bytes", type, min_bytes, "SIZE", "0", NULL,                                             \
             "leave connections that carried less out of the topology"),                                     \
        OPT_UINT(0, "min-messages", type, min_messages, "N", "0", NULL, "the same by " what),                \
        OPT_CHOICE(0, "limits", type, limits, "NAME", "none", "none|witty",                                  \
                   "those of the two that are not given: witty-profiler's, 240 and 5")

/* What its socket collector drops, from witty-profiler's sources. */
enum { WITTY_BYTES = 240, WITTY_MESSAGES = 5 };

static inline void limits_fill(const char *name, uint64_t *min_bytes, uint64_t *min_messages)
{
    if (strcmp(name, "witty") != 0)
        return;
    *min_bytes = *min_bytes ? *min_bytes : WITTY_BYTES;
    *min_messages = *min_messages ? *min_messages : WITTY_MESSAGES;
}

#endif
