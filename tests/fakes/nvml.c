/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libnvidia-ml.so.1: two GPUs with two links between them, the second with one to a switch, too.
 * FAKE_NVML_PID: the process that uses 1 GiB of the first. FAKE_NVML=hang: never answers; =mismatch: as after
 * an update of the driver; =lost: the second GPU has fallen off the bus.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

static int is(const char *what)
{
    const char *v = getenv("FAKE_NVML");

    return v && !strcmp(v, what);
}

#define FN(name) __attribute__((visibility("default"))) int name
int nvmlInit_v2(void);
FN(nvmlInit_v2)(void)
{
    while (is("hang"))
        pause();
    return is("mismatch") ? 18 : 0;
}

int nvmlShutdown(void);
FN(nvmlShutdown)(void)
{
    return 0;
}

const char *nvmlErrorString(int rc);
const char *nvmlErrorString(int rc)
{
    return rc == 18 ? "Driver/library version mismatch" : "some error";
}

int nvmlSystemGetDriverVersion(char *out, unsigned n);
FN(nvmlSystemGetDriverVersion)(char *out, unsigned n)
{
    snprintf(out, n, "550.54.15");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n);
FN(nvmlDeviceGetCount_v2)(unsigned *n)
{
    *n = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, uintptr_t *d);
FN(nvmlDeviceGetHandleByIndex_v2)(unsigned i, uintptr_t *d)
{
    *d = i + 1;
    return i && is("lost") ? 15 : 0;
}

int nvmlDeviceGetName(uintptr_t d, char *out, unsigned n);
FN(nvmlDeviceGetName)(uintptr_t d, char *out, unsigned n)
{
    snprintf(out, n, "Fake GPU");
    return 0;
}

int nvmlDeviceGetUUID(uintptr_t d, char *out, unsigned n);
FN(nvmlDeviceGetUUID)(uintptr_t d, char *out, unsigned n)
{
    snprintf(out, n, "GPU-%u", (unsigned)d);
    return 0;
}

int nvmlDeviceGetMinorNumber(uintptr_t d, unsigned *minor);
FN(nvmlDeviceGetMinorNumber)(uintptr_t d, unsigned *minor)
{
    *minor = 2 - (unsigned)d; /* not the index */
    return 0;
}

int nvmlDeviceGetPciInfo_v3(uintptr_t d, struct pci *p);
FN(nvmlDeviceGetPciInfo_v3)(uintptr_t d, struct pci *p)
{
    snprintf(p->bus_id, sizeof(p->bus_id), "00000000:%cA:00.0", d == 1 ? '1' : '9');
    return 0;
}

int nvmlDeviceGetMemoryInfo(uintptr_t d, unsigned long long m[3]);
FN(nvmlDeviceGetMemoryInfo)(uintptr_t d, unsigned long long m[3])
{
    m[0] = 80ull << 30;
    m[2] = d << 30;
    m[1] = m[0] - m[2];
    return 0;
}

int nvmlDeviceGetUtilizationRates(uintptr_t d, unsigned u[2]);
FN(nvmlDeviceGetUtilizationRates)(uintptr_t d, unsigned u[2])
{
    u[0] = 97;
    u[1] = 40;
    return d == 1 ? 0 : 3; /* not supported, as with MIG */
}

#define CONSTANT(name, value)                                                                                \
    int name(uintptr_t d, unsigned *v);                                                                      \
    FN(name)(uintptr_t d, unsigned *v)                                                                       \
    {                                                                                                        \
        *v = value;                                                                                          \
        return 0;                                                                                            \
    }
CONSTANT(nvmlDeviceGetCurrPcieLinkGeneration, 1)
CONSTANT(nvmlDeviceGetMaxPcieLinkGeneration, 5)
CONSTANT(nvmlDeviceGetCurrPcieLinkWidth, 8)
CONSTANT(nvmlDeviceGetMaxPcieLinkWidth, 16)

int nvmlDeviceGetClockInfo(uintptr_t d, int type, unsigned *mhz);
FN(nvmlDeviceGetClockInfo)(uintptr_t d, int type, unsigned *mhz)
{
    *mhz = type == 1 ? 1410 : 1593;
    return 0;
}

int nvmlDeviceGetPowerUsage(uintptr_t d, unsigned *milliwatt);
FN(nvmlDeviceGetPowerUsage)(uintptr_t d, unsigned *milliwatt)
{
    *milliwatt = 250000;
    return 0;
}

int nvmlDeviceGetTemperature(uintptr_t d, int sensor, unsigned *celsius);
FN(nvmlDeviceGetTemperature)(uintptr_t d, int sensor, unsigned *celsius)
{
    *celsius = sensor == 0 ? 61 : 0;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(uintptr_t d, unsigned long long *reasons);
FN(nvmlDeviceGetCurrentClocksThrottleReasons)(uintptr_t d, unsigned long long *reasons)
{
    *reasons = d == 1 ? 4 : 1; /* a limit of power; it is idle */
    return 0;
}

int nvmlDeviceGetPcieThroughput(uintptr_t d, int direction, unsigned *kb);
FN(nvmlDeviceGetPcieThroughput)(uintptr_t d, int direction, unsigned *kb)
{
    *kb = direction == 0 ? 2000 : 3000;
    return 0;
}

struct running {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu, compute;
};

static unsigned user(void)
{
    const char *pid = getenv("FAKE_NVML_PID");

    return pid ? (unsigned)atoi(pid) : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(uintptr_t d, unsigned *n, struct running *r);
FN(nvmlDeviceGetComputeRunningProcesses_v3)(uintptr_t d, unsigned *n, struct running *r)
{
    unsigned room = *n;

    *n = d == 1 && user() ? 2 : 0;
    if (room < *n)
        return 7;
    for (unsigned i = 0; i < *n; i++)
        r[i] = (struct running){i ? 1 : user(), i ? ~0ull : 1ull << 30, ~0u, ~0u}; /* pid 1 is a stranger */
    return 0;
}

struct sample {
    unsigned pid;
    unsigned long long time;
    unsigned sm, memory, encoder, decoder;
};

int nvmlDeviceGetProcessUtilization(uintptr_t d, struct sample *s, unsigned *n, unsigned long long since);
FN(nvmlDeviceGetProcessUtilization)(uintptr_t d, struct sample *s, unsigned *n, unsigned long long since)
{
    unsigned room = *n;

    if (d != 1 || !user())
        return 6; /* none found */
    *n = 1;
    if (!s || room < 1)
        return 7;
    *s = (struct sample){user(), 1, 55, 10, 0, 0};
    return 0;
}

int nvmlDeviceGetNvLinkState(uintptr_t d, unsigned link, int *up);
FN(nvmlDeviceGetNvLinkState)(uintptr_t d, unsigned link, int *up)
{
    *up = link < 2 || (link == 5 && d == 2) || (link == 6 && d == 1);
    return link < 12 ? 0 : 2;
}

int nvmlDeviceGetNvLinkVersion(uintptr_t d, unsigned link, unsigned *v);
FN(nvmlDeviceGetNvLinkVersion)(uintptr_t d, unsigned link, unsigned *v)
{
    *v = 4;
    return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(uintptr_t d, unsigned link, int *type);
FN(nvmlDeviceGetNvLinkRemoteDeviceType)(uintptr_t d, unsigned link, int *type)
{
    *type = link < 2 ? 0 : 2;
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(uintptr_t d, unsigned link, struct pci *p);
FN(nvmlDeviceGetNvLinkRemotePciInfo_v2)(uintptr_t d, unsigned link, struct pci *p)
{
    snprintf(p->bus_id, sizeof(p->bus_id), "%s",
             link < 2 ? d == 1 ? "00000000:9A:00.0" : "00000000:1A:00.0"
             : d == 2 ? "00000000:C1:00.0"
                      : "00000000:00:00.0");
    return 0;
}
