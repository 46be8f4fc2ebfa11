/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf(2) as recording uses it, with programs of two instructions, and no libbpf: a wprof built without it can
 * still say whether one built with it would do. Instruction encoding:
 * Documentation/bpf/standardization/instruction-set.rst.
 */
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "platform/probe_calls.h"
#include "platform/probe_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOG_SIZE = 4096, RING_SIZE = 4096 };

static int sys_bpf(enum bpf_cmd cmd, union bpf_attr *a)
{
    return (int)syscall(SYS_bpf, cmd, a, sizeof(*a));
}

/* r0 = 0; [call helper;] exit. helper 0: none. Gives the program, or -1 with errno and what the verifier
 * said. */
static int load(enum bpf_prog_type type, enum bpf_attach_type attach, uint32_t btf_id, int helper,
                char log[LOG_SIZE])
{
    struct bpf_insn insns[3] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}};
    uint32_t n = 1;
    union bpf_attr a;

    if (helper)
        insns[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = helper};
    insns[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
    memset(&a, 0, sizeof(a));
    a.prog_type = type;
    a.expected_attach_type = attach;
    a.attach_btf_id = btf_id;
    a.insns = (uint64_t)(uintptr_t)insns;
    a.insn_cnt = n;
    a.license = (uint64_t)(uintptr_t) "GPL";
    memset(log, 0, LOG_SIZE);
    a.log_buf = (uint64_t)(uintptr_t)log;
    a.log_size = LOG_SIZE;
    a.log_level = 1;
    return sys_bpf(BPF_PROG_LOAD, &a);
}

static int load_sampler(int helper, char log[LOG_SIZE])
{
    return load(BPF_PROG_TYPE_PERF_EVENT, 0, 0, helper, log);
}

int probe_call_bpf_ringbuf(pid_t sibling)
{
    union bpf_attr a;

    memset(&a, 0, sizeof(a));
    a.map_type = BPF_MAP_TYPE_RINGBUF;
    a.max_entries = RING_SIZE;
    return sys_bpf(BPF_MAP_CREATE, &a) < 0 ? errno : 0;
}

int probe_call_bpf_load(pid_t sibling)
{
    char log[LOG_SIZE];

    return load_sampler(0, log) < 0 ? errno : 0;
}

int probe_call_bpf_perf(pid_t sibling)
{
    char log[LOG_SIZE];
    int prog = load_sampler(0, log), event;

    if (prog < 0)
        return errno;
    event = probe_perf_open_cpu();
    if (event < 0)
        return errno;
    return ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) < 0 ? errno : 0;
}

/* ---- BTF: the number of the type that stands for a tracepoint ---- */

/* Bytes behind a btf_type of that kind, -1 for a kind we don't know (Documentation/bpf/btf.rst). */
static long extra_bytes(uint32_t kind, uint32_t vlen)
{
    enum { DECL_TAG = 17, TYPE_TAG = 18, ENUM64 = 19 }; /* younger than the headers of some distributions */

    switch (kind) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case DECL_TAG:
        return 4;
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
    case BTF_KIND_DATASEC:
    case ENUM64:
        return 12 * (long)vlen;
    case BTF_KIND_ENUM:
    case BTF_KIND_FUNC_PROTO:
        return 8 * (long)vlen;
    default:
        return kind <= TYPE_TAG ? 0 : -1;
    }
}

/* 0: there is none. */
static uint32_t find_typedef(const struct buf *btf, const char *name)
{
    struct btf_header h;
    size_t at, end, strs;
    uint32_t id = 1;

    if (btf->len < sizeof(h))
        return 0;
    memcpy(&h, btf->data, sizeof(h));
    at = (size_t)h.hdr_len + h.type_off;
    end = at + h.type_len;
    strs = (size_t)h.hdr_len + h.str_off;
    if (h.magic != BTF_MAGIC || end > btf->len || strs > btf->len)
        return 0;
    for (; at + sizeof(struct btf_type) <= end; id++) {
        struct btf_type t;
        long extra;

        memcpy(&t, btf->data + at, sizeof(t));
        extra = extra_bytes(BTF_INFO_KIND(t.info), BTF_INFO_VLEN(t.info));
        if (extra < 0)
            return 0;
        if (BTF_INFO_KIND(t.info) == BTF_KIND_TYPEDEF && strs + t.name_off < btf->len &&
            !strcmp(btf->data + strs + t.name_off, name))
            return id;
        at += sizeof(t) + (size_t)extra;
    }
    return 0;
}

int probe_call_bpf_tracing(pid_t sibling)
{
    struct buf btf = {0};
    char log[LOG_SIZE];
    union bpf_attr a;
    uint32_t id;
    int prog;

    if (io_read_file(AT_FDCWD, "/sys/kernel/btf/vmlinux", &btf, NULL))
        return ENOENT;
    id = find_typedef(&btf, "btf_trace_sched_process_exit"); /* seldom hit */
    buf_release(&btf);
    if (!id)
        return ESRCH;
    prog = load(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, id, 0, log);
    if (prog < 0)
        return errno;
    memset(&a, 0, sizeof(a));
    a.raw_tracepoint.prog_fd = (uint32_t)prog;
    return sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &a) < 0 ? errno : 0;
}

/* ---- helpers: what the verifier says about a call tells whether it is there ---- */

static int has_helper(int helper)
{
    char log[LOG_SIZE];
    int prog = load_sampler(helper, log), errnum = errno;

    if (prog >= 0)
        return 0;
    /* "unknown func", "invalid func" (5.x), "program of this type cannot use helper" (6.8) */
    if (strstr(log, " func ") || strstr(log, "cannot use helper"))
        return ENOSYS;
    return errnum == EINVAL || errnum == EACCES ? 0 : errnum; /* the arguments are wrong, as they should be */
}

int probe_call_bpf_loop(pid_t sibling)
{
    return has_helper(181); /* BPF_FUNC_loop, 5.17; the headers may be older */
}

int probe_call_bpf_kernel(pid_t sibling)
{
    return has_helper(BPF_FUNC_probe_read_kernel); /* goes with lockdown=confidentiality */
}

/* The size is looked at before anything that takes privileges; before 6.4, not where unprivileged users may
 * not call it at all. */
int probe_call_filter_bpf(pid_t sibling)
{
    union bpf_attr a;

    memset(&a, 0, sizeof(a));
    if (syscall(SYS_bpf, BPF_PROG_LOAD, &a, 1 << 24) >= 0)
        return 0;
    return errno == EPERM || errno == EACCES || errno == ENOSYS ? errno : 0;
}
