/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of renderers share: a small training run, and comparing a product with tests/golden. */
#ifndef WPROF_TESTS_RENDER_FIXTURE_H
#define WPROF_TESTS_RENDER_FIXTURE_H

#include "base/io.h"
#include "fake_profile.h"
#include "render/renderer.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HOSTILE "</script><img src=x onerror=alert(1)>"

struct fixture {
    struct fake fake;
    struct meta meta;
    struct quality quality;
    struct render_input in;
};

static inline void fixture_meta(struct fixture *x)
{
    static const char *const command[] = {"python3", "examples/train.py", "--epochs", "2"};

    for (size_t i = 0; i < ARRAY_SIZE(command); i++)
        *vec_push(&x->meta.command) = mem_strdup(command[i]);
    x->meta.session_id = mem_strdup("20260716-153012-abc123");
    x->meta.state = mem_strdup("sealed");
    x->meta.host = mem_strdup("gpu-box-7");
    x->meta.workload = mem_strdup("python3");
    x->meta.kind = mem_strdup("fused");
    x->meta.start_ts = 1784215812;
    x->meta.duration_s = 10;
    x->meta.event = mem_strdup("cpu-clock");
    x->meta.frequency = 99;
    x->meta.exit_code = 0;
    x->meta.end_reason = mem_strdup("command ended");
    x->quality = (struct quality){
        .expected = 1981,
        .taken = 1979,
        .lost = 0,
        .truncated = 1,
        .scanned = 4,
        .unwound = 1977,
        .unknown = 2,
        .python = 1900,
        .python_framed = 1899,
        .frames = 40,
        .unwound_share = 1977.0 / 1979,
        .unknown_share = 2.0 / 1979,
        .python_share = 1899.0 / 1900,
        .cost_share = 0.0061,
        .bpf_s = 0.05,
        .own_cpu_s = 0.01,
        .target_cpu_s = 10,
        .tables_s = NAN,
        .tick_s = NAN,
    };
}

/* Deterministic samples of a trainer and a loader worker; the worker is busy in the first half. */
static inline void fixture_run(struct fixture *x)
{
    static const char *const trainer[] = {
        "t:python3 "
        "(100);p:<module>;n:_PyEval_EvalFrameDefault;p:main;p:train;p:Module._call_impl;p:Conv2d.forward;n:"
        "at::conv2d;n:dnnl::"
        "execute;"
        "j:[jit]",
        "t:python3 "
        "(100);p:<module>;n:_PyEval_EvalFrameDefault;p:main;p:train;p:Tensor.backward;n:torch::autograd::"
        "Engine::execute;n:sgemm_"
        "kernel",
        "t:python3 (100);p:<module>;n:_PyEval_EvalFrameDefault;p:main;p:train;p:SGD.step;n:at::add_",
        "t:python3 "
        "(100);p:<module>;n:_PyEval_EvalFrameDefault;p:main;p:train;p:_next_data;n:pthread_cond_timedwait;k:"
        "futex_wait;k:schedule",
    };
    static const char *const worker[] = {
        "t:python3 (101);t:pt_data_worker (102);p:_worker_loop;p:Dataset.__getitem__;p:slow_transform",
        "t:python3 (101);t:pt_data_worker "
        "(102);p:_worker_loop;p:Dataset.__getitem__;p:slow_transform;n:float_mul",
        "t:python3 (101);t:pt_data_worker (102);p:_worker_loop;p:Queue.put;n:write;k:ksys_write;k:pipe_write",
    };

    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t ts = i * 10000000;

        fake_sample(&x->fake, ts, trainer[(i * 7 + i / 13) % 4], 1);
        if (i < 500)
            fake_sample(&x->fake, ts + 1000, worker[(i * 5 + i / 11) % 3], 1);
    }
}

/* An empty profile with its words around it. */
static inline void fixture_open(struct fixture *x)
{
    *x = (struct fixture){0};
    fake_init(&x->fake, "oncpu", "samples");
    fixture_meta(x);
    x->in = (struct render_input){&x->fake.p, &x->meta, &x->quality, "cpu", NULL, 1, 0};
}

static inline void fixture_close(struct fixture *x)
{
    for (size_t i = 0; i < x->meta.command.n; i++)
        free(x->meta.command.a[i]);
    vec_release(&x->meta.command);
    free(x->meta.session_id);
    free(x->meta.state);
    free(x->meta.host);
    free(x->meta.workload);
    free(x->meta.kind);
    free(x->meta.event);
    free(x->meta.end_reason);
    fake_release(&x->fake);
}

static inline int fixture_render(const struct fixture *x, const char *name, struct buf *out)
{
    for (size_t i = 0; i < nrenderers; i++)
        if (!strcmp(renderers[i]->name, name))
            return renderers[i]->render(&x->in, out, NULL);
    return -1;
}

/* 0 when `got` is what tests/golden/NAME holds; WPROF_GOLDEN=update writes it instead. */
static inline int fixture_golden(const char *name, const struct buf *got)
{
    const char *mode = getenv("WPROF_GOLDEN");
    char path[256];
    struct buf want = {0};
    int differ;

    snprintf(path, sizeof(path), "tests/golden/%s", name);
    if (mode && !strcmp(mode, "update"))
        return io_replace_file(AT_FDCWD, path, got->data, got->len, NULL);
    if (io_read_file(AT_FDCWD, path, &want, NULL)) {
        fprintf(stderr, "# %s can't be read (run from the top of the source)\n", path);
        return -1;
    }
    differ = want.len != got->len || memcmp(want.data, got->data, got->len);
    if (differ)
        fprintf(stderr, "# differs from %s: look, then WPROF_GOLDEN=update\n", path);
    buf_release(&want);
    return differ ? -1 : 0;
}

#endif
