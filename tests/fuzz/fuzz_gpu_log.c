/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's log, which is the target's to write: the items of one block. What comes of them is in the
 * store's order. */
#include "collect/gpu_log.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t a_task(void *arg, struct gpu_log *l, uint32_t tid)
{
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store s = {0};
    struct gpu_log l;

    gpu_log_init(&l, &s);
    l.task = a_task;
    gpu_log_block(&l, data, size);
    gpu_log_end(&l, 1000);
    for (size_t i = 0; i < s.events.n; i++) {
        const struct event *ev = &s.events.a[i];

        if (ev->kind == EVENT_GPU && (!ev->attr || ev->attr > s.gpus.list.n))
            abort();
        if (ev->stack > s.stacks.nodes.n)
            abort();
    }
    gpu_log_release(&l);
    store_release(&s);
    return 0;
}
