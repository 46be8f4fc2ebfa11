/* SPDX-License-Identifier: Apache-2.0 */
/* What is there without libbpf: loading fails, so nothing else is ever called with an object. */
#include "platform/bpf.h"

#include <errno.h>

const int bpfside_present = 0;

struct bpfside *bpfside_new(const struct bpfside_settings *how, struct err *e)
{
    err_set(e, "this wprof is built without BPF");
    return NULL;
}

void bpfside_free(struct bpfside *b) {}

static int absent(struct err *e)
{
    return err_set(e, "built without BPF");
}

int bpfside_follow(struct bpfside *b, struct err *e)
{
    return absent(e);
}

int bpfside_sample(struct bpfside *b, int perf_fd, struct err *e)
{
    return absent(e);
}

void bpfside_sample_stop(struct bpfside *b) {}

int bpfside_regs(struct bpfside_regs *out, struct err *e)
{
    return absent(e);
}

int bpfside_holders(struct bpfside *b, int all, struct bpfside_holders *out, struct err *e)
{
    return absent(e);
}

int bpfside_off_start(struct bpfside *b, const struct wire_off_config *how, struct err *e)
{
    return absent(e);
}

int bpfside_off_rest(struct bpfside *b, struct err *e)
{
    return absent(e);
}

int bpfside_off_stop(struct bpfside *b, struct err *e)
{
    return absent(e);
}

void bpfside_off_stats(struct bpfside *b, struct wire_off_stats *sum)
{
    *sum = (struct wire_off_stats){0};
}

int bpfside_off_cost(struct bpfside *b, uint64_t *ns, uint64_t *runs)
{
    return -1;
}

int bpfside_flows_start(struct bpfside *b, int pipes, struct err *e)
{
    return absent(e);
}

int bpfside_flows_take(struct bpfside *b, int empty, struct bpfside_flows *out, struct err *e)
{
    return absent(e);
}

int bpfside_flows_by_exits(const struct bpfside *b)
{
    return 0;
}

size_t bpfside_flows_made(const struct bpfside *b)
{
    return 0;
}

void bpfside_flows_stop(struct bpfside *b) {}

int bpfside_flows_cost(struct bpfside *b, uint64_t *ns, uint64_t *runs)
{
    return -1;
}

int bpfside_used_start(struct bpfside *b, struct err *e)
{
    return absent(e);
}

int bpfside_used_look(struct bpfside *b, struct bpfside_used *out, struct err *e)
{
    return absent(e);
}

void bpfside_used_stop(struct bpfside *b) {}

int bpfside_threads(struct bpfside *b, struct bpfside_threads *out, struct err *e)
{
    return absent(e);
}

int bpfside_add_proc(struct bpfside *b, uint32_t tgid, const struct wire_proc *p)
{
    return -ENOSYS;
}

int bpfside_set_proc(struct bpfside *b, uint32_t tgid, const struct wire_proc *p)
{
    return -ENOSYS;
}

int bpfside_get_proc(struct bpfside *b, uint32_t tgid, struct wire_proc *p)
{
    return -ENOSYS;
}

int bpfside_set_layout(struct bpfside *b, uint32_t i, const struct py_layout *l)
{
    return -ENOSYS;
}

int bpfside_set_python(struct bpfside *b, uint32_t tgid, const struct py_proc *p)
{
    return -ENOSYS;
}

void bpfside_del_python(struct bpfside *b, uint32_t tgid) {}

struct wire_mapping *bpfside_mappings(struct bpfside *b, size_t *n)
{
    *n = 0;
    return NULL;
}

struct wire_table *bpfside_tables(struct bpfside *b, size_t *n)
{
    *n = 0;
    return NULL;
}

int bpfside_write_rows(struct bpfside *b, uint32_t first, const struct unw_row *rows, uint32_t n,
                       struct err *e)
{
    return absent(e);
}

int bpfside_fd(const struct bpfside *b)
{
    return -1;
}

int bpfside_drain_control(struct bpfside *b, bpfside_record *each, void *arg)
{
    return 0;
}

int bpfside_drain_samples(struct bpfside *b, bpfside_record *each, void *arg)
{
    return 0;
}

void bpfside_lost(struct bpfside *b, struct wire_lost *sum)
{
    *sum = (struct wire_lost){0};
}

void bpfside_cost(struct bpfside *b, int say, uint64_t *ns, uint64_t *runs)
{
    *ns = *runs = 0;
}

int bpfside_gpu_ready(const struct bpfside *b, struct err *e)
{
    return absent(e);
}

int bpfside_gpu_attach(struct bpfside *b, const char *path, const char *name, uint32_t which, struct err *e)
{
    return absent(e);
}

void bpfside_gpu_calls(struct bpfside *b, uint32_t which, struct wire_gpu_calls *sum)
{
    *sum = (struct wire_gpu_calls){0};
}

void bpfside_gpu_stop(struct bpfside *b) {}
