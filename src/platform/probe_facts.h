/* SPDX-License-Identifier: Apache-2.0 */
/* What files say about a machine and about this process: /proc, /sys, /boot, /run, read under a root. */
#ifndef WPROF_PLATFORM_PROBE_FACTS_H
#define WPROF_PLATFORM_PROBE_FACTS_H

#include <limits.h>
#include <stdint.h>

#define PROBE_ABSENT LONG_MIN /* a number whose file is not there */

struct probe_kernel {
    char *release;         /* "6.1.0-13-amd64"; NULL: unknown */
    char *config;          /* the file that was read; NULL: none is readable */
    int compressed_config; /* there is a /proc/config.gz, which is not read */
    char *no_btf;          /* its line about CONFIG_DEBUG_INFO_BTF where that is not y */
    char *lockdown;        /* "none", "integrity", "confidentiality"; NULL: unknown */
    int lsm_files;         /* /sys/kernel/security is mounted */
    long btf_bytes;        /* PROBE_ABSENT: no type information */
};

/* This process. */
struct probe_self {
    long uid;           /* effective; PROBE_ABSENT: unknown */
    uint64_t effective; /* capabilities, by number */
    uint64_t bounding;  /* those it could ever get */
    long no_new_privs;
    long seccomp;            /* 0 off, 1 strict, 2 filter */
    int known;               /* capabilities could be read */
    int in_userns, in_pidns; /* 1: not in the initial one; 0: in it; -1: unknown */
};

/* sysctl values. */
struct probe_sysctl {
    long paranoid, ptrace_scope, kptr_restrict;
};

enum probe_kallsyms { PROBE_KALLSYMS_ABSENT, PROBE_KALLSYMS_HIDDEN, PROBE_KALLSYMS_SHOWN };

enum probe_container {
    PROBE_NO_CONTAINER,
    PROBE_DOCKER,
    PROBE_PODMAN,
    PROBE_KUBERNETES,
    PROBE_OTHER_CONTAINER,
};

struct probe_place {
    enum probe_container container;
    char *container_why; /* what told it; NULL: nothing did */
    long pid_level;      /* pid namespaces above that we can see, from NSpid; PROBE_ABSENT */
    char *hypervisor;    /* NULL: none seen */
    int wsl;             /* 0, 1, 2 */
    char *clock;         /* the clock source; NULL: unknown */
    int cgroup;          /* 2, 1, or 0: none */
    char *pmus;          /* "cpu, uncore_imc_0": without those of software; "" */
    char *nvidia;        /* the driver's version; NULL: none loaded */
    long gpus;           /* NVIDIA display and 3D controllers on PCI */
    long gpu_admin;      /* 1: its driver lets administrators profile alone; PROBE_ABSENT */
};

struct probe_facts {
    struct probe_kernel kernel;
    struct probe_self self;
    struct probe_sysctl sysctl;
    struct probe_place place;
    enum probe_kallsyms kallsyms;
};

/* root: "" for the running system. Never fails: what can't be read is unknown. */
void probe_facts_read(struct probe_facts *f, const char *root);
void probe_facts_release(struct probe_facts *f);

/* ---- helpers of probe_facts*.c: files under a root, cut at 256 KiB ---- */

struct buf;

int probe_read(const char *root, const char *path, struct buf *out); /* replaces; -1: can't be read */
int probe_exists(const char *root, const char *path);
char *probe_line(const char *root, const char *path); /* the first line, owned; NULL */
void probe_place_read(struct probe_place *p, const char *root, const char *release,
                      const struct probe_self *self);

/* The rest of the line of a text that begins with key, owned; NULL. */
char *probe_value(const char *text, const char *key);
/* 1: the link is not that of the initial namespace, 0: it is, -1: unknown. */
int probe_in_namespace(const char *root, const char *path, unsigned long initial);

#endif
