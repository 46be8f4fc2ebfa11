/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that lie apart from the file that runs: separate debug files, by build id or .gnu_debuglink (as
 * gdb's manual, "Separate Debug Files", has them), and MiniDebugInfo inside of it. Local files only: nothing
 * is ever fetched.
 */
#ifndef WPROF_PLATFORM_DEBUGFILE_H
#define WPROF_PLATFORM_DEBUGFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "platform/elf.h"

#define DEBUG_ROOT "/usr/lib/debug"

struct debugfile {
    struct elf elf;
    char *path;
};

/* Opens root/.build-id/xx/yyyy<suffix>; suffix ".debug" is the debug file, "" the program itself. 0 when
 * there is one and it has that build id, else -1. root NULL: DEBUG_ROOT. */
int debugfile_by_build_id(struct debugfile *d, const char *root, const uint8_t *id, size_t id_len,
                          const char *suffix);

/*
 * The debug file of f, which lies at `path` (NULL: unknown): by build id under root, else by .gnu_debuglink
 * beside the file, in .debug/ there, and under root. A linked file must have the build id of f, or, where
 * either has none, the CRC that the link names. 0 found, -1 not.
 */
int debugfile_find(struct debugfile *d, const struct elf *f, const char *path, const char *root);
void debugfile_release(struct debugfile *d);

/* Appends the ELF image inside .gnu_debugdata (xz). 0; -1 with `e` set when there is none or it is broken. */
int debugfile_mini(const struct elf *f, struct buf *image, struct err *e);

#endif
