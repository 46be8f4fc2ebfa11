/* SPDX-License-Identifier: Apache-2.0 */
/* Files of whole tables, by build id. */
#ifndef WPROF_UNWIND_TABLE_CACHE_H
#define WPROF_UNWIND_TABLE_CACHE_H

#include "unwind/table.h"

/* The table of a file with this layout and build id; NULL when it isn't there, or isn't to be trusted. */
struct unw_table *unw_cache_load(const struct unw_cache *c, const struct unw_layout *l);

/* Puts it there. A cache that can't be written costs time only, so failure is silent (log_debug). */
void unw_cache_store(const struct unw_cache *c, const struct unw_table *t);

#endif
