/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table_worker.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "platform/clock.h"

#include <string.h>

struct job {
    uint32_t file;
    int fd;
    const void *image;
    size_t image_n;
};

struct table_worker {
    pthread_t thread;
    struct unw_cache *cache;
    table_worker_publish *publish;
    void *arg;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    VEC(struct job) jobs; /* oldest first */
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
        w->publish(w->arg, j.file, t);
        unw_table_free(t);
        pthread_mutex_lock(&w->lock);
        w->cpu_ns = clock_thread_cpu();
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct table_worker *table_worker_new(struct unw_cache *cache, table_worker_publish *publish, void *arg,
                                      struct err *e)
{
    struct table_worker *w = mem_calloc(1, sizeof(*w));
    int rc;

    w->cache = cache;
    w->publish = publish;
    w->arg = arg;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    rc = thread_start(&w->thread, work, w);
    if (rc) {
        err_sys(e, rc, "start a thread for unwind tables");
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
    vec_release(&w->jobs);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void table_worker_ask(struct table_worker *w, uint32_t file, int fd, const void *image, size_t image_n)
{
    pthread_mutex_lock(&w->lock);
    *vec_push(&w->jobs) = (struct job){file, fd, image, image_n};
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

uint64_t table_worker_cpu_ns(struct table_worker *w)
{
    uint64_t ns;

    pthread_mutex_lock(&w->lock);
    ns = w->cpu_ns;
    pthread_mutex_unlock(&w->lock);
    return ns;
}
