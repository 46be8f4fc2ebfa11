/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities that recording takes, of a set as CapEff in /proc/PID/status has it: bit N is number N. */
#ifndef WPROF_PLATFORM_CAPS_H
#define WPROF_PLATFORM_CAPS_H

#include <stddef.h>
#include <stdint.h>

enum caps_need { CAPS_BPF, CAPS_PERFMON, CAPS_PTRACE, CAPS_SYSLOG, CAPS_RESTORE };

/* Is it there, or an older one that implies it? */
int caps_has(uint64_t set, enum caps_need which);

/* Writes the names of those that are not there, "CAP_BPF, CAP_PERFMON", into out[n]; gives their number. */
int caps_missing(uint64_t set, char *out, size_t n);

#endif
