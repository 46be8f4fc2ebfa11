/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that is loaded when it is there, into a struct of pointers to them. */
#ifndef WPROF_PLATFORM_SYMBOLS_H
#define WPROF_PLATFORM_SYMBOLS_H

#include "base/err.h"

#include <stddef.h>

struct symbol {
    size_t at; /* of the pointer in the struct; several names may be of one: the first that is there */
    const char *name;
    int needed;
};

/* Loads the library: 0 with *library, for dlclose(3); 1: there is none of that name; -1 with `e`: it, or one
 * that it needs, cannot be loaded, as where it was built for a newer C library than ours. */
int symbols_open(void **library, const char *name, struct err *e);

/* Fills in what `api`, zeroed at first, has no function for yet. library: of dlopen(3). NULL, or the name of
 * a function that is needed and not there. */
const char *symbols_load(void *api, void *library, const struct symbol *symbols, size_t n);

#endif
