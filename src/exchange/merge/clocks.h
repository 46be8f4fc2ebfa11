/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the clocks of several hosts are apart, by what happened on more than one of them. Everything is a
 * bound: what one host sent the other one received later; nobody leaves a barrier before the last one has
 * entered it. Bounds from both directions enclose the distance, as Cristian's algorithm and NTP do it; over
 * several hosts they add up along the shortest ways. What all leave at the same moment gives an estimate
 * besides, where bounds are wide.
 *
 * A clock's offset is what is to be added to its times, to have them in those of clock 0. Its error is half
 * of what the bounds leave open, or how much the estimates differ. Clocks that drift apart while they are
 * recorded (10 us a second and more) contradict themselves in time: the error then is at least by how much.
 */
#ifndef WPROF_EXCHANGE_MERGE_CLOCKS_H
#define WPROF_EXCHANGE_MERGE_CLOCKS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/strtab.h"

#include <stdint.h>

enum clocks_how {
    CLOCKS_BEST, /* one boot, else what gives the smallest error */
    CLOCKS_SOCKETS,
    CLOCKS_BARRIERS,
    CLOCKS_WALL,
};

/* What somebody did at a barrier, or with the n-th of one name. */
struct clocks_visit {
    uint32_t name, nth; /* name: of the strings */
    uint32_t domain, who;
    uint64_t enter, leave;
};

struct clocks {
    struct strtab names;
    VEC(struct clocks_visit) visits;
    VEC(struct clocks_visit)
    messages;          /* name: the connection and the way; enter: sent, leave: received, 0: not
                          this end's */
    struct map counts; /* name << 32 | who -> visits */
};

struct clocks_offset {
    uint32_t clock; /* enum origin_clock */
    int64_t ns;
    uint64_t error;             /* ORIGIN_ERROR_UNKNOWN */
    uint64_t bounds, estimates; /* how many there are of each */
    int contradict;             /* bounds do: clocks drift, or were set */
};

void clocks_release(struct clocks *c);

/* `who` was in the n-th barrier of this name, by its domain's clock. */
void clocks_barrier(struct clocks *c, const char *name, uint32_t domain, uint32_t who, uint64_t enter,
                    uint64_t leave);
/* Something was sent, or received; both ends give it one name. */
void clocks_message(struct clocks *c, const char *name, uint32_t domain, int received, uint64_t ns);

/* The offsets of all n domains; wall: what CLOCK_REALTIME says of each, for those that nothing else tells of,
 * dated: whether it does. Offset 0 is of domain 0. */
void clocks_solve(const struct clocks *c, enum clocks_how how, size_t n, const int64_t *wall,
                  const int *dated, struct clocks_offset *out);

#endif
