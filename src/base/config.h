/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: environment WPROF_<SECTION>_<KEY> over --config FILE or the user's file
 * ($XDG_CONFIG_HOME/wprof/config) over the defaults in the table of known settings (config.def). The command
 * line stands above them all (opt.h).
 */
#ifndef WPROF_BASE_CONFIG_H
#define WPROF_BASE_CONFIG_H

#include "base/err.h"

#include <stddef.h>

struct config;

/* file NULL: the user's file where there is one. An unknown key, an indented key or a bad value is an error
 * that names file and line. NULL with `e` set on failure. */
struct config *config_load(const char *file, struct err *e);
void config_free(struct config *c);

/* The effective value as text ("" when unset), and in *origin (may be NULL) where it came from: "default",
 * "environment WPROF_RECORD_FREQUENCY", "/path/config:3". NULL for a key that is not in the table. */
const char *config_get(const struct config *c, const char *section_key, const char **origin);

/* Sections whose keys the table does not list: [rules]. What the file has there, in its order, is checked by
 * whoever uses it; the environment gives none. */
struct config_pair {
    char *key, *text, *origin; /* "gil-wait.share", without the section */
};
size_t config_pairs(const struct config *c, const char *section, const struct config_pair **pairs);

size_t config_count(void);        /* known settings, in the table's order */
const char *config_key(size_t i); /* "record.frequency" */
const char *config_help(size_t i);

#endif
