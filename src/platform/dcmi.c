/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/dcmi.h"
#include "platform/symbols.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what of its interface is used ---- */

enum { CARDS_MAX = 64, PROCESSES_MAX = 256, AFFINITY_LEN = 64 };
enum { UNIT_NPU = 0 };          /* enum dcmi_unit_type */
enum { RATE_AICORE = 2 };       /* DCMI_UTILIZATION_RATE_AICORE */
enum { HCCS = 3, HCCS_SW = 7 }; /* DCMI_TOPO_TYPE_HCCS, DCMI_TOPO_TYPE_HCCS_SW */

struct chip { /* struct dcmi_chip_info */
    unsigned char type[32], name[32], version[32];
    unsigned cores;
};

struct pcie { /* struct dcmi_pcie_info_all */
    unsigned vendor, subvendor, device_id, subdevice;
    int domain;
    unsigned bus, device, function;
    unsigned char reserved[32];
};

struct hbm { /* struct dcmi_hbm_info; MB */
    unsigned long long size;
    unsigned frequency;
    unsigned long long used;
    int temperature;
    unsigned bandwidth;
};

struct user { /* struct dcmi_proc_mem_info */
    int pid;
    unsigned long bytes;
};

_Static_assert(sizeof(struct chip) == 100 && sizeof(struct pcie) == 64 && sizeof(struct hbm) == 32 &&
                   sizeof(struct user) == 16,
               "as DCMI has them");

struct api {
    int (*init)(void);
    int (*cards)(int *, int *, int);
    int (*devices)(int, int *);
    int (*type)(int, int, int *);
    int (*logic_id)(int *, int, int);
    int (*chip)(int, int, struct chip *);
    int (*pcie)(int, int, struct pcie *);
    int (*hbm)(int, int, struct hbm *);
    int (*rate)(int, int, int, unsigned *);
    int (*users)(int, int, struct user *, int *);
    int (*affinity)(int, int, char *, int *);
    int (*topo)(int, int, int, int, int *);
};

static const struct symbol symbols[] = {
    {offsetof(struct api, init), "dcmi_init", 1},
    {offsetof(struct api, cards), "dcmi_get_card_list", 0},
    {offsetof(struct api, cards), "dcmi_get_card_num_list", 1},
    {offsetof(struct api, devices), "dcmi_get_device_num_in_card", 1},
    {offsetof(struct api, type), "dcmi_get_device_type", 0},
    {offsetof(struct api, logic_id), "dcmi_get_device_logic_id", 0},
    {offsetof(struct api, chip), "dcmi_get_device_chip_info", 0},
    {offsetof(struct api, pcie), "dcmi_get_device_pcie_info_v2", 0},
    {offsetof(struct api, hbm), "dcmi_get_device_hbm_info", 0},
    {offsetof(struct api, rate), "dcmi_get_device_utilization_rate", 0},
    {offsetof(struct api, users), "dcmi_get_device_resource_info", 0},
    {offsetof(struct api, affinity), "dcmi_get_affinity_cpu_info_by_device_id", 0},
    {offsetof(struct api, topo), "dcmi_get_topo_info_by_device_id", 0},
};

/* Calls a function that the library may lack; 0 is success with all of them. */
#define TRY(function, ...) ((function) && !(function)(__VA_ARGS__))

static int load(struct api *api, void *library, struct err *e)
{
    const char *missing = symbols_load(api, library, symbols, ARRAY_SIZE(symbols));

    return missing ? err_set(e, "Ascend's management library has no %s: it is too old", missing) : 0;
}

/* ---- one NPU ---- */

static void read_users(struct dcmi_npu *n, const struct api *api)
{
    struct user *u =
        mem_calloc(PROCESSES_MAX, sizeof(*u)); /* the call tells no size: the driver's own limit is 32 */
    int count = 0;

    if (TRY(api->users, n->card, n->device, u, &count))
        for (int i = 0; i < count && i < PROCESSES_MAX; i++)
            *vec_push(&n->processes) = (struct dcmi_process){u[i].pid, u[i].bytes};
    free(u);
}

static int read_npu(struct dcmi *d, int card, int device, const struct api *api)
{
    struct dcmi_npu n = {.card = card, .device = device, .id = (int)d->npus.n, .busy = -1};
    char affinity[AFFINITY_LEN] = "";
    int type = UNIT_NPU, length = sizeof(affinity);
    struct chip chip = {0};
    struct pcie pcie = {0};
    struct hbm hbm = {0};
    unsigned rate;

    if (api->type && (api->type(card, device, &type) || type != UNIT_NPU))
        return type == UNIT_NPU ? -1 : 0; /* a card's own controllers are listed, too */
    (void)TRY(api->logic_id, &n.id, card, device);
    if (TRY(api->chip, card, device, &chip))
        snprintf(n.name, sizeof(n.name), "%.31s %.31s", (char *)chip.type, (char *)chip.name);
    if (TRY(api->pcie, card, device, &pcie))
        snprintf(n.pci, sizeof(n.pci), "%04x:%02x:%02x.%x", (unsigned)pcie.domain, pcie.bus & 0xff,
                 pcie.device & 0x1f, pcie.function & 7);
    if (TRY(api->hbm, card, device, &hbm)) {
        n.memory_bytes = hbm.size << 20;
        n.used_bytes = hbm.used << 20;
    }
    if (TRY(api->rate, card, device, RATE_AICORE, &rate) && rate <= 100)
        n.busy = (int)rate;
    if (TRY(api->affinity, card, device, affinity, &length))
        snprintf(n.affinity, sizeof(n.affinity), "%.*s", (int)sizeof(affinity) - 1, affinity);
    read_users(&n, api);
    *vec_push(&d->npus) = n;
    return 0;
}

static void read_links(struct dcmi *d, const struct api *api)
{
    for (uint32_t a = 0; a < d->npus.n; a++)
        for (uint32_t b = a + 1; b < d->npus.n; b++) {
            const struct dcmi_npu *x = &d->npus.a[a], *y = &d->npus.a[b];
            int type = -1;

            if (TRY(api->topo, x->card, x->device, y->card, y->device, &type) &&
                (type == HCCS || type == HCCS_SW))
                *vec_push(&d->links) = (struct dcmi_link){a, b, type == HCCS_SW};
        }
}

/* ---- all ---- */

static int read_all(struct dcmi *d, const struct api *api, struct err *e)
{
    int cards[CARDS_MAX], n = 0, rc = api->init();

    if (rc)
        return err_set(e, "Ascend's management library does not start (%d)", rc);
    rc = api->cards(&n, cards, CARDS_MAX);
    if (rc)
        return err_set(e, "Ascend's management library lists no cards (%d)", rc);
    for (int i = 0; i < n && i < CARDS_MAX; i++) {
        int devices = 0;

        if (api->devices(cards[i], &devices)) {
            d->lost++;
            continue;
        }
        for (int k = 0; k < devices; k++)
            d->lost += read_npu(d, cards[i], k, api) != 0;
    }
    read_links(d, api);
    return 0;
}

int dcmi_read(struct dcmi *d, struct err *e)
{
    struct api api = {0};
    void *library;
    int rc = symbols_open(&library, "libdcmi.so", e);

    *d = (struct dcmi){0};
    if (rc > 0)
        rc = symbols_open(&library, "/usr/local/dcmi/libdcmi.so", e); /* where the driver puts it */
    if (rc)
        return rc < 0 ? err_wrap(e, "Ascend's management library cannot be loaded") : 1;
    return load(&api, library, e) ? -1 : read_all(d, &api, e); /* its threads may live on: it stays */
}

void dcmi_release(struct dcmi *d)
{
    for (size_t i = 0; i < d->npus.n; i++)
        vec_release(&d->npus.a[i].processes);
    vec_release(&d->npus);
    vec_release(&d->links);
}
