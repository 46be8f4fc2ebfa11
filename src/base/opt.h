/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options declared once as data. Parsing, -h, defaults from the settings, the man page check and shell
 * completion all come from the same table:
 *
 *     struct record_opts { const char *output; uint64_t hz; struct opt_list pids; int all; };
 *     static const struct opt options[] = {
 *         OPT_STRING('o', "output", struct record_opts, output, "DIR", "the session's directory"),
 *         OPT_UINT('F', "frequency", struct record_opts, hz, "HZ", "99", "record.frequency", "samples per
 * second and CPU"),
 *         ...
 *     };
 */
#ifndef WPROF_BASE_OPT_H
#define WPROF_BASE_OPT_H

#include "base/err.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

enum opt_type {
    OPT_TYPE_FLAG,     /* int: 1 when given */
    OPT_TYPE_STRING,   /* const char *: borrowed from argv or the settings */
    OPT_TYPE_UINT,     /* uint64_t */
    OPT_TYPE_DURATION, /* uint64_t, ns */
    OPT_TYPE_SIZE,     /* uint64_t, bytes */
    OPT_TYPE_CHOICE,   /* const char *: one of `choices`, separated by | */
    OPT_TYPE_LIST, /* struct opt_list: may be given again, each adds one; where `arg` ends in "..." the words
                      that follow too, up to the next option */
};

struct opt_list {
    const char **a;
    size_t n, cap;
};

struct opt {
    char letter;      /* 0: none */
    const char *name; /* without the dashes */
    enum opt_type type;
    size_t offset;       /* of the field in the command's own struct */
    const char *arg;     /* the argument's name in the help, NULL for flags */
    const char *value;   /* default as text, NULL: zero */
    const char *setting; /* "section.key" that may give the default, NULL: none */
    const char *choices; /* OPT_TYPE_CHOICE: "a|b|c" */
    const char *help;    /* one line, no full stop; NULL: between parts of wprof, never shown */
};

#define OPT_FLAG(letter, name, S, field, help)                                                               \
    {                                                                                                        \
        letter, name, OPT_TYPE_FLAG, offsetof(S, field), NULL, NULL, NULL, NULL, help                        \
    }
#define OPT_STRING(letter, name, S, field, arg, help)                                                        \
    {                                                                                                        \
        letter, name, OPT_TYPE_STRING, offsetof(S, field), arg, NULL, NULL, NULL, help                       \
    }
#define OPT_LIST(letter, name, S, field, arg, help)                                                          \
    {                                                                                                        \
        letter, name, OPT_TYPE_LIST, offsetof(S, field), arg, NULL, NULL, NULL, help                         \
    }
#define OPT_CHOICE(letter, name, S, field, arg, value, choices, help)                                        \
    {                                                                                                        \
        letter, name, OPT_TYPE_CHOICE, offsetof(S, field), arg, value, NULL, choices, help                   \
    }
#define OPT_UINT(letter, name, S, field, arg, value, setting, help)                                          \
    {                                                                                                        \
        letter, name, OPT_TYPE_UINT, offsetof(S, field), arg, value, setting, NULL, help                     \
    }
#define OPT_DURATION(letter, name, S, field, arg, value, setting, help)                                      \
    {                                                                                                        \
        letter, name, OPT_TYPE_DURATION, offsetof(S, field), arg, value, setting, NULL, help                 \
    }
#define OPT_SIZE(letter, name, S, field, arg, value, setting, help)                                          \
    {                                                                                                        \
        letter, name, OPT_TYPE_SIZE, offsetof(S, field), arg, value, setting, NULL, help                     \
    }

/*
 * Fills `values` (zeroed by the caller) with the defaults, then the settings, then argv[1..]. Options may
 * stand among the operands; `--` ends them; with stop_at_operand the first operand ends them too (record's
 * command). A --format that is not given is what the name of --output ends with, if that is one of its
 * choices. Returns the index of the first operand after moving operands to the end of argv (order kept), or
 * -1 with `e` naming the option and, for an unknown one, the nearest name.
 */
struct config;
int opt_parse(const struct opt *opts, size_t n, int stop_at_operand, const struct config *cfg, int argc,
              char **argv, void *values, struct err *e);
void opt_release(const struct opt *opts, size_t n, void *values); /* frees the lists */

/* The values as arguments that give the same again, "--max-size=1073741824": appended to *out, whose strings
 * are the caller's. Settings and defaults are in it, so that whoever gets it needs neither. */
struct opt_args {
    VEC(char *) list;
};
void opt_spell(const struct opt *opts, size_t n, const void *values, struct opt_args *out);

/* The candidate nearest to `word` by Damerau-Levenshtein distance, NULL where none is near (distance > 1/3 of
 * it). */
const char *opt_nearest(const char *word, const char *const *candidates, size_t n);

/* Edits between a and b, a swap of neighbours being one (Damerau-Levenshtein in its optimal string alignment
 * form). Words of more than 64 bytes are infinitely far, SIZE_MAX. */
size_t opt_distance(const char *a, const char *b);

#endif
