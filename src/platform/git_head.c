/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/git_head.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first line of a file, or NULL. */
static char *first_line(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name), *line = NULL;
    struct buf text = {0};

    if (!io_read_file(AT_FDCWD, path, &text, NULL))
        line = mem_strndup(buf_str(&text), strcspn(buf_str(&text), "\r\n"));
    buf_release(&text);
    free(path);
    return line;
}

static char *beside(const char *dir, const char *path)
{
    return *path == '/' ? mem_strdup(path) : mem_printf("%s/%s", dir, path);
}

/* A folder, or in other work trees and submodules a file "gitdir: PATH". */
static char *git_dir_of(const char *dir)
{
    char *path = mem_printf("%s/.git", dir), *line, *found = NULL;
    struct stat st;

    if (stat(path, &st)) {
        free(path);
        return NULL;
    }
    if (S_ISDIR(st.st_mode))
        return path;
    line = first_line(dir, ".git");
    if (line && !strncmp(line, "gitdir: ", 8))
        found = beside(dir, line + 8);
    free(line);
    free(path);
    return found;
}

static char *find_git_dir(const char *dir)
{
    char *at = realpath(dir, NULL), *found = NULL;

    while (at && *at && !(found = git_dir_of(at)))
        *strrchr(at, '/') = '\0';
    free(at);
    return found;
}

static char *packed_ref(const char *dir, const char *ref)
{
    char *path = mem_printf("%s/packed-refs", dir), *found = NULL;
    struct buf text = {0};
    size_t n = strlen(ref);

    if (!io_read_file(AT_FDCWD, path, &text, NULL))
        for (char *line = text.data; line && *line && !found;
             line += strcspn(line, "\n"), line += *line == '\n') {
            size_t hex = strspn(line, "0123456789abcdef");

            if (line[hex] == ' ' && !strncmp(line + hex + 1, ref, n) && line[hex + 1 + n] == '\n')
                found = mem_strndup(line, hex);
        }
    buf_release(&text);
    free(path);
    return found;
}

static char *resolve(const char *git_dir, const char *ref)
{
    char *common = first_line(git_dir, "commondir"),
         *dir = common ? beside(git_dir, common) : mem_strdup(git_dir);
    char *commit = first_line(dir, ref);

    if (!commit)
        commit = packed_ref(dir, ref);
    free(common);
    free(dir);
    return commit;
}

void git_head_read(struct git_head *h, const char *dir)
{
    char *git_dir = find_git_dir(dir), *head = git_dir ? first_line(git_dir, "HEAD") : NULL;
    const char *heads = "ref: refs/heads/";

    *h = (struct git_head){0};
    if (head && !strncmp(head, "ref: ", 5)) {
        if (!strncmp(head, heads, strlen(heads)))
            h->branch = mem_strdup(head + strlen(heads));
        h->commit = resolve(git_dir, head + 5);
    } else if (head) {
        h->commit = mem_strdup(head);
    }
    if (h->commit && (strlen(h->commit) < 40 || !isxdigit((unsigned char)*h->commit))) {
        free(h->commit);
        h->commit = NULL;
    }
    free(head);
    free(git_dir);
}

void git_head_release(struct git_head *h)
{
    free(h->branch);
    free(h->commit);
    *h = (struct git_head){0};
}
