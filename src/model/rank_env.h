/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers tell a rank of itself, in its environment. */
#ifndef WPROF_MODEL_RANK_ENV_H
#define WPROF_MODEL_RANK_ENV_H

#include <stddef.h>

/* The variables that hold the number of a rank, the most particular first; ends with NULL. torchrun: RANK;
 * Slurm: srun(1); Open MPI: "Environment variables"; MPICH, Intel MPI and others: PMI_*. */
extern const char *const rank_env_names[];

/* The number that "NAME=value" pairs give, -1 where none does. */
long rank_env_of(char *const *env, size_t n);

#endif
