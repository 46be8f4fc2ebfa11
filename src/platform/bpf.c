/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/bpf.h"

#include "base/log.h"
#include "base/mem.h"
#include "platform/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wprof.skel.h"

const int bpfside_present = 1;

struct sink {
    bpfside_record *each;
    void *arg;
};

struct bpfside {
    struct wprof_bpf *skel;
    struct ring_buffer *control, *samples;
    struct sink control_to, samples_to;
    struct bpf_link *links[3];
    VEC(struct bpf_link *) samplers;
    struct wire_mapping *mappings;
    struct wire_table *tables;
    size_t mappings_n, tables_n;
    uint32_t rows;
    int stats_fd, epoll_fd;
};

static int talk(enum libbpf_print_level level, const char *fmt, va_list ap)
{
    char line[1024];
    size_t n;

    if (level == LIBBPF_DEBUG)
        return 0;
    vsnprintf(line, sizeof(line), fmt, ap);
    n = strlen(line);
    while (n && line[n - 1] == '\n')
        line[--n] = '\0';
    log_debug("%s", line);
    return 0;
}

static void *map_array(struct bpf_map *m, size_t *n, struct err *e)
{
    size_t size = (size_t)bpf_map__value_size(m) * bpf_map__max_entries(m);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);

    if (p == MAP_FAILED) {
        err_sys(e, errno, "map the BPF array %s", bpf_map__name(m));
        return NULL;
    }
    *n = bpf_map__max_entries(m);
    return p;
}

static int on_record(void *arg, void *data, size_t n)
{
    struct sink *s = arg;

    s->each(s->arg, data, n);
    return 0;
}

static int watch(struct bpfside *b, struct ring_buffer *ring, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLET}; /* each wakeup is followed by draining all */

    if (epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(ring), &ev) < 0)
        return err_sys(e, errno, "watch a BPF ring");
    return 0;
}

static int open_rings(struct bpfside *b, struct err *e)
{
    b->control = ring_buffer__new(bpf_map__fd(b->skel->maps.control), on_record, &b->control_to, NULL);
    b->samples = b->control
                     ? ring_buffer__new(bpf_map__fd(b->skel->maps.samples), on_record, &b->samples_to, NULL)
                     : NULL;
    if (!b->samples)
        return err_sys(e, errno, "open the BPF rings");
    b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (b->epoll_fd < 0)
        return err_sys(e, errno, "epoll_create1");
    return watch(b, b->control, e) || watch(b, b->samples, e) ? -1 : 0;
}

/* Lets the programs learn at which level of pid namespaces we are. Without it (before 5.10) we take the
 * initial one. */
static void learn_level(struct bpfside *b)
{
    LIBBPF_OPTS(bpf_test_run_opts, o);

    if (bpf_prog_test_run_opts(bpf_program__fd(b->skel->progs.own_level), &o))
        log_debug("BPF_PROG_TEST_RUN: %s", strerror(errno));
}

static int load(struct bpfside *b, const struct bpfside_settings *how, struct err *e)
{
    int rc;

    b->skel = wprof_bpf__open();
    if (!b->skel)
        return probe_explain(e, errno, "load BPF");
    b->skel->rodata->config_whole_machine = how->whole_machine;
    b->skel->rodata->config_clock = b->stats_fd < 0;
    bpf_map__set_max_entries(b->skel->maps.cpu_scratch, how->cpus);
    bpf_map__set_max_entries(b->skel->maps.rows, how->rows);
    bpf_map__set_max_entries(b->skel->maps.samples, how->ring_bytes);
    b->rows = how->rows;
    rc = wprof_bpf__load(b->skel);
    if (rc)
        return probe_explain(e, -rc, "load BPF");
    b->mappings = map_array(b->skel->maps.mappings, &b->mappings_n, e);
    if (!b->mappings)
        return -1;
    b->tables = map_array(b->skel->maps.tables, &b->tables_n, e);
    if (!b->tables)
        return -1;
    learn_level(b);
    return open_rings(b, e);
}

struct bpfside *bpfside_new(const struct bpfside_settings *how, struct err *e)
{
    struct bpfside *b = mem_calloc(1, sizeof(*b));

    b->epoll_fd = -1;
    libbpf_set_print(talk);
    b->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
    if (load(b, how, e) < 0) {
        bpfside_free(b);
        return NULL;
    }
    return b;
}

void bpfside_sample_stop(struct bpfside *b)
{
    for (size_t i = 0; i < b->samplers.n; i++)
        bpf_link__destroy(b->samplers.a[i]);
    vec_release(&b->samplers);
}

void bpfside_free(struct bpfside *b)
{
    if (!b)
        return;
    bpfside_sample_stop(b);
    for (size_t i = 0; i < ARRAY_SIZE(b->links); i++)
        bpf_link__destroy(b->links[i]);
    ring_buffer__free(b->samples);
    ring_buffer__free(b->control);
    if (b->mappings)
        munmap(b->mappings, b->mappings_n * sizeof(*b->mappings));
    if (b->tables)
        munmap(b->tables, b->tables_n * sizeof(*b->tables));
    if (b->epoll_fd >= 0)
        close(b->epoll_fd);
    if (b->stats_fd >= 0)
        close(b->stats_fd);
    wprof_bpf__destroy(b->skel);
    free(b);
}

int bpfside_follow(struct bpfside *b, struct err *e)
{
    struct bpf_program *progs[] = {b->skel->progs.proc_fork, b->skel->progs.proc_exec,
                                   b->skel->progs.proc_exit};

    for (size_t i = 0; i < ARRAY_SIZE(progs); i++) {
        b->links[i] = bpf_program__attach(progs[i]);
        if (!b->links[i])
            return err_sys(e, errno, "attach BPF to %s", bpf_program__section_name(progs[i]));
    }
    return 0;
}

int bpfside_sample(struct bpfside *b, int perf_fd, struct err *e)
{
    struct bpf_link *l = bpf_program__attach_perf_event(b->skel->progs.cpu_sample, perf_fd);

    if (!l)
        return err_sys(e, errno, "attach BPF to a perf event");
    *vec_push(&b->samplers) = l;
    return 0;
}

int bpfside_threads(struct bpfside *b, struct bpfside_threads *out, struct err *e)
{
    struct bpf_link *l = bpf_program__attach_iter(b->skel->progs.each_thread, NULL);
    ssize_t n = 0;
    int fd;

    if (!l)
        return err_sys(e, errno, "list threads by BPF");
    fd = bpf_iter_create(bpf_link__fd(l));
    if (fd < 0) {
        bpf_link__destroy(l);
        return err_sys(e, errno, "list threads by BPF");
    }
    /* One read gives whole records as far as they fit: the kernel's buffer is 8 pages, and so is ours. */
    do {
        vec_reserve(&out->list, out->list.n + 512);
        n = read(fd, &out->list.a[out->list.n], 512 * sizeof(*out->list.a));
        if (n > 0)
            out->list.n += (size_t)n / sizeof(*out->list.a);
    } while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
    if (n < 0)
        err_sys(e, errno, "list threads by BPF");
    close(fd);
    bpf_link__destroy(l);
    return n < 0 ? -1 : 0;
}

int bpfside_add_proc(struct bpfside *b, uint32_t tgid, const struct wire_proc *p)
{
    return bpf_map_update_elem(bpf_map__fd(b->skel->maps.procs), &tgid, p, BPF_NOEXIST);
}

int bpfside_set_proc(struct bpfside *b, uint32_t tgid, const struct wire_proc *p)
{
    return bpf_map_update_elem(bpf_map__fd(b->skel->maps.procs), &tgid, p, BPF_EXIST);
}

int bpfside_get_proc(struct bpfside *b, uint32_t tgid, struct wire_proc *p)
{
    return bpf_map_lookup_elem(bpf_map__fd(b->skel->maps.procs), &tgid, p);
}

void bpfside_del_proc(struct bpfside *b, uint32_t tgid)
{
    bpf_map_delete_elem(bpf_map__fd(b->skel->maps.procs), &tgid);
}

int bpfside_set_layout(struct bpfside *b, uint32_t i, const struct py_layout *l)
{
    uint8_t value[(sizeof(*l) + 7) & ~7u] = {0}; /* an array's values are copied in multiples of 8 bytes */

    memcpy(value, l, sizeof(*l));
    return bpf_map_update_elem(bpf_map__fd(b->skel->maps.py_layouts), &i, value, BPF_ANY);
}

int bpfside_set_python(struct bpfside *b, uint32_t tgid, const struct py_proc *p)
{
    return bpf_map_update_elem(bpf_map__fd(b->skel->maps.py_procs), &tgid, p, BPF_ANY);
}

void bpfside_del_python(struct bpfside *b, uint32_t tgid)
{
    bpf_map_delete_elem(bpf_map__fd(b->skel->maps.py_procs), &tgid);
}

struct wire_mapping *bpfside_mappings(struct bpfside *b, size_t *n)
{
    *n = b->mappings_n;
    return b->mappings;
}

struct wire_table *bpfside_tables(struct bpfside *b, size_t *n)
{
    *n = b->tables_n;
    return b->tables;
}

/* A window only: mapping the array whole would bring all its pages into our resident size at once. */
int bpfside_write_rows(struct bpfside *b, uint32_t first, const struct unw_row *rows, uint32_t n,
                       struct err *e)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = (size_t)first * sizeof(*rows), skip = at % page;
    size_t size = skip + (size_t)n * sizeof(*rows);
    char *p;

    if ((size_t)first + n > b->rows)
        return err_set(e, "the array of unwind rows is full");
    p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(b->skel->maps.rows),
             (off_t)(at - skip));
    if (p == MAP_FAILED)
        return err_sys(e, errno, "map the array of unwind rows");
    memcpy(p + skip, rows, (size_t)n * sizeof(*rows));
    munmap(p, size);
    return 0;
}

int bpfside_fd(const struct bpfside *b)
{
    return b->epoll_fd;
}

int bpfside_drain_control(struct bpfside *b, bpfside_record *each, void *arg)
{
    b->control_to = (struct sink){each, arg};
    return ring_buffer__consume(b->control);
}

int bpfside_drain_samples(struct bpfside *b, bpfside_record *each, void *arg)
{
    b->samples_to = (struct sink){each, arg};
    return ring_buffer__consume(b->samples);
}

void bpfside_lost(struct bpfside *b, struct wire_lost *sum)
{
    int cpus = libbpf_num_possible_cpus();
    struct wire_lost *each = mem_calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*each));
    uint32_t zero = 0;

    *sum = (struct wire_lost){0};
    if (cpus > 0 && !bpf_map_lookup_elem(bpf_map__fd(b->skel->maps.lost), &zero, each))
        for (int i = 0; i < cpus; i++) {
            sum->samples += each[i].samples;
            sum->control += each[i].control;
            sum->procs += each[i].procs;
            sum->cost_ns += each[i].cost_ns;
            sum->cost_runs += each[i].cost_runs;
        }
    free(each);
}

void bpfside_cost(struct bpfside *b, int say, uint64_t *ns, uint64_t *runs)
{
    struct bpf_program *p;

    struct wire_lost counted;

    *ns = *runs = 0;
    if (b->stats_fd < 0) { /* that takes CAP_SYS_ADMIN: our programs have looked at the clock instead */
        bpfside_lost(b, &counted);
        *ns = counted.cost_ns;
        *runs = counted.cost_runs;
        return;
    }
    bpf_object__for_each_program(p, b->skel->obj)
    {
        struct bpf_prog_info info = {0};
        __u32 size = sizeof(info);

        if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
            continue;
        if (say)
            log_debug("BPF program %s: %llu runs, %llu ns", info.name, (unsigned long long)info.run_cnt,
                      (unsigned long long)info.run_time_ns);
        *ns += info.run_time_ns;
        *runs += info.run_cnt;
    }
}
