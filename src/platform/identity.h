/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom we work for. sudo turns alice into root and drops her PATH, venv and conda: what she asked to be
 * recorded must run as hers. Her ids come from SUDO_UID and SUDO_GID (sudo(8)), her environment from the sudo
 * process itself, whose /proc/PID/environ is what sudo was given.
 */
#ifndef WPROF_PLATFORM_IDENTITY_H
#define WPROF_PLATFORM_IDENTITY_H

#include "base/err.h"
#include "base/vec.h"

#include <sys/types.h>

struct identity {
    int switched; /* 0: the caller is who runs us; nothing below but `user`, uid and gid is set */
    uid_t uid;
    gid_t gid;
    char *user, *home; /* owned; home NULL where unknown */
    VEC(gid_t) groups; /* supplementary */
    VEC(char *) env;   /* owned "NAME=value", without the NULL at the end; empty: it could not be read */
};

/*
 * Fills `id` for the process `pid` (getpid() for us). It is "switched" when we are root, SUDO_UID is set, and
 * sudo is an ancestor with no interactive shell in between: a root shell got by `sudo -s` means to be root.
 * -1 with `e` when SUDO_UID is set but makes no sense. Release with identity_release().
 */
int identity_of_caller(struct identity *id, struct err *e);
void identity_release(struct identity *id);

/* What identity_enter_files() changed. */
struct identity_files {
    int entered;
    VEC(gid_t) groups;
};

/* From here on until identity_leave_files() this thread opens, makes and removes files with the rights of
 * `id` and no others: the kernel takes root's capabilities over files away with the fsuid (setfsuid(2)). -1
 * with `e`: nothing is changed. */
int identity_enter_files(const struct identity *id, struct identity_files *was, struct err *e);
void identity_leave_files(struct identity_files *was);

/* The nearest ancestor of `pid` that is sudo, 0 where there is none or an interactive shell comes first.
 * proc_root is
 * "/proc" or a copy of it. */
pid_t identity_find_sudo(const char *proc_root, pid_t pid);

#endif
