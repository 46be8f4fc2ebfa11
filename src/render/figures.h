/* SPDX-License-Identifier: Apache-2.0 */
/* The words around a picture: what ran, how well it was measured, and what to distrust. Shared by the
 * formats. */
#ifndef WPROF_RENDER_FIGURES_H
#define WPROF_RENDER_FIGURES_H

#include "base/vec.h"
#include "model/profile.h"
#include "model/quality.h"
#include "model/session.h"

struct figure {
    const char *label; /* "lost" */
    char value[64];    /* "12 (0.1 %)"; "not measured" */
    const char *help;  /* a sentence on what it means */
    uint8_t measured;
    uint8_t bad; /* worse than it should be: there is a warning on it */
};

struct figures {
    VEC(struct figure) quality;
    VEC(struct figure) facts; /* when, how long, which event ...; values that fit in 64 bytes */
    VEC(char *) warnings;     /* sentences */
    VEC(char *) notes;        /* what else the recorder had to say; owned by the meta */
};

/* `f` is zeroed by the caller and released by figures_release(). */
void figures_make(struct figures *f, const struct quality *q, const struct meta *m);
void figures_release(struct figures *f);

/* A warning that names the modules of functions without a name, the worst first; only where there is one on
 * unknown frames already. */
void figures_add_nameless(struct figures *f, const struct profile *p);

/* The command line in one string, or the workload's name where there is none; owned by the caller. */
char *figures_command(const struct meta *m);

#endif
