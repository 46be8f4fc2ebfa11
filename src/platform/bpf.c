/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/bpf.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "platform/clock.h"
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

struct links {
    VEC(struct bpf_link *) list;
};

struct bpfside {
    struct wprof_bpf *skel;
    struct ring_buffer *control, *samples;
    struct sink control_to, samples_to;
    struct bpf_link *links[4];
    struct links samplers, off, used, flows, gpu;
    int flow_exits, gpu_wanted; /* flow_exits: flows are counted where functions return */
    /* Why the kernel would not load the programs for off-CPU time, for flows, for what threads use and for
     * calls of CUDA's libraries; "": it has. */
    struct err off_refused, flows_refused, used_refused, gpu_refused;
    struct wire_mapping *mappings;
    struct wire_table *tables;
    size_t mappings_n, tables_n;
    uint32_t rows;
    int stats_fd, epoll_fd;
};

/* libbpf's talk, the verifier's log in it, line by line. */
static int talk(enum libbpf_print_level level, const char *fmt, va_list ap)
{
    struct buf text = {0};
    char *rest, *line;

    if (level == LIBBPF_DEBUG)
        return 0;
    buf_vaddf(&text, fmt, ap);
    for (rest = text.data; (line = strsep(&rest, "\n"));)
        if (*line)
            log_debug("%s", line);
    buf_release(&text);
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

/* The programs for off-CPU time: n of them; the first three run at the beginning and at the end. */
enum { OFF_BEGIN, OFF_REST, OFF_END, OFF_FIRST_ATTACHED, OFF_PROGRAMS = OFF_FIRST_ATTACHED + 4 };

static void off_programs(const struct bpfside *b, struct bpf_program *progs[OFF_PROGRAMS])
{
    progs[OFF_BEGIN] = b->skel->progs.off_begin;
    progs[OFF_REST] = b->skel->progs.off_rest;
    progs[OFF_END] = b->skel->progs.off_end;
    progs[OFF_FIRST_ATTACHED] = b->skel->progs.off_fork;
    progs[OFF_FIRST_ATTACHED + 1] = b->skel->progs.off_waking;
    progs[OFF_FIRST_ATTACHED + 2] = b->skel->progs.off_wakeup;
    progs[OFF_FIRST_ATTACHED + 3] = b->skel->progs.off_switch;
}

/* The programs for what threads use; those from USED_FIRST_ATTACHED on are attached. */
enum { USED_BEGIN, USED_LOOK, USED_FIRST_ATTACHED, USED_PROGRAMS = 5 };

static void used_programs(const struct bpfside *b, struct bpf_program *progs[USED_PROGRAMS])
{
    progs[USED_BEGIN] = b->skel->progs.used_begin;
    progs[USED_LOOK] = b->skel->progs.used_look;
    progs[USED_FIRST_ATTACHED] = b->skel->progs.used_fork;
    progs[USED_FIRST_ATTACHED + 1] = b->skel->progs.used_migrate;
    progs[USED_FIRST_ATTACHED + 2] = b->skel->progs.used_exit;
}

static void leave_out(struct bpf_program *const *progs, size_t n, struct bpf_map *tasks)
{
    for (size_t i = 0; i < n; i++)
        bpf_program__set_autoload(progs[i], false);
    bpf_map__set_autocreate(tasks, false);
}

/* The programs for what goes over sockets and pipes: of pipes on demand; of sockets at tracepoints, or where
 * functions return. */
enum { FLOW_PIPE, FLOW_STATE, FLOW_POINTS, FLOW_EXITS = FLOW_POINTS + 2, FLOW_PROGRAMS = FLOW_EXITS + 8 };

static void flow_programs(const struct bpfside *b, struct bpf_program *progs[FLOW_PROGRAMS])
{
    struct bpf_program *all[FLOW_PROGRAMS] = {
        b->skel->progs.flow_pipe,
        b->skel->progs.flow_state,
        b->skel->progs.flow_send,
        b->skel->progs.flow_receive,
        b->skel->progs.flow_exit_inet_sendmsg,
        b->skel->progs.flow_exit_inet6_sendmsg,
        b->skel->progs.flow_exit_unix_stream_sendmsg,
        b->skel->progs.flow_exit_unix_dgram_sendmsg,
        b->skel->progs.flow_exit_inet_recvmsg,
        b->skel->progs.flow_exit_inet6_recvmsg,
        b->skel->progs.flow_exit_unix_stream_recvmsg,
        b->skel->progs.flow_exit_unix_dgram_recvmsg,
    };

    memcpy(progs, all, sizeof(all));
}

static void leave_out_flows(const struct bpfside *b, struct bpf_program *const *progs)
{
    leave_out(progs, FLOW_PROGRAMS, b->skel->maps.flows);
    bpf_map__set_autocreate(b->skel->maps.flow_active, false);
}

/* Groups of programs that a recording can do without. */
enum { WITH_OFF = 1, WITH_USED = 2, WITH_FLOWS = 4, WITH_EXITS = 8, WITH_LATE = 16 /* with WITH_OFF */ };

/* 0, or an error's number. */
static int open_and_load(struct bpfside *b, const struct bpfside_settings *how, unsigned with)
{
    struct bpf_program *progs[OFF_PROGRAMS], *used_progs[USED_PROGRAMS], *flow_progs[FLOW_PROGRAMS];
    struct clock_ahead ahead;

    b->skel = wprof_bpf__open();
    if (!b->skel)
        return errno;
    clock_ahead_read(&ahead);
    off_programs(b, progs);
    used_programs(b, used_progs);
    flow_programs(b, flow_progs);
    if (!(with & WITH_OFF))
        leave_out(progs, OFF_PROGRAMS, b->skel->maps.off_tasks);
    if (!(with & WITH_USED))
        leave_out(used_progs, USED_PROGRAMS, b->skel->maps.used_tasks);
    if (!(with & (WITH_FLOWS | WITH_EXITS)))
        leave_out_flows(b, flow_progs);
    for (size_t i = FLOW_POINTS; i < FLOW_PROGRAMS; i++)
        bpf_program__set_autoload(flow_progs[i], (with & (i < FLOW_EXITS ? WITH_FLOWS : WITH_EXITS)) != 0);
    b->flow_exits = (with & WITH_EXITS) != 0;
    bpf_program__set_autoload(b->skel->progs.dump_regs, false);
    bpf_program__set_autoload(b->skel->progs.gpu_call, b->gpu_wanted);
    b->skel->rodata->config_whole_machine = how->whole_machine;
    b->skel->rodata->config_clock = b->stats_fd < 0;
    b->skel->rodata->config_monotonic_ahead = ahead.monotonic;
    b->skel->rodata->config_boottime_ahead = ahead.boottime;
    b->skel->rodata->config_late = (with & WITH_LATE) != 0;
    b->skel->rodata->config_row_sets = /* what does for four CPUs, as often as there are so many */
        bpf_map__max_entries(b->skel->maps.row_sets) * ((how->cpus + 3) / 4);
    bpf_map__set_max_entries(b->skel->maps.row_sets, b->skel->rodata->config_row_sets);
    bpf_map__set_max_entries(b->skel->maps.cpu_scratch, how->cpus);
    bpf_map__set_max_entries(b->skel->maps.gpu_scratch, b->gpu_wanted ? how->cpus : 1);
    bpf_map__set_max_entries(b->skel->maps.gpu_cpus, b->gpu_wanted ? how->cpus : 1);
    bpf_map__set_max_entries(b->skel->maps.off_scratch, with & WITH_OFF ? how->cpus : 1);
    bpf_map__set_max_entries(b->skel->maps.rows, how->rows);
    bpf_map__set_max_entries(b->skel->maps.samples, how->ring_bytes);
    b->rows = how->rows;
    return -wprof_bpf__load(b->skel);
}

/* Tests have it as older kernels do: "exits", or "none". */
static const char flows_variable[] = "WPROF_FLOWS";

/* A kernel may take the others: before 6.3 it has no tracepoints for flows. */
static int load_with_flows(struct bpfside *b, const struct bpfside_settings *how)
{
    const char *forced = getenv(flows_variable);
    int rc = -1;

    if (!forced || !*forced) {
        rc = open_and_load(b, how, WITH_OFF | WITH_USED | WITH_FLOWS | WITH_LATE);
        if (rc) {
            wprof_bpf__destroy(b->skel);
            rc = open_and_load(b, how, WITH_OFF | WITH_USED | WITH_FLOWS);
        }
    }
    if (rc && (!forced || strcmp(forced, "none") != 0)) {
        wprof_bpf__destroy(b->skel);
        rc = open_and_load(b, how, WITH_OFF | WITH_USED | WITH_EXITS);
    }
    if (!rc)
        return 0;
    wprof_bpf__destroy(b->skel);
    if (rc > 0)
        err_sys(&b->flows_refused, rc, "the kernel refuses the BPF programs for flows (-v shows why)");
    else
        err_set(&b->flows_refused, "%s says so", flows_variable);
    return open_and_load(b, how, WITH_OFF | WITH_USED);
}

static int load(struct bpfside *b, const struct bpfside_settings *how, struct err *e)
{
    int rc, without;

    b->gpu_wanted = how->gpu_calls;
    rc = load_with_flows(b, how);
    if (rc && b->gpu_wanted) {
        wprof_bpf__destroy(b->skel);
        err_sys(&b->gpu_refused, rc,
                "the kernel refuses the BPF program for calls of CUDA's libraries (-v shows why)");
        b->gpu_wanted = 0;
        b->flows_refused.msg[0] = '\0';
        rc = load_with_flows(b, how);
    }
    if (rc) {
        wprof_bpf__destroy(b->skel);
        err_sys(&b->used_refused, rc,
                "the kernel refuses the BPF programs for what threads use (-v shows why)");
        rc = open_and_load(b, how, WITH_OFF);
    }
    if (rc) {
        wprof_bpf__destroy(b->skel);
        without = open_and_load(b, how, 0);
        if (without)
            return probe_explain(e, without, "load BPF");
        err_sys(&b->off_refused, rc, "the kernel refuses the BPF programs for off-CPU time (-v shows why)");
    }
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

static void detach(struct links *l)
{
    for (size_t i = 0; i < l->list.n; i++)
        bpf_link__destroy(l->list.a[i]);
    vec_release(&l->list);
}

/* Attaches p where its section says. On failure all are detached: -1 with `e`. */
static int attach(struct links *to, struct bpf_program *p, struct err *e)
{
    struct bpf_link *l = bpf_program__attach(p);

    if (!l) {
        err_sys(e, errno, "attach BPF to %s", bpf_program__section_name(p));
        detach(to);
        return -1;
    }
    *vec_push(&to->list) = l;
    return 0;
}

void bpfside_sample_stop(struct bpfside *b)
{
    detach(&b->samplers);
}

void bpfside_free(struct bpfside *b)
{
    if (!b)
        return;
    bpfside_sample_stop(b);
    detach(&b->off);
    bpfside_used_stop(b);
    bpfside_flows_stop(b);
    bpfside_gpu_stop(b);
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
                                   b->skel->progs.proc_exit, b->skel->progs.proc_free};

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
    *vec_push(&b->samplers.list) = l;
    return 0;
}

enum { ITERATOR_ROOM = 64 << 10 }; /* the kernel's buffer is 8 pages */

/* Runs an iterator over all tasks; what it writes, whole records, is appended to out. */
static int run_iterator(struct bpf_program *p, struct buf *out, const char *what, struct err *e)
{
    struct bpf_link *l = bpf_program__attach_iter(p, NULL);
    int fd = l ? bpf_iter_create(bpf_link__fd(l)) : -1;
    ssize_t n = fd < 0 ? -1 : 0;

    if (fd >= 0) {
        do {
            buf_reserve(out, ITERATOR_ROOM);
            n = read(fd, out->data + out->len, ITERATOR_ROOM);
            if (n > 0)
                out->len += (size_t)n;
        } while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
    }
    if (n < 0)
        err_sys(e, errno, "%s", what);
    if (fd >= 0)
        close(fd);
    bpf_link__destroy(l);
    return n < 0 ? -1 : 0;
}

/* The records into a vector of them. */
#define iterate(p, list, what, e)                                                                            \
    ({                                                                                                       \
        struct buf records_ = {0};                                                                           \
        int rc_ = run_iterator(p, &records_, what, e);                                                       \
        size_t n_ = records_.len / sizeof(*(list)->a);                                                       \
                                                                                                             \
        vec_reserve(list, (list)->n + n_);                                                                   \
        if (n_)                                                                                              \
            memcpy(&(list)->a[(list)->n], records_.data, n_ * sizeof(*(list)->a));                           \
        (list)->n += n_;                                                                                     \
        buf_release(&records_);                                                                              \
        rc_;                                                                                                 \
    })

/* One that only does something. */
static int run_once(struct bpf_program *p, const char *what, struct err *e)
{
    struct buf nothing = {0};
    int rc = run_iterator(p, &nothing, what, e);

    buf_release(&nothing);
    return rc;
}

int bpfside_threads(struct bpfside *b, struct bpfside_threads *out, struct err *e)
{
    return iterate(b->skel->progs.each_thread, &out->list, "list threads by BPF", e);
}

int bpfside_holders(struct bpfside *b, int all, struct bpfside_holders *out, struct err *e)
{
    b->skel->bss->holders_all = (uint32_t)all;
    return iterate(b->skel->progs.each_holder, &out->list, "list files by BPF", e);
}

/* Everything but the two programs stays out. */
static void only_regs(struct wprof_bpf *skel)
{
    struct bpf_program *p;
    struct bpf_map *m;

    bpf_object__for_each_program(p, skel->obj)
        bpf_program__set_autoload(p, p == skel->progs.dump_regs || p == skel->progs.own_level);
    bpf_object__for_each_map(m, skel->obj) if (!bpf_map__is_internal(m)) bpf_map__set_autocreate(m, false);
}

int bpfside_regs(struct bpfside_regs *out, struct err *e)
{
    struct bpfside b = {.epoll_fd = -1};
    int rc;

    libbpf_set_print(talk);
    b.skel = wprof_bpf__open();
    if (!b.skel)
        return err_sys(e, errno, "open BPF");
    only_regs(b.skel);
    rc = wprof_bpf__load(b.skel);
    if (rc) {
        err_sys(e, -rc, "load BPF");
    } else {
        learn_level(&b);
        rc = iterate(b.skel->progs.dump_regs, &out->list, "read registers by BPF", e);
    }
    wprof_bpf__destroy(b.skel);
    return rc ? -1 : 0;
}

/* ---- off-CPU time ---- */

int bpfside_off_start(struct bpfside *b, const struct wire_off_config *how, struct err *e)
{
    struct bpf_program *progs[OFF_PROGRAMS];

    if (b->off_refused.msg[0]) {
        *e = b->off_refused;
        return -1;
    }
    off_programs(b, progs);
    b->skel->bss->off_config = *how;
    for (size_t i = OFF_FIRST_ATTACHED; i < OFF_PROGRAMS; i++)
        if (attach(&b->off, progs[i], e) < 0)
            return -1;
    return run_once(progs[OFF_BEGIN], "enter threads by BPF", e);
}

int bpfside_off_rest(struct bpfside *b, struct err *e)
{
    return run_once(b->skel->progs.off_rest, "find blocked threads by BPF", e);
}

int bpfside_off_stop(struct bpfside *b, struct err *e)
{
    detach(&b->off);
    return run_once(b->skel->progs.off_end, "end open spans by BPF", e);
}

/* ---- what threads use ---- */

int bpfside_used_start(struct bpfside *b, struct err *e)
{
    struct bpf_program *progs[USED_PROGRAMS];

    if (b->used_refused.msg[0]) {
        *e = b->used_refused;
        return -1;
    }
    used_programs(b, progs);
    for (size_t i = USED_FIRST_ATTACHED; i < USED_PROGRAMS; i++)
        if (attach(&b->used, progs[i], e) < 0)
            return -1;
    return run_once(progs[USED_BEGIN], "enter threads by BPF", e);
}

int bpfside_used_look(struct bpfside *b, struct bpfside_used *out, struct err *e)
{
    return iterate(b->skel->progs.used_look, &out->list, "look at threads by BPF", e);
}

void bpfside_used_stop(struct bpfside *b)
{
    detach(&b->used);
}

/* ---- what goes over sockets and pipes ---- */

int bpfside_flows_start(struct bpfside *b, int pipes, struct err *e)
{
    struct bpf_program *progs[FLOW_PROGRAMS];

    if (b->flows_refused.msg[0]) {
        *e = b->flows_refused;
        return -1;
    }
    flow_programs(b, progs);
    for (size_t i = 0; i < FLOW_PROGRAMS; i++) {
        int wanted = i == FLOW_PIPE ? pipes : i == FLOW_STATE ? 1 : b->flow_exits == (i >= FLOW_EXITS);

        if (wanted && attach(&b->flows, progs[i], e) < 0)
            return -1;
    }
    return 0;
}

void bpfside_flows_stop(struct bpfside *b)
{
    detach(&b->flows);
}

int bpfside_flows_by_exits(const struct bpfside *b)
{
    return b->flow_exits;
}

size_t bpfside_flows_made(const struct bpfside *b)
{
    return b->flows_refused.msg[0] ? 0 : b->skel->bss->flow_entries;
}

/* A flow that is added meanwhile is met now or the next time. */
int bpfside_flows_take(struct bpfside *b, int empty, struct bpfside_flows *out, struct err *e)
{
    int fd = bpf_map__fd(b->skel->maps.flows), rc = 0;
    struct wire_flow_key key, next, *at = NULL;

    if (b->flows_refused.msg[0])
        return 0;
    if (empty)
        b->skel->bss->flow_entries = 0;
    rc = bpf_map_get_next_key(fd, at, &next);
    while (!rc) {
        struct bpfside_flow *f;

        key = next;
        at = &key;
        rc = bpf_map_get_next_key(fd, at, &next); /* before it is deleted: else it begins again */
        vec_reserve(&out->list, out->list.n + 1);
        f = &out->list.a[out->list.n];
        f->key = key;
        if (empty ? !bpf_map_lookup_and_delete_elem(fd, &key, &f->flow)
                  : !bpf_map_lookup_elem(fd, &key, &f->flow))
            out->list.n++;
    }
    return rc == -ENOENT ? 0 : err_sys(e, -rc, "read flows from BPF");
}

/* Adds up over the CPUs what the values of a key end with: n words of 64 bits. */
static void sum_cpus(const struct bpf_map *map, uint32_t key, uint64_t *sum, size_t n)
{
    int cpus = libbpf_num_possible_cpus();
    size_t size = (bpf_map__value_size(map) + 7) & ~(size_t)7, skip = size - n * sizeof(*sum);
    char *each = mem_calloc(cpus > 0 ? (size_t)cpus : 1, size);
    uint64_t v;

    memset(sum, 0, n * sizeof(*sum));
    if (cpus > 0 && !bpf_map_lookup_elem(bpf_map__fd(map), &key, each))
        for (size_t i = 0; i < (size_t)cpus * n; i++) {
            memcpy(&v, each + i / n * size + skip + i % n * sizeof(v), sizeof(v));
            sum[i % n] += v;
        }
    free(each);
}

void bpfside_off_stats(struct bpfside *b, struct wire_off_stats *sum)
{
    sum_cpus(b->skel->maps.off_cpus, 0, (uint64_t *)sum, sizeof(*sum) / sizeof(uint64_t));
}

int bpfside_gpu_ready(const struct bpfside *b, struct err *e)
{
    if (b->gpu_refused.msg[0])
        return err_set(e, "%s", b->gpu_refused.msg);
    return b->gpu_wanted ? 0 : err_set(e, "it was not asked for");
}

int bpfside_gpu_attach(struct bpfside *b, const char *path, const char *name, uint32_t which, struct err *e)
{
    LIBBPF_OPTS(bpf_uprobe_opts, o, .bpf_cookie = which, .func_name = name);
    struct bpf_link *l = bpf_program__attach_uprobe_opts(b->skel->progs.gpu_call, -1, path, 0, &o);

    if (!l)
        return err_sys(e, errno, "attach BPF to %s of %s", name, path);
    *vec_push(&b->gpu.list) = l;
    return 0;
}

void bpfside_gpu_calls(struct bpfside *b, uint32_t which, struct wire_gpu_calls *sum)
{
    sum_cpus(b->skel->maps.gpu_calls, which, (uint64_t *)sum, sizeof(*sum) / sizeof(uint64_t));
}

void bpfside_gpu_stop(struct bpfside *b)
{
    detach(&b->gpu);
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
    sum_cpus(b->skel->maps.lost, 0, (uint64_t *)sum, sizeof(*sum) / sizeof(uint64_t));
}

static int program_cost(const struct bpf_program *p, uint64_t *ns, uint64_t *runs)
{
    struct bpf_prog_info info = {0};
    __u32 size = sizeof(info);
    int fd = bpf_program__fd(p);

    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
        return -1;
    *ns = info.run_time_ns;
    *runs = info.run_cnt;
    return 0;
}

static int cost_of(const struct bpfside *b, struct bpf_program *const *progs, size_t count, uint64_t *ns,
                   uint64_t *runs)
{
    uint64_t t, n;

    *ns = *runs = 0;
    if (b->stats_fd < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (program_cost(progs[i], &t, &n))
            continue;
        *ns += t;
        *runs += n;
    }
    return 0;
}

int bpfside_off_cost(struct bpfside *b, uint64_t *ns, uint64_t *runs)
{
    struct bpf_program *progs[OFF_PROGRAMS];

    off_programs(b, progs);
    return cost_of(b, progs, OFF_PROGRAMS, ns, runs);
}

int bpfside_flows_cost(struct bpfside *b, uint64_t *ns, uint64_t *runs)
{
    struct bpf_program *progs[FLOW_PROGRAMS];

    flow_programs(b, progs);
    return cost_of(b, progs, FLOW_PROGRAMS, ns, runs);
}

void bpfside_cost(struct bpfside *b, int say, uint64_t *ns, uint64_t *runs)
{
    struct bpf_program *p;
    struct wire_lost counted;
    uint64_t t, n;

    *ns = *runs = 0;
    if (b->stats_fd < 0) { /* that takes CAP_SYS_ADMIN: our programs have looked at the clock instead */
        bpfside_lost(b, &counted);
        *ns = counted.cost_ns;
        *runs = counted.cost_runs;
        return;
    }
    bpf_object__for_each_program(p, b->skel->obj)
    {
        if (program_cost(p, &t, &n))
            continue;
        if (say)
            log_debug("BPF program %s: %llu runs, %llu ns", bpf_program__name(p), (unsigned long long)n,
                      (unsigned long long)t);
        *ns += t;
        *runs += n;
    }
}
