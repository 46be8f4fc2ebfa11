/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's log: items (bpf/wire_gpu.h) are put into a buffer, which becomes a block of the file when it is
 * full or flushed. Everything here but out_open() and out_flush() wants the lock, which is held for short and
 * never over a call of CUPTI or the loader. A write that fails ends the log: it is whole up to its last
 * block.
 */
#ifndef WPROF_AGENT_OUT_H
#define WPROF_AGENT_OUT_H

#include <linux/types.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/wire_gpu.h"

enum { OUT_BYTES = 1 << 16, OUT_SPARE = 24 };

struct out {
    pthread_mutex_t lock;
    int fd; /* -1: there is none, or it is over */
    dev_t dev;
    ino_t ino;
    size_t n;
    int64_t correlation, time; /* of the last item in the block */
    char path[512];
    uint8_t bytes[OUT_SPARE + OUT_BYTES]; /* room for the block's header first */
};

/* Makes dir/PID-TIME.wlog. -1: it can't be made; the recording is over, or the directory is not there. */
int out_open(struct out *o, const char *dir);

static inline void out_lock(struct out *o)
{
    pthread_mutex_lock(&o->lock);
}

static inline void out_unlock(struct out *o)
{
    pthread_mutex_unlock(&o->lock);
}

/* Room for an item of at most n bytes; what is there may become a block. */
void out_reserve(struct out *o, size_t n);
void out_u8(struct out *o, uint8_t v);
void out_number(struct out *o, uint64_t v);
void out_signed(struct out *o, int64_t v);
void out_text(struct out *o, const void *p, size_t n);
/* The fields that are told as distances. */
void out_correlation(struct out *o, uint32_t correlation);
void out_time(struct out *o, uint64_t ns);

void out_flush(struct out *o); /* takes the lock */
/* 1: somebody has removed the file: the recording is over. */
int out_is_gone(const struct out *o);
void out_close(struct out *o);
void out_give_up(struct out *o); /* takes the lock; closes what is ours, for a process that goes on */

#endif
