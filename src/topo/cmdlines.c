/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/cmdlines.h"

#include "base/buf.h"
#include "base/io.h"
#include "platform/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 }; /* longer ones are cut */

/* What the child writes for each pid in turn. */
struct frame {
    uint32_t n;
};

static void child_main(int proc, const int *pids, size_t n, int out)
{
    char text[sizeof(struct frame) + LINE_MAX_BYTES], name[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < n; i++) {
        struct frame f = {0};
        ssize_t got;
        int fd;

        snprintf(name, sizeof(name), "%d/cmdline", pids[i]);
        fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
        got = fd < 0 ? 0 : read(fd, text + sizeof(f), LINE_MAX_BYTES);
        if (fd >= 0)
            close(fd);
        f.n = got > 0 ? (uint32_t)got : 0;
        memcpy(text, &f, sizeof(f));
        if (io_write_all(out, text, sizeof(f) + f.n, NULL))
            break;
    }
    _exit(0);
}

/* Takes the whole frames out of `got`; how many they were. */
static size_t take(struct buf *got, size_t index, cmdlines_each *each, void *arg)
{
    size_t at = 0, taken = 0;

    while (got->len - at >= sizeof(struct frame)) {
        struct frame f;
        char *text = got->data + at + sizeof(f), after;

        memcpy(&f, got->data + at, sizeof(f));
        if (got->len - at - sizeof(f) < f.n)
            break;
        after = text[f.n]; /* of the next frame; buf has a NUL behind the last */
        text[f.n] = '\0';
        each(arg, index + taken, text, f.n);
        text[f.n] = after;
        at += sizeof(f) + f.n;
        taken++;
    }
    memmove(got->data, got->data + at, got->len - at);
    got->len -= at;
    got->data[got->len] = '\0';
    return taken;
}

/* How many of n were read: fewer, where the next one takes too long. */
static size_t take_all(int in, size_t index, size_t n, uint64_t patience_ns, cmdlines_each *each, void *arg)
{
    uint64_t since = clock_monotonic();
    struct buf got = {0};
    size_t done = 0;

    while (done < n) {
        struct pollfd p = {.fd = in, .events = POLLIN};
        uint64_t now = clock_monotonic();
        char chunk[65536];
        ssize_t k;

        if (now - since >= patience_ns)
            break;
        if (poll(&p, 1, (int)((patience_ns - (now - since)) / 1000000) + 1) <= 0)
            continue;
        k = read(in, chunk, sizeof(chunk));
        if (k <= 0)
            break;
        buf_add(&got, chunk, (size_t)k);
        done += take(&got, index + done, each, arg);
        since = clock_monotonic();
    }
    buf_release(&got);
    return done;
}

/* From pid `index` on; how many were read. */
static size_t read_some(int proc, const int *pids, size_t index, size_t n, uint64_t patience_ns,
                        cmdlines_each *each, void *arg)
{
    int fds[2];
    size_t done = 0;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC))
        return 0;
    pid = fork();
    if (!pid)
        child_main(proc, pids + index, n - index, fds[1]);
    close(fds[1]);
    if (pid > 0) {
        done = take_all(fds[0], index, n - index, patience_ns, each, arg);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, done < n - index ? WNOHANG : 0); /* one that hangs may not end either */
    }
    close(fds[0]);
    return done;
}

size_t cmdlines_read(int proc, const int *pids, size_t n, uint64_t patience_ns, cmdlines_each *each,
                     void *arg)
{
    size_t index = 0, stuck = 0;

    while (index < n) {
        index += read_some(proc, pids, index, n, patience_ns, each, arg);
        if (index < n) {
            index++;
            stuck++;
        }
    }
    return stuck;
}
