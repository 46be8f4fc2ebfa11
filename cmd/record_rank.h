/* SPDX-License-Identifier: Apache-2.0 */
/* One of many processes that mpirun, srun, torchrun or Kubernetes started: which one, and what its session is
 * named. */
#ifndef WPROF_CMD_RECORD_RANK_H
#define WPROF_CMD_RECORD_RANK_H

#include "base/err.h"

/*
 * `pattern` with %r (the rank: RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK, LOCAL_RANK, the first that
 * is set), %l (the rank on this host), %n (how many there are), %h (this host), %j (the job's id; where
 * nothing names a job, j and the pid of who started us, which the ranks of one host share), %p (our pid), %t
 * (yyyymmdd-hhmmss) and %%. Without a rank in the environment it is 0, of 1. Owned by the caller; NULL with
 * `e`: another letter, or nothing behind the %.
 */
char *record_rank_name(const char *pattern, struct err *e);

/* Makes the directories that the session's is in: the first rank's, the others find them. -1 with `e`. */
int record_rank_parents(const char *dir, struct err *e);

/* Is this rank in `list`, "0,7-8"? 1, 0; -1 with `e`: no list. */
int record_rank_chosen(const char *list, struct err *e);

#endif
