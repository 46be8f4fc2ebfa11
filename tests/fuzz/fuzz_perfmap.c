/* SPDX-License-Identifier: Apache-2.0 */
/* A perf map, in pieces of any size: the pieces change nothing, and names are whole. */
#include "base/mem.h"
#include "platform/perfmap.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t addrs[] = {0, 0x1000, 0x1001, 0x2000, 0x7f0000000000, UINT64_MAX};

enum { N = ARRAY_SIZE(addrs) };

static void feed(struct perfmap *m, const uint8_t *data, size_t size, size_t piece)
{
    perfmap_init(m, addrs, N);
    for (size_t i = 0; i < size; i += piece)
        perfmap_feed(m, (const char *)data + i, size - i < piece ? size - i : piece);
    perfmap_finish(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perfmap whole, pieces;

    feed(&whole, data, size, size ? size : 1);
    feed(&pieces, data, size, 7);
    if (whole.lines != pieces.lines || whole.bad != pieces.bad)
        abort();
    for (size_t i = 0; i < N; i++) {
        const char *a = perfmap_name(&whole, i), *b = perfmap_name(&pieces, i);

        if (!a != !b || (a && strcmp(a, b)))
            abort();
    }
    perfmap_release(&whole);
    perfmap_release(&pieces);
    return 0;
}
