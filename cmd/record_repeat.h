/* SPDX-License-Identifier: Apache-2.0 */
/* record --repeat: the same recording several times, for `wprof diff` to compare. */
#ifndef WPROF_CMD_RECORD_REPEAT_H
#define WPROF_CMD_RECORD_REPEAT_H

#include "base/err.h"

#include <stdint.h>

struct record_repeat {
    uint64_t times;
    const char *against; /* the base side's command, run in turn with the other; NULL: there is one side */
    const char *dir;     /* the folder of the runs; NULL: a new name here */
    char *const *argv;
    /* Records argv into the session `dir`; gives record's exit code. Runs in a process of its own. */
    int (*record)(void *arg, const char *dir, char **argv);
    void *arg;
};

/*
 * Sessions DIR/1, DIR/2 ... or, with `against`, DIR/base/1 and DIR/new/1 ... The first run that ends
 * otherwise than with 0 is the last one. Gives record's exit code; 125 with `e` where nothing could be
 * recorded.
 */
int record_repeat(const struct record_repeat *r, struct err *e);

#endif
