/* SPDX-License-Identifier: Apache-2.0 */
/* What a command's environment gets so that the CUDA driver loads our agent into it. */
#ifndef WPROF_RECORD_GPU_ENV_H
#define WPROF_RECORD_GPU_ENV_H

#include "model/collector.h"
#include "record/jit_env.h"

/*
 * Adds to j, which jit_env_fill() has filled. env: the command's own so far; marks: its WPROF_MARKS, which
 * lies in the session's directory, as the agents' logs are to. whole_graphs: graphs are recorded without
 * their nodes. Somebody else's injection is left alone.
 */
enum gpu_env gpu_env_fill(struct jit_env *j, char *const *env, const char *marks, int whole_graphs);

#endif
