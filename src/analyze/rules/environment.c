/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 44 and 50: what makes a run slow that is not the program's. */
#include "analyze/rules/check.h"

#include <stdlib.h>

/* ---- switches ---- */

/* value NULL: any but "", "0", "off", "false". */
static const struct debug_switch {
    const char *name, *value, *effect;
} switches[] = {
    {"CUDA_LAUNCH_BLOCKING", NULL, "every launch waits until its kernel is done"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, "each tensor is allocated and freed by the driver"},
    {"TORCH_DISTRIBUTED_DEBUG", "DETAIL", "each collective is checked against those of the other ranks"},
    {"TORCH_SHOW_CPP_STACKTRACES", NULL, "errors take long"},
    {"PYTHONDEVMODE", NULL, "Python checks more while it runs"},
    {"PYTHONMALLOC", "debug", "each allocation is checked"},
    {"PYTHONTRACEMALLOC", NULL, "each allocation's stack is kept"},
    {"MALLOC_CHECK_", NULL, "each allocation is checked"},
    {"MALLOC_PERTURB_", NULL, "memory is overwritten when it is freed"},
    {"NCCL_DEBUG", "TRACE", "each call of NCCL is printed"},
};

static int is_set(const struct debug_switch *x, const char *value)
{
    if (x->value)
        return !strcasecmp(value, x->value);
    return *value && strcmp(value, "0") && strcasecmp(value, "off") && strcasecmp(value, "false");
}

void check_debug_switches(struct rule_run *r, const struct rule_data *d)
{
    const struct meta *m = &d->s->meta;

    if (!m->session_id || meta_is_imported(m)) {
        rule_not_checked(r, "needs the command's environment, which an import has none of");
        return;
    }
    for (size_t i = 0; i < m->env.n; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(switches); k++) {
            size_t n = strlen(switches[k].name);
            struct finding *x;

            if (strncmp(m->env.a[i], switches[k].name, n) || m->env.a[i][n] != '=' ||
                !is_set(&switches[k], m->env.a[i] + n + 1))
                continue;
            x = rule_found(r);
            x->severity = FINDING_MEDIUM;
            x->title = mem_printf("%s is set", m->env.a[i]);
            x->evidence = mem_printf("With it %s.", switches[k].effect);
            x->advice = mem_printf("Unset %s where it is not needed.", switches[k].name);
            x->why = mem_strdup("it is in the command's environment; what it costs is not measured");
        }
    }
}

/* ---- what takes part ---- */

struct intruder {
    const char *title, *advice;
    struct place_match frames[8];
};

static const struct intruder intruders[] = {
    {"A Python debugger or tracer is active",
     "Run without it (coverage, pdb, a debugger's sys.settrace).",
     {{"trace_dispatch", NULL, NULL},
      {"call_trampoline", NULL, NULL},
      {"trace_trampoline", NULL, NULL},
      {"sys_trace_func2", NULL, NULL},
      {"sys_trace_line_func", NULL, NULL},
      {NULL, NULL, "pydevd"},
      {NULL, NULL, "tracer.cpython"}}},
    {"A Python profiler is active",
     "Run without it: it makes calls slower than what they do.",
     {{"profiler_callback", NULL, NULL},
      {"profile_trampoline", NULL, NULL},
      {"sys_profile_func2", NULL, NULL},
      {"_lsprof", NULL, NULL},
      {NULL, "cProfile.py", NULL}}},
    {"It is a debug build of Python",
     "Use the release build: it has no assertions, and reuses memory.",
     {{"_Py_CheckFunctionResult_debug", NULL, NULL},
      {"_PyMem_DebugRawAlloc", NULL, NULL},
      {"_PyMem_DebugRawFree", NULL, NULL},
      {"_PyObject_AssertFailed", NULL, NULL},
      {"_PyMem_DebugMalloc", NULL, NULL}}},
    {"The kernel compacts memory for huge pages",
     "Use madvise for huge pages (/sys/kernel/mm/transparent_hugepage/defrag), or "
     "leave more memory free.",
     {{"compact_zone", NULL, NULL},
      {"try_to_compact_pages", NULL, NULL},
      {"__alloc_pages_direct_compact", NULL, NULL}}},
    {"The kernel frees memory while the program waits",
     "More memory, or less of it in use.",
     {{"try_to_free_pages", NULL, NULL},
      {"do_try_to_free_pages", NULL, NULL},
      {"try_to_free_mem_cgroup_pages", NULL, NULL},
      {"shrink_node", NULL, NULL}}},
    {"ptrace stops the program",
     "Detach the debugger, strace or the profiler that works by ptrace.",
     {{"ptrace_stop", NULL, NULL}, {"ptrace_notify", NULL, NULL}, {"syscall_trace_enter", NULL, NULL}}},
};

static void check_intruder(struct rule_run *r, const struct rule_data *d, const struct intruder *in)
{
    struct words w = {0};
    struct place_time all;
    struct lead_time t;
    size_t n = 0;
    uint64_t hit = 0;
    uint8_t *stacks;
    double share;

    while (n < ARRAY_SIZE(in->frames) && (in->frames[n].func || in->frames[n].file || in->frames[n].module))
        n++;
    stacks = places_match(&d->places, in->frames, n);
    place_time_init(&all, &d->s->store);
    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind != EVENT_SAMPLE || ev->stack > d->s->store.stacks.nodes.n)
            continue;
        all.sum += ev->value;
        hit += stacks[ev->stack] ? ev->value : 0;
        all.of[ev->stack] += stacks[ev->stack] ? ev->value : 0;
    }
    lead_time_init(&t, d);
    if (d->lead.task)
        lead_time_stacks(&t, d, stacks);
    share = all.sum ? (double)hit / (double)all.sum : 0;
    if (share > rule_threshold(r, "share") || lead_time_share(&t, d) > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);

        x->weight = RULE_WEIGHT_CAUSE;
        if (t.ns)
            finding_of_lead(x, &t, d);
        all.sum = hit;
        finding_at(x, d, &all, places_hot(&d->places, &all, 0.5, NULL));
        x->title = mem_strdup(in->title);
        x->evidence = mem_printf("%s of the CPU time, and %s of %s's.", words_share(&w, share),
                                 words_ns(&w, t.ns), lead_noun_in(d));
        x->advice = mem_strdup(in->advice);
    }
    free(stacks);
    place_time_release(&all);
    lead_time_release(&t);
}

static void check_swap(struct rule_run *r, const struct rule_data *d)
{
    const struct metrics_sum *in = metrics_sums_of_machine(&d->sums, METRIC_ID_MEMORY_SWAPPED_IN);
    double own = 0;
    struct finding *x;
    char size[32];

    for (size_t i = 0; i < d->sums.list.n; i++)
        if (d->sums.list.a[i].id == METRIC_ID_MEMORY_SWAP &&
            !metrics_sums_is_machine(&d->sums, d->sums.list.a[i].task))
            own += d->sums.list.a[i].most;
    if (!in || in->total <= 0 || own <= 0)
        return;
    x = rule_found(r);
    x->severity = FINDING_MEDIUM;
    x->title = mem_strdup("Memory of the program is swapped out, and the machine reads from swap");
    x->evidence =
        mem_printf("%s were read from swap meanwhile.", units_size(size, sizeof(size), (uint64_t)in->total));
    x->advice = mem_strdup("More memory, fewer workers, or less in each.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("whose pages were read is not known");
}

void check_disturbed(struct rule_run *r, const struct rule_data *d)
{
    for (size_t i = 0; i < ARRAY_SIZE(intruders); i++)
        check_intruder(r, d, &intruders[i]);
    check_swap(r, d);
}
