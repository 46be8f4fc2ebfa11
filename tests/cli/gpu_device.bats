#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/device.sh, which is to work at the first try on a machine that has a GPU: here with the driver of tests/fakes, a
# torch that only says that there is a GPU, and a training of that driver's.

load common

setup_file() {
    mkdir -p "$BATS_FILE_TMPDIR/gpu" "$BATS_FILE_TMPDIR/lib"
    "${CC:-cc}" -shared -fPIC -O1 -D_GNU_SOURCE -DCUPTI_MAJOR=12 -o "$BATS_FILE_TMPDIR/lib/libcupti.so.12" "$ROOT/tests/fakes/cupti.c"
    "${CC:-cc}" -shared -fPIC -O1 -D_GNU_SOURCE -o "$BATS_FILE_TMPDIR/lib/libcuda.so.1" "$ROOT/tests/fakes/cuda.c"
    cd "$BATS_FILE_TMPDIR/gpu"
    cp "$ROOT/tests/gpu/device.sh" .
    cat >torch.py <<'END'
class cuda:
    is_available = staticmethod(lambda: True)
class version:
    cuda = "12.6"
__version__ = "2.0"
END
    cat >train.py <<'END'
import os, sys
sys.path.insert(0, os.environ["FAKES"])
import gpu

gpu.cuda.cuInit(0)

def steps(n):
    for i in range(n):
        gpu.cuda.nvtxRangePushA(b"step %d" % i)
        gpu.memory()
        gpu.forward(12)
        gpu.wait()
        gpu.cuda.nvtxRangePop()

def graph(n):
    ready = gpu.make_graph()
    for _ in range(n):
        gpu.cuda.cuGraphLaunch(ready, gpu.ctypes.c_void_p(1))
    gpu.wait()

def profiler(n, seconds):
    steps(n)
    gpu.cuda.fake_profiler(1)
    gpu.forward(4)
    gpu.cuda.fake_profiler(0)
    print("profiler_kernels", 4)

def rates(seconds):
    gpu.forward(100)
    print("tiny 1000.0")
    print("large 100.0")

globals()[sys.argv[1]](*map(int, sys.argv[2:]))
print("done")
END
}

setup() {
    need_python ctypes
    cd "$BATS_TEST_TMPDIR"
    export LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib PYTHONPATH=$BATS_FILE_TMPDIR/gpu FAKES=$ROOT/tests/fakes
    export WPROF_GPU_TICK_MS=20 FAKE_CUPTI_TRUTH=/dev/null OUT=$PWD/out ROUNDS=1
}

@test "tests/gpu/device.sh: all holds with the fakes, and what it measured is written down" {
    run "$BATS_FILE_TMPDIR/gpu/device.sh" "$WPROF" "$PYTHON"
    cat out/device.txt
    [ "$status" = 0 ]
    [ "$(grep -c '^ok ' out/device.txt)" = 16 ]
    not grep -q FAILED out/device.txt
    grep -q '^rate    tiny kernels: 1000 launches/s without, 1000 with: 1.000 of it' out/device.txt
    grep -Eq '^stacks  [1-9][0-9]* of [1-9][0-9]* launches; [1-9][0-9]* % of GPU time below a line of Python' out/device.txt
    grep -q '^result  all holds' out/device.txt
}
