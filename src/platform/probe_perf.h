/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2) for the probes. */
#ifndef WPROF_PLATFORM_PROBE_PERF_H
#define WPROF_PLATFORM_PROBE_PERF_H

/* The event that tier A samples on: everything that runs on one CPU. A descriptor, or -1 with errno. */
int probe_perf_open_cpu(void);

#endif
