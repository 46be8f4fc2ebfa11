/* SPDX-License-Identifier: Apache-2.0 */
/* The report's bars of accelerators. */
#ifndef WPROF_ANALYZE_REPORT_DEVICES_H
#define WPROF_ANALYZE_REPORT_DEVICES_H

#include "analyze/gpu_trace.h"
#include "model/report.h"

/* Fills devices, blame and idle_ns. */
void report_devices(struct report *r, const struct gpu_trace *t);

#endif
