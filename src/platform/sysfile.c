/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/sysfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sysfile_root(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int sysfile_open(int root, const char *path)
{
    return openat(root, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int sysfile_read(int fd, struct buf *out)
{
    ssize_t n;

    buf_clear(out);
    do {
        buf_reserve(out, 4096);
        n = pread(fd, out->data + out->len, out->cap - out->len - 1, (off_t)out->len);
        if (n > 0)
            out->len += (size_t)n;
        /* A file that is made on the fly ends with the first short read; asking again makes it anew. */
    } while ((n > 0 && out->len + 1 >= out->cap && out->len < SYSFILE_MAX) || (n < 0 && errno == EINTR));
    out->data[out->len] = '\0';
    return n < 0 ? -1 : 0;
}

int sysfile_read_path(int root, const char *path, struct buf *out)
{
    int fd = sysfile_open(root, path), rc, errnum;

    if (fd < 0)
        return -1;
    rc = sysfile_read(fd, out);
    errnum = errno;
    close(fd);
    errno = errnum;
    return rc;
}

int sysfile_number(const char *text, uint64_t *v)
{
    char *end;

    text += strspn(text, " \t");
    if (!isdigit((unsigned char)*text))
        return -1;
    *v = strtoull(text, &end, 10);
    return end == text ? -1 : 0;
}

int sysfile_key(const char *text, const char *key, uint64_t *v)
{
    size_t n = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, n) && (line[n] == ' ' || line[n] == '\t'))
            return sysfile_number(line + n, v);
    }
    return -1;
}
