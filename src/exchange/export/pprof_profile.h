/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of pprof of folded stacks: of what is more than events of a thread, as waits below those who
 * ended them, or steps apart. Processes and threads are frames, as in folded text. */
#ifndef WPROF_EXCHANGE_PPROF_PROFILE_H
#define WPROF_EXCHANGE_PPROF_PROFILE_H

#include "exchange/export/export.h"

int pprof_profile(const struct export_input *in, struct buf *out, struct err *e);

#endif
