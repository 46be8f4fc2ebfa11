/* SPDX-License-Identifier: Apache-2.0 */
#include "record/gpu_env.h"

#include "base/mem.h"
#include "base/self.h"
#include "collect/gpu_log.h"
#include "platform/spawn.h"

#include <stdio.h>
#include <string.h>

#define CUDA "CUDA_INJECTION64_PATH"
#define NVTX "NVTX_INJECTION64_PATH"

static int is_set(char *const *env, const char *name)
{
    const char *value = spawn_getenv(env, name);

    return value && *value;
}

enum gpu_env gpu_env_fill(struct jit_env *j, char *const *env, const char *marks, int whole_graphs)
{
    const char *slash = marks ? strrchr(marks, '/') : NULL;
    char *agent;

    if (!slash)
        return GPU_ENV_NONE;
    if (is_set(env, CUDA))
        return GPU_ENV_TAKEN;
    agent = self_agent();
    if (!agent)
        return GPU_ENV_NO_AGENT;
    jit_env_add(j, mem_printf(CUDA "=%s", agent));
    if (!is_set(env, NVTX))
        jit_env_add(j, mem_printf(NVTX "=%s", agent));
    jit_env_add(j, mem_printf(GPU_WIRE_ENV "=%.*s/gpu", (int)(slash - marks), marks));
    if (whole_graphs)
        jit_env_add(j, mem_strdup(GPU_WIRE_GRAPHS_ENV "=whole"));
    free(agent);
    return is_set(env, NVTX) ? GPU_ENV_NVTX_TAKEN : GPU_ENV_SET;
}
