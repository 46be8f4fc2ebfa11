/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/jit_advice.h"

#include <string.h>

#define FEW 50 /* one in so many is guessed in the best JVM: stubs that keep no frame */

struct seen {
    int jvm, node, onednn; /* their code was sampled */
    int unnamed;           /* code compiled at run time without a name */
    int java;              /* code compiled at run time in a process whose JVM was sampled, named or not */
};

static int module_is(const struct store *s, const struct module *m, const char *name)
{
    const char *path = strtab_get(&s->strings, m->path), *slash = strrchr(path, '/');

    return !strncmp(slash ? slash + 1 : path, name, strlen(name));
}

static void look(const struct store *s, struct seen *x)
{
    for (size_t i = 0; i < s->frames.modules.n; i++) {
        const struct module *m = &s->frames.modules.a[i];

        if (m->kind != MODULE_FILE)
            continue;
        x->jvm |= module_is(s, m, "libjvm.so");
        x->node |= module_is(s, m, "node") || module_is(s, m, "libnode.so");
        x->onednn |= module_is(s, m, "libdnnl") || module_is(s, m, "libtorch_cpu");
    }
    for (size_t i = 0; i < s->frames.list.n; i++) {
        x->unnamed |= s->frames.list.a[i].kind == FRAME_JIT && !s->frames.list.a[i].names_n;
        x->java |= s->frames.list.a[i].kind == FRAME_JIT && x->jvm;
    }
}

/* What a map lacks although it was asked for was thrown away before, or is in another run-time. */
static const char *names_advice(const struct seen *x, unsigned done)
{
    if (!x->unnamed)
        return NULL;
    if (x->jvm)
        return done & JIT_ADVICE_JVM
                   ? NULL
                   : "some Java functions have no names: wprof record --jvm asks the JVM for them";
    if (done & JIT_ADVICE_NAMES)
        return NULL;
    if (x->node)
        return "JavaScript functions have no names: wprof record --jit-names, or node "
               "--perf-basic-prof-only-functions "
               "--interpreted-frames-native-stack";
    return x->onednn ? "oneDNN's compiled kernels have no names: wprof record --jit-names" : NULL;
}

void jit_advice(const struct store *s, uint64_t scanned, uint64_t samples, unsigned done, struct buf *out)
{
    struct seen x = {0};
    const char *names;

    look(s, &x);
    names = names_advice(&x, done);
    if (names)
        buf_addf(out, "%s\n", names);
    if (x.java && scanned * FEW > samples)
        buf_addf(out,
                 "%llu stacks through Java code were guessed, and may lack callers or name wrong ones: wprof "
                 "record --jvm, or java "
                 "-XX:+PreserveFramePointer\n",
                 (unsigned long long)scanned);
}
