/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libdcmi.so: a card with two NPUs and a controller, a card that does not answer. FAKE_DCMI_PID:
 * the process that uses 2 GiB of the first. FAKE_DCMI=hang: never answers; =broken: does not start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what)
{
    const char *v = getenv("FAKE_DCMI");

    return v && !strcmp(v, what);
}

int dcmi_init(void);
int dcmi_init(void)
{
    while (is("hang"))
        pause();
    return is("broken") ? -8005 : 0;
}

int dcmi_get_card_list(int *n, int *list, int room);
int dcmi_get_card_list(int *n, int *list, int room)
{
    *n = 2;
    list[0] = 4;
    list[1] = 7;
    return 0;
}

int dcmi_get_device_num_in_card(int card, int *n);
int dcmi_get_device_num_in_card(int card, int *n)
{
    *n = 3;
    return card == 4 ? 0 : -8012;
}

int dcmi_get_device_type(int card, int device, int *type);
int dcmi_get_device_type(int card, int device, int *type)
{
    *type = device == 2; /* the controller */
    return 0;
}

int dcmi_get_device_logic_id(int *id, int card, int device);
int dcmi_get_device_logic_id(int *id, int card, int device)
{
    *id = 10 + device;
    return 0;
}

struct chip {
    unsigned char type[32], name[32], version[32];
    unsigned cores;
};

int dcmi_get_device_chip_info(int card, int device, struct chip *c);
int dcmi_get_device_chip_info(int card, int device, struct chip *c)
{
    strcpy((char *)c->type, "Ascend");
    strcpy((char *)c->name, "910B3");
    return 0;
}

struct pcie {
    unsigned vendor, subvendor, id, subdevice;
    int domain;
    unsigned bus, device, function;
    unsigned char reserved[32];
};

int dcmi_get_device_pcie_info_v2(int card, int device, struct pcie *p);
int dcmi_get_device_pcie_info_v2(int card, int device, struct pcie *p)
{
    p->bus = device ? 0x81 : 0xc1;
    return 0;
}

struct hbm {
    unsigned long long size;
    unsigned frequency;
    unsigned long long used;
    int temperature;
    unsigned bandwidth;
};

int dcmi_get_device_hbm_info(int card, int device, struct hbm *h);
int dcmi_get_device_hbm_info(int card, int device, struct hbm *h)
{
    h->size = 65536;
    h->used = 3000;
    return 0;
}

int dcmi_get_device_utilization_rate(int card, int device, int what, unsigned *rate);
int dcmi_get_device_utilization_rate(int card, int device, int what, unsigned *rate)
{
    *rate = what == 2 ? 88 : 0;
    return device ? -8255 : 0;
}

struct user {
    int pid;
    unsigned long bytes;
};

int dcmi_get_device_resource_info(int card, int device, struct user *u, int *n);
int dcmi_get_device_resource_info(int card, int device, struct user *u, int *n)
{
    const char *pid = getenv("FAKE_DCMI_PID");

    *n = 0;
    if (pid && !device)
        u[(*n)++] = (struct user){atoi(pid), 2ul << 30};
    u[(*n)++] = (struct user){2147483646, 1}; /* of another pid namespace */
    return 0;
}

int dcmi_get_affinity_cpu_info_by_device_id(int card, int device, char *cpus, int *n);
int dcmi_get_affinity_cpu_info_by_device_id(int card, int device, char *cpus, int *n)
{
    *n = snprintf(cpus, 32, "%d-%d", device, device);
    return 0;
}

int dcmi_get_topo_info_by_device_id(int card, int device, int card2, int device2, int *type);
int dcmi_get_topo_info_by_device_id(int card, int device, int card2, int device2, int *type)
{
    *type = 3; /* HCCS */
    return 0;
}
