/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cupti.h"

#include "agent/glibc.h"

#include <dlfcn.h>
#include <stdio.h>

enum { NEWEST = 13, OLDEST = 11 };

static const struct symbol {
    size_t at;
    const char *name;
    int needed;
} symbols[] = {
    {offsetof(struct cupti, version), "cuptiGetVersion", 1},
    {offsetof(struct cupti, timestamp), "cuptiGetTimestamp", 1},
    {offsetof(struct cupti, subscribe), "cuptiSubscribe", 1},
    {offsetof(struct cupti, unsubscribe), "cuptiUnsubscribe", 0},
    {offsetof(struct cupti, enable), "cuptiActivityEnable", 1},
    {offsetof(struct cupti, disable), "cuptiActivityDisable", 1},
    {offsetof(struct cupti, register_callbacks), "cuptiActivityRegisterCallbacks", 1},
    {offsetof(struct cupti, flush), "cuptiActivityFlushAll", 1},
    {offsetof(struct cupti, next), "cuptiActivityGetNextRecord", 1},
    {offsetof(struct cupti, dropped), "cuptiActivityGetNumDroppedRecords", 0},
    {offsetof(struct cupti, enable_callback), "cuptiEnableCallback", 0},
    {offsetof(struct cupti, callback_name), "cuptiGetCallbackName", 0},
    {offsetof(struct cupti, set_attribute), "cuptiActivitySetAttribute", 0},
    {offsetof(struct cupti, thread_ids), "cuptiSetThreadIdType", 0},
    {offsetof(struct cupti, enable_driver), "cuptiActivityEnableDriverApi", 0},
    {offsetof(struct cupti, enable_runtime), "cuptiActivityEnableRuntimeApi", 0},
    {offsetof(struct cupti, node_id), "cuptiGetGraphNodeId", 0},
    {offsetof(struct cupti, nvtx), "cuptiNvtxInitialize", 0},
    {offsetof(struct cupti, nvtx2), "cuptiNvtxInitialize2", 0},
};

/* The driver's own version, as a CUDA version: a newer CUPTI than that would refuse to work. 0: unknown. */
static int driver_major(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*get)(int *) = NULL, version = 0;

    if (driver)
        *(void **)&get = dlsym(driver, "cuDriverGetVersion");
    return get && !get(&version) ? version / 1000 : 0;
}

static void *open_one(const char *dir, int major, int flags)
{
    char path[128];

    snprintf(path, sizeof(path), "%slibcupti.so.%d", dir, major);
    return dlopen(path, flags);
}

static void *open_any(int flags)
{
    static const char *const dirs[] = {"", "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"};
    int major = driver_major();
    void *library;

    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        if (major && (library = open_one(dirs[i], major, flags)))
            return library;
        for (int n = NEWEST; n >= OLDEST; n--)
            if ((library = open_one(dirs[i], n, flags)))
                return library;
        if (flags & RTLD_NOLOAD)
            break;
    }
    return NULL;
}

int cupti_load(struct cupti *c)
{
    int lacking = 0;

    c->library = open_any(RTLD_LAZY | RTLD_NOLOAD);
    if (!c->library)
        c->library = open_any(RTLD_LAZY);
    if (!c->library)
        return -1;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void **at = (void **)((char *)c + symbols[i].at);

        *at = dlsym(c->library, symbols[i].name);
        lacking |= !*at && symbols[i].needed;
    }
    return lacking;
}
