/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent asks of PyTorch's libtorch_cpu.so: whether a profiler of it is on. */

static int on;

__attribute__((visibility("default"))) void fake_profiler_is_on(int is_on);

void fake_profiler_is_on(int is_on)
{
    on = is_on;
}

/* torch::profiler::impl::ProfilerStateBase::get(bool) */
__attribute__((visibility("default"))) void *_ZN5torch8profiler4impl17ProfilerStateBase3getEb(int global);

void *_ZN5torch8profiler4impl17ProfilerStateBase3getEb(int global)
{
    return on && !global ? &on : (void *)0;
}
