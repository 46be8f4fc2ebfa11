/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WPROF_CMD_EXPORT_AIPROF_H
#define WPROF_CMD_EXPORT_AIPROF_H

#include "analyze/cut.h"
#include "model/session.h"

/* Writes AIProf's session directory `dir`, which must be new or empty. only: what the session was cut to,
 * NULL: nothing. -1 with `e`: it may be there in part. */
int export_aiprof_directory(struct session *s, const struct cut *only, const char *dir, struct err *e);

#endif
