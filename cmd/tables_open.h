/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions as tables, for the commands. */
#ifndef WPROF_CMD_TABLES_OPEN_H
#define WPROF_CMD_TABLES_OPEN_H

#include "exchange/tables/tables.h"

/* n 0: the newest session here, and stderr says which. NULL with `e`. */
struct tables *tables_open(char *const *paths, size_t n, struct err *e);

/* What they are read with. */
extern const struct tables_reader tables_open_reader;

#endif
