/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of GPUs, by NVML: those of the whole device, task 0, whoever uses it. */
#include "collect/metrics.h"

#include "platform/nvml_watch.h"

#include <string.h>

/* Each figure of NVML's, and what makes it the metric's unit. */
static const struct {
    enum metric_id id;
    uint64_t factor;
} metrics[NVML_FIGURES] = {
    [NVML_BUSY] = {METRIC_ID_GPU_BUSY, METRIC_MILLION / 100},
    [NVML_MEMORY_BUSY] = {METRIC_ID_GPU_MEMORY_BUSY, METRIC_MILLION / 100},
    [NVML_MEMORY] = {METRIC_ID_GPU_MEMORY, 1},
    [NVML_CLOCK] = {METRIC_ID_GPU_CLOCK, 1000000},
    [NVML_MEMORY_CLOCK] = {METRIC_ID_GPU_MEMORY_CLOCK, 1000000},
    [NVML_POWER] = {METRIC_ID_GPU_POWER, 1},
    [NVML_TEMPERATURE] = {METRIC_ID_GPU_TEMPERATURE, 1},
    [NVML_SLOW_POWER] = {METRIC_ID_GPU_SLOW_POWER, METRIC_MILLION},
    [NVML_SLOW_HEAT] = {METRIC_ID_GPU_SLOW_HEAT, METRIC_MILLION},
    [NVML_SLOW_HARDWARE] = {METRIC_ID_GPU_SLOW_HARDWARE, METRIC_MILLION},
    [NVML_SLOW_OTHER] = {METRIC_ID_GPU_SLOW_OTHER, METRIC_MILLION},
    [NVML_SENT] = {METRIC_ID_GPU_PCIE_SENT, 1000},
    [NVML_RECEIVED] = {METRIC_ID_GPU_PCIE_RECEIVED, 1000},
};

struct metrics_gpu_series {
    struct metrics_series of[NVML_FIGURES];
};

struct metrics_gpu {
    struct nvml_watch *watch;
    VEC(struct metrics_gpu_series) series; /* by GPU */
};

void metrics_gpu_start(struct metrics *m)
{
    struct nvml_watch *w = nvml_watch_new();

    if (!w)
        return;
    m->gpu = mem_calloc(1, sizeof(*m->gpu));
    m->gpu->watch = w;
}

static void take(void *arg, const struct nvml_look *look)
{
    struct metrics *m = arg;
    struct metrics_gpu *g = m->gpu;

    while (g->series.n <= look->gpu)
        memset(vec_push(&g->series), 0, sizeof(*g->series.a));
    for (int i = 0; i < NVML_FIGURES; i++) {
        struct metrics_key key = {.id = metrics[i].id, .cpu = (uint16_t)look->gpu};

        if (look->figures[i] != NVML_UNKNOWN)
            metrics_level(&m->out, &g->series.a[look->gpu].of[i], key, look->ts,
                          look->figures[i] * metrics[i].factor);
    }
}

void metrics_gpu_look(struct metrics *m)
{
    if (m->gpu)
        nvml_watch_take(m->gpu->watch, take, m);
}

const char *metrics_gpu_why(const struct metrics *m)
{
    return m->gpu ? nvml_watch_why(m->gpu->watch) : "";
}

void metrics_gpu_release(struct metrics *m)
{
    if (!m->gpu)
        return;
    nvml_watch_free(m->gpu->watch);
    vec_release(&m->gpu->series);
    free(m->gpu);
    m->gpu = NULL;
}
