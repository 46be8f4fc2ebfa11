/* SPDX-License-Identifier: Apache-2.0 */
/* meta.json: what is taken is written back as something that reads the same. */
#include "model/session.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first = {0}, second = {0};
    struct meta m, again;
    struct err e = {0};

    if (meta_parse(&m, (const char *)data, size, &e)) {
        if (!e.msg[0])
            abort();
        meta_release(&m);
        return 0;
    }
    meta_write(&m, NULL, &first);
    if (meta_parse(&again, first.data, first.len, &e))
        abort();
    meta_write(&again, NULL, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len))
        abort();
    meta_release(&m);
    meta_release(&again);
    buf_release(&first);
    buf_release(&second);
    return 0;
}
