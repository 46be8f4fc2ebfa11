/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/input.h"

#include "exchange/import/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_raw(int fd, void *p, size_t n, struct err *e)
{
    ssize_t got;

    do {
        got = read(fd, p, n);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? err_sys(e, errno, "read") : got;
}

static ssize_t read_bytes(struct input *in, void *p, size_t n, struct err *e)
{
    return in->gz ? gunzip_read(in->gz, p, n, e) : read_raw(in->fd, p, n, e);
}

/* Some more of the text, unless there is some. */
static int fill_text(struct input *in, struct err *e)
{
    char piece[4096];

    while (in->taken == in->text.len && !in->ended) {
        ssize_t n = read_bytes(in, piece, sizeof(piece), e);

        if (n < 0)
            return -1;
        buf_clear(&in->text);
        in->taken = 0;
        in->ended = !n;
        if (n)
            utf16_add(&in->utf16, piece, (size_t)n, &in->text);
        else
            utf16_end(&in->utf16, &in->text);
    }
    return 0;
}

static ssize_t read_text(struct input *in, void *p, size_t n, struct err *e)
{
    if (!in->is_utf16)
        return read_bytes(in, p, n, e);
    if (fill_text(in, e))
        return -1;
    n = n < in->text.len - in->taken ? n : in->text.len - in->taken;
    if (n)
        memcpy(p, in->text.data + in->taken, n);
    in->taken += n;
    return (ssize_t)n;
}

/* Until the head is full or there is no more. */
static int fill_head(struct input *in, struct err *e)
{
    buf_reserve(&in->head, INPUT_HEAD + INPUT_PAD);
    while (in->head.len < INPUT_HEAD) {
        ssize_t n = read_text(in, in->head.data + in->head.len, INPUT_HEAD - in->head.len, e);

        if (n < 0)
            return -1;
        if (!n)
            break;
        in->head.len += (size_t)n;
    }
    in->head.data[in->head.len] = '\0';
    return 0;
}

static int unpack_head(struct input *in, struct err *e)
{
    if (!gunzip_is(in->head.data, in->head.len))
        return 0;
    in->gz = gunzip_new(in->fd, in->head.data, in->head.len);
    in->size = 0;
    buf_clear(&in->head);
    return fill_head(in, e);
}

/* The mark goes. Of UTF-16, the head is made anew. */
static int decode_head(struct input *in, struct err *e)
{
    in->is_utf16 = utf16_begins(&in->utf16, in->head.data, in->head.len);
    if (in->head.len >= 3 && !memcmp(in->head.data, "\xef\xbb\xbf", 3)) {
        in->head.len -= 3;
        memmove(in->head.data, in->head.data + 3, in->head.len + 1);
    }
    if (!in->is_utf16)
        return 0;
    utf16_add(&in->utf16, in->head.data + 2, in->head.len - 2, &in->text);
    in->size = 0;
    buf_clear(&in->head);
    return fill_head(in, e);
}

int input_open_fd(struct input *in, int fd, const char *name, struct err *e)
{
    struct stat st;

    *in = (struct input){.path = name, .name = name, .count = 1, .fd = fd, .own_fd = -1};
    if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
        return err_set(e, "%s is a directory: a file is wanted", name);
    if (!fstat(fd, &st) && S_ISREG(st.st_mode))
        in->size = (uint64_t)st.st_size;
    if (fill_head(in, e) || unpack_head(in, e) || decode_head(in, e))
        return err_wrap(e, "%s", name);
    return 0;
}

int input_open(struct input *in, const char *path, struct err *e)
{
    int fd = STDIN_FILENO, piped = !strcmp(path, "-"), rc;

    *in = (struct input){.path = path, .own_fd = -1};
    if (!piped)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    rc = input_open_fd(in, fd, piped ? "stdin" : path, e);
    in->path = path;
    in->own_fd = piped ? -1 : fd;
    return rc;
}

void input_release(struct input *in)
{
    gunzip_free(in->gz);
    buf_release(&in->head);
    buf_release(&in->text);
    if (in->own_fd >= 0)
        close(in->own_fd);
    in->gz = NULL;
    in->own_fd = -1;
}

ssize_t input_read(void *ctx, void *p, size_t n, struct err *e)
{
    struct input *in = ctx;
    size_t left = in->head.len - in->given;
    ssize_t got;

    if (left) {
        got = (ssize_t)(n < left ? n : left);
        memcpy(p, in->head.data + in->given, (size_t)got);
        in->given += (size_t)got;
    } else {
        got = read_text(in, p, n, e);
    }
    if (got > 0)
        in->bytes += (uint64_t)got;
    return got;
}

int input_read_all(struct input *in, struct buf *out, struct err *e)
{
    ssize_t n;

    do {
        buf_reserve(out, INPUT_HEAD);
        n = input_read(in, out->data + out->len, INPUT_HEAD, e);
        if (n > 0)
            out->len += (size_t)n;
        out->data[out->len] = '\0';
    } while (n > 0);
    return n < 0 ? -1 : 0;
}

struct json_doc *input_read_json(struct input *in, struct err *e)
{
    struct json_doc *doc = NULL;
    struct buf text = {0};

    if (!input_read_all(in, &text, e))
        doc = json_parse(buf_str(&text), text.len, e);
    buf_release(&text);
    return doc;
}

int input_is_packed(const struct input *in)
{
    return in->gz != NULL;
}

const char *input_damage(const struct input *in)
{
    return in->gz ? gunzip_damage(in->gz) : NULL;
}
