/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When one records. A recording waits for what has to come first, in this order, each of them optional:
 *     the signal of --start-on;  then --delay, from that signal or else from the start;  then the mark that
 * begins what --capture names and ends with the first of these:
 *     --duration, from its begin;  the signal of --stop-on, also before it began;  the end of what is
 * captured; whatever else the recorder sees: the command's end, ^C, the log's size Nothing but what it is
 * told moves it: no clock, no signal, no file is looked at here.
 */
#ifndef WPROF_RECORD_WINDOW_H
#define WPROF_RECORD_WINDOW_H

#include "base/err.h"

#include <stdint.h>

struct mark;

/* --capture: marks of one kind, by number. */
struct window_capture {
    char kind[32]; /* "step", "request"; "": none */
    uint64_t first, last;
};

/* "step:3-7", "step:3", "step:3-" (to the end), also "request 3-7". -1 with `e`. */
int window_capture_parse(struct window_capture *c, const char *text, struct err *e);

struct window_opts {
    uint64_t delay, duration; /* ns; 0: none */
    int start_on, stop_on;    /* signals; 0: none */
    struct window_capture capture;
};

enum window_state {
    WINDOW_SIGNAL, /* waits for the signal */
    WINDOW_DELAY,  /* waits for a time */
    WINDOW_MARK,   /* waits for a mark */
    WINDOW_OPEN,   /* records */
    WINDOW_OVER,
};

struct window {
    struct window_opts o;
    enum window_state state;
    uint64_t at;              /* WINDOW_DELAY: its end; WINDOW_OPEN: the time at which it is over; ns */
    int begun;                /* it was open at some time */
    enum window_state waited; /* WINDOW_OVER: the state before */
    const char *reason;       /* why it is over; a constant */
};

/* What the recorder has to do. */
enum window_act { WINDOW_STAY, WINDOW_BEGIN, WINDOW_END };

/* Times are ns of CLOCK_MONOTONIC. WINDOW_BEGIN: let the recording begin, and call window_began() when it
 * has: the duration counts from there. */
enum window_act window_init(struct window *w, const struct window_opts *o, uint64_t now);
enum window_act window_time(struct window *w, uint64_t now);
enum window_act window_mark(struct window *w, const struct mark *m, uint64_t now);

void window_began(struct window *w, uint64_t now);

/* A signal came. Those that the window was told of are its own, before, during and after: whoever sends one
 * means wprof, and the command does not get it. */
int window_takes(const struct window *w, int signo);
enum window_act window_signal(struct window *w, int signo, uint64_t now);

/* When window_time() has something to say, UINT64_MAX: never. */
uint64_t window_next(const struct window *w);

/* It is over for another reason, a constant text; the first one stays. */
void window_over(struct window *w, const char *reason);
int window_is_over(const struct window *w);

/* What it is waiting for, or what it waited for in vain: "SIGUSR1 came (--start-on)", "--delay was over". */
char *window_awaits(const struct window *w, char *out, unsigned n);

/* Did it end on its own, while the command may go on? Not when the command ended, or ^C ended both. */
int window_closed(const struct window *w);

#endif
