/* SPDX-License-Identifier: Apache-2.0 */
#include "render/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno != EINTR)
            return;
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
}

__attribute__((noreturn)) static void child(const struct apart *a, int to)
{
    struct rlimit cpu = {a->cpu_s, a->cpu_s + 1}, no_core = {0, 0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct buf out = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGXCPU, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    a->run(a->arg, &out);
    write_all(to, buf_str(&out), out.len);
    _exit(0); /* what the library registered at exit is not ours to run */
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until its end is closed; 1 where that takes too long. */
static int read_all(int fd, unsigned wall_s, struct buf *out)
{
    int64_t end = now_ms() + (int64_t)wall_s * 1000, left;

    while ((left = end - now_ms()) > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&p, 1, left > 60000 ? 60000 : (int)left) <= 0)
            continue;
        buf_reserve(out, 65536);
        n = read(fd, out->data + out->len, 65535);
        if (n > 0)
            out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (n == 0 || (n < 0 && errno != EINTR))
            return 0;
    }
    return 1;
}

enum apart_end apart_run(const struct apart *a, struct buf *out, struct err *e)
{
    int fds[2], status = 0, late;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC)) {
        err_sys(e, errno, "pipe");
        return APART_FAILED;
    }
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child(a, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) {
        err_sys(e, errno, "fork");
        close(fds[0]);
        return APART_FAILED;
    }
    late = read_all(fds[0], a->wall_s, out);
    close(fds[0]);
    if (late)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (late || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)))
        return APART_TOO_LONG;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? APART_DONE : APART_DIED;
}
