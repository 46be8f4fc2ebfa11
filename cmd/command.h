/* SPDX-License-Identifier: Apache-2.0 */
/* The command table: a line in commands.def and one `const struct command cmd_NAME` in cmd/NAME.c. */
#ifndef WPROF_CMD_COMMAND_H
#define WPROF_CMD_COMMAND_H

#include "base/buf.h"
#include "base/config.h"
#include "base/opt.h"

/* Exit codes (record has its own: see wprof-record(1)). */
enum { EXIT_OK = 0, EXIT_GATE = 1, EXIT_USAGE = 2, EXIT_FAILED = 3, EXIT_BUG = 70 };

struct command {
    const char *name;
    const char *summary;  /* one line, no full stop */
    const char *operands; /* for the synopsis: "[SESSION]", "-- CMD..." */
    const struct opt *opts;
    size_t nopts;
    size_t values_size; /* of the struct that the options fill; 0 where there are none */
    int stop_at_operand;
    int usage_exit;       /* 0: EXIT_USAGE; record: 125 */
    const char *examples; /* lines for -h and the man page */
    /* values: the filled struct; argv: the operands (argc of them). Returns the exit code. */
    int (*run)(const void *values, const struct config *cfg, int argc, char **argv);
};

#define COMMAND(name) extern const struct command cmd_##name;
#include "commands.def"
#undef COMMAND

extern const struct command *const commands[];
extern const size_t ncommands;

/* Prints "wprof NAME: message" and the hint to -h on stderr; gives the code to return. */
int command_usage(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- usage.c: what main, help and complete share ---- */

const struct command *command_find(const char *name); /* NULL: none of that name */
const char *command_nearest(const char *name);        /* NULL: none is near */
void command_list(struct buf *out); /* every command with its summary, as `wprof help` shows them */
void command_help(const struct command *c, struct buf *out); /* synopsis, options, examples: what -h prints */

/* What every command takes besides its own options ("help"), and what stands before the command. */
extern const struct opt command_help_option;
extern const struct opt global_options[];
extern const size_t nglobal_options;

struct global_values {
    const char *config;
    int verbose, quiet, version, help;
};

#endif
