/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command's environment gets so that run-times tell the names of what they compile: only where
 * --jit-names or
 * --jvm ask for it, and added to what is there.
 */
#ifndef WPROF_RECORD_JIT_ENV_H
#define WPROF_RECORD_JIT_ENV_H

#include "base/vec.h"

struct jit_env {
    VEC(char *) list; /* "NAME=value", ends with NULL; none: empty */
};

/* env: the command's own so far. names: oneDNN and Node.js. jvm: Java. */
void jit_env_fill(struct jit_env *j, char *const *env, int names, int jvm);
void jit_env_add(struct jit_env *j, char *setting); /* one more, taken over */
void jit_env_release(struct jit_env *j);

#endif
