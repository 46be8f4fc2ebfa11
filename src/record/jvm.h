/* SPDX-License-Identifier: Apache-2.0 */
/* Has the JVMs among what was recorded write their perf maps: --jvm. */
#ifndef WPROF_RECORD_JVM_H
#define WPROF_RECORD_JVM_H

#include "model/store.h"

#include <sys/types.h>

struct meta;

/* Those of the store's processes that live and are JVMs; what fails is said, and noted in `m`. Takes some
 * seconds at most, where JVMs don't answer. */
void jvm_write_maps(const struct store *s, struct meta *m);

/* The same for processes named by pid, when their recording begins: one that ends by itself leaves no map.
 * Failures are left for the end. */
void jvm_write_early_maps(const pid_t *pids, size_t n);

#endif
