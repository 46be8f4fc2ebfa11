/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that builds unwind tables, or takes them from the cache, while samples go on being drained. */
#ifndef WPROF_UNWIND_TABLE_WORKER_H
#define WPROF_UNWIND_TABLE_WORKER_H

#include "base/err.h"
#include "unwind/table.h"

#include <stddef.h>
#include <stdint.h>

struct table_worker;

/* What becomes of a finished table: called in the worker's thread, one at a time. t is NULL where none could
 * be made; it is freed afterwards. */
typedef void table_worker_publish(void *arg, uint32_t file, const struct unw_table *t);

/* cache may be NULL; it and arg must outlive the worker. NULL with `e` when no thread can be had. */
struct table_worker *table_worker_new(struct unw_cache *cache, table_worker_publish *publish, void *arg,
                                      struct err *e);
void table_worker_free(struct table_worker *w); /* what was asked for and hasn't begun is dropped */

/* Asks for the table of an open file, or of an image in memory (fd -1). Both must stay until it is done. */
void table_worker_ask(struct table_worker *w, uint32_t file, int fd, const void *image, size_t image_n);

uint64_t table_worker_cpu_ns(struct table_worker *w); /* CPU time of the thread so far */

#endif
