/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of the C and C++ runtime: what waits in them is who calls them. */
#ifndef WPROF_ANALYZE_LIBC_H
#define WPROF_ANALYZE_LIBC_H

#include <string.h>

/* libc.so.6, libc-2.31.so, libpthread.so.0, ld-linux-x86-64.so.2, libstdc++.so.6 */
static inline int libc_is(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) || !strncmp(name, "libpthread", 10) ||
           !strncmp(name, "ld-", 3) || !strncmp(name, "libstdc++.", 10) || !strncmp(name, "libc++.", 7);
}

#endif
