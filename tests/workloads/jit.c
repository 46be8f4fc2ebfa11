/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit MS [MAPDIR [LINES [UID]]]: code made at run time. jit_loop (with a frame pointer, as JIT compilers emit
 * it) calls back into burn_from_jit(). Its name goes to MAPDIR/perf-PID.map (default /tmp), PID as getpid()
 * says: that of the innermost pid namespace. Before it stand LINES others of 100 bytes, and the file is given
 * to UID.
 *
 * jit late: jit_loop calls back into wait_from_jit(), which waits for a byte on stdin; only then is the map
 * written, and it stays until stdin ends.
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

static NOINLINE void wait_from_jit(uint64_t ns)
{
    char c;

    (void)ns;
    if (read(STDIN_FILENO, &c, 1) != 1)
        _exit(1);
    __asm__ volatile("");
}

typedef void jitted(uint64_t, void (*)(uint64_t));

/* NULL: none can be made. */
static jitted *make_code(size_t *n)
{
    /* push rbp; mov rbp,rsp; call rsi; pop rbp; ret: void jit_loop(uint64_t ns, void (*f)(uint64_t)) */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *n = sizeof(code);
    if (p == MAP_FAILED)
        return NULL;
    memcpy(p, code, sizeof(code));
    return (jitted *)p;
}

static int write_map(const char *path, jitted *p, size_t n, long others)
{
    FILE *map = fopen(path, "w");

    if (!map)
        return -1;
    for (long i = others; i > 0; i--)
        fprintf(map, "%016lx 10 %080ld\n", 0x1000 + 16 * i, i);
    fprintf(map, "%lx %zx jit_loop\n", (unsigned long)p, n);
    return fclose(map);
}

static int late(const char *path, jitted *p, size_t n)
{
    char c;

    p(0, wait_from_jit);
    if (write_map(path, p, n, 0))
        return 1;
    while (read(STDIN_FILENO, &c, 1) > 0)
        ;
    unlink(path);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t ns = (uint64_t)(atof(argc > 1 ? argv[1] : "500") * 1e6);
    size_t n;
    jitted *p = make_code(&n);
    char path[256];

    if (!p)
        return 1;
    snprintf(path, sizeof(path), "%s/perf-%d.map", argc > 2 ? argv[2] : "/tmp", (int)getpid());
    if (argc > 1 && !strcmp(argv[1], "late"))
        return late(path, p, n);
    if (write_map(path, p, n, argc > 3 ? atol(argv[3]) : 0))
        return 1;
    if (argc > 4 && chown(path, (uid_t)atoi(argv[4]), (gid_t)-1))
        return 1;
    p(ns, burn_from_jit);
    unlink(path);
    return 0;
}
