/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/numa_maps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct numa_pages *pages_of(struct numa_maps *m, unsigned node)
{
    size_t at = 0;

    while (at < m->nodes.n && m->nodes.a[at].node < node)
        at++;
    if (at == m->nodes.n || m->nodes.a[at].node != node) {
        (void)vec_push(&m->nodes);
        memmove(&m->nodes.a[at + 1], &m->nodes.a[at], (m->nodes.n - 1 - at) * sizeof(*m->nodes.a));
        m->nodes.a[at] = (struct numa_pages){.node = node};
    }
    return &m->nodes.a[at];
}

/* The number behind `key` in one of the words of a line; `otherwise` where none begins so. */
static uint64_t word_number(const char *line, size_t n, const char *key, uint64_t otherwise)
{
    size_t len = strlen(key);

    for (const char *p = line; (p = memchr(p, ' ', n - (size_t)(p - line))); p++)
        if ((size_t)(line + n - p) > len + 1 && !strncmp(p + 1, key, len))
            return strtoull(p + 1 + len, NULL, 10);
    return otherwise;
}

/* "7f10 default anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4" */
static int parse_line(struct numa_maps *m, const char *line, size_t n)
{
    uint64_t size = word_number(line, n, "kernelpagesize_kB=", 4) << 10;
    int is_file = 0;

    if (!isxdigit((unsigned char)*line) || !memchr(line, ' ', n) || size > UINT64_C(1) << 40)
        return -1;
    for (const char *p = line; (p = memchr(p, ' ', n - (size_t)(p - line))); p++)
        is_file |= (size_t)(line + n - p) > 6 && !strncmp(p + 1, "file=", 5);
    for (const char *p = line; (p = memchr(p, ' ', n - (size_t)(p - line))); p++) {
        unsigned long long node, pages;
        char *end;

        if (p[1] != 'N' || !isdigit((unsigned char)p[2]))
            continue;
        node = strtoull(p + 2, &end, 10);
        if (*end != '=' || node >= NUMA_MAPS_NODES)
            return -1;
        pages = strtoull(end + 1, NULL, 10);
        if (pages > UINT64_MAX / (UINT64_C(1) << 41)) /* more bytes than a machine has, and sums stay whole */
            return -1;
        if (is_file)
            pages_of(m, (unsigned)node)->file += pages * size;
        else
            pages_of(m, (unsigned)node)->anon += pages * size;
    }
    return 0;
}

size_t numa_maps_parse(struct numa_maps *m, const char *text)
{
    size_t bad = 0;

    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");

        bad += n && parse_line(m, line, n);
        line += n + (line[n] == '\n');
    }
    return bad;
}

void numa_maps_release(struct numa_maps *m)
{
    vec_release(&m->nodes);
}

uint64_t numa_maps_bytes(const struct numa_maps *m, int anon_only)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->nodes.n; i++)
        sum += m->nodes.a[i].anon + (anon_only ? 0 : m->nodes.a[i].file);
    return sum;
}
