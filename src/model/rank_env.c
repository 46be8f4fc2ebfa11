/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rank_env.h"

#include "base/units.h"

#include <stdint.h>
#include <string.h>

const char *const rank_env_names[] = {"RANK",     "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                      "PMI_RANK", "LOCAL_RANK",   NULL};

static const char *value_of(char *const *env, size_t n, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < n; i++)
        if (!strncmp(env[i], name, len) && env[i][len] == '=')
            return env[i] + len + 1;
    return NULL;
}

long rank_env_of(char *const *env, size_t n)
{
    uint64_t rank;

    for (const char *const *name = rank_env_names; *name; name++) {
        const char *text = value_of(env, n, *name);

        if (text && *text && !units_parse_uint(text, &rank, NULL) && rank < UINT16_MAX)
            return (long)rank;
    }
    return -1;
}
