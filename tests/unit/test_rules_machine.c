/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that looks at metrics and the topology: a session that it is silent on, one that it speaks of. */
#include "rules_fixture.h"

/* A counter with the same increase in each of the ten seconds. */
static void each_second(struct rules_case *x, enum metric_id id, uint32_t task, uint64_t value)
{
    for (unsigned i = 0; i < 10; i++)
        case_metric(x, id, task, i, value);
}

static void io_bound(void **state)
{
    struct rules_case *x = *state;

    each_second(x, METRIC_ID_CPU_IOWAIT, 0, 700 * MS); /* of four CPUs' 4 s */
    case_is(x, "io-bound", CHECK_CLEAN);
    each_second(x, METRIC_ID_CPU_IOWAIT, 0, 200 * MS);
    case_is(x, "io-bound", CHECK_FOUND);
}

static void io_bound_main_thread(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    case_wait(x, x->lead, PY({"load", "a.py"}), 0, 1900, (struct waiting){.reason = WAIT_DISK});
    case_is(x, "io-bound", CHECK_CLEAN);
    case_wait(x, x->lead, PY({"load", "a.py"}), 2000, 600, (struct waiting){.reason = WAIT_DISK});
    f = case_found(x, "io-bound");
    assert_int_equal(f->cost_ns, 2500 * MS);
    assert_string_equal(f->line, "load (a.py:7)");
}

static void throttled(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    case_is(x, "cgroup-throttled", CHECK_CLEAN); /* no quota */
    each_second(x, METRIC_ID_CGROUP_PERIODS, x->lead, 10);
    each_second(x, METRIC_ID_CGROUP_THROTTLED_PERIODS, x->lead, 2);
    each_second(x, METRIC_ID_CGROUP_THROTTLED, x->lead, 300 * MS);
    case_metric(x, METRIC_ID_CGROUP_LIMIT, x->lead, 0, 1500000);
    case_is(x, "cgroup-throttled", CHECK_CLEAN);
    each_second(x, METRIC_ID_CGROUP_THROTTLED_PERIODS, x->lead, 1);
    f = case_found(x, "cgroup-throttled");
    assert_int_equal(f->cost_ns, 3 * SEC);
    assert_non_null(strstr(f->advice, "1.50 CPUs"));
}

static void oversubscribed(void **state)
{
    struct rules_case *x = *state;

    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 5 * SEC;
    each_second(x, METRIC_ID_SCHED_DELAY, x->lead, 20 * MS);
    for (unsigned i = 0; i < 10; i++)
        case_metric(x, METRIC_ID_SCHED_RUNNING, 0, i, 9 - i % 2);
    case_is(x, "oversubscribed", CHECK_CLEAN); /* hardly any delay */
    each_second(x, METRIC_ID_SCHED_DELAY, x->lead, 200 * MS);
    case_wait(x, x->lead, 0, 1000, 700, (struct waiting){.kind = EVENT_RUNQ});
    assert_int_equal(case_found(x, "oversubscribed")->cost_ns, 700 * MS);
    case_samples(x, x->lead, NATIVE({"work", NULL}), 0, 100); /* on one CPU, where nothing says it must be */
    assert_non_null(
        strstr(case_found(x, "oversubscribed")->evidence, "threads of the machine wanted one of 4"));
}

/* Of a command of some milliseconds a turn that others had is a large share, and nothing. */
static void short_delay(void **state)
{
    struct rules_case *x = *state;

    x->s.meta.end_mono = START + 20 * MS;
    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 10 * MS;
    case_metric(x, METRIC_ID_SCHED_DELAY, x->lead, 0, 9 * MS);
    case_metric(x, METRIC_ID_SCHED_RUNNING, 0, 0, 9);
    case_wait(x, x->lead, 0, 1, 9, (struct waiting){.kind = EVENT_RUNQ});
    case_is(x, "oversubscribed", CHECK_CLEAN);
    case_metric(x, METRIC_ID_SCHED_DELAY, x->lead, 0, 2 * MS);
    case_is(x, "oversubscribed", CHECK_FOUND);
}

/* Delay without many that want to run: not for their number. */
static void delay_of_few(void **state)
{
    struct rules_case *x = *state;

    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 5 * SEC;
    each_second(x, METRIC_ID_SCHED_DELAY, x->lead, 200 * MS);
    for (unsigned i = 0; i < 10; i++)
        case_metric(x, METRIC_ID_SCHED_RUNNING, 0, i, 2 + i % 2);
    case_is(x, "oversubscribed", CHECK_CLEAN);
}

static void major_faults(void **state)
{
    struct rules_case *x = *state;

    case_metric(x, METRIC_ID_FAULTS_MAJOR, x->lead, 0, 5000); /* warming up */
    for (unsigned i = 1; i < 10; i++)
        case_metric(x, METRIC_ID_FAULTS_MAJOR, x->lead, i, 5);
    case_is(x, "major-faults", CHECK_CLEAN);
    case_metric(x, METRIC_ID_FAULTS_MAJOR, x->lead, 9, 100);
    case_is(x, "major-faults", CHECK_FOUND);
}

static void minor_faults(void **state)
{
    struct rules_case *x = *state;

    each_second(x, METRIC_ID_FAULTS_MINOR, x->lead, 30000);
    case_is(x, "minor-faults", CHECK_CLEAN);
    each_second(x, METRIC_ID_FAULTS_MINOR, x->lead, 30000);
    case_samples(x, x->lead, KERNEL({"asm_exc_page_fault", NULL}, {"clear_page", NULL}), 100, 30);
    assert_int_equal(case_found(x, "minor-faults")->cost_ns, 300 * MS);
}

/* In a session of several recordings a task stands for the machine: what it says is of all that runs there.
 */
static void merged_machine(void **state)
{
    struct rules_case *x = *state;
    uint32_t machine = case_task(x, 0, 0, 0, "host");

    *vec_push(&x->s.store.origins.list) = (struct origin){.machine = machine};
    *vec_push(&x->s.store.origins.list) = (struct origin){.machine = machine};
    each_second(x, METRIC_ID_FAULTS_MINOR, x->lead, 30000);
    each_second(x, METRIC_ID_FAULTS_MINOR, machine, 300000);
    for (unsigned i = 0; i < 10; i++) {
        case_metric(x, METRIC_ID_FAULTS_MAJOR, x->lead, i, 5);
        case_metric(x, METRIC_ID_FAULTS_MAJOR, machine, i, 1000);
        case_metric(x, METRIC_ID_SCHED_RUNNING, machine, i, 9 - i % 2);
    }
    case_is(x, "minor-faults", CHECK_CLEAN);
    case_is(x, "major-faults", CHECK_CLEAN);
    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 5 * SEC;
    each_second(x, METRIC_ID_SCHED_DELAY, x->lead, 300 * MS);
    case_wait(x, x->lead, 0, 1000, 700, (struct waiting){.kind = EVENT_RUNQ});
    assert_non_null(strstr(case_found(x, "oversubscribed")->evidence, "threads of the machine"));
}

/* What is resident at the beginning of each of the ten seconds, in MB. */
static void resident(struct rules_case *x, uint32_t task, const unsigned *mb)
{
    for (unsigned i = 0; i < 10; i++)
        case_metric(x, METRIC_ID_MEMORY_RSS, task, i, mb[i] * 1000000ull);
}

static void memory_growth(void **state)
{
    static const unsigned grows[] = {10, 100, 200, 300, 400, 500, 600, 700, 800, 900};
    struct rules_case *x = *state;
    const struct finding *f;

    resident(x, x->lead, grows);
    case_metric(x, METRIC_ID_MEMORY_AVAILABLE, 0, 0, 40000000000ull);
    case_metric(x, METRIC_ID_CGROUP_MEMORY, x->lead, 0, 1000000000ull);
    case_metric(x, METRIC_ID_CGROUP_MEMORY_MAX, x->lead, 0, 2000000000ull);
    case_samples(x, x->lead, PY({"handle", "a.py"}), 5000, 20);
    case_samples(x, x->lead, KERNEL({"main", NULL}, {"fill", NULL}, {"asm_exc_page_fault", NULL}), 6000, 30);
    f = case_found(x, "memory-growth");
    assert_int_equal(f->cost_ns, 300 * MS);
    assert_int_equal(f->severity, FINDING_LOW); /* ten seconds are short */
    assert_int_equal(f->certainty, FINDING_GUESS);
    assert_string_equal(f->process, "python3[10]");
    assert_non_null(strstr(f->evidence, "in 7 of 7 parts"));
    assert_non_null(strstr(f->evidence, "the control group's limit is full in 10.00 s"));
    assert_non_null(strstr(f->evidence, "of 30 samples of page faults"));
    assert_non_null(f->line);
}

/* It comes and goes; it came at the start; it is as good as nothing; it went up once. */
static void memory_that_stays(void **state)
{
    static const unsigned other[][10] = {
        {100, 300, 100, 300, 100, 300, 100, 300, 100, 300},
        {10, 500, 900, 900, 900, 900, 900, 901, 901, 901},
        {900, 900, 900, 901, 901, 901, 902, 902, 902, 903},
        {100, 100, 100, 100, 100, 900, 900, 900, 900, 900},
    };

    for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
        struct rules_case *x = *state;

        resident(x, x->lead, other[i]);
        case_is(x, "memory-growth", CHECK_CLEAN);
        case_release(x);
        case_init(x);
    }
}

/* At its end a process lets go of everything; of what lasts minutes one may be surer. */
static void memory_growth_of_long(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 20, 20, 0, "server");
    const struct finding *f;

    x->s.meta.end_mono = START + 600 * SEC;
    tasks_get(&x->s.store.tasks, other)->last_ns = START + 599 * SEC;
    for (unsigned i = 0; i < 600; i++)
        case_metric(x, METRIC_ID_MEMORY_RSS, other, i, i == 599 ? 5 : (1000 + i) * 1000000ull);
    case_metric(x, METRIC_ID_MEMORY_AVAILABLE, 0, 0, 36000000000ull); /* for ten hours */
    f = case_found(x, "memory-growth");
    assert_int_equal(f->severity, FINDING_MEDIUM);
    assert_int_equal(f->certainty, FINDING_LIKELY);
    assert_string_equal(f->process, "server[20]");
    assert_non_null(strstr(f->evidence, "in 20 of 20 parts"));
    case_metric(x, METRIC_ID_MEMORY_AVAILABLE, 0, 300, 1000000000ull);
    assert_int_equal(case_found(x, "memory-growth")->severity, FINDING_HIGH);
}

static void memory_not_measured(void **state)
{
    struct rules_case *x = *state;

    each_second(x, METRIC_ID_FAULTS_MINOR, x->lead, 1);
    case_is(x, "memory-growth", CHECK_NOT_DONE);
}

static struct graph_node *numa(struct rules_case *x, int64_t id)
{
    return graph_numbered(&x->g, GRAPH_NUMA, id);
}

static struct graph_node *gpu(struct rules_case *x)
{
    return graph_add(&x->g, &(struct graph_id){.kind = GRAPH_GPU, .field = {"0", "0000:01:00.0"}});
}

static void numa_remote(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *p = graph_process(&x->g, 10, 1, 10);
    struct graph_edge *e = graph_edge(&x->g, GRAPH_EDGE_NUMA_ACCESS, p, numa(x, 0));

    graph_set_f64(&x->g, &e->attrs, "remote_share", 0.5);
    case_is(x, "numa-remote", CHECK_CLEAN); /* one node: of no meaning */
    numa(x, 1);
    case_is(x, "numa-remote", CHECK_FOUND);
    graph_set_f64(&x->g, &e->attrs, "remote_share", 0.1);
    case_is(x, "numa-remote", CHECK_CLEAN);
}

static void gpu_on_another_node(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *p = graph_process(&x->g, 10, 1, 10);

    graph_edge(&x->g, GRAPH_EDGE_NUMA_ACCESS, p, numa(x, 0));
    graph_edge(&x->g, GRAPH_EDGE_NUMA_AFFINITY, gpu(x), numa(x, 1));
    case_is(x, "numa-remote", CHECK_CLEAN); /* it does not use it */
    graph_edge(&x->g, GRAPH_EDGE_ACCESS, p, gpu(x))->confidence = 1;
    assert_string_equal(case_found(x, "numa-remote")->advice, "numactl --cpunodebind=1 --membind=1");
}

static void pcie_width(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *n = gpu(x);

    graph_set_int(&x->g, &n->attrs, "pcie_width", 16);
    graph_set_int(&x->g, &n->attrs, "pcie_max_width", 16);
    graph_set_int(&x->g, &n->attrs, "pcie_gen", 1); /* idle */
    case_is(x, "pcie-width", CHECK_CLEAN);
    graph_set_int(&x->g, &n->attrs, "pcie_width", 8);
    case_is(x, "pcie-width", CHECK_FOUND);
}

static void nccl_tcp(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *n = graph_named(&x->g, GRAPH_RDMA_DEVICE, "mlx5_0");

    graph_set_json(&x->g, &n->attrs, "ports", "[{\"port\": 1, \"state\": \"DOWN\"}]");
    case_env(x, "NCCL_IB_DISABLE=1");
    case_is(x, "nccl-tcp", CHECK_CLEAN);
    graph_set_json(&x->g, &n->attrs, "ports", "[{\"port\": 1, \"state\": \"ACTIVE\"}]");
    case_is(x, "nccl-tcp", CHECK_FOUND);
}

static void rdma_retransmit(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *n =
        graph_add(&x->g, &(struct graph_id){.kind = GRAPH_RDMA_RATES, .field = {"mlx5_0", "1"}});

    graph_set_f64(&x->g, &n->attrs, "send_pkts", 10000);
    graph_set_f64(&x->g, &n->attrs, "dupl_pkts", 50);
    case_is(x, "rdma-retransmit", CHECK_CLEAN);
    graph_set_f64(&x->g, &n->attrs, "out_of_sequence", 80);
    case_is(x, "rdma-retransmit", CHECK_FOUND);
}

/* ---- GPUs, by what they say each second ---- */

/* From second `at` on. */
static void level(struct rules_case *x, enum metric_id id, unsigned at, uint64_t value)
{
    case_metric(x, id, 0, at, value);
    x->s.store.events.a[x->s.store.events.n - 1].cpu = 0;
}

static void cpu_bound(void **state)
{
    struct rules_case *x = *state;

    case_is(x, "cpu-bound", CHECK_NOT_DONE);
    level(x, METRIC_ID_GPU_BUSY, 0, 900000);
    level(x, METRIC_ID_GPU_BUSY, 5, 50000);
    each_second(x, METRIC_ID_CPU_USER, 0, 3000 * MS);
    each_second(x, METRIC_ID_CPU_SYSTEM, 0, 500 * MS); /* of four CPUs' 4 s */
    case_is(x, "cpu-bound", CHECK_CLEAN);
    each_second(x, METRIC_ID_CPU_IRQ, 0, 300 * MS);
    assert_int_equal(case_found(x, "cpu-bound")->cost_ns, 6 * SEC);
    level(x, METRIC_ID_GPU_BUSY, 6, 900000); /* busy but for one second */
    case_is(x, "cpu-bound", CHECK_CLEAN);
}

static void gpu_memory(void **state)
{
    struct rules_case *x = *state;

    level(x, METRIC_ID_GPU_MEMORY, 1, 60ull << 30);
    level(x, METRIC_ID_GPU_MEMORY, 2, 75ull << 30);
    level(x, METRIC_ID_GPU_MEMORY, 3, 10ull << 30);
    case_is(x, "gpu-memory", CHECK_NOT_DONE); /* of how much? */
    graph_set_int(&x->g, &gpu(x)->attrs, "memory_bytes", 100ll << 30);
    case_is(x, "gpu-memory", CHECK_CLEAN);
    graph_set_int(&x->g, &gpu(x)->attrs, "memory_bytes", 80ll << 30);
    assert_string_equal(case_found(x, "gpu-memory")->device, "GPU 0");
}

static void gpu_slowdown(void **state)
{
    struct rules_case *x = *state;

    level(x, METRIC_ID_GPU_BUSY, 0, 20000); /* idle, but for the second half */
    level(x, METRIC_ID_GPU_BUSY, 5, 980000);
    level(x, METRIC_ID_GPU_CLOCK, 0, 1980000000);
    level(x, METRIC_ID_GPU_CLOCK, 7, 1200000000);
    level(x, METRIC_ID_GPU_CLOCK, 8, 1980000000);
    case_is(x, "gpu-slowdown", CHECK_NOT_DONE);
    level(x, METRIC_ID_GPU_SLOW_HARDWARE, 0, METRIC_MILLION);
    level(x, METRIC_ID_GPU_SLOW_HARDWARE, 2, 0);
    case_is(x, "gpu-slowdown", CHECK_CLEAN);
    level(x, METRIC_ID_GPU_SLOW_HARDWARE, 7, METRIC_MILLION);
    level(x, METRIC_ID_GPU_SLOW_HARDWARE, 8, 0);
    assert_non_null(
        strstr(case_found(x, "gpu-slowdown")->evidence, "For 1.00 s of the 5.00 s that it was busy"));
    assert_non_null(strstr(x->f.list.a[0].evidence, "at 1200 MHz on average, while 1980 MHz were seen"));
}

static void gpu_power_cap(void **state)
{
    struct rules_case *x = *state;

    level(x, METRIC_ID_GPU_BUSY, 0, 980000);
    level(x, METRIC_ID_GPU_SLOW_POWER, 0, 0);
    level(x, METRIC_ID_GPU_SLOW_HEAT, 0, 0);
    level(x, METRIC_ID_GPU_SLOW_POWER, 9, METRIC_MILLION); /* a tenth */
    case_is(x, "gpu-power-cap", CHECK_CLEAN);
    level(x, METRIC_ID_GPU_SLOW_HEAT, 8, METRIC_MILLION); /* two */
    assert_string_equal(case_found(x, "gpu-power-cap")->title, "GPU 0 runs at its temperature limit");
}

static void pcie_busy(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *n = gpu(x);

    level(x, METRIC_ID_GPU_PCIE_SENT, 0, 0);
    level(x, METRIC_ID_GPU_PCIE_RECEIVED, 0, 29000000000);
    level(x, METRIC_ID_GPU_PCIE_RECEIVED, 2, 0);
    case_is(x, "pcie-busy", CHECK_NOT_DONE);
    graph_set_int(&x->g, &n->attrs, "pcie_max_gen", 5);
    graph_set_int(&x->g, &n->attrs, "pcie_width", 16);
    case_is(x, "pcie-busy", CHECK_CLEAN);
    graph_set_int(&x->g, &n->attrs, "pcie_max_gen", 4); /* 31.5 GB/s */
    assert_non_null(strstr(case_found(x, "pcie-busy")->evidence, "For 2.00 s it received"));
}

/* ---- memory ---- */

static void memory_bound(void **state)
{
    struct rules_case *x = *state;

    case_is(x, "memory-bound", CHECK_NOT_DONE);
    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 10 * SEC;
    each_second(x, METRIC_ID_TREE_LLC_MISSES, x->lead, 1000000); /* 8 % of the time */
    each_second(x, METRIC_ID_TREE_LLC_READS, x->lead, 10000000);
    case_is(x, "memory-bound", CHECK_CLEAN);
    each_second(x, METRIC_ID_TREE_LLC_MISSES, x->lead, 1000000);
    case_is(x, "memory-bound", CHECK_FOUND);
    each_second(x, METRIC_ID_TREE_LLC_READS, x->lead, 40000000); /* 4 % of the reads */
    case_is(x, "memory-bound", CHECK_CLEAN);
}

static void memory_traffic(void **state)
{
    struct rules_case *x = *state;
    struct err e = {0};

    each_second(x, METRIC_ID_TREE_LLC_MISSES, x->lead, 500000000); /* 32 GB/s */
    case_is(x, "memory-traffic", CHECK_NOT_DONE);
    assert_non_null(strstr(case_run(x, "memory-traffic")->detail, "--set memory-traffic.peak="));
    assert_int_equal(rule_set(&x->set, "memory-traffic.peak", "50e9", &e), 0);
    case_is(x, "memory-traffic", CHECK_CLEAN);
    assert_int_equal(rule_set(&x->set, "memory-traffic.peak", "39e9", &e), 0);
    case_is(x, "memory-traffic", CHECK_FOUND);
}

/* ---- between machines ---- */

static void rdma_no_peer(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *n = graph_named(&x->g, GRAPH_RDMA_DEVICE, "mlx5_0"),
                      *p = graph_process(&x->g, 10, 1, 10);

    case_is(x, "rdma-no-peer", CHECK_CLEAN); /* no port is active */
    graph_set_json(&x->g, &n->attrs, "ports", "[{\"port\": 1, \"state\": \"ACTIVE\"}]");
    case_is(x, "rdma-no-peer", CHECK_NOT_DONE);
    graph_set_str(&x->g, &n->attrs, "gpu_direct", "none");
    graph_edge(&x->g, GRAPH_EDGE_ACCESS, p, n);
    case_is(x, "rdma-no-peer", CHECK_CLEAN); /* it uses no GPU */
    graph_edge(&x->g, GRAPH_EDGE_ACCESS, p, gpu(x));
    case_is(x, "rdma-no-peer", CHECK_FOUND);
    graph_set_str(&x->g, &n->attrs, "gpu_direct", "nvidia_peermem");
    case_is(x, "rdma-no-peer", CHECK_CLEAN);
}

static struct graph_node *socket_at(struct rules_case *x, const char *addr, const char *port)
{
    return graph_add(&x->g, &(struct graph_id){.kind = GRAPH_SOCKET, .field = {addr, port, "TCP"}});
}

static void network_latency(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *here = socket_at(x, "10.0.0.1", "41000"), *there = socket_at(x, "10.0.0.2", "5432");
    struct graph_edge *e = graph_edge(&x->g, GRAPH_EDGE_CONNECT, here, there);

    graph_edge(&x->g, GRAPH_EDGE_OWN, graph_process(&x->g, 10, 1, 10), here);
    case_wait(x, x->lead, PY({"fetch", "a.py"}), 0, 900, (struct waiting){.reason = WAIT_SOCKET});
    case_is(x, "network-latency", CHECK_CLEAN); /* how long answers take is not known */
    graph_set_int(&x->g, &e->attrs, "rtt_us", 90);
    case_is(x, "network-latency", CHECK_CLEAN);
    graph_set_int(&x->g, &e->attrs, "rtt_us", 2500);
    assert_int_equal(case_found(x, "network-latency")->cost_ns, 900 * MS);
    assert_non_null(strstr(x->f.list.a[0].evidence, "10.0.0.2"));
}

static void without_a_topology(void **state)
{
    struct rules_case *x = *state;

    x->has_graph = 0;
    case_is(x, "pcie-width", CHECK_NOT_DONE);
    assert_non_null(strstr(case_run(x, "pcie-width")->detail, "needs topology"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(io_bound),
        T(io_bound_main_thread),
        T(throttled),
        T(oversubscribed),
        T(short_delay),
        T(delay_of_few),
        T(major_faults),
        T(minor_faults),
        T(memory_growth),
        T(memory_that_stays),
        T(memory_growth_of_long),
        T(memory_not_measured),
        T(merged_machine),
        T(numa_remote),
        T(pcie_width),
        T(gpu_on_another_node),
        T(nccl_tcp),
        T(rdma_retransmit),
        T(without_a_topology),
        T(cpu_bound),
        T(gpu_memory),
        T(gpu_slowdown),
        T(gpu_power_cap),
        T(pcie_busy),
        T(memory_bound),
        T(memory_traffic),
        T(rdma_no_peer),
        T(network_latency),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
