/* SPDX-License-Identifier: Apache-2.0 */
#include "record/half.h"

#include "base/mem.h"
#include "platform/proctask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the front end talks to and works becomes ours. */
static int take_place(const int fds[LINK_FDS], struct err *e)
{
    int rc = 0;

    if (fds[LINK_STDERR] < 0 || fds[LINK_CWD] < 0)
        return err_set(e, "the front end sent no descriptors");
    if (dup2(fds[LINK_STDERR], STDERR_FILENO) < 0 || fchdir(fds[LINK_CWD]))
        rc = err_set(e, "the front end's directory can't be entered as root");
    for (int i = 0; i < LINK_FDS; i++)
        close(fds[i]);
    return rc;
}

/* A byte, then the arguments with their zeroes. */
static int take_argv(struct half *h, const struct buf *b, struct err *e)
{
    VEC(char *) args = {0};

    if (b->len < 3 || b->data[b->len - 1])
        return err_set(e, "the front end sent no command");
    h->output_shown = b->data[0] == 't';
    for (size_t i = 1; i < b->len; i += strlen(b->data + i) + 1)
        *vec_push(&args) = mem_strdup(b->data + i);
    *vec_push(&args) = NULL;
    h->argv = args.a;
    return 0;
}

int half_meet(struct half *h, const char *name, const struct identity *who, struct err *e)
{
    struct buf hello = {0};
    int fds[LINK_FDS], rc = -1;
    uid_t uid;

    h->fd = link_connect(name, e);
    if (h->fd < 0)
        return -1;
    if (link_peer(h->fd, &h->front, &uid) || uid != who->uid)
        err_set(e, "the front end is not of the user who called sudo");
    else if (link_receive(h->fd, &hello, fds) != LINK_HELLO)
        err_set(e, "the front end is gone");
    else
        rc = take_place(fds, e) || take_argv(h, &hello, e) ? -1 : 0;
    buf_release(&hello);
    return rc;
}

void half_release(struct half *h)
{
    for (char **p = h->argv; p && *p; p++)
        free(*p);
    free(h->argv);
    if (h->fd >= 0)
        close(h->fd);
    h->argv = NULL;
    h->fd = -1;
}

/* The front end's own child, of its user: it is not to have another process recorded in root's name. */
static int is_its_child(const struct half *h, pid_t pid)
{
    char path[64];
    struct stat st, front;
    struct proctask task;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (proctask_stat(pid, 0, &task) || task.ppid != h->front || stat(path, &st))
        return 0;
    snprintf(path, sizeof(path), "/proc/%d", (int)h->front);
    return !stat(path, &front) && st.st_uid == front.st_uid;
}

int half_command(struct half *h, const char *marks, struct err *e)
{
    struct buf b = {0};
    int32_t pid = 0;
    int type = -1;

    if (!link_send(h->fd, LINK_MARKS, marks, marks ? strlen(marks) : 0, NULL))
        type = link_receive(h->fd, &b, NULL);
    if (type == LINK_COMMAND && b.len == sizeof(pid))
        memcpy(&pid, b.data, sizeof(pid));
    buf_release(&b);
    if (type < 0) { /* it has said why */
        e->msg[0] = '\0';
        return -1;
    }
    if (pid <= 0 || !is_its_child(h, pid))
        return err_set(e, "what the front end sent is no command of its own");
    h->command = pid;
    return 0;
}

int half_ready(struct half *h)
{
    struct buf b = {0};
    int type = -1;

    if (!link_send(h->fd, LINK_READY, NULL, 0, NULL))
        do
            type = link_receive(h->fd, &b, NULL);
        while (type == LINK_INTERRUPT || type == LINK_SIGNAL);
    buf_release(&b);
    return type == LINK_RUNS ? 0 : -1;
}

enum half_news half_next(struct half *h, struct link_status *status)
{
    enum half_news news = HALF_NOTHING;
    int32_t signo = 0;
    struct buf b = {0};

    switch (link_receive(h->fd, &b, NULL)) {
    case LINK_INTERRUPT:
        news = HALF_INTERRUPT;
        break;
    case LINK_SIGNAL:
        if (b.len == sizeof(signo))
            memcpy(&signo, b.data, sizeof(signo));
        h->signo = signo;
        news = HALF_SIGNAL;
        break;
    case LINK_ENDED:
        news = HALF_ENDING;
        break;
    case LINK_STATUS:
        if (b.len == sizeof(*status))
            memcpy(status, b.data, sizeof(*status));
        news = HALF_ENDED;
        break;
    case -1:
        news = HALF_GONE;
        break;
    default:
        break;
    }
    buf_release(&b);
    return news;
}

void half_seen(struct half *h)
{
    link_send(h->fd, LINK_SEEN, NULL, 0, NULL);
}
