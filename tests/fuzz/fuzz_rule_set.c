/* SPDX-License-Identifier: Apache-2.0 */
/* A setting of a rule, "name=value": thresholds, and rules of the user's. What is taken is sane. */
#include "analyze/rule.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = size < 4096 ? mem_strndup((const char *)data, size) : mem_strdup("");
    char *eq = strchr(text, '=');
    struct rule_settings set = {0};
    struct err e = {0};
    int rc;

    if (eq) {
        *eq = '\0';
        rc = rule_set(&set, text, eq + 1, &e);
        if ((rc != 0) != (*e.msg != '\0'))
            abort();
        for (size_t i = 0; i < set.values.n; i++)
            if (!isfinite(set.values.a[i].value) || set.values.a[i].value < 0)
                abort();
        for (size_t i = 0; i < set.own.n; i++)
            if (!*set.own.a[i].pattern || !(set.own.a[i].share >= 0 && set.own.a[i].share <= 1))
                abort();
    }
    rule_settings_release(&set);
    free(text);
    return 0;
}
