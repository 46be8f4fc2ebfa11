/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities that recording with BPF takes. */
#ifndef WPROF_PLATFORM_CAPS_H
#define WPROF_PLATFORM_CAPS_H

#include <stddef.h>

/* Writes the names of those that this process lacks, "CAP_BPF, CAP_PERFMON", into out[n]; gives their number.
 */
int caps_missing(char *out, size_t n);

#endif
