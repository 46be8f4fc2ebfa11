/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/export.h"

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    profile_folded(in->profile, 0, out);
    return 0;
}

const struct exporter export_folded = {
    .name = "folded",
    .summary = "one line a stack, root first, count last: what flamegraph.pl, speedscope and others read",
    .run = run,
};
