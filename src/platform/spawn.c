/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/spawn.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum step { STEP_READY, STEP_IDENTITY, STEP_FIND, STEP_EXEC };

/* What the child says through the report pipe: once when it waits at the gate, again when exec failed. */
struct report {
    int step, error;
};

const char *spawn_getenv(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; *env; env++) {
        if (!strncmp(*env, name, n) && (*env)[n] == '=')
            return *env + n + 1;
    }
    return NULL;
}

static void set_env(char **env, size_t *n, const char *name, const char *value)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < *n; i++) {
        if (!strncmp(env[i], name, len) && env[i][len] == '=') {
            free(env[i]);
            env[i] = mem_printf("%s=%s", name, value);
            return;
        }
    }
    env[(*n)++] = mem_printf("%s=%s", name, value);
}

char **spawn_env(const struct identity *who)
{
    int given = who && who->switched && who->env.n;
    size_t n = 0, from = 0;
    char **env;

    if (given) {
        from = who->env.n;
    } else {
        while (environ[from])
            from++;
    }
    env = mem_calloc(from + 5, sizeof(*env)); /* three names, marks, NULL */
    for (size_t i = 0; i < from; i++)
        env[n++] = mem_strdup(given ? who->env.a[i] : environ[i]);
    if (who && who->switched &&
        !given) { /* sudo's environment could not be read: at least the user's own names */
        set_env(env, &n, "USER", who->user);
        set_env(env, &n, "LOGNAME", who->user);
        if (who->home)
            set_env(env, &n, "HOME", who->home);
    }
    env[n] = NULL;
    return env;
}

static char **add_env(char **env, char *const *more)
{
    size_t n = 0, m = 0;

    while (env[n])
        n++;
    while (more && more[m])
        m++;
    if (!m)
        return env;
    env = mem_realloc(env, n + m + 2, sizeof(*env)); /* marks, NULL */
    for (; *more; more++) {
        const char *equals = strchr(*more, '=');
        char *name = mem_strndup(*more, (size_t)(equals - *more));

        set_env(env, &n, name, equals + 1);
        free(name);
    }
    env[n] = NULL;
    return env;
}

/* An outer recording's marks are not ours to take. */
static void set_marks(char **env, const char *value)
{
    size_t n = 0, kept = 0;

    for (; env[n]; n++) {
        if (strncmp(env[n], "WPROF_MARKS=", 12) != 0)
            env[kept++] = env[n];
        else
            free(env[n]);
    }
    if (value)
        env[kept++] = mem_printf("WPROF_MARKS=%s", value);
    env[kept] = NULL;
}

void spawn_free_env(char **env)
{
    for (char **p = env; p && *p; p++)
        free(*p);
    free(env);
}

/* 0, or the errno that an exec of `path` would give, as far as can be told without doing it. */
static int check_program(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

/* As execvp(3): a name with a slash is a path, others are looked up; EACCES is remembered while the search
 * goes on. */
static int find_program(const char *name, const char *path, char out[PATH_MAX])
{
    int error = ENOENT;

    if (!*name)
        return ENOENT;
    if (strchr(name, '/')) {
        if (snprintf(out, PATH_MAX, "%s", name) >= PATH_MAX)
            return ENAMETOOLONG;
        return check_program(out);
    }
    for (const char *p = path ? path : _PATH_DEFPATH, *end; p; p = *end ? end + 1 : NULL) {
        int rc, len;

        end = p + strcspn(p, ":");
        len = (int)(end - p);
        if (snprintf(out, PATH_MAX, "%.*s%s%s", len, p, len ? "/" : "", name) >= PATH_MAX)
            continue;
        rc = check_program(out);
        if (!rc)
            return 0;
        if (rc == EACCES)
            error = EACCES;
    }
    return error;
}

static int become(const struct identity *who)
{
    if (!who || !who->switched)
        return 0;
    if (setgroups(who->groups.n, who->groups.a) || setresgid(who->gid, who->gid, who->gid) ||
        setresuid(who->uid, who->uid, who->uid))
        return errno;
    return setuid(0) == 0 ? EPERM : 0; /* it must not be able to go back */
}

static void restore_signals(const struct spawn_signals *s)
{
    if (!s)
        return;
    sigaction(SIGPIPE, &s->pipe, NULL);
    sigaction(SIGCHLD, &s->chld, NULL);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static void say(int fd, int step, int error)
{
    struct report r = {step, error};

    if (write(fd, &r, sizeof(r)) != sizeof(r))
        _exit(SPAWN_FAILED); /* nobody listens: our parent is gone */
}

static void run_program(const char *path, char *const *argv, char **env)
{
    size_t argc = 0;
    char **shell;

    execve(path, argv, env);
    if (errno != ENOEXEC)
        return;
    /* A script without a first line "#!": shells and execvp(3) hand it to sh. */
    while (argv[argc])
        argc++;
    shell = mem_calloc(argc + 2, sizeof(*shell));
    shell[0] = (char *)"sh";
    shell[1] = (char *)path;
    for (size_t i = 1; i < argc; i++)
        shell[i + 1] = argv[i];
    execve(_PATH_BSHELL, shell, env);
    errno = ENOEXEC;
}

static void __attribute__((noreturn)) child(const struct spawn_how *how, char **env, int gate, int report)
{
    char path[PATH_MAX], go;
    ssize_t n;
    int error;

    error = become(how->who);
    if (error) {
        say(report, STEP_IDENTITY, error);
        _exit(SPAWN_FAILED);
    }
    error = find_program(how->argv[0], spawn_getenv(env, "PATH"), path);
    say(report, error ? STEP_FIND : STEP_READY, error);
    if (error)
        _exit(SPAWN_FAILED);
    do
        n = read(gate, &go, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(SPAWN_FAILED); /* cancelled, or our parent died */
    restore_signals(how->signals);
    run_program(path, how->argv, env);
    error = errno;
    say(report, STEP_EXEC, error);
    _exit(SPAWN_FAILED);
}

static void reap(struct spawn *s)
{
    if (s->gate >= 0)
        close(s->gate);
    if (s->report >= 0)
        close(s->report);
    s->gate = s->report = -1;
    if (s->pid > 0) {
        while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    s->pid = 0;
}

static int explain(struct spawn *s, const struct report *r, const char *name, struct err *e)
{
    s->failure = SPAWN_NOT_EXECUTABLE;
    if (r->step == STEP_IDENTITY) {
        s->failure = SPAWN_FAILED;
        return err_sys(e, r->error, "%s: become the user who called sudo", name);
    }
    if (r->step == STEP_EXEC && r->error == ENOENT)
        return err_set(e, "%s: cannot run it: the interpreter or loader that it names does not exist", name);
    if (r->error == ENOENT || r->error == ENOTDIR) {
        s->failure = SPAWN_NOT_FOUND;
        return err_set(e, "%s: %s", name, strchr(name, '/') ? "no such file" : "no such command in PATH");
    }
    if (r->error == EACCES)
        return err_set(e, "%s: not executable (no permission, or not a program)", name);
    if (r->error == ENOEXEC)
        return err_set(e, "%s: not executable: not a format that this machine runs", name);
    return err_sys(e, r->error, "%s: cannot run it", name);
}

/* 1: a report was read; 0: the pipe closed. */
static int listen_to(int fd, struct report *r)
{
    ssize_t n;

    do
        n = read(fd, r, sizeof(*r));
    while (n < 0 && errno == EINTR);
    return n == sizeof(*r);
}

int spawn_behind_gate(struct spawn *s, const struct spawn_how *how, struct err *e)
{
    int gate[2] = {-1, -1}, report[2] = {-1, -1}, rc = -1;
    char **env = spawn_env(how->who);
    struct report r = {STEP_IDENTITY, ECHILD};

    *s = (struct spawn){.gate = -1, .report = -1, .failure = SPAWN_FAILED};
    env = add_env(env, how->more);
    set_marks(env, how->marks);
    if (pipe2(gate, O_CLOEXEC) || pipe2(report, O_CLOEXEC)) {
        err_sys(e, errno, "%s: pipe", how->argv[0]);
        goto out;
    }
    s->pid = fork();
    if (s->pid < 0) {
        err_sys(e, errno, "%s: fork", how->argv[0]);
        s->pid = 0;
        goto out;
    }
    if (!s->pid) {
        close(gate[1]); /* else the child would hold its own gate shut after our death */
        close(report[0]);
        child(how, env, gate[0], report[1]);
    }
    s->gate = gate[1];
    s->report = report[0];
    gate[1] = report[0] = -1;
    close(report[1]);
    report[1] = -1;
    rc = listen_to(s->report, &r) && r.step == STEP_READY ? 0 : -1;
    if (rc) {
        reap(s);
        explain(s, &r, how->argv[0], e);
    }
out:
    for (int i = 0; i < 2; i++) {
        if (gate[i] >= 0)
            close(gate[i]);
        if (report[i] >= 0)
            close(report[i]);
    }
    spawn_free_env(env);
    return rc;
}

int spawn_open_gate(struct spawn *s, struct err *e)
{
    struct report r;
    int failed;

    if (write(s->gate, "g", 1) != 1) {
        s->failure = SPAWN_FAILED;
        err_sys(e, errno, "the command ended before it was started");
        reap(s);
        return -1;
    }
    failed = listen_to(s->report, &r); /* a successful exec closes the pipe: nothing to read */
    close(s->gate);
    close(s->report);
    s->gate = s->report = -1;
    if (!failed)
        return 0;
    reap(s);
    return explain(s, &r, "the command", e);
}

void spawn_cancel(struct spawn *s)
{
    reap(s);
}
