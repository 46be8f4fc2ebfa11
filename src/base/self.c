/* SPDX-License-Identifier: Apache-2.0 */
#include "base/self.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;

static int own_exe(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

    path[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

/* Cuts the last component off: the '/' that began it, NULL where there is none. */
static char *cut(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
    return slash;
}

/* ROOT/lib/wprof of the portable build into path. -1: this is another build. */
static int own_parts(char path[PATH_MAX])
{
    char *slash, *about;
    int rc;

    if (own_exe(path))
        return -1;
    slash = cut(path);
    if (!slash || strcmp(slash + 1, SELF_LOADER) != 0)
        return -1;
    about = mem_printf("%s/" SELF_ABOUT, path);
    rc = access(about, R_OK);
    free(about);
    return rc;
}

char *self_program(struct err *e)
{
    char path[PATH_MAX];

    if (!own_parts(path) && cut(path) && cut(path))
        return mem_printf("%s/bin/wprof", path);
    if (own_exe(path)) {
        err_sys(e, errno, "/proc/self/exe");
        return NULL;
    }
    return mem_strdup(path);
}

int self_is_portable(void)
{
    char path[PATH_MAX];

    return !own_parts(path);
}

char *self_part(const char *name)
{
    char path[PATH_MAX], *part;

    if (own_parts(path))
        return NULL;
    part = mem_printf("%s/%s", path, name);
    if (!access(part, R_OK))
        return part;
    free(part);
    return NULL;
}

void self_begin(void)
{
    static const char hidden[] = {SELF_HIDDEN, 'D', '_', '\0'};

    if (!self_is_portable())
        return;
    prctl(PR_SET_NAME, "wprof"); /* the kernel named us after the loader */
    unsetenv("LD_BIND_NOW");     /* the launcher's; the caller's is still hidden */
    for (char **e = environ; e && *e; e++)
        if (!strncmp(*e, hidden, 3))
            **e = 'L';
}

char *self_agent(void)
{
    static const char *const places[] = {"", "../lib/wprof/"};
    struct err e = {0};
    char *self = self_program(&e), *slash = self ? strrchr(self, '/') : NULL, *found = NULL;

    for (size_t i = 0; slash && !found && i < ARRAY_SIZE(places); i++) {
        found = mem_printf("%.*s/%s" SELF_AGENT, (int)(slash - self), self, places[i]);
        if (access(found, R_OK)) {
            free(found);
            found = NULL;
        }
    }
    free(self);
    return found;
}
