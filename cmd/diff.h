/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `wprof diff`. */
#ifndef WPROF_CMD_DIFF_H
#define WPROF_CMD_DIFF_H

#include "analyze/compare.h"
#include "base/err.h"
#include "render/diff.h"

/* git bisect run: 125 is "this one can't be tested", from 128 on it stops. */
enum { DIFF_BISECT_SKIP = 125, DIFF_BISECT_STOP = 128 };

/* diff --topology: writes what differs; gives the exit code. */
struct diff_topology_opts {
    int by_name, json;
    const char *output; /* NULL: stdout */
};
int diff_topology(const char *a, const char *b, const struct diff_topology_opts *o);

/* The paths of a side: sessions, files of folded stacks, and folders whose sessions are all taken. */
struct diff_paths {
    VEC(char *) list;
};

/* Adds what a path is or holds. -1 with `e`: there is nothing to compare. */
int diff_paths_add(struct diff_paths *p, const char *path, struct err *e);
void diff_paths_release(struct diff_paths *p);

/* Reads every path of both sides into the comparison. */
int diff_load(struct compare *c, const struct diff_paths side[COMPARISON_SIDES], struct err *e);

/* Options that all commands which compare have in common. */
struct diff_opts_how {
    const char *format, *output, *by, *per, *min_share, *alpha, *fail_above, *only;
    uint64_t top;
    int self, json;
};

/* Their entries in a table of options of `struct`s TYPE with one of these as MEMBER. FOR: what the help
 * begins with; FAIL_ABOVE: the default of the gate, NULL: there is none. */
#define DIFF_OPTIONS(TYPE, MEMBER, FOR, FAIL_ABOVE)                                                          \
    OPT_CHOICE('f', "format", TYPE, MEMBER.format, "FORMAT", "text", "text|md|html|svg|json|folded|junit",   \
               FOR "what to write"),                                                                         \
        OPT_STRING('o', "output", TYPE, MEMBER.output, "FILE",                                               \
                   FOR "write there, and the verdict on stdout"),                                            \
        OPT_CHOICE(0, "by", TYPE, MEMBER.by, "LEVEL", "function",                                            \
                   "function|stack|module|process|kernel|operator",                                          \
                   FOR "rows of the table, which the gate looks at"),                                        \
        OPT_FLAG(0, "self", TYPE, MEMBER.self,                                                               \
                 FOR "functions and modules by self; else with what they call"),                             \
        DIFF_OPTION("per", TYPE, MEMBER.per, "sample|second|step|N", "sample",                               \
                    FOR "divide by all samples, by time, by the marks of a kind, by a number"),              \
        DIFF_OPTION("min-share", TYPE, MEMBER.min_share, "SHARE", "1%",                                      \
                    FOR "test only what has so much on a side"),                                             \
        DIFF_OPTION("alpha", TYPE, MEMBER.alpha, "Q", "0.01",                                                \
                    FOR "significant is a false discovery rate up to Q"),                                    \
        DIFF_OPTION("fail-above", TYPE, MEMBER.fail_above, "SHARE", FAIL_ABOVE,                              \
                    FOR "exit 1 where anything grew by more, and significantly"),                            \
        OPT_STRING(0, "only", TYPE, MEMBER.only, "PATTERN", FOR "test only names that hold this glob"),      \
        OPT_UINT(0, "top", TYPE, MEMBER.top, "N", "20", NULL, FOR "rows of a table; 0: all"),                \
        OPT_FLAG(0, "json", TYPE, MEMBER.json, "the same as --format json")

#define DIFF_OPTION(NAME, TYPE, MEMBER, OF, DEFAULT, HELP)                                                   \
    {                                                                                                        \
        0, NAME, OPT_TYPE_STRING, offsetof(TYPE, MEMBER), OF, DEFAULT, NULL, NULL, HELP                      \
    }

/* What they ask for; how->metric stays. -1 with `e`: one makes no sense. */
int diff_how(struct compare_opts *how, const struct diff_opts_how *o, struct err *e);

const struct diff_renderer *diff_how_renderer(const struct diff_opts_how *o);

/* Loads both sides and compares them, for that renderer. */
int diff_compare(struct comparison *out, struct compare_opts *how,
                 const struct diff_paths side[COMPARISON_SIDES], const struct diff_renderer *r,
                 struct err *e);

struct diff_product {
    const struct diff_renderer *renderer;
    const char *output; /* a file; NULL: stdout */
    struct diff_style style;
};

/* Puts it out, and the verdict as the last line that is said. */
int diff_put(const struct diff_product *p, const struct comparison *c, struct err *e);

/* The exit code of a verdict. */
int diff_code(const struct comparison *c, int bisect);

#endif
