/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/untaken.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* ptrace(2): who traces another needs all of its capabilities, or CAP_SYS_PTRACE; root in a container may
 * lack both. */
const char *untaken_why(void)
{
    return geteuid()
               ? "another user's: sudo, or CAP_SYS_PTRACE"
               : "root's, with capabilities that this shell lacks: that needs CAP_SYS_PTRACE, as docker "
                 "run --cap-add SYS_PTRACE gives it";
}

int untaken(const struct record_ctx *ctx, struct err *e)
{
    for (size_t i = 0; i < ctx->targets.n; i++) {
        if (!kill(ctx->targets.a[i], 0) || errno == EPERM)
            return err_set(e, "process %d is there, but what it maps may not be read (%s)",
                           (int)ctx->targets.a[i], untaken_why());
    }
    if (ctx->targets.n == 1)
        return err_set(e, "process %d: no such process", (int)ctx->targets.a[0]);
    return err_set(e, "none of the %zu processes is there: no such process", ctx->targets.n);
}
