/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: over every file of the folders named, and over what a few fixed
 * changes make of each (cut off, bits flipped). TAP on stdout. A crash leaves the input's name as the last
 * line.
 */
#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANGES = 64 };

/* A copy of exactly the right size, so that the sanitizer sees a read beyond its end. */
static void run(const char *p, size_t n)
{
    uint8_t *copy = mem_dup(p, n);

    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static void run_changed(const struct buf *in)
{
    char *copy = mem_dup(in->data, in->len);

    for (uint64_t i = 0; i < CHANGES && in->len; i++) {
        uint64_t r = hash_u64(i * 1000003 + in->len);
        size_t at = r % in->len;

        run(in->data, in->len <= CHANGES ? i % in->len : at);
        copy[at] ^= (char)(1 << (r >> 61));
        run(copy, in->len);
        copy[at] = in->data[at];
    }
    free(copy);
}

static int replay_file(int n, const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    struct buf in = {0};
    struct err e = {0};
    int rc;

    printf("# %s\n", path);
    fflush(stdout);
    rc = io_read_file(AT_FDCWD, path, &in, &e);
    if (!rc) {
        buf_reserve(&in, 0);
        run(in.data, in.len);
        run_changed(&in);
    }
    printf("%sok %d - %s%s%s\n", rc ? "not " : "", n, name, rc ? ": " : "", e.msg);
    buf_release(&in);
    free(path);
    return rc;
}

int main(int argc, char **argv)
{
    int n = 0, bad = 0;

    for (int i = 1; i < argc; i++) {
        struct dirent **list;
        int files = scandir(argv[i], &list, NULL, alphasort);

        if (files < 0) {
            printf("not ok %d - %s can't be read\n", ++n, argv[i]);
            bad++;
        }
        for (int k = 0; k < files; k++) {
            if (list[k]->d_name[0] != '.')
                bad += replay_file(++n, argv[i], list[k]->d_name) != 0;
            free(list[k]);
        }
        if (files >= 0)
            free(list);
    }
    printf("1..%d\n", n);
    return bad || !n;
}
