/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data, as `perf record` writes it: to a file, through a pipe, or (--threads) into a directory; of any
 * machine's byte order. No perf is needed. Samples become what the text of `perf script` would make of them:
 * a process is its comm, a sample counts as often as its period says, the first event is taken or that asked
 * for.
 */
#include "base/io.h"
#include "base/mem.h"
#include "exchange/import/perf_data_names.h"
#include "exchange/import/perf_data_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* When a file was last written; 0: it is none. */
static double time_written(int fd)
{
    struct stat st;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return 0;
    return (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
}

/* A file is mapped, what comes through a pipe or is packed is read first: names stand at its end. */
static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct perf_source from = {.written = time_written(in->fd), .event = in->event};
    struct io_map map = {0};
    struct buf all = {0};
    int rc;

    if (in->size && !input_is_packed(in) && !in->is_utf16) {
        rc = io_map_fd(in->fd, &map, e);
        in->bytes = map.n;
        from.p = map.p;
        from.n = map.n;
    } else {
        rc = input_read_all(in, &all, e);
        from.p = all.data;
        from.n = all.len;
    }
    if (!rc)
        rc = perf_source_read(&from, s, m, st, e);
    io_unmap(&map);
    buf_release(&all);
    return rc;
}

static int probe(const char *head, size_t n)
{
    return perf_file_is(head, n);
}

/* ---- directories ---- */

static char *part_path(const char *dir, int number)
{
    return number < 0 ? mem_printf("%s/data", dir) : mem_printf("%s/data.%d", dir, number);
}

static int probe_dir(const char *path)
{
    char *data = part_path(path, -1), head[16];
    int fd = open(data, O_RDONLY | O_CLOEXEC | O_NONBLOCK), is = 0;

    free(data);
    if (fd < 0)
        return 0;
    is = read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) && perf_file_is(head, sizeof(head));
    close(fd);
    return is;
}

/* data.0, data.1 ... of one thread of perf's each. */
static int read_parts(const char *dir, struct perf_source *from, struct store *s, struct meta *m,
                      struct import_stats *st, struct err *e)
{
    VEC(struct io_map) maps = {0};
    VEC(struct perf_part) parts = {0};
    int rc = 0;

    for (int i = 0; !rc; i++) {
        char *path = part_path(dir, i);
        struct io_map map;
        int there = !access(path, F_OK);

        rc = there ? io_map_file(path, &map, e) : 0;
        free(path);
        if (rc || !there)
            break;
        *vec_push(&maps) = map;
        *vec_push(&parts) = (struct perf_part){map.p, map.n};
        st->bytes += map.n;
    }
    from->parts = parts.a;
    from->parts_n = parts.n;
    if (!rc)
        rc = perf_source_read(from, s, m, st, e);
    for (size_t i = 0; i < maps.n; i++)
        io_unmap(&maps.a[i]);
    vec_release(&maps);
    vec_release(&parts);
    return rc;
}

static int run_dir(const char *path, const char *event, struct store *s, struct meta *m,
                   struct import_stats *st, struct err *e)
{
    struct perf_source from = {.event = event};
    char *data = part_path(path, -1);
    int fd = open(data, O_RDONLY | O_CLOEXEC), rc;
    struct io_map map = {0};

    rc = fd < 0 ? err_set(e, "it has no file named data, as perf record --threads writes it")
                : io_map_fd(fd, &map, e);
    if (!rc) {
        from.p = map.p;
        from.n = map.n;
        from.written = time_written(fd);
        st->bytes += map.n;
        rc = read_parts(path, &from, s, m, st, e);
    }
    io_unmap(&map);
    if (fd >= 0)
        close(fd);
    free(data);
    return rc;
}

const struct importer import_perf_data = {
    .name = "perf-data",
    .summary = "perf.data itself, as perf record wrote it: no perf is needed",
    .events = 1,
    .probe = probe,
    .run = run,
    .unnamed = perf_names_rest,
    .probe_dir = probe_dir,
    .run_dir = run_dir,
};
