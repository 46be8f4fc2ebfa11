/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/debugfile.h"

#include <lzma.h>

#define MEMORY_MAX (128ull << 20) /* what the decoder may use: xz -9 needs 65 MiB */
#define IMAGE_MAX  (256u << 20)   /* Fedora's largest are a few MiB */
#define STEP       65536u

static int inflate(lzma_stream *z, struct buf *image, struct err *e)
{
    for (;;) {
        lzma_ret rc;

        buf_reserve(image, STEP);
        z->next_out = (uint8_t *)image->data + image->len;
        z->avail_out = STEP;
        rc = lzma_code(z, LZMA_FINISH);
        image->len += STEP - z->avail_out;
        image->data[image->len] = '\0';
        if (rc == LZMA_STREAM_END)
            return 0;
        if (rc != LZMA_OK)
            return err_set(e, ".gnu_debugdata: not readable as xz (code %d)", (int)rc);
        if (image->len > IMAGE_MAX)
            return err_set(e, ".gnu_debugdata: decompresses to more than %u MiB", IMAGE_MAX >> 20);
    }
}

int debugfile_mini(const struct elf *f, struct buf *image, struct err *e)
{
    const struct elf_section *s = elf_section(f, ".gnu_debugdata");
    lzma_stream z = LZMA_STREAM_INIT;
    struct elf_data d;
    int rc;

    if (!s)
        return err_set(e, "no .gnu_debugdata");
    if (elf_section_data(f, s, &d, e))
        return -1;
    if (lzma_stream_decoder(&z, MEMORY_MAX, 0) != LZMA_OK) {
        elf_data_release(&d);
        return err_set(e, ".gnu_debugdata: the xz decoder did not start");
    }
    z.next_in = d.p;
    z.avail_in = d.n;
    rc = inflate(&z, image, e);
    lzma_end(&z);
    elf_data_release(&d);
    return rc;
}
