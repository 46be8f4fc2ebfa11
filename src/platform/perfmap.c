/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/perfmap.h"

#include "platform/clock.h"
#include "platform/elfsym.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_KEPT (PERFMAP_NAME_MAX + 64u) /* two numbers and a name */
#define FILE_MAX      (1ull << 30)
#define STEPS_MAX     (64u << 20)
#define NAMES_MAX     (256u << 20) /* bytes: replaced names stay until the end */

void perfmap_init(struct perfmap *m, const uint64_t *addrs, size_t n)
{
    *m = (struct perfmap){.addrs = addrs, .n = n, .name_of = mem_calloc(n, sizeof(*m->name_of))};
}

void perfmap_release(struct perfmap *m)
{
    free(m->name_of);
    buf_release(&m->names);
    buf_release(&m->line);
    *m = (struct perfmap){0};
}

static int parse_hex(const char **s, uint64_t *v)
{
    const char *p = *s;
    int digits = 0;

    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2;
    for (*v = 0;; p++, digits++) {
        unsigned char c = (unsigned char)(*p | 0x20), d;

        if (*p >= '0' && *p <= '9')
            d = (unsigned char)(*p - '0');
        else if (c >= 'a' && c <= 'f')
            d = (unsigned char)(c - 'a' + 10);
        else
            break;
        if (digits == 16)
            return -1;
        *v = *v << 4 | d;
    }
    if (!digits || *p != ' ')
        return -1;
    *s = p + 1;
    return 0;
}

/* The address range and the name of a line that ends in a NUL. */
static int parse_line(const char *line, uint64_t *start, uint64_t *size, const char **name)
{
    if (parse_hex(&line, start) || parse_hex(&line, size) || *start + *size < *start)
        return -1;
    *name = line + strspn(line, " ");
    return **name ? 0 : -1;
}

static void take_line(struct perfmap *m)
{
    size_t i, at = m->names.len + 1;
    uint64_t start, size;
    const char *name;

    if (m->line.len && m->line.data[m->line.len - 1] == '\r')
        m->line.data[--m->line.len] = '\0';
    if (!m->line.len)
        return;
    m->lines++;
    if (memchr(m->line.data, '\0', m->line.len) || parse_line(m->line.data, &start, &size, &name)) {
        m->bad++;
        return;
    }
    i = addr_lower(m->addrs, m->n, start);
    if (i == m->n || m->addrs[i] - start >= size)
        return;
    if (m->names.len > NAMES_MAX || m->steps > STEPS_MAX) {
        m->bad++;
        return;
    }
    buf_add(&m->names, name, strlen(name) + 1);
    for (; i < m->n && m->addrs[i] - start < size; i++, m->steps++)
        m->name_of[i] = at;
}

static void end_line(struct perfmap *m)
{
    if (m->skipping) {
        m->lines++;
        m->bad++;
    } else {
        take_line(m);
    }
    m->skipping = 0;
    buf_clear(&m->line);
}

void perfmap_feed(struct perfmap *m, const char *p, size_t n)
{
    while (n) {
        const char *nl = memchr(p, '\n', n);
        size_t part = nl ? (size_t)(nl - p) : n;

        if (m->line.len + part > LINE_MAX_KEPT)
            m->skipping = 1;
        if (!m->skipping)
            buf_add(&m->line, p, part);
        if (nl)
            end_line(m);
        p += nl ? part + 1 : part;
        n -= nl ? part + 1 : part;
    }
}

void perfmap_finish(struct perfmap *m)
{
    if (m->line.len || m->skipping)
        end_line(m);
}

const char *perfmap_name(const struct perfmap *m, size_t i)
{
    return m->name_of[i] ? m->names.data + m->name_of[i] - 1 : NULL;
}

#define CLOCK_SLACK NS /* start times are kept in clock ticks, files' in seconds on some filesystems */
#define NS          1000000000ll

int perfmap_is_older(const struct stat *map, uint64_t start_ns)
{
    int64_t now = (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)clock_ns(CLOCK_BOOTTIME);

    return map->st_mtim.tv_sec * NS + map->st_mtim.tv_nsec + CLOCK_SLACK < now + (int64_t)start_ns;
}

int perfmap_open_live(int pid, uint32_t own_pid, uint64_t start_ns)
{
    char path[128];
    struct stat st, process;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%u.map", pid, own_pid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d", pid);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || stat(path, &process) ||
        (st.st_uid && st.st_uid != process.st_uid) || (start_ns && perfmap_is_older(&st, start_ns))) {
        close(fd);
        return -1;
    }
    return fd;
}

int perfmap_read_fd(struct perfmap *m, int fd, struct err *e)
{
    char chunk[65536];

    for (uint64_t at = 0; at < FILE_MAX;) {
        ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "read");
        if (!n)
            break;
        perfmap_feed(m, chunk, (size_t)n);
        at += (uint64_t)n;
    }
    perfmap_finish(m);
    return 0;
}
