/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cupti.h"

#include "agent/glibc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { NEWEST = 13, OLDEST = 11, PLACE = 1024 };

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

/* ---- finding it ---- */

/* Of a part of CUDA that the program has. */
struct place {
    char dir[PLACE]; /* with its slash; "": none was found */
};

/* "/x/libcudart.so.12": "/x/". What programs have of the runtime and of NVIDIA's libraries is of the version
 * that they need of CUPTI, too. */
static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const parts[] = {"libcudart.so.", "libnvrtc.so.", "libcublas.so."};
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    struct place *p = arg;
    size_t n;

    (void)size;
    if (!name++ || (n = (size_t)(name - info->dlpi_name)) >= sizeof(p->dir))
        return 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (!strncmp(name, parts[i], strlen(parts[i]))) {
            memcpy(p->dir, info->dlpi_name, n);
            p->dir[n] = '\0';
            return 1;
        }
    return 0;
}

static void *open_one(const char *dir, const char *below, int major, int flags)
{
    char path[PLACE + 64];

    snprintf(path, sizeof(path), "%s%slibcupti.so.%d", dir, below, major);
    return dlopen(path, flags);
}

static void *open_in(const char *dir, const char *below, int flags)
{
    int major = driver_major();
    void *library = major ? open_one(dir, below, major, flags) : NULL;

    for (int n = NEWEST; n >= OLDEST && !library; n--)
        library = open_one(dir, below, n, flags);
    return library;
}

/* Beside what the program has of CUDA: in one folder (conda, packages of CUDA 13), in that of a package of
 * its own (CUDA 11 and 12, for Python), in a toolkit. Then where the loader looks, and in the usual toolkit.
 */
static void *open_any(void)
{
    static const char *const beside[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
                                         "../../../extras/CUPTI/lib64/"};
    static const char *const dirs[] = {"", "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"};
    struct place p = {""};
    void *library = NULL;

    dl_iterate_phdr(find_place, &p);
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside) && *p.dir && !library; i++)
        library = open_in(p.dir, beside[i], RTLD_LAZY);
    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs) && !library; i++)
        library = open_in("", dirs[i], RTLD_LAZY);
    return library;
}

int cupti_load(struct cupti *c)
{
    int lacking = 0;

    c->library = open_in("", "", RTLD_LAZY | RTLD_NOLOAD);
    if (!c->library)
        c->library = open_any();
    if (!c->library)
        return -1;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void **at = (void **)((char *)c + symbols[i].at);

        *at = dlsym(c->library, symbols[i].name);
        lacking |= !*at && symbols[i].needed;
    }
    return lacking;
}
