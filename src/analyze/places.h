/* SPDX-License-Identifier: Apache-2.0 */
/* A session's stacks by function, whatever the line: where most of some time was spent, in one phrase. */
#ifndef WPROF_ANALYZE_PLACES_H
#define WPROF_ANALYZE_PLACES_H

#include "base/buf.h"
#include "model/store.h"

struct place {
    uint32_t func, file, module; /* strings of the store; module: its path */
    uint32_t kind;               /* enum frame_kind */
};

struct places {
    const struct store *s;
    struct stacks tree; /* of places: `frame` is an index into list + 1 */
    VEC(struct place) list;
    uint32_t *place_of; /* frame id -> index into list + 1 */
    uint32_t *node_of;  /* stack id -> id in the tree */
    struct index index;
};

void places_init(struct places *p, const struct store *s); /* s must not change meanwhile */
void places_release(struct places *p);
const struct place *places_get(const struct places *p, uint32_t node); /* NULL: none */

/* Time by the store's stack ids. */
struct place_time {
    uint64_t *of;
    uint64_t sum;
    int waits; /* it was waited: what libc does stands for nothing, but for who calls it */
};

void place_time_init(struct place_time *t, const struct store *s);
void place_time_release(struct place_time *t);

/*
 * The innermost function below which more than `least` (at least a half) of the time lies: for people, a
 * Python function with a name of its own stands for what it calls inside the interpreter, and who calls libc
 * for what it does. A node of the tree, 0: there is none. *total (may be NULL): its time.
 */
uint32_t places_hot(const struct places *p, const struct place_time *t, double least, uint64_t *total);

/* The function with the most time, its callers' not counted together: most self time; a node of the tree with
 * it. 0: there is none. *self: the function's time wherever it is called. */
uint32_t places_top(const struct places *p, const struct place_time *t, uint64_t *self);

/* The node that stands for a stack of the store in places_top(). */
uint32_t places_stands(const struct places *p, uint32_t stack);

/* By the store's stack ids: whether that function is what places_top() counts the stack's time for. Owned by
 * the caller. */
uint8_t *places_own(const struct places *p, uint32_t node);

/* For which of the program's own Python functions, the nearest one outside of these stacks' libraries, most
 * of their time is: a node of the tree; 0: they are the program's own, or have none. *part: its time. */
uint32_t places_asker(const struct places *p, const struct place_time *t, const uint8_t *stacks,
                      uint64_t *part);

/* The line of that function that is seen most in it; 0: not known. */
uint32_t places_line(const struct places *p, const struct place_time *t, uint32_t node);

/* "slow_transform (train.py:66)". Appended. */
void places_label(const struct places *p, uint32_t node, uint32_t line, struct buf *out);
const char *places_func(const struct places *p, uint32_t node); /* "slow_transform" */

/* It is no function whose name tells what is done: what every thread begins with, a marker, nothing. */
int places_is_start(const struct places *p, uint32_t node);

/* "a;b;c", root first; the outer ones are left out where there are more than `max`. Owned by the caller. */
char *places_stack(const struct places *p, uint32_t node, size_t max);

/* ---- stacks that hold certain functions ---- */

/* NULL: any, but of a file no import of it. func: the last part of a dotted name; file: how its path ends;
 * module: part of its base name. */
struct place_match {
    const char *func, *file, *module;
};

/* Whether the node is one of these. */
int places_is(const struct places *p, uint32_t node, const struct place_match *m, size_t n);

/* By the store's stack ids: whether a frame of the stack is one of these. Owned by the caller. */
uint8_t *places_match(const struct places *p, const struct place_match *m, size_t n);

/* The same of any other test. */
uint8_t *places_match_by(const struct places *p,
                         int (*is)(const struct places *p, const struct place *x, void *arg), void *arg);

/* The innermost of the stack's functions that is one of these; a node of the tree, 0: none. */
uint32_t places_matched(const struct places *p, uint32_t stack, const struct place_match *m, size_t n);

#endif
