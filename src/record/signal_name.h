/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by name or number, as people give them on a command line. */
#ifndef WPROF_RECORD_SIGNAL_NAME_H
#define WPROF_RECORD_SIGNAL_NAME_H

#include "base/err.h"

/* "USR1", "SIGUSR1", "usr1", "10", "RTMIN+1": its number. -1 with `e`, which has the nearest name, for one
 * that there is not, that cannot be waited for (KILL, STOP), or that we need ourselves (CHLD). */
int signal_parse(const char *text, struct err *e);

/* "SIGUSR1" into out[n], which is returned. */
char *signal_name(char *out, unsigned n, int signo);

#endif
