/* SPDX-License-Identifier: Apache-2.0 */
/* Names from a perf map: always a function, never more text than came in but for an anonymous function's
 * place. */
#include "analyze/jit_name.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *raw = mem_strndup((const char *)data, size);
    struct jit_name n = {0};

    jit_name_parse(raw, &n);
    if (strlen(buf_str(&n.func)) + strlen(buf_str(&n.file)) > strlen(raw) + 40)
        abort();
    if (language_of_symbol(raw) == LANGUAGE_NONE)
        abort();
    jit_name_release(&n);
    free(raw);
    return 0;
}
