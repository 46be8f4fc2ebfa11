/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/sweeper.h"

#include "base/mem.h"
#include "model/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child's child. It holds nothing open that somebody waits for the end of: a pipe to a pager, a test's
 * output. */
static void sweep(int end, const char *dir)
{
    char byte;

    setsid(); /* no terminal's signals */
    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP)
            signal(s, SIG_IGN);
    dup2(end, 0);
    if (syscall(SYS_close_range, 1, ~0u, 0)) /* Linux 5.9 */
        for (long fd = sysconf(_SC_OPEN_MAX); fd > 0; fd--)
            close((int)fd);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    session_dir_remove(dir);
    _exit(0);
}

/* A grandchild, whose parent is gone: nobody has to wait for it. */
int sweeper_start(const char *dir)
{
    char *path = realpath(dir, NULL);
    int fds[2];
    pid_t child;

    if (!path || pipe2(fds, O_CLOEXEC)) {
        free(path);
        return -1;
    }
    child = fork();
    if (!child) {
        close(fds[1]);
        if (!fork())
            sweep(fds[0], path);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    free(path);
    close(fds[0]);
    if (child > 0)
        return fds[1];
    close(fds[1]);
    return -1;
}
