/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table_worker.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "platform/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job {
    uint32_t file;
    int fd;
    const void *image;
    size_t image_n;
};

struct done {
    uint32_t file;
    struct unw_table *table;
};

struct table_worker {
    pthread_t thread;
    struct unw_cache *cache;
    int event;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    VEC(struct job) jobs; /* oldest first */
    VEC(struct done) done;
    int quit;
    uint64_t cpu_ns;
};

static struct unw_table *make(struct table_worker *w, const struct job *j)
{
    struct err e = {0};
    struct unw_table *t = j->image ? unw_table_open_image(j->image, j->image_n, &e)
                                   : unw_table_open(w->cache, j->fd, NULL, 0, &e);

    if (!t)
        log_debug("unwind table %u: %s", j->file, e.msg);
    return t;
}

static void *work(void *arg)
{
    struct table_worker *w = arg;
    uint64_t one = 1;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct unw_table *t;
        struct job j;

        while (!w->jobs.n && !w->quit)
            pthread_cond_wait(&w->wake, &w->lock);
        if (w->quit)
            break;
        j = w->jobs.a[0];
        memmove(w->jobs.a, w->jobs.a + 1, --w->jobs.n * sizeof(j));
        pthread_mutex_unlock(&w->lock);
        t = make(w, &j);
        pthread_mutex_lock(&w->lock);
        *vec_push(&w->done) = (struct done){j.file, t};
        w->cpu_ns = clock_thread_cpu();
        if (write(w->event, &one, sizeof(one)) < 0)
            log_debug("eventfd: %s", strerror(errno));
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct table_worker *table_worker_new(struct unw_cache *cache, struct err *e)
{
    struct table_worker *w = mem_calloc(1, sizeof(*w));
    sigset_t all, old;
    int rc;

    w->cache = cache;
    w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->event < 0) {
        err_sys(e, errno, "eventfd");
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    sigfillset(&all); /* signals are for the recorder's thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        err_sys(e, rc, "start a thread for unwind tables");
        close(w->event);
        free(w);
        return NULL;
    }
    return w;
}

void table_worker_free(struct table_worker *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->quit = 1;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (size_t i = 0; i < w->done.n; i++)
        unw_table_free(w->done.a[i].table);
    vec_release(&w->done);
    vec_release(&w->jobs);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    close(w->event);
    free(w);
}

void table_worker_ask(struct table_worker *w, uint32_t file, int fd, const void *image, size_t image_n)
{
    pthread_mutex_lock(&w->lock);
    *vec_push(&w->jobs) = (struct job){file, fd, image, image_n};
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

int table_worker_take(struct table_worker *w, uint32_t *file, struct unw_table **t)
{
    uint64_t count;
    int got = 0;

    pthread_mutex_lock(&w->lock);
    if (w->done.n) {
        *file = w->done.a[0].file;
        *t = w->done.a[0].table;
        memmove(w->done.a, w->done.a + 1, --w->done.n * sizeof(*w->done.a));
        got = 1;
    }
    if (got && !w->done.n && read(w->event, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_debug("eventfd: %s", strerror(errno));
    pthread_mutex_unlock(&w->lock);
    return got;
}

int table_worker_fd(const struct table_worker *w)
{
    return w->event;
}

uint64_t table_worker_cpu_ns(struct table_worker *w)
{
    uint64_t ns;

    pthread_mutex_lock(&w->lock);
    ns = w->cpu_ns;
    pthread_mutex_unlock(&w->lock);
    return ns;
}
