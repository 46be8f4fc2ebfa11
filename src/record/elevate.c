/* SPDX-License-Identifier: Apache-2.0 */
#include "record/elevate.h"

#include "base/log.h"
#include "model/session_dir.h"
#include "platform/spawn.h"
#include "record/gpu_env.h"
#include "record/jit_env.h"
#include "record/link.h"
#include "record/signals.h"
#include "record/sudo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct elevate {
    const struct elevate_opts *o;
    struct signals signals;
    struct spawn spawn;
    struct jit_env env;
    struct sudo sudo;
    int listener, fd;  /* fd: to the half; -1 */
    int met;           /* the half has been there */
    int running;       /* the command has passed its gate */
    int zombie, ended; /* it has ended; and was waited for */
    int interrupted;
    int status;
};

/* ---- what happens ---- */

static void note_children(struct elevate *v)
{
    siginfo_t info = {0};

    sudo_look(&v->sudo);
    if (v->running && !v->zombie && !waitid(P_PID, (id_t)v->spawn.pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
        info.si_pid)
        v->zombie = 1;
}

/* A signal for the recording. Before the half counts there is nothing that it could begin or end. */
static void pass_on(struct elevate *v, int signo)
{
    int32_t number = signo;

    if (v->fd >= 0 && v->running)
        link_send(v->fd, LINK_SIGNAL, &number, sizeof(number), NULL);
}

static void handle_signals(struct elevate *v)
{
    enum signal_kind kind;
    int signo;

    while ((kind = signals_next(&v->signals, v->running && !v->ended ? v->spawn.pid : 0, &signo)) !=
           SIGNAL_NONE) {
        int running = v->running && !v->zombie;

        if (kind == SIGNAL_CHILD)
            note_children(v);
        else if (signo == v->o->signals[0] || signo == v->o->signals[1])
            pass_on(v, signo);
        else if (kind == SIGNAL_FORWARD && running)
            kill(v->spawn.pid, signo);
        else if (kind == SIGNAL_INTERRUPT || !running)
            v->interrupted = 1;
    }
}

/* Until one of the descriptors has something, or a signal came; 1: the socket does. */
static int wait_for(struct elevate *v, int socket)
{
    struct pollfd fds[] = {{v->signals.fd, POLLIN, 0}, {socket, POLLIN, 0}, {v->sudo.talk, POLLIN, 0}};

    if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
        return 0;
    if (fds[0].revents)
        handle_signals(v);
    if (fds[2].revents)
        sudo_hear(&v->sudo);
    return fds[1].revents != 0;
}

/* ---- meeting the half ---- */

/* 0: the half is there. 1: sudo ended without, as v->sudo.said tells. */
static int wait_for_half(struct elevate *v, struct err *e)
{
    while (v->fd < 0) {
        pid_t pid;
        uid_t uid;

        if (wait_for(v, v->listener)) {
            v->fd = accept4(v->listener, NULL, NULL, SOCK_CLOEXEC);
            if (v->fd >= 0 && (link_peer(v->fd, &pid, &uid) || uid != 0)) { /* not ours */
                close(v->fd);
                v->fd = -1;
            }
            v->met = v->fd >= 0;
            continue;
        }
        if (v->interrupted)
            return err_set(e, "interrupted");
        note_children(v);
        if (!v->sudo.pid) {
            sudo_hear(&v->sudo);
            return 1;
        }
    }
    return 0;
}

static int try_sudo(struct elevate *v, char **argv, struct err *e)
{
    return sudo_start(&v->sudo, argv, &v->signals.before, e) ? -1 : wait_for_half(v, e);
}

static int meet(struct elevate *v, struct err *e)
{
    char name[LINK_NAME], **argv;
    int rc;

    v->listener = link_listen(name, e);
    if (v->listener < 0)
        return -1;
    argv = sudo_argv(0, v->o->half, v->o->nhalf, name, e);
    if (!argv)
        return -1;
    rc = try_sudo(v, argv, e);
    if (rc == 1 && sudo_wants_password(&v->sudo) && !sudo_ask_password(&v->signals.before)) {
        rc = try_sudo(v, argv, e);
        if (rc == 1 && sudo_wants_password(&v->sudo))
            rc = err_set(e, "--sudo: sudo asks for the password each time here (timestamp_timeout=0): use "
                            "`sudo wprof record`, which runs the command as you, too");
    }
    sudo_free_argv(argv);
    return rc == 1 ? sudo_refused(&v->sudo, e) : rc;
}

/* ---- the command ---- */

static int say_hello(struct elevate *v, struct err *e)
{
    int fds[LINK_FDS] = {[LINK_STDERR] = STDERR_FILENO}, rc;
    struct buf b = {0};

    fds[LINK_CWD] = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fds[LINK_CWD] < 0)
        return err_sys(e, errno, "the current directory");
    buf_addch(&b, isatty(STDOUT_FILENO) ? 't' : 'f');
    for (char *const *p = v->o->argv; *p; p++)
        buf_add(&b, *p, strlen(*p) + 1);
    rc = link_send(v->fd, LINK_HELLO, b.data, b.len, fds);
    close(fds[LINK_CWD]);
    buf_release(&b);
    return rc ? err_set(e, "the collecting half ended") : 0;
}

static void name_agent(struct elevate *v, const char *marks)
{
    char **env = spawn_env(NULL);

    switch (gpu_env_fill(&v->env, env, marks, v->o->whole_graphs)) {
    case GPU_ENV_TAKEN:
        log_warn("GPU: CUDA_INJECTION64_PATH is set already, and is left alone: no kernel times");
        break;
    case GPU_ENV_NVTX_TAKEN:
        log_warn("GPU: NVTX_INJECTION64_PATH is set already, and is left alone: NVTX ranges are missing");
        break;
    default:
        break;
    }
    spawn_free_env(env);
}

/* Exchanges what the command needs, and starts it behind its gate. */
static int prepare(struct elevate *v, struct err *e)
{
    struct spawn_how how = {.argv = v->o->argv, .signals = &v->signals.before};
    struct buf marks = {0};
    int32_t pid;
    int rc = -1;

    if (say_hello(v, e))
        return -1;
    if (link_receive(v->fd, &marks, NULL) != LINK_MARKS) {
        buf_release(&marks);
        return err_set(e, "the collecting half ended");
    }
    how.marks = marks.len ? marks.data : NULL;
    if (v->o->gpu)
        name_agent(v, how.marks);
    how.more = v->env.list.a;
    if (!spawn_behind_gate(&v->spawn, &how, e)) {
        pid = v->spawn.pid;
        rc = link_send(v->fd, LINK_COMMAND, &pid, sizeof(pid), NULL) ? err_set(e, "the collecting half ended")
                                                                     : 0;
    }
    buf_release(&marks);
    return rc;
}

static void part(struct elevate *v)
{
    if (v->fd >= 0)
        close(v->fd);
    v->fd = -1;
}

/* 0: the half counts. 1: it won't, and has said why. */
static int wait_ready(struct elevate *v, struct err *e)
{
    struct buf b = {0};
    int type = 0;

    while (type != LINK_READY && type >= 0) {
        if (v->interrupted)
            break;
        if (wait_for(v, v->fd))
            type = link_receive(v->fd, &b, NULL);
    }
    buf_release(&b);
    if (v->interrupted && type != LINK_READY)
        return err_set(e, "interrupted");
    if (type < 0)
        part(v);
    return type < 0;
}

static int open_gate(struct elevate *v, struct err *e)
{
    if (spawn_open_gate(&v->spawn, e)) {
        if (v->fd >= 0)
            link_send(v->fd, LINK_FAILED, NULL, 0, NULL);
        return -1;
    }
    v->running = 1;
    if (v->fd >= 0 && link_send(v->fd, LINK_RUNS, NULL, 0, NULL))
        part(v);
    note_children(v); /* it may have ended before we looked */
    return 0;
}

static void reap(struct elevate *v)
{
    struct link_status s = {0};

    while (wait4(v->spawn.pid, &s.status, 0, &s.usage) < 0 && errno == EINTR)
        ;
    v->status = s.status;
    v->ended = 1;
    if (v->fd >= 0 && link_send(v->fd, LINK_STATUS, &s, sizeof(s), NULL))
        part(v);
}

/* Until the command has ended, and the half has sealed the session. */
static void attend(struct elevate *v)
{
    int told_end = 0, told_interrupt = 0, seen = 0;
    struct buf b = {0};

    while (!v->ended || v->fd >= 0) {
        if (v->zombie && !told_end && v->fd >= 0 && link_send(v->fd, LINK_ENDED, NULL, 0, NULL))
            part(v);
        told_end = v->zombie;
        if (v->interrupted && !told_interrupt && v->fd >= 0 &&
            link_send(v->fd, LINK_INTERRUPT, NULL, 0, NULL))
            part(v);
        told_interrupt = v->interrupted;
        if (v->zombie && !v->ended && (seen || v->fd < 0))
            reap(v);
        if (v->ended && v->fd < 0)
            break;
        if (!wait_for(v, v->fd))
            continue;
        switch (link_receive(v->fd, &b, NULL)) {
        case LINK_SEEN:
            seen = 1;
            break;
        case -1:
            part(v);
            break;
        default:
            break;
        }
    }
    buf_release(&b);
}

/* ---- the whole ---- */

static void release(struct elevate *v)
{
    part(v);
    if (v->listener >= 0)
        close(v->listener);
    sudo_release(&v->sudo,
                 v->met); /* it may not be ours to end: one that nobody ever heard of isn't waited for */
    if (v->ended)
        v->spawn.pid = 0;
    spawn_cancel(&v->spawn);
    if (v->signals.fd >= 0)
        signals_give_back(&v->signals);
    jit_env_release(&v->env);
}

static int exit_code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Nothing will be recorded, `why` or as the half has said. 0: the command is to run all the same. */
static int go_unrecorded(struct elevate *v, const struct err *why, struct err *e)
{
    const char *name = v->o->argv[0];

    if (!v->o->keep_going || v->interrupted) {
        *e = *why;
        return why->msg[0] ? err_wrap(e, "%s was not started", name) : err_set(e, "%s was not started", name);
    }
    if (why->msg[0])
        log_warn("%s", why->msg);
    log_warn("%s runs unrecorded (--keep-going)", name);
    part(v);
    return 0;
}

static int get_ready(struct elevate *v, struct err *e)
{
    struct spawn_how how = {.argv = v->o->argv, .signals = &v->signals.before, .more = v->env.list.a};
    struct err why = {0};
    int rc = session_dir_may_make(v->o->dir, &why); /* the half may make it anywhere */

    if (!rc)
        rc = meet(v, &why);
    if (!rc)
        rc = prepare(v, &why);
    if (rc && v->spawn.failure) { /* of the command itself */
        *e = why;
        return -1;
    }
    if (!rc)
        rc = wait_ready(v, &why);
    if (!rc)
        return 0;
    if (go_unrecorded(v, &why, e))
        return -1;
    return v->spawn.pid ? 0 : spawn_behind_gate(&v->spawn, &how, e);
}

int elevate_run(const struct elevate_opts *o, struct err *e)
{
    struct elevate v = {.o = o, .listener = -1, .fd = -1, .sudo = {.talk = -1}, .signals = {.fd = -1}};
    int code = SPAWN_FAILED;

    char **env = spawn_env(NULL);

    v.spawn.gate = v.spawn.report = -1;
    jit_env_fill(&v.env, env, o->jit_names, o->jvm);
    spawn_free_env(env);
    if (!signals_take_also(&v.signals, o->signals, ARRAY_SIZE(o->signals), e) && !get_ready(&v, e) &&
        !open_gate(&v, e)) {
        attend(&v);
        code = exit_code_of(v.status);
    } else if (v.spawn.failure) {
        code = v.spawn.failure;
    }
    release(&v);
    return code;
}

int elevate_exec(const struct elevate_opts *o, struct err *e)
{
    char **argv;

    if (session_dir_may_make(o->dir, e))
        return -1;
    argv = sudo_argv(1, o->half, o->nhalf, NULL, e);
    if (!argv)
        return -1;
    execvp("sudo", argv);
    err_sys(e, errno, "--sudo: sudo");
    sudo_free_argv(argv);
    return -1;
}
