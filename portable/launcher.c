/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bin/wprof of the portable build (base/self.h has its layout): linked statically, so that it starts with any
 * C library or none. Runs the program through the loader that lies with it, which finds the libraries there
 * and nowhere else first.
 *
 * What the environment tells loaders is meant for the command that is recorded: preloading the host's
 * allocator into us would load it beside another C library than its own. It is hidden until the program has
 * begun. Only LD_LIBRARY_PATH counts for us, too, behind our own folder: where a GPU's driver is mounted into
 * a container, it says where.
 */
#include "base/self.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { CANNOT = 125 }; /* as record: the command's own codes are below */

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
    va_list ap;

    fputs("wprof: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    _exit(CANNOT);
}

__attribute__((format(printf, 1, 2))) static char *text(const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        die("out of memory");
    va_end(ap);
    return s;
}

/* The folder above bin/, which this program lies in. */
static char *find_root(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n <= 0)
        die("/proc/self/exe: %s (is /proc mounted?)", strerror(errno));
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');

        if (slash)
            *slash = '\0';
    }
    if (strpbrk(path, ":;$")) /* the loader would take them for more than letters */
        die("the folder's path must not contain ':', ';' or '$': %s", path);
    return path;
}

/* Behind our own folder. Empty elements stand for the current directory, where we want no libraries from. */
static char *library_path(const char *own)
{
    const char *theirs = getauxval(AT_SECURE) ? NULL : getenv("LD_LIBRARY_PATH");
    char *path = text("%s", own);

    while (theirs && *theirs) {
        size_t n = strcspn(theirs, ":;");

        if (n)
            path = text("%s:%.*s", path, (int)n, theirs);
        theirs += n + (theirs[n] != '\0');
    }
    return path;
}

/* LD_BIND_NOW: a library of the host's that this C library cannot serve then fails to load, which is said,
 * and does not end the program at its first call. */
static char **environment(char **env)
{
    static char bind_now[] = "LD_BIND_NOW=1";
    size_t n = 0;
    char **mine;

    while (env[n])
        n++;
    mine = calloc(n + 2, sizeof(*mine));
    if (!mine)
        die("out of memory");
    for (size_t i = 0; i < n; i++) {
        mine[i] = env[i];
        if (!strncmp(env[i], "LD_", 3))
            mine[i][0] = SELF_HIDDEN;
    }
    mine[n] = bind_now;
    return mine;
}

int main(int argc, char **argv, char **env)
{
    char *own = text("%s/lib/wprof", find_root()), *loader = text("%s/" SELF_LOADER, own);
    char *libraries = library_path(own);
    char **args = calloc((size_t)argc + 5, sizeof(*args)), **at = args;

    if (!args)
        die("out of memory");
    *at++ = loader;
    *at++ = "--library-path";
    *at++ = libraries;
    *at++ = text("%s/wprof", own);
    for (int i = 1; i < argc; i++)
        *at++ = argv[i];
    execve(loader, args, environment(env));
    die("%s: %s (was the whole tarball unpacked, on a file system that is not mounted noexec?)", loader,
        strerror(errno));
}
