/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sink.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

int sink_open(struct sink *s, const struct session_create *how, struct store *store, const struct meta *m,
              struct err *e)
{
    *s = (struct sink){.store = store};
    s->w = session_create(how, store, m, e);
    return s->w ? 0 : -1;
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
    return is_no_space(e) ? SINK_NO_SPACE : SINK_FAILED;
}

int sink_seal(struct sink *s, struct meta *m, sink_derive derive, void *arg, struct err *e)
{
    struct err why = {0};
    int sums;

    if (!s->w)
        return 0;
    session_last_words(s->w);
    if (s->broken && session_flush(s->w, &why) < 0) /* without names: those come at the end */
        log_debug("%s", why.msg);
    sums = session_reload(s->w, &why);
    if (sums)
        tally_swap(&s->tally, s->store);
    if (derive && derive(arg, s->w, m, s->store, &why))
        log_warn("the session has no derived files: %s", why.msg);
    if (sums < 0) /* else the writer knows that they are sums, and makes meta.json's figures of them */
        tally_swap(&s->tally, s->store);
    return session_seal(s->w, m, e);
}

void sink_discard(struct sink *s)
{
    session_discard(s->w);
    s->w = NULL;
}

void sink_release(struct sink *s)
{
    session_writer_free(s->w);
    tally_release(&s->tally);
    s->w = NULL;
}
