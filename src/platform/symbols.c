/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/symbols.h"

#include <dlfcn.h>
#include <string.h>

int symbols_open(void **library, const char *name, struct err *e)
{
    static const char absent[] = ": cannot open shared object file: No such file";
    const char *why;
    size_t n = strlen(name);

    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*library)
        return 0;
    why = dlerror();
    if (why && !strncmp(why, name, n) && !strncmp(why + n, absent, sizeof(absent) - 1))
        return 1;
    return err_set(e, "%s", why ? why : name);
}

const char *symbols_load(void *api, void *library, const struct symbol *symbols, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void **at = (void **)((char *)api + symbols[i].at);

        if (!*at)
            *at = dlsym(library, symbols[i].name);
        if (!*at && symbols[i].needed)
            return symbols[i].name;
    }
    return NULL;
}
