/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording becomes when it is sealed: frames with names, folded texts, advice, and the few lines that
 * end it. */
#ifndef WPROF_CMD_RECORD_SEAL_H
#define WPROF_CMD_RECORD_SEAL_H

#include "model/profile.h"
#include "model/quality.h"
#include "record/recorder.h"
#include "record/summary.h"

struct record_seal {
    int inlines;         /* also inlined functions and lines */
    int source;          /* also the text of Python lines */
    int named;           /* the frames have their names already */
    unsigned done;       /* JIT_ADVICE_*: what needs no advice, since it was asked for */
    struct graph *graph; /* the recorder's; NULL: there is no topology */
    struct profile profile;
    struct quality quality;
    struct summary_wait wait;
};

/* The recorder's hooks; arg: a struct record_seal. */
void record_seal_graph(void *arg, struct graph *g);
int record_seal_derive(void *arg, struct session_writer *w, struct meta *m, struct store *s, struct err *e);
void record_seal_say(void *arg, const struct recorder_report *r);
void record_seal_release(struct record_seal *p);

#endif
