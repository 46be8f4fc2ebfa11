/* SPDX-License-Identifier: Apache-2.0 */
#include "record/window.h"

#include "base/units.h"
#include "record/marks_line.h"
#include "record/signal_name.h"

#include <stdio.h>
#include <string.h>

static const char over_duration[] = "duration", over_signal[] = "stop signal", over_capture[] = "captured";

/* ---- --capture ---- */

static int number(const char *s, size_t n, uint64_t *v)
{
    char text[24];
    struct err e;

    if (!n || n >= sizeof(text))
        return -1;
    memcpy(text, s, n);
    text[n] = '\0';
    return units_parse_uint(text, v, &e);
}

int window_capture_parse(struct window_capture *c, const char *text, struct err *e)
{
    size_t kind = strcspn(text, ": ");
    const char *range = text[kind] ? text + kind + 1 : "", *dash = strchr(range, '-');
    size_t first = dash ? (size_t)(dash - range) : strlen(range);
    int bad = !kind || kind >= sizeof(c->kind) || number(range, first, &c->first);

    if (!bad) {
        memcpy(c->kind, text, kind);
        c->kind[kind] = '\0';
        c->last = c->first;
        if (dash && !dash[1])
            c->last = UINT64_MAX;
        else if (dash)
            bad = number(dash + 1, strlen(dash + 1), &c->last);
    }
    if (bad)
        return err_set(e, "'%s' is no KIND:FIRST-LAST (such as step:3-7, step:3, step:3-, request:7)", text);
    if (c->last < c->first)
        return err_set(e, "'%s' ends before it begins", text);
    return 0;
}

/* ---- getting open ---- */

static enum window_act open_now(struct window *w, uint64_t now)
{
    w->state = WINDOW_OPEN;
    w->begun = 1;
    window_began(w, now);
    return WINDOW_BEGIN;
}

void window_began(struct window *w, uint64_t now)
{
    if (w->state == WINDOW_OPEN)
        w->at = w->o.duration ? now + w->o.duration : UINT64_MAX;
}

static enum window_act after_delay(struct window *w, uint64_t now)
{
    if (!w->o.capture.kind[0])
        return open_now(w, now);
    w->state = WINDOW_MARK;
    return WINDOW_STAY;
}

static enum window_act after_signal(struct window *w, uint64_t now)
{
    if (!w->o.delay)
        return after_delay(w, now);
    w->state = WINDOW_DELAY;
    w->at = now + w->o.delay;
    return WINDOW_STAY;
}

enum window_act window_init(struct window *w, const struct window_opts *o, uint64_t now)
{
    *w = (struct window){.o = *o, .state = WINDOW_SIGNAL};
    return o->start_on ? WINDOW_STAY : after_signal(w, now);
}

/* ---- what happens ---- */

static enum window_act end_for(struct window *w, const char *reason)
{
    window_over(w, reason);
    return WINDOW_END;
}

enum window_act window_time(struct window *w, uint64_t now)
{
    if (w->state == WINDOW_DELAY && now >= w->at)
        return after_delay(w, now);
    if (w->state == WINDOW_OPEN && now >= w->at)
        return end_for(w, over_duration);
    return WINDOW_STAY;
}

int window_takes(const struct window *w, int signo)
{
    return signo && (signo == w->o.start_on || signo == w->o.stop_on);
}

enum window_act window_signal(struct window *w, int signo, uint64_t now)
{
    if (w->state == WINDOW_OVER || !signo)
        return WINDOW_STAY;
    /* One signal for both: the first starts, the next one stops. */
    if (w->state == WINDOW_SIGNAL && signo == w->o.start_on)
        return after_signal(w, now);
    return signo == w->o.stop_on ? end_for(w, over_signal) : WINDOW_STAY;
}

/* Steps and requests may be numbered as they like: the first one in range begins it. A step ends with the
 * mark of one beyond, or its own end; what has ends of its own (begin ... end) only with that of the last. */
enum window_act window_mark(struct window *w, const struct mark *m, uint64_t now)
{
    const struct window_capture *c = &w->o.capture;

    if (!c->kind[0] || !m->numbered || strcmp(m->kind, c->kind))
        return WINDOW_STAY;
    if (w->state == WINDOW_MARK) {
        int begins = m->verb == MARK_STEP || m->verb == MARK_BEGIN;

        return begins && m->number >= c->first && m->number <= c->last ? open_now(w, now) : WINDOW_STAY;
    }
    if (w->state != WINDOW_OPEN)
        return WINDOW_STAY;
    if ((m->verb == MARK_STEP && m->number > c->last) || (m->verb == MARK_END && m->number == c->last))
        return end_for(w, over_capture);
    return WINDOW_STAY;
}

uint64_t window_next(const struct window *w)
{
    return w->state == WINDOW_DELAY || w->state == WINDOW_OPEN ? w->at : UINT64_MAX;
}

/* ---- its end ---- */

void window_over(struct window *w, const char *reason)
{
    if (w->state == WINDOW_OVER)
        return;
    w->waited = w->state;
    w->state = WINDOW_OVER;
    w->reason = reason;
}

int window_is_over(const struct window *w)
{
    return w->state == WINDOW_OVER;
}

int window_closed(const struct window *w)
{
    return w->state == WINDOW_OVER &&
           (w->reason == over_duration || w->reason == over_signal || w->reason == over_capture);
}

char *window_awaits(const struct window *w, char *out, unsigned n)
{
    const struct window_capture *c = &w->o.capture;
    enum window_state state = w->state == WINDOW_OVER ? w->waited : w->state;
    char name[32];

    if (state == WINDOW_SIGNAL)
        snprintf(out, n, "%s came (--start-on)", signal_name(name, sizeof(name), w->o.start_on));
    else if (state == WINDOW_DELAY)
        snprintf(out, n, "--delay was over");
    else if (state != WINDOW_MARK)
        snprintf(out, n, "it began");
    else if (c->first == c->last)
        snprintf(out, n, "the mark of %s %llu (--capture)", c->kind, (unsigned long long)c->first);
    else if (c->last == UINT64_MAX)
        snprintf(out, n, "a mark of %s %llu or later (--capture)", c->kind, (unsigned long long)c->first);
    else
        snprintf(out, n, "a mark of %s %llu to %llu (--capture)", c->kind, (unsigned long long)c->first,
                 (unsigned long long)c->last);
    return out;
}
