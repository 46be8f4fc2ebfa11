/* SPDX-License-Identifier: Apache-2.0 */
/* The logs that agents write into the session's directory gpu/: found, read as they grow, removed at the end.
 */
#ifndef WPROF_COLLECT_GPU_LOGS_H
#define WPROF_COLLECT_GPU_LOGS_H

#include "collect/gpu_log.h"
#include "collect/gpu_task.h"
#include "model/wlog.h"

struct gpu_logs_file {
    char name[64];
    int fd;
    int opened;      /* the reader is at its blocks */
    int waited;      /* turns for which nobody has met its process */
    uint64_t given;  /* bytes at its start whose space was given back */
    uint64_t unread; /* bytes at its end that are no whole block */
    struct wlog_reader reader;
    struct gpu_log log;
};

struct gpu_logs {
    struct store *store;
    int dir;    /* -1: not made */
    int parent; /* the session's; borrowed */
    int give;   /* the space of what was read is given back: a recording may go on for days */
    int stays;  /* read by who did not record it: nothing there is changed */
    struct gpu_tasks tasks;
    struct gpu_devices devices;
    VEC(struct gpu_logs_file *) files;
    uint64_t strange; /* files that are no logs */
};

/* Makes the directory, of the session's owner. -1 with `e`. */
int gpu_logs_init(struct gpu_logs *g, struct store *s, int session_dir, struct err *e);
/* Of a session that was read, whose recorder has left them. -1: there are none. */
int gpu_logs_open(struct gpu_logs *g, struct store *s, int session_dir);
void gpu_logs_release(struct gpu_logs *g); /* removes it and what is in it: agents end at that */

/* What is new, of [begin, end]; end 0: it goes on. last: also of processes that nobody has met. */
void gpu_logs_read(struct gpu_logs *g, uint64_t begin, uint64_t end, int last);

#endif
