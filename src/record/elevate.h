/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `record --sudo`: the front end stays the user's. It starts the command behind its gate with the user's own
 * environment, terminal, directory and signals; the collecting half is this same program under sudo, which
 * attaches to the command (link.h) and writes the session as the user's.
 *
 * sudo runs with no terminal among its descriptors and in a process group of its own, in the background: so
 * it never touches the terminal's modes (use_pty), and ^C is the command's. That alone must not ask for a
 * password (-n); where it would, `sudo -v` asks on the terminal before. The half's arguments carry nothing of
 * the command: sudo logs them.
 */
#ifndef WPROF_RECORD_ELEVATE_H
#define WPROF_RECORD_ELEVATE_H

#include "base/err.h"

#include <stddef.h>

struct elevate_opts {
    char *const *argv;       /* the command */
    const char *const *half; /* arguments of this program, after which the socket's name comes */
    size_t nhalf;
    const char *dir;    /* -o; NULL */
    int signals[2];     /* that are the recording's own (window.h); 0: none */
    int jit_names, jvm; /* jit_env.h */
    int gpu;            /* the collector of that name is wanted, */
    int whole_graphs;   /* without nodes of graphs: gpu_env.h */
    int keep_going;     /* run the command even if nothing can be recorded */
};

/* As recorder_run(): the exit code, `e` where the command was not run. */
int elevate_run(const struct elevate_opts *o, struct err *e);

/* Without a command: becomes `sudo wprof half...`. Only returns, with `e`, where that fails. */
int elevate_exec(const struct elevate_opts *o, struct err *e);

#endif
