/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank of a job the process is, and which devices it has: CUDA numbers those that a process may use,
 * from 0 on in each. */
#include "agent/agent.h"

#include "agent/glibc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 64, UUID_BYTES = 16 };

/* The digits at *text, which then is behind them; -1: there are none, or it is too much. By hand: strtol(3)
 * has a new version in each C library. */
static long digits(const char **text)
{
    const char *p = *text;
    long n = 0;

    for (; *p >= '0' && *p <= '9' && n < GPU_WIRE_RANKS; p++)
        n = n * 10 + *p - '0';
    if (p == *text || n >= GPU_WIRE_RANKS)
        return -1;
    *text = p;
    return n;
}

/* -1: it is not set, or no number. */
static long number_of(const char *name)
{
    const char *text = getenv(name);
    long n = text ? digits(&text) : -1;

    return n >= 0 && !*text ? n : -1;
}

/* Of a job of several: launchers set the rank for a single process, too. */
void who_rank(struct agent *a)
{
    static const struct {
        const char *rank, *size;
    } launchers[] = {
        {"RANK", "WORLD_SIZE"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"},
    };

    for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
        long rank = number_of(launchers[i].rank);

        if (rank < 0 || number_of(launchers[i].size) < 2)
            continue;
        out_lock(&a->out);
        out_reserve(&a->out, 16);
        out_u8(&a->out, GPU_RANK);
        out_number(&a->out, (uint64_t)rank);
        out_unlock(&a->out);
        return;
    }
}

/* The machine's number of a device, by CUDA_VISIBLE_DEVICES: "3,1". Where it has other words than numbers, or
 * none, the process's own. */
static unsigned wished_number(unsigned device)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");

    for (unsigned i = 0; at; i++, at++) {
        long n = digits(&at);

        if (n < 0 || n >= GPU_WIRE_DEVICES || (*at && *at != ','))
            break;
        if (i == device)
            return (unsigned)n;
        if (!*at)
            break;
    }
    return device;
}

static void put_device(struct agent *a, unsigned device, const char *uuid)
{
    out_lock(&a->out);
    out_reserve(&a->out, 32 + UUID_BYTES);
    out_u8(&a->out, GPU_DEVICE_IS);
    out_number(&a->out, device);
    out_number(&a->out, wished_number(device));
    out_text(&a->out, uuid, uuid ? UUID_BYTES : 0);
    out_unlock(&a->out);
}

/* The driver answers once cuInit is through, in which we were loaded. */
int who_devices(struct agent *a)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*count)(int *) = NULL, (*get)(int *, int) = NULL, (*uuid)(char *, int) = NULL, n = 0;

    if (!driver)
        return -1;
    *(void **)&count = dlsym(driver, "cuDeviceGetCount");
    *(void **)&get = dlsym(driver, "cuDeviceGet");
    *(void **)&uuid = dlsym(driver, "cuDeviceGetUuid_v2"); /* a part of one (MIG) has its own */
    if (!uuid)
        *(void **)&uuid = dlsym(driver, "cuDeviceGetUuid");
    if (!count || count(&n))
        return -1;
    for (int i = 0; i < n && i < DEVICES; i++) {
        char bytes[UUID_BYTES];
        int device;
        int known = get && uuid && !get(&device, i) && !uuid(bytes, device);

        put_device(a, (unsigned)i, known ? bytes : NULL);
    }
    return 0;
}
