/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/debugfile.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CRC32_POLY 0xedb88320u

/* The CRC-32 of a .gnu_debuglink (that of IEEE 802.3, reflected), continuing from crc (0 to start). */
static uint32_t crc32_of(uint32_t crc, const void *p, size_t n)
{
    uint32_t table[256];
    const uint8_t *s = p;

    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++)
            c = c & 1 ? CRC32_POLY ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    crc = ~crc;
    while (n--)
        crc = table[(crc ^ *s++) & 0xff] ^ crc >> 8;
    return ~crc;
}

static int has_build_id(const struct elf *f, const uint8_t *id, size_t len)
{
    uint8_t have[ELF_BUILD_ID_MAX];

    return len && elf_build_id(f, have) == len && !memcmp(have, id, len);
}

/* Takes `path` over. Silent when there is nothing: most places that are tried are empty. */
static int open_debugfile(struct debugfile *d, char *path)
{
    *d = (struct debugfile){.path = path};
    if (!elf_open(&d->elf, path, NULL))
        return 0;
    debugfile_release(d);
    return -1;
}

int debugfile_by_build_id(struct debugfile *d, const char *root, const uint8_t *id, size_t id_len,
                          const char *suffix)
{
    struct buf path = {0};

    *d = (struct debugfile){0};
    if (id_len < 2)
        return -1;
    buf_addf(&path, "%s/.build-id/%02x/", root ? root : DEBUG_ROOT, id[0]);
    for (size_t i = 1; i < id_len; i++)
        buf_addf(&path, "%02x", id[i]);
    buf_addstr(&path, suffix);
    if (open_debugfile(d, buf_detach(&path)))
        return -1;
    if (has_build_id(&d->elf, id, id_len))
        return 0;
    log_debug("%s: its build id is another one: ignored", d->path);
    debugfile_release(d);
    return -1;
}

/* A link is a file name, NUL, padding to 4 bytes, CRC. A name with a '/' would lead anywhere: refused. */
static int read_debuglink(const struct elf *f, char **name, uint32_t *crc)
{
    const struct elf_section *s = elf_section(f, ".gnu_debuglink");
    struct elf_data d;
    size_t len;
    int rc = -1;

    if (!s || elf_section_data(f, s, &d, NULL))
        return -1;
    len = strnlen((const char *)d.p, d.n);
    if (len && len < d.n && ((len + 4) & ~(size_t)3) + 4 <= d.n && !memchr(d.p, '/', len)) {
        *name = mem_strndup((const char *)d.p, len);
        memcpy(crc, d.p + ((len + 4) & ~(size_t)3), 4);
        rc = 0;
    }
    elf_data_release(&d);
    return rc;
}

/* Is the linked file the one that was split off f? */
static int belongs(const struct debugfile *d, const struct elf *f, uint32_t crc)
{
    uint8_t ours[ELF_BUILD_ID_MAX], theirs[ELF_BUILD_ID_MAX];
    size_t n = elf_build_id(f, ours);

    if (n && elf_build_id(&d->elf, theirs))
        return has_build_id(&d->elf, ours, n);
    return crc32_of(0, d->elf.p, d->elf.n) == crc;
}

static int try_link(struct debugfile *d, const struct elf *f, uint32_t crc, char *path)
{
    if (open_debugfile(d, path))
        return -1;
    if (belongs(d, f, crc))
        return 0;
    log_debug("%s: belongs to another build: ignored", d->path);
    debugfile_release(d);
    return -1;
}

static int find_in_dir(struct debugfile *d, const struct elf *f, const char *path, const char *root,
                       const char *name, uint32_t crc)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) : 0;
    char *beside = mem_printf("%.*s/%s", dir, path, name);
    int same = !strcmp(beside, path); /* a file that links to itself */
    int found;

    found = same ? -1 : try_link(d, f, crc, mem_strdup(beside));
    if (found)
        found = try_link(d, f, crc, mem_printf("%.*s/.debug/%s", dir, path, name));
    if (found)
        found = try_link(d, f, crc, mem_printf("%s%.*s/%s", root, dir, path, name));
    free(beside);
    return found;
}

int debugfile_find(struct debugfile *d, const struct elf *f, const char *path, const char *root)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    size_t id_len = elf_build_id(f, id);
    char *name, *real;
    uint32_t crc;
    int rc;

    if (!root)
        root = DEBUG_ROOT;
    if (id_len && !debugfile_by_build_id(d, root, id, id_len, ".debug"))
        return 0;
    *d = (struct debugfile){0};
    if (!path || path[0] != '/' || read_debuglink(f, &name, &crc))
        return -1;
    rc = find_in_dir(d, f, path, root, name, crc);
    real = rc ? realpath(path, NULL) : NULL;
    if (real && strcmp(real, path))
        rc = find_in_dir(d, f, real, root, name, crc);
    free(real);
    free(name);
    return rc;
}

void debugfile_release(struct debugfile *d)
{
    elf_close(&d->elf);
    free(d->path);
    *d = (struct debugfile){0};
}
