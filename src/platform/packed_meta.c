/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/packed_meta.h"

#include "base/io.h"
#include "base/json.h"
#include "model/session_dir.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void list(struct json_writer *w, const struct json_value *old, const struct meta *found)
{
    json_array(w, "artifacts");
    for (const struct json_value *v = old ? old->child : NULL; v; v = v->next)
        json_copy(w, NULL, v);
    for (size_t i = 0; i < found->artifacts.n; i++) {
        const struct meta_artifact *a = &found->artifacts.a[i];

        if (*a->sha256)
            meta_artifact_write(a, w);
    }
    json_end_array(w);
}

/* Members stay as they are and where they are, those too that this wprof does not know. */
static void rewrite(const struct json_value *root, const struct meta *found, struct buf *out)
{
    struct json_writer w = {.out = out, .indent = 2};
    int listed = 0;

    json_object(&w, NULL);
    for (const struct json_value *v = root->child; v; v = v->next)
        if (strcmp(v->key, "artifacts") != 0 || listed++)
            json_copy(&w, v->key, v);
        else
            list(&w, v->type == JSON_ARRAY ? v : NULL, found);
    if (!listed)
        list(&w, NULL, found);
    json_end_object(&w);
    buf_addch(out, '\n');
}

static int file_of(const struct buf *text, struct err *e)
{
    int fd = memfd_create(SESSION_META, MFD_CLOEXEC);

    if (fd < 0)
        return err_sys(e, errno, "room for " SESSION_META);
    if (!io_write_all(fd, text->data, text->len, e) && !lseek(fd, 0, SEEK_SET))
        return fd;
    close(fd);
    return -1;
}

static int with_list(int dirfd, const struct meta *found, struct err *e)
{
    struct buf old = {0}, text = {0};
    struct json_doc *doc = NULL;
    int fd = -1;

    if (!io_read_file(dirfd, SESSION_META, &old, e))
        doc = json_parse(buf_str(&old), old.len, e);
    if (doc) {
        rewrite(json_root(doc), found, &text);
        if (text.len > SESSION_META_MAX)
            err_set(e, "extra/ has too many files to list");
        else
            fd = file_of(&text, e);
    }
    json_free(doc);
    buf_release(&old);
    buf_release(&text);
    return fd;
}

int packed_meta(int dirfd, const struct meta *m, struct session_extra *extra, struct err *e)
{
    struct session_extra more;
    struct meta found = {0};
    int rc = session_unlisted(dirfd, SESSION_EXTRA, m, &found, 1, e);

    *extra = session_extra_count(m);
    more = session_extra_count(&found);
    extra->n += more.n;
    extra->bytes += more.bytes;
    extra->unsummed += more.unsummed;
    if (!rc && more.n > more.unsummed)
        rc = with_list(dirfd, &found, e);
    meta_release(&found);
    return rc;
}
