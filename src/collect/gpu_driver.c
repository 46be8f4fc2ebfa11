/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_driver.h"

#include "base/buf.h"
#include "base/dir.h"
#include "base/mem.h"
#include "platform/proctask.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_in(const char *dir, size_t n)
{
    char path[512];

    snprintf(path, sizeof(path), "%.*s/libcuda.so.1", (int)n, dir);
    return n && !access(path, R_OK);
}

int gpu_driver_here(void)
{
    /* Distributions, containers of NVIDIA's run-time, WSL; the loader's own search is not asked, which would
     * load the driver into us. */
    static const char *const dirs[] = {"/usr/lib/x86_64-linux-gnu",
                                       "/usr/lib64",
                                       "/usr/lib",
                                       "/lib64",
                                       "/usr/lib/wsl/lib",
                                       "/usr/local/nvidia/lib64",
                                       "/usr/local/nvidia/lib",
                                       "/usr/local/cuda/compat",
                                       "/run/opengl-driver/lib"};
    const char *more = getenv("LD_LIBRARY_PATH");

    for (size_t n; more && *more; more += n + (more[n] == ':')) {
        n = strcspn(more, ":");
        if (is_in(more, n))
            return 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
        if (is_in(dirs[i], strlen(dirs[i])))
            return 1;
    return !access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK);
}

static int has_gpu_open(pid_t pid)
{
    char path[64], to[64];
    struct dirent *d;
    int found = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = dir_open(AT_FDCWD, path, 0);
    while (!found && (d = dir_next(dir))) {
        ssize_t n = readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1);

        to[n > 0 ? n : 0] = '\0';
        found = !strncmp(to, "/dev/nvidia", 11) || !strcmp(to, "/dev/dxg");
    }
    dir_close(dir);
    return found;
}

enum gpu_seen gpu_driver_seen(pid_t pid)
{
    enum gpu_seen seen = GPU_SEEN_NOTHING;
    struct buf maps = {0};

    if (!proctask_read(pid, 0, "maps", &maps) && strstr(buf_str(&maps), "/libcuda.so")) {
        if (strstr(buf_str(&maps), "/libwprof-cuda.so"))
            seen = GPU_SEEN_OURS;
        else
            seen = has_gpu_open(pid) ? GPU_SEEN_DEVICE : GPU_SEEN_LIBRARY;
    }
    buf_release(&maps);
    return seen;
}
