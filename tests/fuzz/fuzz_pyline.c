/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables: the first byte picks the version, the next two are the first line, the rest is the table. */
#include "unwind/py_code.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct py_lines l = {0};
    uint32_t last = 0;

    if (size < 3)
        return 0;
    py_lines_decode(&l, PY_VERSION_MIN + data[0] % 7, data[1] | (uint32_t)data[2] << 8, data + 3, size - 3);
    for (size_t i = 0; i < l.rows.n; i++) {
        if (l.rows.a[i].end <= last)
            abort();
        if (py_lines_find(&l, (int32_t)last) != l.rows.a[i].line && last <= INT32_MAX)
            abort();
        last = l.rows.a[i].end;
    }
    py_lines_release(&l);
    return 0;
}
