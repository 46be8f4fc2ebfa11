/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files that may be CPython: symbols, version, _Py_DebugOffsets, the eval loop's cold part. */
#include "platform/elf.h"
#include "unwind/py_binary.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct py_binary b;
    struct elf f;
    struct err e = {""};

    if (elf_open_mem(&f, data, size, &e))
        return 0;
    py_binary_examine(&b, &f, "libpython3.9.so.1.0", 1, &e);
    py_binary_examine(&b, &f, "plain", 0, &e);
    elf_close(&f);
    return 0;
}
