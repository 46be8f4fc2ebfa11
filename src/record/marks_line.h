/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line that a recorded program sends: wprof-mark(1).
 *     step 12                begins a step, and ends the same process's one before
 *     begin request 7        end request 7
 *     join request 7         leave request 7: the thread works on it, whoever began it
 *     mark TEXT              a moment
 *     lost 5                 so many were not sent: the socket was full
 * "@4711 " in front: the mark is process 4711's (wprof mark speaks for its parent). "#4712 " in front, behind
 * that one: it is of that thread, by the number that gettid(2) gives it.
 */
#ifndef WPROF_RECORD_MARKS_LINE_H
#define WPROF_RECORD_MARKS_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MARK_BYTES = 200 /* what a line may have */ };

enum mark_verb { MARK_STEP, MARK_BEGIN, MARK_END, MARK_INSTANT, MARK_LOST, MARK_JOIN, MARK_LEAVE };

struct mark {
    enum mark_verb verb;
    const char *kind; /* "step", "request"; of MARK_INSTANT and MARK_LOST "" */
    const char *id;   /* "12", "7"; "" where there is none; of MARK_INSTANT the text */
    const char *text; /* what views show: "step 12", "request 7", the instant's text */
    uint64_t number;  /* id, where it is a number (numbered); of MARK_LOST: how many */
    int numbered;
    uint64_t ts; /* CLOCK_MONOTONIC ns at which the kernel took it */
    pid_t pid; /* the process that it is of, in wprof's pid namespace; 0: one that can't be seen from here */
    pid_t thread; /* as the line has it, in the process's own namespace; 0: it names none */
};

/* The room that a mark's strings take. */
struct mark_room {
    char text[MARK_BYTES + 1], kind[MARK_BYTES + 1], id[MARK_BYTES + 1];
};

/*
 * line[0..n), at most MARK_BYTES of it, without the '\n'. Fills verb, kind, id, text, number and thread; *pid
 * where the line names a process, else it is left. Bytes that are no UTF-8 or that would act on a terminal
 * become
 * '?'. -1: malformed, room->text is the line as it may be shown.
 */
int marks_line(struct mark *m, struct mark_room *room, pid_t *pid, const char *line, size_t n);

#endif
