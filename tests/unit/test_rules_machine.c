/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that looks at metrics and the topology: a session that it is silent on, one that it speaks of. */
#include "rules_fixture.h"

static struct rules_case the_case;

static int setup(void **state)
{
    case_init(&the_case);
    *state = &the_case;
    return 0;
}

static int teardown(void **state)
{
    case_release(*state);
    return 0;
}

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

static void without_a_topology(void **state)
{
    struct rules_case *x = *state;

    x->has_graph = 0;
    case_is(x, "pcie-width", CHECK_NOT_DONE);
    assert_non_null(strstr(case_run(x, "pcie-width")->detail, "needs topology"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(io_bound),           T(io_bound_main_thread), T(throttled),    T(oversubscribed),
        T(delay_of_few),       T(major_faults),         T(minor_faults), T(numa_remote),
        T(pcie_width),         T(gpu_on_another_node),  T(nccl_tcp),     T(rdma_retransmit),
        T(without_a_topology),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
