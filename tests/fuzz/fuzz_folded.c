/* SPDX-License-Identifier: Apache-2.0 */
/* Folded text: imported and exported it is a text that imports and exports to itself. */
#include "analyze/fold.h"
#include "exchange/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int import(const void *p, size_t n, struct buf *out, uint64_t *samples)
{
    struct fold_opts o = {.kernel_suffix = 1};
    int fd = memfd_create("folded", MFD_CLOEXEC), rc;
    struct import_stats st = {0};
    struct input in;
    struct store s = {0};
    struct meta m = {0};
    struct profile profile;
    struct err e = {0};

    if (fd < 0 || write(fd, p, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
        abort();
    if (input_open_fd(&in, fd, "folded", &e))
        abort();
    rc = import_folded.run(&in, &s, &m, &st, &e);
    *samples = st.samples;
    if (!rc) {
        if (st.stacks != s.events.n || (!in.gz && !in.is_utf16 && in.bytes != n && in.bytes + 3 != n) ||
            fold_store(&profile, &s, 0, &o, &e))
            abort();
        if (profile.metrics.a[0].sum != st.samples)
            abort();
        profile_folded(&profile, 0, out);
        profile_release(&profile);
    } else if (!e.msg[0]) {
        abort();
    }
    import_stats_release(&st);
    input_release(&in);
    close(fd);
    store_release(&s);
    meta_release(&m);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first = {0}, second = {0};
    uint64_t samples, again;

    if (!import(data, size, &first, &samples) && first.len) {
        if (import(first.data, first.len, &second, &again) || samples != again)
            abort();
        if (first.len != second.len || memcmp(first.data, second.data, first.len))
            abort();
    }
    buf_release(&first);
    buf_release(&second);
    return 0;
}
