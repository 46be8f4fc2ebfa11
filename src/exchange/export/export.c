/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/export.h"

#include <string.h>

const struct exporter *const exporters[] = {
#define EXPORTER(name) &export_##name,
#include "exchange/export/export.def"
#undef EXPORTER
};
const size_t nexporters = ARRAY_SIZE(exporters);

const struct exporter *exporter_find(const char *name, struct err *e)
{
    struct buf have = {0};

    for (size_t i = 0; i < nexporters; i++) {
        if (!strcmp(exporters[i]->name, name)) {
            buf_release(&have);
            return exporters[i];
        }
        buf_addf(&have, "%s%s", i ? ", " : "", exporters[i]->name);
    }
    err_set(e, "no export format '%s' (there is: %s)", name, buf_str(&have));
    buf_release(&have);
    return NULL;
}
