/* SPDX-License-Identifier: Apache-2.0 */
/* What is there without liblzma. */
#include "platform/debugfile.h"

int debugfile_mini(const struct elf *f, struct buf *image, struct err *e)
{
    if (!elf_section(f, ".gnu_debugdata"))
        return err_set(e, "no .gnu_debugdata");
    return err_set(e, ".gnu_debugdata: this wprof is built without liblzma");
}
