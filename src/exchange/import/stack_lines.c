/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/stack_lines.h"

#include "base/thread.h"

enum {
    BATCH = 1 << 16, /* words */
    QUEUE = 4,       /* batches: one that is filled, one that is taken, the others even out */
};

/* Per stack: keep, number of frames that follow, value (low, high), frames. */
enum { W_KEEP, W_N, W_LOW, W_HIGH, W_FRAMES };

struct batch {
    VEC(uint32_t) words;
};

struct stack_lines {
    struct store *s;
    VEC(uint32_t) nodes; /* of the stack before, by depth */
    struct batch queue[QUEUE];
    size_t filled, taken; /* batches so far; under the lock once there is a thread */
    size_t line;          /* where the stack that is given begins in its batch */
    int threaded, ended;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static struct batch *filling(struct stack_lines *l)
{
    return &l->queue[l->filled % QUEUE];
}

static void take_batch(struct stack_lines *l, struct batch *b)
{
    struct stacks *stacks = &l->s->stacks;

    for (size_t at = 0; at < b->words.n;) {
        const uint32_t *w = b->words.a + at;
        uint32_t stack = w[W_KEEP] ? l->nodes.a[w[W_KEEP] - 1] : 0;

        l->nodes.n = w[W_KEEP];
        for (uint32_t i = 0; i < w[W_N]; i++) {
            stack = stacks_push(stacks, stack, w[W_FRAMES + i]);
            *vec_push(&l->nodes) = stack;
        }
        *vec_push(&l->s->events) = (struct event){
            .value = (uint64_t)w[W_HIGH] << 32 | w[W_LOW], .stack = stack, .kind = EVENT_SAMPLE};
        at += W_FRAMES + w[W_N];
    }
    vec_clear(&b->words);
}

static void *work(void *arg)
{
    struct stack_lines *l = arg;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (l->taken == l->filled && !l->ended)
            pthread_cond_wait(&l->changed, &l->lock);
        if (l->taken == l->filled)
            break;
        pthread_mutex_unlock(&l->lock);
        take_batch(l, &l->queue[l->taken % QUEUE]);
        pthread_mutex_lock(&l->lock);
        l->taken++;
        pthread_cond_signal(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void submit(struct stack_lines *l)
{
    if (!l->threaded)
        l->threaded = !thread_start(&l->thread, work, l);
    if (!l->threaded) { /* none can be had: batches are taken as they come */
        take_batch(l, filling(l));
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->filled++;
    pthread_cond_signal(&l->changed);
    while (l->filled - l->taken == QUEUE)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

struct stack_lines *stack_lines_new(struct store *s)
{
    struct stack_lines *l = mem_calloc(1, sizeof(*l));

    l->s = s;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    return l;
}

void stack_lines_begin(struct stack_lines *l, size_t keep, uint64_t value)
{
    struct batch *b = filling(l);
    uint32_t *w;

    if (b->words.n >= BATCH) {
        submit(l);
        b = filling(l);
    }
    l->line = b->words.n;
    vec_reserve(&b->words, l->line + W_FRAMES);
    b->words.n += W_FRAMES;
    w = b->words.a + l->line;
    w[W_KEEP] = (uint32_t)keep;
    w[W_N] = 0;
    w[W_LOW] = (uint32_t)value;
    w[W_HIGH] = (uint32_t)(value >> 32);
}

void stack_lines_frame(struct stack_lines *l, uint32_t frame)
{
    struct batch *b = filling(l);

    *vec_push(&b->words) = frame;
    b->words.a[l->line + W_N]++;
}

void stack_lines_finish(struct stack_lines *l)
{
    if (l->threaded) {
        submit(l);
        pthread_mutex_lock(&l->lock);
        l->ended = 1;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    } else {
        take_batch(l, filling(l));
    }
    for (size_t i = 0; i < QUEUE; i++)
        vec_release(&l->queue[i].words);
    vec_release(&l->nodes);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    free(l);
}
