/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, const char *fmt, ...)
{
    va_list ap;

    if (!e)
        return -1;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
    va_list ap;
    size_t n;

    if (!e)
        return -1;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
    va_end(ap);
    n = strlen(e->msg);
    snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(errnum));
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char old[sizeof(e->msg)];
    va_list ap;
    size_t n;

    if (!e)
        return -1;
    memcpy(old, e->msg, sizeof(old));
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
    va_end(ap);
    n = strlen(e->msg);
    snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", old);
    return -1;
}
