/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/nvml.h"
#include "platform/symbols.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what of its interface is used ---- */

enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7 }; /* nvmlReturn_t */
enum { LINKS_MAX = 18 };                     /* NVML_NVLINK_MAX_LINKS */
enum { REMOTE_GPU = 0, REMOTE_SWITCH = 2 };  /* nvmlIntNvLinkDeviceType_t */
#define NOT_AVAILABLE UINT64_MAX             /* NVML_VALUE_NOT_AVAILABLE */

typedef struct nvml_device *device;

struct pci_info { /* nvmlPciInfo_t since version 3 */
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

struct memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};

struct rates { /* nvmlUtilization_t */
    unsigned gpu, memory;
};

struct running_v1 { /* nvmlProcessInfo_v1_t */
    unsigned pid;
    unsigned long long bytes;
};

struct running { /* nvmlProcessInfo_t since version 2 */
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

struct sample { /* nvmlProcessUtilizationSample_t */
    unsigned pid;
    unsigned long long time;
    unsigned sm, memory, encoder, decoder;
};

_Static_assert(sizeof(struct pci_info) == 68 && sizeof(struct running) == 24 &&
                   sizeof(struct running_v1) == 16 && sizeof(struct sample) == 32,
               "as NVML has them");

struct api {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*driver)(char *, unsigned);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, device *);
    int (*name)(device, char *, unsigned);
    int (*uuid)(device, char *, unsigned);
    int (*minor)(device, unsigned *);
    int (*pci)(device, struct pci_info *);
    int (*memory)(device, struct memory *);
    int (*rates)(device, struct rates *);
    int (*gen)(device, unsigned *);
    int (*width)(device, unsigned *);
    int (*max_gen)(device, unsigned *);
    int (*max_width)(device, unsigned *);
    int (*mig)(device, unsigned *, unsigned *);
    int (*compute)(device, unsigned *, struct running *);
    int (*graphics)(device, unsigned *, struct running *);
    int (*mps)(device, unsigned *, struct running *);
    int (*compute_v1)(device, unsigned *, struct running_v1 *);
    int (*samples)(device, struct sample *, unsigned *, unsigned long long);
    int (*link_state)(device, unsigned, int *);
    int (*link_version)(device, unsigned, unsigned *);
    int (*link_pci)(device, unsigned, struct pci_info *);
    int (*link_type)(device, unsigned, int *);
};

static const struct symbol symbols[] = {
    {offsetof(struct api, init), "nvmlInit_v2", 1},
    {offsetof(struct api, shutdown), "nvmlShutdown", 1},
    {offsetof(struct api, error_string), "nvmlErrorString", 1},
    {offsetof(struct api, driver), "nvmlSystemGetDriverVersion", 0},
    {offsetof(struct api, count), "nvmlDeviceGetCount_v2", 1},
    {offsetof(struct api, by_index), "nvmlDeviceGetHandleByIndex_v2", 1},
    {offsetof(struct api, name), "nvmlDeviceGetName", 0},
    {offsetof(struct api, uuid), "nvmlDeviceGetUUID", 0},
    {offsetof(struct api, minor), "nvmlDeviceGetMinorNumber", 0},
    {offsetof(struct api, pci), "nvmlDeviceGetPciInfo_v3", 1},
    {offsetof(struct api, memory), "nvmlDeviceGetMemoryInfo", 0},
    {offsetof(struct api, rates), "nvmlDeviceGetUtilizationRates", 0},
    {offsetof(struct api, gen), "nvmlDeviceGetCurrPcieLinkGeneration", 0},
    {offsetof(struct api, width), "nvmlDeviceGetCurrPcieLinkWidth", 0},
    {offsetof(struct api, max_gen), "nvmlDeviceGetMaxPcieLinkGeneration", 0},
    {offsetof(struct api, max_width), "nvmlDeviceGetMaxPcieLinkWidth", 0},
    {offsetof(struct api, mig), "nvmlDeviceGetMigMode", 0},
    {offsetof(struct api, compute), "nvmlDeviceGetComputeRunningProcesses_v3", 0},
    {offsetof(struct api, compute), "nvmlDeviceGetComputeRunningProcesses_v2", 0},
    {offsetof(struct api, graphics), "nvmlDeviceGetGraphicsRunningProcesses_v3", 0},
    {offsetof(struct api, graphics), "nvmlDeviceGetGraphicsRunningProcesses_v2", 0},
    {offsetof(struct api, mps), "nvmlDeviceGetMPSComputeRunningProcesses_v3", 0},
    {offsetof(struct api, mps), "nvmlDeviceGetMPSComputeRunningProcesses_v2", 0},
    {offsetof(struct api, compute_v1), "nvmlDeviceGetComputeRunningProcesses", 0},
    {offsetof(struct api, samples), "nvmlDeviceGetProcessUtilization", 0},
    {offsetof(struct api, link_state), "nvmlDeviceGetNvLinkState", 0},
    {offsetof(struct api, link_version), "nvmlDeviceGetNvLinkVersion", 0},
    {offsetof(struct api, link_pci), "nvmlDeviceGetNvLinkRemotePciInfo_v2", 0},
    {offsetof(struct api, link_type), "nvmlDeviceGetNvLinkRemoteDeviceType", 0},
};

/* Calls a function that the library may lack. */
#define TRY(function, ...) ((function) && (function)(__VA_ARGS__) == SUCCESS)

static int load(struct api *api, void *library, struct err *e)
{
    const char *missing = symbols_load(api, library, symbols, ARRAY_SIZE(symbols));

    return missing ? err_set(e, "NVIDIA's management library has no %s: it is too old", missing) : 0;
}

/* ---- one GPU ---- */

/* "00000000:3B:00.0" gives "0000:3b:00.0". */
static void pci_name(const char *from, char to[24])
{
    size_t domain = strcspn(from, ":");

    while (domain > 4 && *from == '0') {
        from++;
        domain--;
    }
    snprintf(to, 24, "%s", from);
    for (char *c = to; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

static struct nvml_process *process_of(struct nvml_gpu *g, unsigned pid)
{
    for (size_t i = 0; i < g->processes.n; i++)
        if (g->processes.a[i].pid == (int)pid)
            return &g->processes.a[i];
    *vec_push(&g->processes) = (struct nvml_process){.pid = (int)pid, .busy = -1};
    return &g->processes.a[g->processes.n - 1];
}

/* Graphics and compute may name one process both, with the same memory. */
static void add_running(struct nvml_gpu *g, unsigned pid, unsigned long long bytes)
{
    struct nvml_process *p = process_of(g, pid);

    if (bytes != NOT_AVAILABLE && bytes > p->bytes)
        p->bytes = bytes;
}

static void read_running(struct nvml_gpu *g, device d, int (*list)(device, unsigned *, struct running *))
{
    struct running *r = NULL;
    unsigned n = 0;
    int rc = list ? list(d, &n, NULL) : SUCCESS;

    for (int again = 0; rc == INSUFFICIENT_SIZE && again < 4; again++) { /* more may come meanwhile */
        n += 16;
        r = mem_realloc(r, n, sizeof(*r));
        rc = list(d, &n, r);
    }
    for (unsigned i = 0; r && rc == SUCCESS && i < n; i++)
        add_running(g, r[i].pid, r[i].bytes);
    free(r);
}

static void read_running_v1(struct nvml_gpu *g, device d, const struct api *api)
{
    struct running_v1 *r = NULL;
    unsigned n = 0;

    if (api->compute_v1(d, &n, NULL) != INSUFFICIENT_SIZE)
        return;
    n += 16;
    r = mem_calloc(n, sizeof(*r));
    if (api->compute_v1(d, &n, r) == SUCCESS)
        for (unsigned i = 0; i < n; i++)
            add_running(g, r[i].pid, r[i].bytes);
    free(r);
}

/* The newest sample of each process; of the last second or so, which is what the driver keeps. */
static void read_samples(struct nvml_gpu *g, device d, const struct api *api)
{
    struct sample *s;
    unsigned n = 0;

    if (!api->samples || api->samples(d, NULL, &n, 0) != INSUFFICIENT_SIZE || !n)
        return;
    s = mem_calloc(n, sizeof(*s));
    if (api->samples(d, s, &n, 0) == SUCCESS)
        for (unsigned i = 0; i < n; i++)
            if (s[i].sm <= 100)
                process_of(g, s[i].pid)->busy = (int)s[i].sm;
    free(s);
}

static void read_links(struct nvml_gpu *g, device d, const struct api *api)
{
    for (unsigned i = 0; api->link_state && i < LINKS_MAX; i++) {
        struct nvml_link link = {.is_switch = -1, .index = i};
        struct pci_info pci = {0};
        int up = 0, type = -1;

        if (api->link_state(d, i, &up) != SUCCESS || !up)
            continue;
        (void)TRY(api->link_version, d, i, &g->nvlink_version);
        if (TRY(api->link_type, d, i, &type))
            link.is_switch = type == REMOTE_SWITCH ? 1 : type == REMOTE_GPU ? 0 : -1;
        if (TRY(api->link_pci, d, i, &pci)) {
            pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
            pci_name(pci.bus_id, link.pci);
        }
        if (!strncmp(link.pci, "0000:00:00", 10)) /* switches of later generations do not tell */
            link.pci[0] = '\0';
        *vec_push(&g->links) = link;
    }
}

static int read_gpu(struct nvml *n, unsigned index, const struct api *api)
{
    struct nvml_gpu g = {.index = index, .minor = -1, .busy = -1, .memory_busy = -1};
    struct pci_info pci = {0};
    struct memory memory;
    struct rates rates;
    unsigned minor, mig = 0, pending;
    device d;

    if (api->by_index(index, &d) != SUCCESS || api->pci(d, &pci) != SUCCESS)
        return -1;
    pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
    pci_name(pci.bus_id, g.pci);
    (void)TRY(api->name, d, g.name, sizeof(g.name));
    (void)TRY(api->uuid, d, g.uuid, sizeof(g.uuid));
    if (TRY(api->minor, d, &minor))
        g.minor = (int)minor;
    if (TRY(api->memory, d, &memory)) {
        g.memory_bytes = memory.total;
        g.used_bytes = memory.used;
    }
    if (TRY(api->rates, d, &rates)) {
        g.busy = (int)rates.gpu;
        g.memory_busy = (int)rates.memory;
    }
    (void)TRY(api->gen, d, &g.pcie_gen);
    (void)TRY(api->width, d, &g.pcie_width);
    (void)TRY(api->max_gen, d, &g.pcie_max_gen);
    (void)TRY(api->max_width, d, &g.pcie_max_width);
    g.mig = TRY(api->mig, d, &mig, &pending) && mig;
    read_running(&g, d, api->compute);
    read_running(&g, d, api->graphics);
    read_running(&g, d, api->mps);
    if (!api->compute && api->compute_v1)
        read_running_v1(&g, d, api);
    read_samples(&g, d, api);
    read_links(&g, d, api);
    *vec_push(&n->gpus) = g;
    return 0;
}

/* ---- all ---- */

static int read_all(struct nvml *n, const struct api *api, struct err *e)
{
    unsigned count = 0;
    int rc = api->init();

    if (rc != SUCCESS)
        return err_set(e, "NVIDIA's management library: %s", api->error_string(rc));
    (void)TRY(api->driver, n->driver, sizeof(n->driver));
    rc = api->count(&count);
    for (unsigned i = 0; rc == SUCCESS && i < count; i++)
        n->lost += read_gpu(n, i, api) != 0;
    api->shutdown();
    return rc != SUCCESS ? err_set(e, "NVIDIA's management library counts no GPUs: %s", api->error_string(rc))
                         : 0;
}

int nvml_read(struct nvml *n, struct err *e)
{
    struct api api = {0};
    void *library;
    int rc = symbols_open(&library, "libnvidia-ml.so.1", e);

    *n = (struct nvml){0};
    if (rc)
        return rc < 0 ? err_wrap(e, "NVIDIA's management library cannot be loaded") : 1;
    rc = load(&api, library, e) ? -1 : read_all(n, &api, e);
    dlclose(library);
    return rc;
}

void nvml_release(struct nvml *n)
{
    for (size_t i = 0; i < n->gpus.n; i++) {
        vec_release(&n->gpus.a[i].processes);
        vec_release(&n->gpus.a[i].links);
    }
    vec_release(&n->gpus);
}
