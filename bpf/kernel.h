/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types and constants that our programs touch, relocated at load time (CO-RE), so that a build
 * needs neither the build machine's BTF nor its kernel headers. Names and values are the kernel's own
 * (include/uapi/linux/ bpf.h, arch/x86/include/asm/ptrace.h, include/linux/sched.h); a `___old` suffix marks
 * another release's shape of a type.
 */
#ifndef WPROF_BPF_KERNEL_H
#define WPROF_BPF_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u64 u64;
typedef __u32 u32;

enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PROG_ARRAY = 3,
    BPF_MAP_TYPE_PERCPU_HASH = 5,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };

enum {
    BPF_F_NO_PREALLOC = 1 << 0,
    BPF_F_USER_STACK = 1 << 8, /* bpf_get_stack() */
    BPF_F_MMAPABLE = 1 << 10,
    BPF_LOCAL_STORAGE_GET_F_CREATE = 1 << 0,
};

enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

enum {
    PF_EXITING = 0x00000004,
    PF_IO_WORKER = 0x00000010,   /* io_uring's and */
    PF_USER_WORKER = 0x00004000, /* vhost's threads: a process's own, but never in user mode */
    PF_KTHREAD = 0x00200000,
};

/* Task states (include/linux/sched.h); a state of 0 is runnable. */
enum {
    TASK_UNINTERRUPTIBLE = 2,
    TASK_STOPPED = 4,
    TASK_TRACED = 8,
    TASK_DEAD = 0x80,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags,
        sp, ss;
};

struct pid_namespace;

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1];
};

struct thread_struct {
    unsigned long fsbase;
};

struct sched_entity {
    __u64 sum_exec_runtime;
};

struct sched_info {
    unsigned long long run_delay;
};

typedef struct {
    int counter;
} atomic_t;

struct task_io_accounting {
    __u64 rchar, wchar;
    __u64 read_bytes, write_bytes;
};

/* Sums of a process's ended threads. */
struct signal_struct {
    atomic_t live;
    __u64 utime, stime;
    unsigned long nvcsw, nivcsw, min_flt, maj_flt;
    unsigned long maxrss;
    unsigned long long sum_sched_runtime;
    struct task_io_accounting ioac;
};

struct thread_info {
    __u32 cpu;
};

struct mm_struct;

struct inode {
    unsigned short i_mode;
    unsigned long i_ino;
};

struct file {
    struct inode *f_inode;
    unsigned int f_mode;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct task_struct {
    unsigned int flags;
    unsigned int __state;
    int on_cpu;
    unsigned in_iowait : 1;
    struct files_struct *files;
    int pid, tgid;
    __u64 start_boottime;
    char comm[16];
    struct mm_struct *mm;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    struct task_struct *real_parent;
    struct signal_struct *signal;
    unsigned in_execve : 1;
    struct sched_entity se;
    struct sched_info sched_info;
    __u64 utime, stime;
    unsigned long nvcsw, nivcsw, min_flt, maj_flt;
    struct task_io_accounting ioac;
    struct thread_info thread_info;
    struct thread_struct thread;
};

/* Before 5.5 the field had another name. */
struct task_struct___old {
    __u64 real_start_time;
};

/* Before 5.16 it was here. */
struct task_struct___cpu {
    unsigned int cpu;
};

/* Before 5.14, the same. */
struct task_struct___state {
    long state;
};

struct linux_binprm;
struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

struct bpf_iter__task_file {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
    __u32 fd;
    struct file *file;
};

#pragma clang attribute pop

/* The context of a perf_event program: registers at the interrupt, and the period (uapi bpf_perf_event.h). */
struct bpf_perf_event_data {
    struct {
        unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
            flags, sp, ss;
    } regs;
    __u64 sample_period;
    __u64 addr;
};

#endif
