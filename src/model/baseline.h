/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions kept to compare later ones with: FOLDER/BRANCH/NUMBER-COMMIT/RUN, each RUN a session; NUMBER
 * counts the commits in the order they came. What is no letter, digit or one of ._- in a branch's name is
 * written %XX.
 */
#ifndef WPROF_MODEL_BASELINE_H
#define WPROF_MODEL_BASELINE_H

#include "base/err.h"
#include "base/vec.h"

struct baseline_entry {
    char *branch, *commit, *path;
    unsigned number;
    VEC(char *) sessions; /* paths, in the order they were added */
};

struct baseline {
    VEC(struct baseline_entry) list; /* by branch, then by number */
};

/* Of one branch, or of all (NULL). A folder that is not there is empty. */
int baseline_read(struct baseline *b, const char *folder, const char *branch, struct err *e);
void baseline_release(struct baseline *b);

/* Copies a session in; gives its new path, owned by the caller. NULL with `e`. */
char *baseline_add(const char *folder, const char *branch, const char *commit, const char *session,
                   struct err *e);

/* Whether a commit can stand in a file's name: letters, digits and ._-, at most 64. */
int baseline_commit_ok(const char *commit);

#endif
