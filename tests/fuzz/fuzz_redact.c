/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: no crash, as many words out as in, and what stands behind --token= never comes through. */
#include "model/redact.h"
#include "record/workload.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char marker[] = "hunter2secret";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size), *name;
    struct redacted r = {0};
    VEC(char *) argv = {0};
    char *secret = mem_printf("--token=%s", marker);

    for (size_t at = 0; at < size; at += strlen(text + at) + 1)
        *vec_push(&argv) = text + at;
    *vec_push(&argv) = secret;
    *vec_push(&argv) = NULL;
    redact_command(&r, argv.a);
    if (r.args.n != argv.n - 1 || strstr(r.args.a[r.args.n - 1], marker))
        abort();
    name = workload_name(argv.a);
    if (!*name || strlen(name) > 48 || strchr(name, '/'))
        abort();
    free(name);
    redacted_release(&r);
    vec_release(&argv);
    free(secret);
    free(text);
    return 0;
}
