/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of Python programs as samplers write them into text. */
#ifndef WPROF_EXCHANGE_PYTHON_TEXT_H
#define WPROF_EXCHANGE_PYTHON_TEXT_H

#include "model/store.h"

#include <stddef.h>

/* "net.py", "cython.pyx", "<string>", "<frozen importlib._bootstrap>": code of Python. */
int python_text_is_file(const char *s, size_t n);

/* Parts of "forward (net.py:12)" or "forward (net.py)". */
struct python_text {
    const char *name, *file;
    size_t name_n, file_n;
    uint32_t line; /* 0: none */
};

/* 0, or -1: s[0..n) is none. */
int python_text_split(struct python_text *t, const char *s, size_t n);

/* The frame of a function at a place: Python's, else native, in a file where there is a line, in a library
 * where there is none. */
uint32_t python_text_frame(struct store *s, const struct python_text *t);

#endif
