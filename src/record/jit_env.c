/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit_env.h"

#include "base/mem.h"
#include "platform/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dnnl_types.h: DNNL_JIT_PROFILE_LINUX_PERFMAP; the other bits (VTune, jitdump) stay as they are. */
#define ONEDNN_PERF_MAP 2

/* V8 appends to the map as it compiles. Interpreted functions are seen by name only where each has an entry
 * of its own. Without -only-functions V8 also leaves an isolate-*-v8.log in the current directory. */
#define NODE "--perf-basic-prof-only-functions --interpreted-frames-native-stack"

/* The map of a JVM that ends by itself is written at its exit: a diagnostic option since JDK 17. Older ones,
 * which do not know it, would refuse to start but for the first. */
#define JAVA                                                                                                 \
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer "             \
    "-XX:+DumpPerfMapAtExit"

static void set(struct jit_env *j, const char *name, const char *value)
{
    *vec_push(&j->list) = mem_printf("%s=%s", name, value);
}

/* Ours come first: what the user says of the same option counts. */
static void prepend(struct jit_env *j, char *const *env, const char *name, const char *options)
{
    const char *have = spawn_getenv(env, name);
    char *value = have && *have ? mem_printf("%s %s", options, have) : mem_strdup(options);

    set(j, name, value);
    free(value);
}

/* ONEDNN_ is the prefix since version 2.3, which knows the older one, too. */
static void onednn(struct jit_env *j, char *const *env)
{
    static const char *const names[] = {"ONEDNN_JIT_PROFILE", "DNNL_JIT_PROFILE"};
    char value[32];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *have = spawn_getenv(env, names[i]);
        unsigned long bits = have ? strtoul(have, NULL, 10) : 0;

        snprintf(value, sizeof(value), "%lu", bits | ONEDNN_PERF_MAP);
        set(j, names[i], value);
    }
}

void jit_env_fill(struct jit_env *j, char *const *env, int names, int jvm)
{
    if (names) {
        onednn(j, env);
        prepend(j, env, "NODE_OPTIONS", NODE);
    }
    if (jvm)
        prepend(j, env, "JAVA_TOOL_OPTIONS", JAVA);
    if (j->list.n)
        *vec_push(&j->list) = NULL;
}

void jit_env_add(struct jit_env *j, char *setting)
{
    if (j->list.n)
        j->list.n--;
    *vec_push(&j->list) = setting;
    *vec_push(&j->list) = NULL;
}

void jit_env_release(struct jit_env *j)
{
    for (size_t i = 0; i < j->list.n; i++)
        free(j->list.a[i]);
    vec_release(&j->list);
}
