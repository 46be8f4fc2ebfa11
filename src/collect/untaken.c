/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/untaken.h"

#include <errno.h>
#include <signal.h>

int untaken(const struct record_ctx *ctx, struct err *e)
{
    for (size_t i = 0; i < ctx->targets.n; i++) {
        if (!kill(ctx->targets.a[i], 0) || errno == EPERM)
            return err_set(e,
                           "process %d is there, but what it maps may not be read (another user's: sudo, or "
                           "CAP_SYS_PTRACE)",
                           (int)ctx->targets.a[i]);
    }
    if (ctx->targets.n == 1)
        return err_set(e, "process %d: no such process", (int)ctx->targets.a[0]);
    return err_set(e, "none of the %zu processes is there: no such process", ctx->targets.n);
}
