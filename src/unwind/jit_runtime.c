/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/jit_runtime.h"

#include "base/buf.h"
#include "platform/proctask.h"

#include <string.h>

static int begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

enum jit_runtime jit_runtime_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (!strcmp(name, "libjvm.so"))
        return JIT_JVM;
    if (!strcmp(name, "node") || !strcmp(name, "nodejs") || begins(name, "libnode.so") ||
        begins(name, "libv8.so"))
        return JIT_V8;
    if (begins(name, "libdnnl.so") || begins(name, "libmkldnn.so") || begins(name, "libtorch_cpu.so") ||
        begins(name, "libonnxruntime") || begins(name, "libtensorflow"))
        return JIT_ONEDNN;
    return JIT_NONE;
}

/* What the options in `text` say; `before` where they say nothing. The last one counts. */
static int flag_in(const char *text, int before)
{
    static const char flag[] = "PreserveFramePointer", on[] = "-XX:+";

    for (const char *p = text; (p = strstr(p, flag)); p += sizeof(flag) - 1) {
        char after = p[sizeof(flag) - 1];
        const char *from;

        if ((size_t)(p - text) < sizeof(on) - 1 || (after && !strchr(" \t\n\"'", after)))
            continue;
        from = p - (sizeof(on) - 1);
        if (!begins(from, "-XX:"))
            continue;
        if (from[4] == '+' || from[4] == '-')
            before = from[4] == '+';
    }
    return before;
}

static const char *find_variable(const char *env, size_t n, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < n; i += strlen(env + i) + 1)
        if (!strncmp(env + i, name, len) && env[i + len] == '=')
            return env + i + len + 1;
    return "";
}

/* In the order in which they override each other: the JVM reads JAVA_TOOL_OPTIONS, then its arguments, in
 * front of which the launcher puts JDK_JAVA_OPTIONS, then _JAVA_OPTIONS. */
int jit_jvm_options_keep_fp(const char *cmdline, size_t cmdline_n, const char *env, size_t env_n)
{
    int keeps = flag_in(find_variable(env, env_n, "JAVA_TOOL_OPTIONS"), 0);

    keeps = flag_in(find_variable(env, env_n, "JDK_JAVA_OPTIONS"), keeps);
    for (size_t i = 0; i < cmdline_n; i += strlen(cmdline + i) + 1)
        keeps = flag_in(cmdline + i, keeps);
    return flag_in(find_variable(env, env_n, "_JAVA_OPTIONS"), keeps);
}

int jit_jvm_keeps_fp(pid_t pid)
{
    struct buf cmdline = {0}, env = {0};
    int keeps;

    if (proctask_read(pid, 0, "cmdline", &cmdline))
        buf_clear(&cmdline);
    if (proctask_read(pid, 0, "environ", &env))
        buf_clear(&env);
    keeps = jit_jvm_options_keep_fp(buf_str(&cmdline), cmdline.len, buf_str(&env), env.len);
    buf_release(&cmdline);
    buf_release(&env);
    return keeps;
}
