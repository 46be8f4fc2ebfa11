/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks.h"

#include "model/store_visit.h"

#include "base/log.h"
#include "record/about.h"
#include "record/marks_pairs.h"
#include "record/marks_senders.h"
#include "record/marks_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PENDING_MAX = 65536, /* spans whose process nobody has met yet */
    TEXTS_MAX = 1 << 20, /* different texts: they stay in memory to the end, as all strings do */
    PATH_MOST = sizeof(((struct sockaddr_un *)0)->sun_path) - 1, /* unix(7): 107 and a NUL */
};

struct pending {
    uint64_t start, end;
    uint32_t sender, text;
    pid_t thread; /* in wprof's namespace; 0: not told */
    uint16_t flags;
};

struct marks {
    struct record_ctx *ctx;
    struct marks_socket socket;
    struct marks_pairs pairs;
    struct marks_senders senders;
    VEC(struct pending) pending;
    marks_seen seen;
    void *seen_arg;
    char *way;   /* a directory of our own in /tmp, NULL: none was needed */
    char *value; /* of WPROF_MARKS */
    int dirfd;   /* the session's directory, with the socket in it; -1 */
    int open;
    uint64_t taken, malformed, cut, unsent, texts, dropped;
    char example[MARK_BYTES + 1]; /* a malformed line */
};

struct marks *marks_new(struct record_ctx *ctx)
{
    struct marks *m = mem_calloc(1, sizeof(*m));

    m->ctx = ctx;
    m->senders.ctx = ctx;
    m->dirfd = -1;
    return m;
}

static void remove_way(struct marks *m)
{
    char *link = m->way ? mem_printf("%s/s", m->way) : NULL;

    if (link) {
        unlink(link);
        rmdir(m->way);
    }
    free(link);
    free(m->way);
    m->way = NULL;
}

void marks_free(struct marks *m)
{
    if (!m)
        return;
    if (m->open)
        marks_socket_release(&m->socket);
    if (m->dirfd >= 0) {
        unlinkat(m->dirfd, MARKS_SOCKET, 0);
        close(m->dirfd);
    }
    remove_way(m);
    marks_pairs_release(&m->pairs);
    marks_senders_release(&m->senders);
    vec_release(&m->pending);
    free(m->value);
    free(m);
}

/* ---- the way to the socket ---- */

static char *absolute(const char *dir)
{
    char *cwd, *path;

    if (*dir == '/')
        return mem_strdup(dir);
    cwd = getcwd(NULL, 0);
    if (!cwd)
        return NULL;
    path = mem_printf("%s/%s", strcmp(cwd, "/") ? cwd : "", dir);
    free(cwd);
    return path;
}

/* A symbolic link to the session in a directory that nobody else can write to. */
static int make_way(struct marks *m, const char *dir, uid_t uid, gid_t gid, struct err *e)
{
    char *link;
    int rc;

    m->way = mem_strdup("/tmp/wprof-XXXXXX");
    if (!mkdtemp(m->way)) {
        err_sys(e, errno, "/tmp");
        free(m->way);
        m->way = NULL;
        return -1;
    }
    link = mem_printf("%s/s", m->way);
    rc = symlink(dir, link);
    free(link);
    if (rc || (uid != (uid_t)-1 && chown(m->way, uid, gid))) {
        err_sys(e, errno, "%s", m->way);
        remove_way(m);
        return -1;
    }
    m->value = mem_printf("%s/s/%s", m->way, MARKS_SOCKET);
    return 0;
}

const char *marks_prepare(struct marks *m, const char *dir, uid_t uid, gid_t gid, struct err *e)
{
    char *path = absolute(dir);

    if (!path) {
        err_sys(e, errno, "current directory");
        return NULL;
    }
    m->value = mem_printf("%s/%s", path, MARKS_SOCKET);
    if (strlen(m->value) > PATH_MOST) {
        free(m->value);
        m->value = NULL;
        make_way(m, path, uid, gid, e);
    }
    free(path);
    return m->value;
}

int marks_open(struct marks *m, int dirfd, uid_t uid, gid_t gid, struct err *e)
{
    char path[64];

    m->dirfd = dup(dirfd);
    if (m->dirfd < 0)
        return err_sys(e, errno, "marks");
    /* However long the session's path is. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", m->dirfd, MARKS_SOCKET);
    if (marks_socket_open(&m->socket, path, e))
        return err_wrap(e, "marks");
    m->open = 1;
    if (uid != (uid_t)-1 && fchownat(m->dirfd, MARKS_SOCKET, uid, gid, AT_SYMLINK_NOFOLLOW))
        log_debug("marks: chown: %s", strerror(errno));
    return 0;
}

void marks_on_mark(struct marks *m, marks_seen seen, void *arg)
{
    m->seen = seen;
    m->seen_arg = arg;
}

void marks_ids(struct marks *m, struct store_visit *v)
{
    for (size_t i = 0; m && i < m->pending.n; i++)
        store_visit_string(v, &m->pending.a[i].text);
    if (m && v->moved)
        m->texts = m->pending.n;
}

int marks_fd(const struct marks *m)
{
    return m && m->open ? m->socket.ready_fd : -1;
}

/* ---- from packets to events ---- */

static void push(struct marks *m, const struct pending *p, uint32_t task)
{
    *vec_push(&m->ctx->store->events) = (struct event){.ts = p->start,
                                                       .dur = p->end - p->start,
                                                       .value = 1,
                                                       .task = task,
                                                       .metric = p->text,
                                                       .flags = p->flags,
                                                       .kind = EVENT_MARKER};
}

/* Those whose process is known by now. */
static void settle(struct marks *m, int last)
{
    size_t kept = 0;
    uint32_t task;

    for (size_t i = 0; i < m->pending.n; i++) {
        if (marks_senders_thread(&m->senders, m->pending.a[i].sender, m->pending.a[i].thread, last, &task))
            push(m, &m->pending.a[i], task);
        else
            m->pending.a[kept++] = m->pending.a[i];
    }
    m->pending.n = kept;
}

static uint32_t intern(struct marks *m, const char *text)
{
    struct strtab *strings = &m->ctx->store->strings;
    uint32_t id = strtab_find(strings, text);

    if (id)
        return id;
    if (m->texts >= TEXTS_MAX)
        return 0;
    m->texts++;
    return strtab_add(strings, text);
}

static void on_span(void *arg, const struct marks_span *s)
{
    struct marks *m = arg;
    struct pending p = {.start = s->start, .end = s->end, .sender = s->sender};

    /* What was over before the recording began is none of it. */
    if (!m->ctx->start_mono || s->end < m->ctx->start_mono)
        return;
    p.text = intern(m, s->text);
    p.thread = s->thread;
    p.flags = (uint16_t)((s->open ? EVENT_OPEN : 0) | (s->joined ? EVENT_JOINED : 0));
    if (!p.text) {
        m->dropped++;
        return;
    }
    *vec_push(&m->pending) = p;
}

static void on_line(struct marks *m, const struct marks_packet *p, const char *line, size_t n)
{
    struct mark_room room;
    struct mark mark = {.ts = p->ts};
    pid_t claimed = 0;
    uint32_t sender;

    m->taken++;
    if (marks_line(&mark, &room, &claimed, line, n)) {
        if (!m->malformed++)
            memcpy(m->example, room.text, sizeof(m->example));
        return;
    }
    if (mark.verb == MARK_LOST) {
        m->unsent += mark.number;
        return;
    }
    sender = marks_senders_find(&m->senders, p->pid, p->uid, claimed, p->ts);
    mark.pid = m->senders.list.a[sender].pid;
    if (mark.thread)
        mark.thread = marks_senders_tid(&m->senders, sender, mark.thread);
    if (m->seen)
        m->seen(m->seen_arg, &mark);
    marks_pairs_take(&m->pairs, &mark, sender, on_span, m);
}

static void on_packet(void *arg, const struct marks_packet *p, const char *bytes)
{
    struct marks *m = arg;

    m->cut += p->cut;
    for (size_t at = 0; at < p->bytes;) {
        const char *end = memchr(bytes + at, '\n', p->bytes - at);
        size_t n = end ? (size_t)(end - bytes) - at : p->bytes - at;

        if (n)
            on_line(m, p, bytes + at, n);
        at += n + 1;
    }
}

void marks_poll(struct marks *m)
{
    if (!m || !m->open)
        return;
    marks_socket_take(&m->socket, on_packet, m);
    settle(m, m->pending.n > PENDING_MAX);
}

static uint64_t dropped(const struct marks *m)
{
    return m->dropped + m->pairs.over + atomic_load_explicit(&m->socket.dropped, memory_order_relaxed);
}

static void __attribute__((format(printf, 2, 3))) say(struct marks *m, const char *fmt, ...)
{
    struct buf text = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&text, fmt, ap);
    va_end(ap);
    log_warn("%s", buf_str(&text));
    about_note(m->ctx->meta, "%s", buf_str(&text));
    buf_release(&text);
}

/* Nothing is left out silently. */
static void say_losses(struct marks *m)
{
    unsigned long long malformed = m->malformed, unmatched = m->pairs.unmatched, unsent = m->unsent,
                       lost = dropped(m);

    if (malformed)
        say(m, "marks: %llu lines that are no marks, as '%s'", malformed, m->example);
    if (unmatched)
        say(m, "marks: %llu ends without a begin, left out", unmatched);
    if (m->cut)
        say(m, "marks: %llu were longer than %d bytes: the rest of them is cut off",
            (unsigned long long)m->cut, MARK_BYTES);
    if (unsent)
        say(m, "marks: %llu were not sent, say their senders: the socket was full", unsent);
    if (lost)
        say(m, "marks: %llu were lost here, there was no room for more", lost);
}

void marks_stop(struct marks *m, uint64_t end)
{
    if (!m || !m->open)
        return;
    marks_socket_stop(&m->socket);
    marks_poll(m);
    marks_pairs_finish(&m->pairs, end, on_span, m);
    settle(m, 1);
    say_losses(m);
}

void marks_counters(struct marks *m)
{
    struct store *s;

    if (!m || !m->taken)
        return;
    s = m->ctx->store;
    store_set_counter(s, "marks.taken", m->taken);
    store_set_counter(s, "marks.malformed", m->malformed);
    store_set_counter(s, "marks.cut", m->cut);
    store_set_counter(s, "marks.unmatched", m->pairs.unmatched);
    store_set_counter(s, "marks.unsent", m->unsent);
    store_set_counter(s, "marks.dropped", dropped(m));
}
