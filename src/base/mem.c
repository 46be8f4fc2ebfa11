/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *check(void *p, size_t size)
{
    if (p)
        return p;
    fprintf(stderr, "wprof: out of memory (%zu bytes)\n", size);
    abort();
}

void *mem_alloc(size_t size)
{
    return check(malloc(size ? size : 1), size);
}

void *mem_calloc(size_t n, size_t size)
{
    return check(calloc(n ? n : 1, size ? size : 1), n * size);
}

void *mem_realloc(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        check(NULL, (size_t)-1);
    return check(realloc(p, bytes ? bytes : 1), bytes);
}

void *mem_dup(const void *p, size_t size)
{
    void *q = mem_alloc(size);

    if (size)
        memcpy(q, p, size);
    return q;
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
    char *p = mem_alloc(n + 1);

    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    char *s;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap);
    va_end(ap);
    return check(n < 0 ? NULL : s, 0);
}
