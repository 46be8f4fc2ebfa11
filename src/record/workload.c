/* SPDX-License-Identifier: Apache-2.0 */
#include "record/workload.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

struct program {
    const char *prefix;     /* of the command's base name: python3.11 is python */
    const char *with_value; /* letters of options that take the next word */
    int module;             /* -m MODULE names the workload */
    int runs_command;       /* its operand is a command, looked at in turn (env, nice, timeout 5 ...) */
    int skip;               /* operands before that: timeout's duration */
};

static const struct program programs[] = {
    {"python", "WXc", 1, 0, 0},   {"pypy", "WXc", 1, 0, 0},       {"torchrun", "", 0, 0, 0},
    {"bash", "cO", 0, 0, 0},      {"sh", "c", 0, 0, 0},           {"dash", "c", 0, 0, 0},
    {"perl", "Ie", 0, 0, 0},      {"ruby", "Ire", 0, 0, 0},       {"node", "re", 0, 0, 0},
    {"env", "uCS", 0, 1, 0},      {"nice", "n", 0, 1, 0},         {"nohup", "", 0, 1, 0},
    {"time", "fo", 0, 1, 0},      {"timeout", "ks", 0, 1, 1},     {"stdbuf", "ioe", 0, 1, 0},
    {"taskset", "", 0, 1, 1},     {"numactl", "NmpiCP", 0, 1, 0}, {"setsid", "", 0, 1, 0},
    {"xvfb-run", "nes", 0, 1, 0},
};

static const struct program *find_program(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        size_t n = strlen(programs[i].prefix);

        if (!strncmp(name, programs[i].prefix, n) && !name[n + strspn(name + n, "0123456789.")])
            return &programs[i];
    }
    return NULL;
}

/* The first operand behind a program's options, "" where there is none; a module's name counts where it may.
 */
static char *const *first_operand(const struct program *p, char *const *argv, int *is_module)
{
    int skip = p->skip;

    *is_module = 0;
    for (; *argv; argv++) {
        const char *a = *argv;

        if (a[0] == '-' && a[1] && a[1] != '-') {
            if (p->module && a[1] == 'm' && argv[1]) {
                *is_module = 1;
                return argv + 1;
            }
            if (strchr(p->with_value, a[1]) && !a[2]) {
                if (a[1] == 'c' && !p->runs_command)
                    return NULL; /* -c CODE: the code names nothing */
                if (argv[1])
                    argv++;
            }
        } else if (a[0] == '-') {
            continue;
        } else if (p->runs_command && !strcmp(p->prefix, "env") && strchr(a, '=')) {
            continue;
        } else if (skip > 0) {
            skip--;
        } else {
            return argv;
        }
    }
    return NULL;
}

static char *clean(const char *name)
{
    char *out = mem_alloc(49);
    size_t n = 0;

    while (*name && strchr(".-/", *name))
        name++;
    for (; *name && n < 48; name++)
        out[n++] = isalnum((unsigned char)*name) || strchr("._+-", *name) ? *name : '_';
    out[n] = '\0';
    if (!n)
        memcpy(out, "command", sizeof("command"));
    return out;
}

char *workload_name(char *const *argv)
{
    for (int depth = 0; argv && *argv && depth < 8; depth++) {
        const struct program *p = find_program(base_name(*argv));
        char *const *operand;
        int is_module = 0;

        operand = p ? first_operand(p, argv + 1, &is_module) : NULL;
        if (!operand)
            break;
        if (!p->runs_command)
            return clean(is_module ? *operand : base_name(*operand));
        argv = operand;
    }
    return clean(argv && *argv ? base_name(*argv) : "");
}
