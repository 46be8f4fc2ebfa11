/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks_socket.h"

#include "record/marks_line.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull

enum {
    ROOM = 4 << 20, /* bytes of packets that wait to be taken: some 100,000 */
    BATCH = 32,
    URGENT = -10,         /* nice value of the thread, where we may */
    THREAD_STACK = 65536, /* bytes: BATCH messages and little else */
};

/* One message's place. A byte more than a line has, so that longer ones show. */
struct slot {
    char line[MARK_BYTES + 1];
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(struct timespec))];
    struct iovec iov;
};

static uint64_t ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
}

/* The kernel's stamp is CLOCK_REALTIME; read as a pair now, the two clocks tell it in the other. */
static uint64_t monotonic_of(const struct timespec *stamp)
{
    struct timespec real, mono;
    uint64_t age;

    clock_gettime(CLOCK_MONOTONIC, &mono);
    if (!stamp)
        return ns_of(&mono);
    clock_gettime(CLOCK_REALTIME, &real);
    age = ns_of(&real) > ns_of(stamp) ? ns_of(&real) - ns_of(stamp) : 0;
    return ns_of(&mono) > age ? ns_of(&mono) - age : 0;
}

static void prepare(struct slot *s, struct mmsghdr *m)
{
    s->iov = (struct iovec){s->line, sizeof(s->line)};
    *m = (struct mmsghdr){.msg_hdr = {.msg_iov = &s->iov,
                                      .msg_iovlen = 1,
                                      .msg_control = s->control,
                                      .msg_controllen = sizeof(s->control)}};
}

static struct marks_packet describe(struct mmsghdr *m)
{
    struct marks_packet p = {.bytes = m->msg_len, .uid = (uint32_t)-1};
    const struct timespec *stamp = NULL;
    struct timespec copy;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m->msg_hdr); c; c = CMSG_NXTHDR(&m->msg_hdr, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred who;

            memcpy(&who, CMSG_DATA(c), sizeof(who));
            p.pid = who.pid;
            p.uid = who.uid;
        } else if (c->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&copy, CMSG_DATA(c), sizeof(copy));
            stamp = &copy;
        }
    }
    p.ts = monotonic_of(stamp);
    p.cut = p.bytes > MARK_BYTES || m->msg_hdr.msg_flags & MSG_TRUNC;
    p.bytes = p.bytes > MARK_BYTES ? MARK_BYTES : p.bytes;
    return p;
}

static void keep(struct marks_socket *s, struct slot *slots, struct mmsghdr *m, int n)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < n; i++) {
        struct marks_packet p = describe(&m[i]);

        if (s->filling.len + sizeof(p) + p.bytes > ROOM) {
            atomic_fetch_add_explicit(&s->dropped, 1, memory_order_relaxed);
            continue;
        }
        buf_add(&s->filling, &p, sizeof(p));
        buf_add(&s->filling, slots[i].line, p.bytes);
    }
    pthread_mutex_unlock(&s->lock);
    if (eventfd_write(s->ready_fd, 1)) /* full: it is readable, that is all it is for */
        return;
}

/* Everything that is there. */
static void receive(struct marks_socket *s)
{
    struct slot slots[BATCH];
    struct mmsghdr m[BATCH];
    int n;

    do {
        for (int i = 0; i < BATCH; i++)
            prepare(&slots[i], &m[i]);
        n = recvmmsg(s->fd, m, BATCH, MSG_DONTWAIT, NULL);
        if (n > 0)
            keep(s, slots, m, n);
    } while (n == BATCH || (n < 0 && errno == EINTR));
}

static void *run(void *arg)
{
    struct marks_socket *s = arg;
    struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN}, {.fd = s->stop_fd, .events = POLLIN}};

    /* Of this thread alone (setpriority(2), "C library/kernel differences"). Without the right to it: as it
     * is.
     */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), URGENT);
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return NULL;
        receive(s);
        if (fds[1].revents)
            return NULL;
    }
}

static int start_thread(struct marks_socket *s, struct err *e)
{
    pthread_attr_t attr;
    int rc;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK);
    rc = pthread_create(&s->thread, &attr, run, s);
    pthread_attr_destroy(&attr);
    s->running = !rc;
    return rc ? err_sys(e, rc, "thread") : 0;
}

static int make(struct marks_socket *s, const char *path, struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int on = 1;

    if (strlen(path) >= sizeof(addr.sun_path))
        return err_set(e, "%s: longer than a socket's name may be", path);
    memcpy(addr.sun_path, path, strlen(path));
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->fd < 0 || s->stop_fd < 0 || s->ready_fd < 0)
        return err_sys(e, errno, "socket");
    if (setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
        setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
        return err_sys(e, errno, "socket options");
    if (bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)))
        return err_sys(e, errno, "bind");
    return chmod(path, 0600) ? err_sys(e, errno, "chmod") : 0;
}

int marks_socket_open(struct marks_socket *s, const char *path, struct err *e)
{
    *s = (struct marks_socket){.fd = -1, .stop_fd = -1, .ready_fd = -1};
    pthread_mutex_init(&s->lock, NULL);
    if (!make(s, path, e) && !start_thread(s, e))
        return 0;
    marks_socket_release(s);
    return -1;
}

void marks_socket_take(struct marks_socket *s,
                       void (*each)(void *arg, const struct marks_packet *p, const char *bytes), void *arg)
{
    eventfd_t count;
    struct buf full;

    if (s->ready_fd < 0)
        return;
    if (eventfd_read(s->ready_fd, &count)) /* nothing new: what lies there is taken all the same */
        count = 0;
    pthread_mutex_lock(&s->lock);
    full = s->filling;
    s->filling = s->taken;
    buf_clear(&s->filling);
    s->taken = full;
    pthread_mutex_unlock(&s->lock);
    for (size_t at = 0; at < full.len;) {
        struct marks_packet p;

        memcpy(&p, full.data + at, sizeof(p));
        each(arg, &p, full.data + at + sizeof(p));
        at += sizeof(p) + p.bytes;
    }
}

void marks_socket_stop(struct marks_socket *s)
{
    if (!s->running)
        return;
    if (!eventfd_write(s->stop_fd, 1))
        pthread_join(s->thread, NULL);
    s->running = 0;
}

void marks_socket_release(struct marks_socket *s)
{
    int *fds[] = {&s->fd, &s->stop_fd, &s->ready_fd};

    marks_socket_stop(s);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    buf_release(&s->filling);
    buf_release(&s->taken);
    pthread_mutex_destroy(&s->lock);
}
