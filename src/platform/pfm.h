/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events to sample by name, encoded by libpfm4 (pfm.c), or from a small table of the kernel's software events
 * where wprof is built without it (pfm_none.c). No type of libpfm4 or of the kernel is seen here: their
 * headers don't go together.
 */
#ifndef WPROF_PLATFORM_PFM_H
#define WPROF_PLATFORM_PFM_H

#include "base/err.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

/* Fields of the same meaning as in perf_event_attr. */
struct pfm_event {
    uint32_t type;
    uint64_t config, config1, config2;
    uint8_t exclude_user, exclude_kernel, exclude_hv, exclude_guest;
    uint8_t precise; /* precise_ip, 0..3 */
    uint8_t time;    /* a clock of the kernel (cpu-clock, task-clock): its period is in ns */
    char name[128];  /* as it was given */
};

/* Encodes "cycles", "cpu-clock", "cycles:u", "skl::L2_RQSTS:MISS". An unknown name is an error that tells the
 * nearest. */
int pfm_encode(const char *name, struct pfm_event *ev, struct err *e);

enum pfm_opens { PFM_OPENS_NO, PFM_OPENS_USER, PFM_OPENS_YES };

/* Can this process sample it? PFM_OPENS_USER: with exclude_kernel only. PFM_OPENS_NO: *errnum says why. */
enum pfm_opens pfm_probe(const struct pfm_event *ev, int *errnum);

/* The event to sample when none is asked for: cycles where the machine has a PMU that opens, else cpu-clock,
 * and then `why` holds the reason (else ""). Never fails. */
void pfm_default_event(struct pfm_event *ev, char *why, size_t n);

struct pfm_item {
    char *name, *pmu, *desc; /* name: as pfm_encode() takes it */
};

struct pfm_list {
    VEC(struct pfm_item) items;
};

/* All events of the PMUs that are present here, umasks as events of their own. */
int pfm_list(struct pfm_list *l, struct err *e);
void pfm_list_release(struct pfm_list *l);

/* Up to `max` names of the list that are nearest to `word`, as "a, b, c" in out[n]; "" where none is near. */
char *pfm_nearest(const struct pfm_list *l, const char *word, size_t max, char *out, size_t n);

#endif
