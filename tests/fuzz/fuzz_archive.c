/* SPDX-License-Identifier: Apache-2.0 */
/* A packed session from a stranger: as it is (zstd), and as the tar within, which no mutation of the first
 * gets to. */
#include "model/session_dir.h"
#include "platform/packed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const void *p, size_t n)
{
    char dir[] = "/tmp/wprof-fuzz-XXXXXX";
    struct packed_to to = {.uid = (uid_t)-1, .gid = (gid_t)-1, .max_bytes = 1 << 20};
    int fd = memfd_create("archive", MFD_CLOEXEC);
    struct err e = {0};

    if (fd < 0 || !mkdtemp(dir))
        abort();
    to.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (write(fd, p, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) || to.dirfd < 0)
        abort();
    if (packed_read(fd, &to, &e) && !e.msg[0])
        abort();
    close(to.dirfd);
    close(fd);
    session_dir_remove(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room = ZSTD_compressBound(size);
    void *packed = malloc(room);
    size_t n = packed ? ZSTD_compress(packed, room, data, size, 1) : 0;

    unpack(data, size);
    if (packed && !ZSTD_isError(n))
        unpack(packed, n);
    free(packed);
    return 0;
}
