/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the program lies on disk. In the portable build (portable/) a static launcher starts it through the
 * loader of a C library that it brings along, so that /proc/self/exe is that loader:
 *
 *   ROOT/bin/wprof                 the launcher: what everybody starts
 *   ROOT/lib/wprof/SELF_LOADER     /proc/self/exe
 *   ROOT/lib/wprof/                the program, its libraries, the agent, SELF_ABOUT, SELF_PLUGINS
 */
#ifndef WPROF_BASE_SELF_H
#define WPROF_BASE_SELF_H

#include "base/err.h"

#define SELF_AGENT   "libwprof-cuda.so"
#define SELF_LOADER  "ld-linux-x86-64.so.2"
#define SELF_ABOUT   "portable" /* a line of text: what was built where */
#define SELF_PLUGINS "graphviz" /* a folder: Graphviz's plugins with their list */

/* The loader obeys what begins with LD_ in the environment, most of which is meant for the command that is
 * recorded: the launcher hides it from the loader by this first letter, and self_begin() shows it again. */
enum { SELF_HIDDEN = 'l' };

/* First in main, before threads: the environment is again what the launcher was given, and our name "wprof".
 * Does nothing in other builds. */
void self_begin(void);

/* The absolute path that starts us once more; whoever owns the folder has other builds' beside it, too. Owned
 * by the caller; NULL with `e` where /proc is not mounted. */
char *self_program(struct err *e);

int self_is_portable(void);

/* The path of a part of the portable build; NULL in others, and where it was left out. Owned by the caller.
 */
char *self_part(const char *name);

/* The path of the library that the CUDA driver loads into what is recorded (src/agent): beside the program,
 * or where `make install` puts it. NULL: it is in neither place. Owned by the caller. */
char *self_agent(void);

#endif
