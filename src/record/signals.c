/* SPDX-License-Identifier: Apache-2.0 */
#include "record/signals.h"

#include "base/mem.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The user-defined two as well: schedulers announce the end of a job with them, and their default would end
 * us. */
static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

int signals_take_also(struct signals *s, const int *also, size_t n, struct err *e)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, otherwise = {.sa_handler = SIG_DFL}, now;
    sigset_t set, blocked;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
        /* A blocked signal is queued even when ignored, so an ignored one must stay out of the set. */
        if (!sigaction(taken[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(&set, taken[i]);
    }
    for (size_t i = 0; i < n; i++) /* asked for by name: even where it was ignored */
        if (also[i])
            sigaddset(&set, also[i]);
    blocked = set;
    sigaddset(&blocked, SIGXFSZ); /* over the limit of ulimit -f, write(2) is to fail and not to end us */
    sigprocmask(SIG_BLOCK, &blocked, &s->before.mask);
    sigaction(SIGPIPE, &ignore, &s->before.pipe);
    sigaction(SIGCHLD, &otherwise, &s->before.chld);
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0) {
        int error = errno;

        signals_give_back(s);
        return err_sys(e, error, "signalfd");
    }
    return 0;
}

int signals_take(struct signals *s, struct err *e)
{
    return signals_take_also(s, NULL, 0, e);
}

void signals_give_back(struct signals *s)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    struct signalfd_siginfo si;

    sigaction(SIGXFSZ, &ignore, &before); /* drops a pending one */
    sigaction(SIGXFSZ, &before, NULL);
    /* What is still queued was meant for the recording: it must not end us now. */
    if (s->fd >= 0) {
        while (read(s->fd, &si, sizeof(si)) == sizeof(si))
            ;
        close(s->fd);
    }
    s->fd = -1;
    sigaction(SIGPIPE, &s->before.pipe, NULL);
    sigaction(SIGCHLD, &s->before.chld, NULL);
    sigprocmask(SIG_SETMASK, &s->before.mask, NULL);
}

enum signal_kind signals_next(struct signals *s, pid_t command, int *signo)
{
    struct signalfd_siginfo si;
    int from_kernel;

    *signo = 0;
    if (read(s->fd, &si, sizeof(si)) != sizeof(si))
        return SIGNAL_NONE;
    *signo = (int)si.ssi_signo;
    if (si.ssi_signo == SIGCHLD)
        return SIGNAL_CHILD;
    from_kernel =
        si.ssi_code > 0; /* SI_KERNEL; what processes send has SI_USER = 0, SI_QUEUE and SI_TKILL < 0 */
    if (!from_kernel)
        return command && si.ssi_pid == (uint32_t)command ? SIGNAL_OTHER : SIGNAL_FORWARD;
    return si.ssi_signo == SIGINT || si.ssi_signo == SIGQUIT ? SIGNAL_INTERRUPT : SIGNAL_OTHER;
}
