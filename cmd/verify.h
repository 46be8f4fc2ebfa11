/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a session is what its recorder left, and what can be saved of one that isn't. */
#ifndef WPROF_CMD_VERIFY_H
#define WPROF_CMD_VERIFY_H

#include "base/err.h"
#include "base/vec.h"
#include "model/session.h"
#include "model/store_log.h"

struct verify_opts {
    const char *output;
    int repair, force, json;
};

struct verified {
    struct store_load load;
    VEC(uint8_t) files; /* enum session_file, of each in meta.json's list, and those that it does not list */
    char *log;          /* what is wrong with the log; NULL: nothing */
    uint64_t events;    /* that can be read */
    int recording, damaged;
    int unreadable; /* there is no log, or nothing of one */
};

/* Looks at a session whose meta.json is open, adds to its list what is in extra/ and reports/ besides, and
 * loads what can be read of its log. */
void verify_session(struct verified *v, struct session *s);
void verified_release(struct verified *v);

/* Writes the session anew, with what was read, and prints where. -1 with `e`. */
int verify_repair(const struct verify_opts *o, struct session *s, const struct verified *v, struct err *e);

#endif
