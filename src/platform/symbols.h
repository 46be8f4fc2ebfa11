/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that is loaded when it is there, into a struct of pointers to them. */
#ifndef WPROF_PLATFORM_SYMBOLS_H
#define WPROF_PLATFORM_SYMBOLS_H

#include <stddef.h>

struct symbol {
    size_t at; /* of the pointer in the struct; several names may be of one: the first that is there */
    const char *name;
    int needed;
};

/* Fills in what `api`, zeroed at first, has no function for yet. library: of dlopen(3). NULL, or the name of
 * a function that is needed and not there. */
const char *symbols_load(void *api, void *library, const struct symbol *symbols, size_t n);

#endif
