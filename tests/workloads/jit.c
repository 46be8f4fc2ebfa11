/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit MS [MAPDIR [LINES [UID]]]: code made at run time. jit_loop (with a frame pointer, as JIT compilers emit
 * it) calls back into burn_from_jit(). Its name goes to MAPDIR/perf-PID.map (default /tmp), PID as getpid()
 * says: that of the innermost pid namespace. Before it stand LINES others of 100 bytes, and the file is given
 * to UID.
 */
#include "burn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static NOINLINE void burn_from_jit(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    /* push rbp; mov rbp,rsp; call rsi; pop rbp; ret: void jit_loop(uint64_t ns, void (*f)(uint64_t)) */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
    uint64_t ns = (uint64_t)(atof(argc > 1 ? argv[1] : "500") * 1e6);
    const char *dir = argc > 2 ? argv[2] : "/tmp";
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[256];
    FILE *map;

    if (p == MAP_FAILED)
        return 1;
    memcpy(p, code, sizeof(code));
    snprintf(path, sizeof(path), "%s/perf-%d.map", dir, (int)getpid());
    map = fopen(path, "w");
    if (!map)
        return 1;
    for (long i = argc > 3 ? atol(argv[3]) : 0; i > 0; i--)
        fprintf(map, "%016lx 10 %080ld\n", 0x1000 + 16 * i, i);
    fprintf(map, "%lx %zx jit_loop\n", (unsigned long)p, sizeof(code));
    fclose(map);
    if (argc > 4 && chown(path, (uid_t)atoi(argv[4]), (gid_t)-1))
        return 1;
    ((void (*)(uint64_t, void (*)(uint64_t)))p)(ns, burn_from_jit);
    unlink(path);
    return 0;
}
