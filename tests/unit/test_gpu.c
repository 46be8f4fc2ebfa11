/* SPDX-License-Identifier: Apache-2.0 */
/* An accelerator's works: equal ones are one row; what their numbers are called. */
#include "model/gpu.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void equal_works_are_one(void **state)
{
    struct gpu_works g = {0};
    struct gpu_work w = {.name = 3, .op = GPU_KERNEL, .grid = {8, 1, 1}};

    assert_null(gpu_works_get(&g, 0));
    assert_int_equal(gpu_works_add(&g, &w), 1);
    w.grid[0] = 9;
    assert_int_equal(gpu_works_add(&g, &w), 2);
    w.grid[0] = 8;
    assert_int_equal(gpu_works_add(&g, &w), 1);
    assert_int_equal(g.list.n, 2);
    assert_int_equal(gpu_works_get(&g, 2)->grid[0], 9);
    assert_null(gpu_works_get(&g, 3));
    for (uint32_t i = 0; i < 1000; i++) {
        w.node = i;
        assert_int_equal(gpu_works_add(&g, &w), i ? i + 2 : 1);
    }
    gpu_works_release(&g);
}

static void where_it_ran_and_its_name(void **state)
{
    for (unsigned op = 0; op < GPU_OPS; op++) {
        struct gpu_work w = {.op = (uint8_t)op};

        assert_non_null(gpu_op_name(op));
        assert_int_equal(gpu_on_device(&w),
                         op == GPU_KERNEL || op == GPU_COPY || op == GPU_SET || op == GPU_GRAPH);
    }
    assert_string_equal(gpu_op_name(GPU_COPY), "copy");
    assert_string_equal(gpu_op_name(GPU_OPERATOR), "operator");
    assert_string_equal(gpu_op_name(GPU_OPS), "unknown");
    assert_string_equal(gpu_op_name(255), "unknown");
}

static void communication_by_name(void **state)
{
    assert_true(gpu_is_communication("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"));
    assert_true(gpu_is_communication("ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)"));
    assert_true(gpu_is_communication("void ncclKernel_ReduceScatter(ncclWorkElem)"));
    assert_true(gpu_is_communication("rcclGenericKernel"));
    assert_true(gpu_is_communication("hcclAllReduce"));
    assert_false(gpu_is_communication("ampere_sgemm_128x64_tn"));
    assert_false(gpu_is_communication(""));
    assert_false(gpu_is_communication("void at::native::nccl_like(float*)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_works_are_one),
        cmocka_unit_test(where_it_ran_and_its_name),
        cmocka_unit_test(communication_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
