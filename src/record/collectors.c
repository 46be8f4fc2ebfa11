/* SPDX-License-Identifier: Apache-2.0 */
#include "record/collectors.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/opt.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

static int is_here(const struct collectors *s, const struct collector_ops *ops)
{
    return !s->tier || !ops->tiers || ops->tiers & s->tier;
}

/* Does another one of that name come before it, or stand for it in the tier in use? */
static int is_double(const struct collectors *s, size_t at)
{
    int here = is_here(s, s->list.a[at].ops);

    for (size_t i = 0; i < s->list.n; i++) {
        const struct collector_ops *ops = s->list.a[i].ops;

        if (i != at && !strcmp(ops->name, s->list.a[at].ops->name) &&
            ((i < at && is_here(s, ops) == here) || (is_here(s, ops) && !here)))
            return 1;
    }
    return 0;
}

static int unknown(const struct collectors *s, const char *option, const char *name, struct err *e)
{
    const char *names[64], *near;
    struct buf b = {0};
    size_t n = 0;

    for (size_t i = 0; i < s->list.n && n < ARRAY_SIZE(names); i++) {
        if (is_double(s, i))
            continue;
        names[n++] = s->list.a[i].ops->name;
        buf_addf(&b, "%s%s", i ? ", " : "", s->list.a[i].ops->name);
    }
    near = opt_nearest(name, names, n);
    if (near)
        err_set(e, "%s: no collector '%s'; did you mean '%s'? (there are: %s)", option, name, near,
                buf_str(&b));
    else
        err_set(e, "%s: no collector '%s' (there are: %s)", option, name, buf_str(&b));
    buf_release(&b);
    return -1;
}

static int set_each(struct collectors *s, const char *option, const char *names, enum collector_state state,
                    struct err *e)
{
    char *copy = mem_strdup(names), *save = NULL;
    int rc = 0;

    for (char *w = strtok_r(copy, ", ", &save); w && !rc; w = strtok_r(NULL, ", ", &save)) {
        int known = 0;

        for (size_t i = 0; i < s->list.n; i++) {
            if (strcmp(s->list.a[i].ops->name, w))
                continue;
            s->list.a[i].state = state; /* of every tier */
            known = 1;
        }
        if (!known)
            rc = unknown(s, option, w, e);
    }
    free(copy);
    return rc;
}

static int is_default(const struct collector_ops *ops)
{
    return ops->on_by_default || (ops->by_default && ops->by_default());
}

int collectors_wanted(const struct collectors *s, const char *name)
{
    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.a[i].state == COLLECTOR_OPEN && !strcmp(s->list.a[i].ops->name, name))
            return 1;
    return 0;
}

/* COLLECTOR_OPEN without a collector stands for "wanted" until collectors_open(). */
int collectors_choose(struct collectors *s, const struct collector_ops *const *all, size_t n,
                      const char *only, const char *without, struct err *e)
{
    size_t wanted = 0;

    for (size_t i = 0; i < n; i++) {
        struct collector_slot x = {.ops = all[i]};

        x.state = !only && is_default(all[i]) ? COLLECTOR_OPEN : COLLECTOR_OFF;
        *vec_push(&s->list) = x;
    }
    if ((only && set_each(s, "--collect", only, COLLECTOR_OPEN, e)) ||
        (without && set_each(s, "--without", without, COLLECTOR_OFF, e)))
        return -1;
    for (size_t i = 0; i < s->list.n; i++)
        wanted += s->list.a[i].state == COLLECTOR_OPEN;
    return wanted ? 0 : err_set(e, "no collector is left to record with (see --collect and --without)");
}

static void fail(struct collector_slot *x)
{
    x->state = COLLECTOR_FAILED;
    if (x->c)
        x->ops->free(x->c);
    x->c = NULL;
}

/* Says those that failed just now where others go on, or puts all into `e` where none does. */
static size_t report(struct collectors *s, const struct collector_slot *const *failed, size_t n,
                     struct err *e)
{
    size_t running = 0;
    struct buf b = {0};

    for (size_t i = 0; i < s->list.n; i++)
        running += s->list.a[i].state == COLLECTOR_OPEN || s->list.a[i].state == COLLECTOR_ON;
    for (size_t i = 0; i < n; i++) {
        if (running)
            log_warn("collector %s is left out: %s", failed[i]->ops->name, failed[i]->why.msg);
        buf_addf(&b, "%scollector %s: %s", i ? "; " : "", failed[i]->ops->name, failed[i]->why.msg);
    }
    if (!running)
        err_set(e, "nothing can be recorded: %s",
                b.len ? buf_str(&b) : "no collector wanted is of this tier");
    buf_release(&b);
    return running;
}

size_t collectors_open(struct collectors *s, struct record_ctx *ctx, struct err *e)
{
    VEC(const struct collector_slot *) failed = {0};
    size_t running;

    s->tier = ctx->tier;
    for (size_t i = 0; i < s->list.n; i++) {
        struct collector_slot *x = &s->list.a[i];

        if (x->state == COLLECTOR_OPEN && !is_here(s, x->ops))
            x->state = COLLECTOR_UNAVAILABLE;
        if (x->state != COLLECTOR_OPEN)
            continue;
        x->c = x->ops->open(ctx, &x->why);
        if (!x->c) {
            fail(x);
            *vec_push(&failed) = x;
        }
    }
    running = report(s, failed.a, failed.n, e);
    vec_release(&failed);
    return running;
}

static int get_ready(struct collector_slot *x)
{
    return x->ops->ready ? x->ops->ready(x->c, &x->why) : 0;
}

static int start(struct collector_slot *x)
{
    if (x->ops->start(x->c, &x->why))
        return -1;
    x->state = COLLECTOR_ON;
    return 0;
}

/* Takes each of the open ones a step further. */
static size_t each_open(struct collectors *s, int (*step)(struct collector_slot *x), struct err *e)
{
    VEC(const struct collector_slot *) failed = {0};
    size_t running;

    for (size_t i = 0; i < s->list.n; i++) {
        struct collector_slot *x = &s->list.a[i];

        if (x->state != COLLECTOR_OPEN || !step(x))
            continue;
        fail(x);
        *vec_push(&failed) = x;
    }
    running = report(s, failed.a, failed.n, e);
    vec_release(&failed);
    return running;
}

size_t collectors_ready(struct collectors *s, struct err *e)
{
    return each_open(s, get_ready, e);
}

size_t collectors_start(struct collectors *s, struct err *e)
{
    return each_open(s, start, e);
}

int collectors_watch(struct collectors *s, int epoll, struct err *e)
{
    int some_without = 0;

    for (size_t i = 0; i < s->list.n; i++) {
        struct collector_slot *x = &s->list.a[i];
        struct epoll_event ev = {.events = EPOLLIN, .data.u64 = i};
        int fd = x->c ? x->ops->fd(x->c) : -1;

        if (!x->c)
            continue;
        if (fd < 0)
            some_without = 1;
        else if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev))
            return err_sys(e, errno, "collector %s: epoll", x->ops->name);
    }
    return some_without;
}

void collectors_poll(struct collectors *s, size_t i)
{
    struct collector_slot *x = &s->list.a[i];

    if (x->state != COLLECTOR_ON || !x->ops->poll(x->c, &x->why))
        return;
    log_warn("collector %s stopped: %s", x->ops->name, x->why.msg);
    if (x->ops->counters)
        x->ops->counters(x->c);
    fail(x);
}

void collectors_poll_all(struct collectors *s)
{
    for (size_t i = 0; i < s->list.n; i++)
        collectors_poll(s, i);
}

int collectors_can_move(const struct collectors *s)
{
    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.a[i].c && !s->list.a[i].ops->ids)
            return 0;
    return 1;
}

void collectors_ids(struct collectors *s, struct store_visit *v)
{
    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.a[i].c)
            s->list.a[i].ops->ids(s->list.a[i].c, v);
}

void collectors_counters(struct collectors *s)
{
    for (size_t i = 0; i < s->list.n; i++) {
        if (s->list.a[i].state == COLLECTOR_ON && s->list.a[i].ops->counters)
            s->list.a[i].ops->counters(s->list.a[i].c);
    }
}

void collectors_ended(struct collectors *s)
{
    for (size_t i = 0; i < s->list.n; i++) {
        if (s->list.a[i].state == COLLECTOR_ON && s->list.a[i].ops->ended)
            s->list.a[i].ops->ended(s->list.a[i].c);
    }
}

void collectors_stop(struct collectors *s)
{
    for (size_t i = s->list.n; i-- > 0;) {
        struct collector_slot *x = &s->list.a[i];

        if (x->state != COLLECTOR_ON)
            continue;
        x->state = COLLECTOR_STOPPED;
        if (x->ops->stop(x->c, &x->why))
            log_warn("collector %s: stopping: %s", x->ops->name, x->why.msg);
    }
}

size_t collectors_running(const struct collectors *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->list.n; i++)
        n += s->list.a[i].state == COLLECTOR_ON;
    return n;
}

void collectors_describe(const struct collectors *s, struct meta *m)
{
    static const char *const names[] = {"off", "on", "on", "on", "failed", "unavailable"};

    for (size_t i = 0; i < m->collectors.n; i++) {
        free(m->collectors.a[i].name);
        free(m->collectors.a[i].state);
        free(m->collectors.a[i].detail);
    }
    vec_clear(&m->collectors);
    for (size_t i = 0; i < s->list.n; i++) {
        const struct collector_slot *x = &s->list.a[i];
        const char *detail = x->c && x->ops->detail ? x->ops->detail(x->c) : x->why.msg;

        if (is_double(s, i))
            continue;
        if (x->state == COLLECTOR_UNAVAILABLE)
            detail = x->ops->tiers & TIER_B ? "needs tier A or B" : "needs tier A";
        *vec_push(&m->collectors) =
            (struct meta_collector){mem_strdup(x->ops->name), mem_strdup(names[x->state]),
                                    detail && *detail ? mem_strdup(detail) : NULL};
    }
}

void collectors_release(struct collectors *s)
{
    for (size_t i = s->list.n; i-- > 0;) {
        if (s->list.a[i].c)
            s->list.a[i].ops->free(s->list.a[i].c);
    }
    vec_release(&s->list);
}
