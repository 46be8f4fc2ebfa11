/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that cannot fail: out of memory prints one line and aborts, here and nowhere else. */
#ifndef WPROF_BASE_MEM_H
#define WPROF_BASE_MEM_H

#include <stddef.h>

/* All return memory that the caller owns and frees with free(). A size of 0 gives a valid pointer. */
void *mem_alloc(size_t size);
void *mem_calloc(size_t n, size_t size);           /* zeroed; an overflowing product aborts */
void *mem_realloc(void *p, size_t n, size_t size); /* n * size bytes; an overflowing product aborts */
void *mem_dup(const void *p, size_t size);
char *mem_strdup(const char *s);            /* NULL stays NULL */
char *mem_strndup(const char *s, size_t n); /* n bytes and a NUL */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
