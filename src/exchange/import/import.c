/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/import.h"

#include <string.h>

const struct importer *const importers[] = {
#define IMPORTER(name) &import_##name,
#include "exchange/import/import.def"
#undef IMPORTER
};
const size_t nimporters = ARRAY_SIZE(importers);

const struct importer *importer_find(const char *name, struct err *e)
{
    struct buf have = {0};

    for (size_t i = 0; i < nimporters; i++) {
        if (!strcmp(importers[i]->name, name)) {
            buf_release(&have);
            return importers[i];
        }
        buf_addf(&have, "%s%s", i ? ", " : "", importers[i]->name);
    }
    err_set(e, "no import format '%s' (there is: %s)", name, buf_str(&have));
    buf_release(&have);
    return NULL;
}
