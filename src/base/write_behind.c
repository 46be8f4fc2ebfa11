/* SPDX-License-Identifier: Apache-2.0 */
#include "base/write_behind.h"

#include "base/thread.h"

void write_behind_init(struct write_behind *w, write_behind_fn write, void *arg)
{
    *w = (struct write_behind){.write = write, .arg = arg};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

static void *work(void *arg)
{
    struct write_behind *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        int rc;

        while (!w->full && !w->ended)
            pthread_cond_wait(&w->changed, &w->lock);
        if (!w->full)
            break;
        pthread_mutex_unlock(&w->lock);
        rc = w->rc ? -1
                   : w->write(w->arg, &w->text, &w->error); /* nobody else touches them while it is full */
        pthread_mutex_lock(&w->lock);
        w->rc = rc;
        w->full = 0;
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int write_behind_put(struct write_behind *w, struct buf *text, struct err *e)
{
    struct buf empty;
    int rc;

    if (!w->threaded)
        w->threaded = !thread_start(&w->thread, work, w);
    if (!w->threaded) { /* none can be had */
        rc = w->rc = w->rc ? -1 : w->write(w->arg, text, &w->error);
    } else {
        pthread_mutex_lock(&w->lock);
        while (w->full)
            pthread_cond_wait(&w->changed, &w->lock);
        rc = w->rc;
        if (!rc) {
            empty = w->text;
            w->text = *text;
            *text = empty;
            w->full = 1;
            pthread_cond_signal(&w->changed);
        }
        pthread_mutex_unlock(&w->lock);
    }
    buf_clear(text);
    return rc ? err_set(e, "%s", w->error.msg) : 0;
}

int write_behind_finish(struct write_behind *w, int rc, struct err *e)
{
    if (w->threaded) {
        pthread_mutex_lock(&w->lock);
        w->ended = 1;
        pthread_cond_signal(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    if (!rc && w->rc)
        rc = err_set(e, "%s", w->error.msg);
    buf_release(&w->text);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    return rc;
}
