/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/kallsyms.h"

#include "base/io.h"
#include "base/mem.h"
#include "platform/elfsym.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_MAX                                                                                         \
    (1u << 20) /* farther from the nearest symbol than this is unlisted code: a BPF program, say */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Reads "ADDRESS TYPE NAME\t[MODULE]" from line[0..n), ended by a NUL. 0, or -1 when it is not such a line.
 */
static int parse_line(char *line, uint64_t *value, char *type, struct kallsyms_hit *hit)
{
    char *end, *s = line;
    uint64_t v = 0;
    int digit;

    for (; s - line < 16 && (digit = hex_digit(*s)) >= 0; s++)
        v = v << 4 | (unsigned)digit;
    if (s == line || s[0] != ' ' || !s[1] || s[2] != ' ' || !s[3])
        return -1;
    *value = hit->value = v;
    *type = s[1];
    hit->name = s += 3;
    hit->module = NULL;
    s += strcspn(s, " \t");
    if (!*s)
        return s == hit->name ? -1 : 0;
    *s++ = '\0';
    s += strspn(s, " \t");
    end = strchr(s, ']');
    if (*s == '[' && end) {
        *end = '\0';
        hit->module = s + 1;
    }
    return 0;
}

static int is_code(char type)
{
    return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Among symbols of one address: code, global (upper case), fewer leading underscores, shorter. */
static uint32_t score_of(const struct kallsyms_hit *h, char type)
{
    size_t underscores = strspn(h->name, "_"), length = strlen(h->name);

    return (uint32_t)h->code << 21 | (uint32_t)(type == 'T') << 20 |
           (uint32_t)(255 - (underscores > 255 ? 255 : underscores)) << 12 |
           (uint32_t)(4095 - (length > 4095 ? 4095 : length));
}

static void offer(struct kallsyms_hit *best, uint32_t *best_score, const struct kallsyms_hit *hit, char type)
{
    uint32_t score;

    if (best->name && best->value > hit->value)
        return;
    score = score_of(hit, type);
    if (best->name && best->value == hit->value && *best_score >= score)
        return;
    *best = *hit;
    *best_score = score;
}

/* The last symbol at or below an address may lie below the previous wanted address too. */
static void carry_over(const uint64_t *addrs, size_t n, struct kallsyms_hit *hits)
{
    const struct kallsyms_hit *last = NULL;

    for (size_t i = 0; i < n; i++) {
        if (hits[i].name)
            last = &hits[i];
        else if (last)
            hits[i] = *last;
    }
    for (size_t i = 0; i < n; i++)
        if (!hits[i].code || addrs[i] - hits[i].value > FUNCTION_MAX)
            hits[i] = (struct kallsyms_hit){0};
}

size_t kallsyms_parse(char *text, size_t len, const uint64_t *addrs, size_t n, struct kallsyms_hit *hits)
{
    uint32_t *scores = mem_calloc(n, sizeof(*scores));
    char *end = text + len;
    size_t seen = 0;

    memset(hits, 0, n * sizeof(*hits));
    for (char *line = text, *next; line < end; line = next) {
        char *nl = memchr(line, '\n', (size_t)(end - line)), type;
        struct kallsyms_hit hit;
        uint64_t value;
        size_t i;

        if (!nl)
            break; /* a line that was cut off */
        *nl = '\0';
        next = nl + 1;
        if (parse_line(line, &value, &type, &hit) || !value)
            continue;
        seen++;
        i = addr_lower(addrs, n, value);
        hit.code = is_code(type);
        if (i < n)
            offer(&hits[i], &scores[i], &hit, type);
    }
    carry_over(addrs, n, hits);
    free(scores);
    return seen;
}

int kallsyms_resolve(const char *proc_root, const uint64_t *addrs, size_t n, struct kallsyms_hit *hits,
                     char **text, struct err *e)
{
    char *path = mem_printf("%s/kallsyms", proc_root ? proc_root : "/proc");
    struct buf b = {0};
    int rc = io_read_file(AT_FDCWD, path, &b, e);
    size_t len = b.len;

    *text = buf_detach(&b);
    if (rc)
        err_wrap(e, "kernel symbols");
    else if (!kallsyms_parse(*text, len, addrs, n, hits))
        rc = err_set(e,
                     "kernel symbols: %s hides its addresses: record as root or with cap_syslog, or set "
                     "kernel.kptr_restrict to 0",
                     path);
    if (rc) {
        free(*text);
        *text = NULL;
    }
    free(path);
    return rc;
}

void kallsyms_functions(char *text, size_t len, kallsyms_function *each, void *arg)
{
    char *end = text + len, *name = NULL;
    uint64_t start = 0;

    for (char *line = text, *next; line < end; line = next) {
        char *nl = memchr(line, '\n', (size_t)(end - line)), type;
        struct kallsyms_hit hit;
        uint64_t value;

        if (!nl)
            break;
        *nl = '\0';
        next = nl + 1;
        if (parse_line(line, &value, &type, &hit) || !value)
            continue;
        if (name && value > start) {
            each(arg, name, start, value);
            name = NULL;
        }
        if (is_code(type) && !hit.module && (!name || value != start)) {
            name = (char *)hit.name;
            start = value;
        }
    }
}

static int read_text(const char *proc_root, struct buf *text, struct err *e)
{
    char *path = mem_printf("%s/kallsyms", proc_root ? proc_root : "/proc");
    int rc = io_read_file(AT_FDCWD, path, text, e);

    free(path);
    return rc;
}

int kallsyms_read(const char *proc_root, kallsyms_function *each, void *arg, struct err *e)
{
    struct buf b = {0};
    int rc = read_text(proc_root, &b, e);

    if (!rc)
        kallsyms_functions(b.data, b.len, each, arg);
    buf_release(&b);
    return rc;
}

uint64_t kallsyms_address(const char *proc_root, const char *name)
{
    struct kallsyms_hit hit;
    struct buf b = {0};
    uint64_t value, found = 0;
    char type, *nl;

    if (!read_text(proc_root, &b, NULL))
        for (char *line = b.data; line && !found && (nl = strchr(line, '\n')); line = nl + 1) {
            *nl = '\0';
            if (!parse_line(line, &value, &type, &hit) && !hit.module && !strcmp(hit.name, name))
                found = value;
        }
    buf_release(&b);
    return found;
}
