/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sink.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SPARE_BYTES = 256 * 1024 };

static int keep_room(const struct session_writer *w)
{
    int fd = openat(session_dirfd(w), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd >= 0 && posix_fallocate(fd, 0, SPARE_BYTES)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void give_room(struct sink *s)
{
    if (s->spare >= 0)
        close(s->spare);
    s->spare = -1;
}

int sink_open(struct sink *s, const struct session_create *how, struct store *store, const struct meta *m,
              struct err *e)
{
    *s = (struct sink){.store = store, .spare = -1};
    s->w = session_create(how, store, m, e);
    if (!s->w)
        return -1;
    s->spare = keep_room(s->w);
    return 0;
}

/* The writer's errors end with the system's text (err_sys). */
static int is_no_space(const struct err *e)
{
    return strstr(e->msg, strerror(ENOSPC)) || strstr(e->msg, strerror(EDQUOT));
}

enum sink_state sink_flush(struct sink *s, struct err *e)
{
    int rc;

    if (!s->w)
        return SINK_OK;
    tally_add(&s->tally, s->store, s->counted);
    s->counted = s->store->events.n;
    if (s->broken)
        return SINK_OK;
    rc = session_flush(s->w, e);
    s->counted = s->store->events.n;
    if (rc >= 0)
        return rc ? SINK_FULL : SINK_OK;
    s->broken = 1;
    give_room(s);
    return is_no_space(e) ? SINK_NO_SPACE : SINK_FAILED;
}

int sink_seal(struct sink *s, struct meta *m, sink_derive derive, void *arg, struct err *e)
{
    struct err why = {0};
    int rc, sums;

    if (!s->w)
        return 0;
    give_room(s);
    sums = session_reload(s->w, &why);
    if (sums)
        tally_swap(&s->tally, s->store);
    if (derive && derive(arg, s->w, m, s->store, &why))
        log_warn("the session has no derived files: %s", why.msg);
    if (sums < 0) /* else the writer knows that they are sums, and makes meta.json's figures of them */
        tally_swap(&s->tally, s->store);
    rc = session_seal(s->w, m, e);
    if (rc && s->broken) /* what was written stands; say at least how it ended */
        rc = session_write_meta(s->w, m, e);
    return rc;
}

void sink_discard(struct sink *s)
{
    give_room(s);
    session_discard(s->w);
    s->w = NULL;
}

void sink_release(struct sink *s)
{
    give_room(s);
    session_writer_free(s->w);
    tally_release(&s->tally);
    s->w = NULL;
}
