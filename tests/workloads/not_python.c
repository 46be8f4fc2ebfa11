/* SPDX-License-Identifier: Apache-2.0 */
/* not_python SECONDS: no Python, but full of its words; taking it for an interpreter would read nonsense. */
#include "burn.h"

#include <stdio.h>
#include <stdlib.h>

const char *python_words[] = {"python3.11", "libpython3.11.so.1.0",    "3.11.2 (main, ...)", "_PyRuntime",
                              "xdebugpy",   "PyEval_EvalFrameDefault", "Py_BytesMain"};
/* The cookie of CPython 3.13's _Py_DebugOffsets followed by a version, under a name much like the real one.
 */
struct {
    char cookie[8];
    uint64_t version, offsets[64];
} _PyRuntimeLike = {"xdebugpy", 0x030d00f0, {0}};

static NOINLINE void plain_work(uint64_t end)
{
    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    plain_work(thread_cpu_ns() + (uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9));
    printf("%s %s\n", python_words[0], _PyRuntimeLike.cookie);
    return 0;
}
