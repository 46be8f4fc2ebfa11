/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/symbols.h"

#include <dlfcn.h>

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
