/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/nvml_watch.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "platform/clock.h"
#include "platform/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, LOST = 15 };                   /* nvmlReturn_t */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };           /* nvmlClockType_t */
enum { SENSOR_GPU = 0 };                           /* nvmlTemperatureSensors_t */
enum { PCIE_SENT = 0, PCIE_RECEIVED = 1 };         /* nvmlPcieUtilCounter_t */
enum { PENDING = 4096, LEAVE_S = 1, EVERY_S = 1 }; /* looks that wait to be taken; seconds */

/* nvmlClocksThrottleReason*: bits. Idle (1) and the clock of a display (256) are no reasons to worry. */
enum {
    SLOW_POWER = 0x4 | 0x80,
    SLOW_HEAT = 0x20 | 0x40,
    SLOW_HARDWARE = 0x8 | 0x40 | 0x80,
    SLOW_OTHER = 0x2 | 0x10
};

typedef struct nvml_device *device;

struct rates {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

struct api {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, device *);
    int (*rates)(device, struct rates *);
    int (*memory)(device, struct memory *);
    int (*clock)(device, int, unsigned *);
    int (*power)(device, unsigned *);
    int (*temperature)(device, int, unsigned *);
    int (*slow)(device, unsigned long long *);
    int (*pcie)(device, int, unsigned *);
};

static const struct symbol symbols[] = {
    {offsetof(struct api, init), "nvmlInit_v2", 1},
    {offsetof(struct api, shutdown), "nvmlShutdown", 1},
    {offsetof(struct api, error_string), "nvmlErrorString", 1},
    {offsetof(struct api, count), "nvmlDeviceGetCount_v2", 1},
    {offsetof(struct api, by_index), "nvmlDeviceGetHandleByIndex_v2", 1},
    {offsetof(struct api, rates), "nvmlDeviceGetUtilizationRates", 0},
    {offsetof(struct api, memory), "nvmlDeviceGetMemoryInfo", 0},
    {offsetof(struct api, clock), "nvmlDeviceGetClockInfo", 0},
    {offsetof(struct api, power), "nvmlDeviceGetPowerUsage", 0},
    {offsetof(struct api, temperature), "nvmlDeviceGetTemperature", 0},
    {offsetof(struct api, slow), "nvmlDeviceGetCurrentClocksEventReasons", 0}, /* its name since driver 535 */
    {offsetof(struct api, slow), "nvmlDeviceGetCurrentClocksThrottleReasons", 0},
    {offsetof(struct api, pcie), "nvmlDeviceGetPcieThroughput", 0},
};

/* Calls a function that the library may lack. */
#define TRY(function, ...) ((function) && (function)(__VA_ARGS__) == SUCCESS)

struct nvml_watch {
    struct api api;
    void *library;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    VEC(struct nvml_look) looks;
    char why[1200];
    int answered; /* that it works, or why not */
    int stop;
};

static void read_slow(const struct api *api, device d, uint64_t *f)
{
    unsigned long long reasons;

    if (!TRY(api->slow, d, &reasons))
        return;
    f[NVML_SLOW_POWER] = (reasons & SLOW_POWER) != 0;
    f[NVML_SLOW_HEAT] = (reasons & SLOW_HEAT) != 0;
    f[NVML_SLOW_HARDWARE] = (reasons & SLOW_HARDWARE) != 0;
    f[NVML_SLOW_OTHER] = (reasons & SLOW_OTHER) != 0;
}

static void read_device(const struct api *api, device d, uint64_t *f)
{
    struct memory memory;
    struct rates rates;
    unsigned v;

    for (int i = 0; i < NVML_FIGURES; i++)
        f[i] = NVML_UNKNOWN;
    if (TRY(api->rates, d, &rates)) {
        f[NVML_BUSY] = rates.gpu;
        f[NVML_MEMORY_BUSY] = rates.memory;
    }
    if (TRY(api->memory, d, &memory))
        f[NVML_MEMORY] = memory.used;
    if (TRY(api->clock, d, CLOCK_SM, &v))
        f[NVML_CLOCK] = v;
    if (TRY(api->clock, d, CLOCK_MEMORY, &v))
        f[NVML_MEMORY_CLOCK] = v;
    if (TRY(api->power, d, &v))
        f[NVML_POWER] = v;
    if (TRY(api->temperature, d, SENSOR_GPU, &v))
        f[NVML_TEMPERATURE] = v;
    if (TRY(api->pcie, d, PCIE_SENT, &v))
        f[NVML_SENT] = v;
    if (TRY(api->pcie, d, PCIE_RECEIVED, &v))
        f[NVML_RECEIVED] = v;
    read_slow(api, d, f);
}

/* Once: who reads it holds no lock. */
static void say(struct nvml_watch *w, const char *who, int rc)
{
    pthread_mutex_lock(&w->lock);
    if (!*w->why)
        snprintf(w->why, sizeof(w->why), "%s: %s", who,
                 rc == LOST ? "lost, it has fallen off the bus" : w->api.error_string(rc));
    w->answered = 1;
    pthread_mutex_unlock(&w->lock);
}

static void look_at_all(struct nvml_watch *w, unsigned count)
{
    struct nvml_look look;
    device d;

    for (unsigned i = 0; i < count; i++) {
        int rc = w->api.by_index(i, &d);
        char name[32];

        look.gpu = i;
        look.ts = clock_monotonic();
        if (rc != SUCCESS) {
            snprintf(name, sizeof(name), "GPU %u", i);
            say(w, name, rc);
            continue;
        }
        read_device(&w->api, d, look.figures);
        pthread_mutex_lock(&w->lock);
        if (w->looks.n < PENDING)
            *vec_push(&w->looks) = look;
        pthread_mutex_unlock(&w->lock);
    }
}

/* 1: it is over. */
static int wait_a_second(struct nvml_watch *w)
{
    struct timespec until;
    int stop;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += EVERY_S;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && !pthread_cond_timedwait(&w->wake, &w->lock, &until))
        ;
    stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return stop;
}

static void *watch(void *arg)
{
    struct nvml_watch *w = arg;
    unsigned count = 0;
    int rc;

    if (*w->why)
        return NULL;
    rc = w->api.init();
    if (rc == SUCCESS)
        rc = w->api.count(&count);
    if (rc != SUCCESS) {
        say(w, "NVIDIA's management library", rc);
        return NULL;
    }
    pthread_mutex_lock(&w->lock);
    w->answered = 1;
    pthread_mutex_unlock(&w->lock);
    do
        look_at_all(w, count);
    while (!wait_a_second(w));
    w->api.shutdown();
    return NULL;
}

/* -1: there is none. What keeps one that is there from serving goes to `why`. */
static int load(struct nvml_watch *w)
{
    struct err e = {0};
    const char *missing;
    int rc = symbols_open(&w->library, "libnvidia-ml.so.1", &e);

    if (rc > 0)
        return -1;
    missing = rc ? NULL : symbols_load(&w->api, w->library, symbols, ARRAY_SIZE(symbols));
    if (rc)
        snprintf(w->why, sizeof(w->why), "NVIDIA's management library cannot be loaded: %s", e.msg);
    else if (missing)
        snprintf(w->why, sizeof(w->why), "NVIDIA's management library has no %s: it is too old", missing);
    return 0;
}

static int start(struct nvml_watch *w)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    return thread_start(&w->thread, watch, w) ? -1 : 0;
}

struct nvml_watch *nvml_watch_new(void)
{
    struct nvml_watch *w = mem_calloc(1, sizeof(*w));

    if (!load(w) && !start(w))
        return w;
    if (w->library)
        dlclose(w->library);
    free(w);
    return NULL;
}

void nvml_watch_take(struct nvml_watch *w, void (*each)(void *arg, const struct nvml_look *look), void *arg)
{
    VEC(struct nvml_look) looks = {0};

    pthread_mutex_lock(&w->lock);
    looks.a = w->looks.a;
    looks.n = w->looks.n;
    w->looks.a = NULL;
    w->looks.n = w->looks.cap = 0;
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < looks.n; i++)
        each(arg, &looks.a[i]);
    vec_release(&looks);
}

const char *nvml_watch_why(struct nvml_watch *w)
{
    const char *why;

    pthread_mutex_lock(&w->lock); /* written once */
    why = w->answered || *w->why ? w->why : "NVIDIA's management library does not answer";
    pthread_mutex_unlock(&w->lock);
    return why;
}

void nvml_watch_free(struct nvml_watch *w)
{
    struct timespec until;

    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = 1;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LEAVE_S;
    if (pthread_timedjoin_np(w->thread, NULL, &until)) { /* what it uses stays */
        pthread_detach(w->thread);
        return;
    }
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    vec_release(&w->looks);
    if (w->library)
        dlclose(w->library);
    free(w);
}
