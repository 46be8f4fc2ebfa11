/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/identity.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_ANCESTORS = 64 };

struct proc_stat {
    char comm[32];
    pid_t ppid, pgrp;
};

/* /proc/PID/stat: "pid (comm) state ppid pgrp ...", where comm may hold blanks and parentheses (proc(5)). */
static int read_stat(const char *proc_root, pid_t pid, struct proc_stat *st)
{
    char path[256];
    struct buf b = {0};
    const char *open_paren, *close_paren;
    int rc = -1;

    snprintf(path, sizeof(path), "%s/%d/stat", proc_root, (int)pid);
    if (io_read_file(AT_FDCWD, path, &b, NULL))
        goto out;
    open_paren = strchr(buf_str(&b), '(');
    close_paren = strrchr(buf_str(&b), ')');
    if (!open_paren || !close_paren || close_paren < open_paren)
        goto out;
    snprintf(st->comm, sizeof(st->comm), "%.*s", (int)(close_paren - open_paren - 1), open_paren + 1);
    if (sscanf(close_paren + 1, " %*c %d %d", &st->ppid, &st->pgrp) == 2)
        rc = 0;
out:
    buf_release(&b);
    return rc;
}

pid_t identity_find_sudo(const char *proc_root, pid_t pid)
{
    struct proc_stat st;
    pid_t group;

    if (read_stat(proc_root, pid, &st))
        return 0;
    group = st.pgrp;
    for (int i = 0; i < MAX_ANCESTORS && st.ppid > 1; i++) {
        pid_t parent = st.ppid;

        if (read_stat(proc_root, parent, &st))
            return 0;
        if (!strcmp(st.comm, "sudo"))
            return parent;
        /* A shell with job control gives its jobs a group of their own; make, timeout or a script do not. */
        if (st.pgrp != group)
            return 0;
    }
    return 0;
}

static void read_env(pid_t pid, struct identity *id)
{
    char path[64];
    struct buf b = {0};

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (!io_read_file(AT_FDCWD, path, &b, NULL)) {
        for (size_t i = 0; i < b.len; i += strlen(b.data + i) + 1) {
            if (strchr(b.data + i, '='))
                *vec_push(&id->env) = mem_strdup(b.data + i);
        }
    }
    buf_release(&b);
}

static void read_groups(struct identity *id)
{
    int n = 64;

    for (;;) {
        int want = n;

        vec_reserve(&id->groups, (size_t)n);
        if (getgrouplist(id->user, id->gid, id->groups.a, &want) >= 0) {
            id->groups.n = (size_t)want;
            return;
        }
        if (want <= n) /* refused for another reason than room */
            break;
        n = want;
    }
    id->groups.a[0] = id->gid;
    id->groups.n = 1;
}

static int parse_id(const char *name, uint64_t *v, struct err *e)
{
    const char *s = getenv(name);

    if (!s || units_parse_uint(s, v, e) || *v >= (uid_t)-1)
        return err_set(e, "%s is '%s', not a user or group id (unset SUDO_UID to run the command as root)",
                       name, s ? s : "");
    return 0;
}

static int switch_to_sudo_user(struct identity *id, pid_t sudo, struct err *e)
{
    uint64_t uid, gid;
    struct passwd *pw;

    if (parse_id("SUDO_UID", &uid, e) || parse_id("SUDO_GID", &gid, e))
        return -1;
    if (!uid)
        return 0;
    id->switched = 1;
    id->uid = (uid_t)uid;
    id->gid = (gid_t)gid;
    pw = getpwuid(id->uid);
    free(id->user);
    id->user = pw ? mem_strdup(pw->pw_name) : mem_printf("%u", (unsigned)id->uid);
    id->home = pw ? mem_strdup(pw->pw_dir) : NULL;
    read_groups(id);
    read_env(sudo, id);
    return 0;
}

int identity_of_caller(struct identity *id, struct err *e)
{
    struct passwd *pw = getpwuid(geteuid());
    pid_t sudo = 0;

    *id = (struct identity){.uid = geteuid(), .gid = getegid()};
    id->user = pw ? mem_strdup(pw->pw_name) : mem_printf("%u", (unsigned)id->uid);
    if (geteuid() == 0 && getenv("SUDO_UID"))
        sudo = identity_find_sudo("/proc", getpid());
    return sudo ? switch_to_sudo_user(id, sudo, e) : 0;
}

void identity_release(struct identity *id)
{
    for (size_t i = 0; i < id->env.n; i++)
        free(id->env.a[i]);
    vec_release(&id->env);
    vec_release(&id->groups);
    free(id->user);
    free(id->home);
    *id = (struct identity){0};
}

/* ---- files, as that user's ---- */

static int set_groups(const gid_t *a, size_t n)
{
    return (int)syscall(SYS_setgroups, n, a); /* of this thread: the C library would change all threads */
}

int identity_enter_files(const struct identity *id, struct identity_files *was, struct err *e)
{
    int n = getgroups(0, NULL);

    *was = (struct identity_files){0};
    if (n < 0)
        return err_sys(e, errno, "getgroups");
    vec_reserve(&was->groups, (size_t)n + 1);
    n = getgroups(n, was->groups.a);
    was->groups.n = n < 0 ? 0 : (size_t)n;
    was->entered = 1;
    if (n < 0 || set_groups(id->groups.a, id->groups.n)) {
        err_sys(e, errno, "groups of %s", id->user);
        identity_leave_files(was);
        return -1;
    }
    setfsgid(id->gid);
    setfsuid(id->uid);
    /* They give what was before, and fail without a word. */
    if ((uid_t)setfsuid((uid_t)-1) != id->uid || (gid_t)setfsgid((gid_t)-1) != id->gid) {
        identity_leave_files(was);
        return err_set(e, "files can't be made as %s", id->user);
    }
    return 0;
}

void identity_leave_files(struct identity_files *was)
{
    if (was->entered) {
        setfsuid(geteuid());
        setfsgid(getegid());
        set_groups(was->groups.a, was->groups.n);
    }
    vec_release(&was->groups);
    *was = (struct identity_files){0};
}
