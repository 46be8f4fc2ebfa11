/* SPDX-License-Identifier: Apache-2.0 */
/* The meta.json that travels. */
#ifndef WPROF_PLATFORM_PACKED_META_H
#define WPROF_PLATFORM_PACKED_META_H

#include "base/err.h"
#include "model/session_extra.h"

/*
 * A descriptor of the session's meta.json with the files of extra/ that it does not list added, so that their
 * damage is seen where they arrive: all else of it is kept. *extra says what travels of them. 0: it lists
 * all, and travels as it is; -1 with `e`.
 */
int packed_meta(int dirfd, const struct meta *m, struct session_extra *extra, struct err *e);

#endif
