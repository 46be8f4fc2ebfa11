/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel writes of pages, CPUs and nodes: sums stay whole, and a set reads back as it was written.
 */
#include "topo/idset.h"
#include "topo/numa_maps.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_again(const struct idset *s)
{
    struct idset again = {0};
    struct buf b = {0};

    idset_text(s, &b);
    if (idset_parse_list(&again, buf_str(&b)) || !idset_equal(s, &again))
        abort();
    idset_release(&again);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    struct idset list = {0}, mask = {0};
    struct numa_maps m = {0};

    numa_maps_parse(&m, text);
    if (numa_maps_bytes(&m, 1) > numa_maps_bytes(&m, 0))
        abort();
    idset_parse_list(&list, text);
    idset_parse_mask(&mask, text);
    set_again(&list);
    set_again(&mask);
    idset_release(&list);
    idset_release(&mask);
    numa_maps_release(&m);
    free(text);
    return 0;
}
