/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native stack of the calling thread, by the .eh_frame that each module has mapped: found by its
 * .eh_frame_hdr, interpreted by src/unwind's code, one row for each return address that is met, remembered.
 * Nothing is allocated, no unwinder of others' is called.
 */
#ifndef WPROF_AGENT_NATIVE_H
#define WPROF_AGENT_NATIVE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/self.h"
#include "bpf/unw.h"

enum { NATIVE_MAX = 256, NATIVE_MODULES = 2048, NATIVE_ROWS = 1 << 13, NATIVE_BUILD_ID = 20 };

struct native_module {
    uint64_t start, end, bias;
    uint64_t hdr, hdr_end; /* .eh_frame_hdr; 0: none */
    uint64_t frames_end;   /* of the segment that .eh_frame is in */
    uint8_t skip;          /* ours, CUPTI's: not the caller's code */
    uint8_t build_id_len, build_id[NATIVE_BUILD_ID];
    char path[256];
};

struct native_row {
    uint64_t pc; /* 0: free */
    struct unw_row row;
};

struct native_frame {
    uint64_t ip, sp;
    uint32_t module; /* index + 1; 0: in none */
};

struct native {
    struct self *self;
    struct native_module modules[NATIVE_MODULES]; /* by start */
    size_t n;
    struct native_row rows[NATIVE_ROWS];
    /* Of who looks: one thread at a time. */
    struct native_module fresh[NATIVE_MODULES];
    size_t nfresh;
    uint64_t changes; /* of the loader's list, as it was read */
};

/* Reads the loader's list, where it has changed: 1, then native_take() puts it in place. Takes the loader's
 * lock, so that no other lock may be held. */
int native_look(struct native *n);
void native_take(struct native *n);

struct native_ended {
    int whole;   /* the walk reached the thread's start */
    int unknown; /* it came to code of a module that is not known */
};

/* From `regs` on, innermost first; how many. */
size_t native_walk(struct native *n, struct native_frame out[NATIVE_MAX], const struct walk_regs *regs,
                   struct native_ended *end);

#endif
