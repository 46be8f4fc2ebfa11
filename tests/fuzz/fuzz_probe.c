/* SPDX-License-Identifier: Apache-2.0 */
/* The answers file of `wprof doctor --root`. */
#include "base/mem.h"
#include "platform/probe_calls.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    struct probe_calls c;

    probe_calls_parse(&c, text);
    for (size_t i = 0; i < PROBE_CALLS; i++)
        if (probe_answer_name(c.answers[i]) == NULL && c.answers[i] != PROBE_UNTRIED)
            abort();
    free(text);
    return 0;
}
