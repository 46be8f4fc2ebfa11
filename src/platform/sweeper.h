/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that goes with the process that made it, however that one ends. */
#ifndef WPROF_PLATFORM_SWEEPER_H
#define WPROF_PLATFORM_SWEEPER_H

/* A process of its own waits for the end of a pipe whose other side only we have, then removes the directory
 * if it is still there. Gives our side, to be closed when the directory is removed or is to stay under
 * another name; -1: there is no such process, and what a signal leaves stays. */
int sweeper_start(const char *dir);

#endif
