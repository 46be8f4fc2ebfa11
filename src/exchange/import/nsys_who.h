/* SPDX-License-Identifier: Apache-2.0 */
/* Of whom a database of Nsight Systems tells: where it was recorded, and which rank of a job that was. */
#ifndef WPROF_EXCHANGE_NSYS_WHO_H
#define WPROF_EXCHANGE_NSYS_WHO_H

#include "base/map.h"
#include "platform/sqlite.h"

struct nsys_who {
    char *host;           /* NULL: not told */
    int rank;             /* -1: not told */
    int ranks;            /* how many MPI's processes in it have */
    struct map processes; /* of several ranks: pid -> rank + 1. Empty: not told */
};

/* By MPI's ranks where all processes have one, else by the environment that nsys ran in. What a version does
 * not have is not told. */
void nsys_who_read(struct nsys_who *w, struct sqlite *db);
void nsys_who_release(struct nsys_who *w);

#endif
