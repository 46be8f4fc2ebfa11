#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What we declare of CUPTI, and what the stub of tests/fakes makes, against a toolkit's headers and library.

load common

# Folders of toolkits and of NVIDIA's packages for Python.
toolkits() {
    printf '%s\n' "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-[0-9]* /opt/cuda /usr/lib/cuda |
        while read -r dir; do [ -d "$dir" ] && printf '%s\n' "$dir" "$dir/extras/CUPTI" "$dir"/targets/*; done
    python3 -c 'import glob, sys
for p in sys.path:
    print(*glob.glob(p + "/nvidia/cuda_cupti") + glob.glob(p + "/nvidia/cuda_runtime"), sep="\n")' 2>/dev/null
}

# Sets INCLUDE to the compiler's options for the headers.
need_headers() {
    local dir
    INCLUDE=()
    while read -r dir; do
        [ -n "$dir" ] && [ -d "$dir/include" ] && INCLUDE+=("-I$dir/include")
    done < <(toolkits)
    echo '#include <cupti.h>' | "${CC:-cc}" "${INCLUDE[@]}" -fsyntax-only -xc - 2>/dev/null || skip "needs a CUDA toolkit (cupti.h)"
}

# Sets LIBRARY to NVIDIA's libcupti.
need_library() {
    local dir
    while read -r dir; do
        for LIBRARY in "$dir"/lib{64,}/libcupti.so.1[0-9]; do [ -e "$LIBRARY" ] && return; done
    done < <(toolkits)
    skip "needs NVIDIA's libcupti"
}

# check FILE [OPTION...]
check() {
    "${CC:-cc}" -std=gnu11 -fsyntax-only -I"$ROOT/src" -I"$ROOT" "${INCLUDE[@]}" "${@:2}" "$1"
}

@test "cupti: our declarations are the toolkit's" {
    need_headers
    check "$ROOT/src/agent/cupti_check.c" -include cupti.h
}

@test "cupti: a declaration that differs is noticed" {
    need_headers
    cp -r "$ROOT/src" "$BATS_TEST_TMPDIR/src"
    cd "$BATS_TEST_TMPDIR"
    for change in 's/KERNEL_NODE = 144/KERNEL_NODE = 152/' 's/CUPTI_GRAPH = 51/CUPTI_GRAPH = 52/' 's/CUPTI_NODE_CLONED = 20/CUPTI_NODE_CLONED = 21/' \
        's/uint32_t context_id;//'; do
        sed "$change" "$ROOT/src/agent/cupti.h" >src/agent/cupti.h
        not "${CC:-cc}" -std=gnu11 -fsyntax-only -Isrc -I"$ROOT" "${INCLUDE[@]}" src/agent/cupti_check.c 2>err
        grep -q 'static assertion failed' err
    done
}

@test "cupti: the stub's records are as long as the toolkit's, of CUDA 11, 12 and 13" {
    need_headers
    local version major
    version=$(echo 'CUPTI_API_VERSION' | "${CC:-cc}" "${INCLUDE[@]}" -include cupti.h -E -P -xc - | tail -1)
    [ "$version" -ge 130000 ] || skip "needs the headers of CUDA 13, which have the older records, too"
    for major in 11 12 13; do
        check "$ROOT/tests/fakes/cupti_check.c" "-DCUPTI_MAJOR=$major"
    done
}

@test "cupti: NVIDIA's library has each function that is called, and each beginning of a name is one of its calls" {
    need_python ctypes
    need_library
    "$PYTHON" - "$LIBRARY" "$ROOT/src/agent" <<'END'
import ctypes, re, sys
library, source = ctypes.CDLL(sys.argv[1]), sys.argv[2]
functions = re.findall(r'"(cupti\w+)"', open(source + "/cupti.c").read())
assert len(functions) > 15, functions
for f in functions:
    getattr(library, f)
names, text = [], ctypes.c_char_p()
for domain in (1, 2):
    names += [text.value.decode() for cbid in range(1, 2048)
              if not library.cuptiGetCallbackName(domain, cbid, ctypes.byref(text)) and text.value]
assert len(names) > 500, len(names)
version = ctypes.c_uint32()
library.cuptiGetVersion(ctypes.byref(version))
lists = re.findall(r"static const char \*const (?:wanted|quiet)\[\] = \{(.*?)\};", open(source + "/calls.c").read(), re.S)
assert len(lists) == 2
for beginning in re.findall(r'"(\w+)"', "".join(lists)):
    if beginning.startswith("__") and version.value < 130000:
        continue
    assert any(n.startswith(beginning) for n in names), beginning
# whatever launches is seen
for n in names:
    if re.match(r"_*cu(da)?(Graph)?Launch(Kernel|Cooperative|$|_)", n):
        known = re.findall(r'"(\w+)"', lists[0])
        assert any(n.startswith(k) for k in known) or n.startswith("cudaLaunch_"), n
END
}

@test "cupti: NVIDIA's runtime has each function that is counted where we attach, and all that launch are" {
    need_python ctypes
    local dir runtime=
    while read -r dir; do
        for runtime in "$dir"/lib{64,}/libcudart.so.1[0-9]; do [ -e "$runtime" ] && break 2; done
        runtime=
    done < <(toolkits)
    [ -n "$runtime" ] || skip "needs NVIDIA's libcudart"
    "$PYTHON" - "$runtime" "$ROOT/src/collect/gpu_attach.c" <<'END'
import ctypes, re, sys
library, source = ctypes.CDLL(sys.argv[1]), open(sys.argv[2]).read()
names = re.findall(r'"(\w+)"', re.search(r"runtime\[\] = \{(.*?)\};", source, re.S).group(1))
variants = re.findall(r'\{"(\w*)", "(\w*)"\}', re.search(r"variants\[\] = (.*?);", source, re.S).group(1))
assert len(names) > 8 and len(variants) == 4, (names, variants)
for n in names:
    getattr(library, n)
seen = {before + n + after for n in names for before, after in variants}
shown = set(re.findall(rb"(?:__)?cuda(?:Launch|GraphLaunch)\w*", open(sys.argv[1], "rb").read()))
launch = {n.decode() for n in shown if re.fullmatch(rb"(__)?cuda(LaunchKernel|LaunchKernelExC|LaunchCooperativeKernel|GraphLaunch)(_ptsz)?", n)}
launch = {n for n in launch if hasattr(library, n)}
assert len(launch) >= 4 and launch <= seen, launch - seen
END
}

# What the driver and NVTX do, without a GPU: CUPTI has nothing to connect to.
@test "cupti: NVIDIA's library without a driver, or with one that it can't use: a program that marks by NVTX runs on, and it is said" {
    [ ! -e /proc/driver/nvidia/version ] || skip "needs a machine without a GPU"
    need_headers
    need_library
    cat >"$BATS_TEST_TMPDIR/ranges.c" <<'END'
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
int main(void)
{
    int (*init)(void) = NULL;

    nvtxRangePushA("step 0");
    nvtxRangePop();
    dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&init = dlsym(dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW), "InitializeInjection");
    if (!init || init() != 1)
        return 1;
    nvtxRangePushA("step 1");
    nvtxRangePop();
    return 0;
}
END
    cd "$BATS_TEST_TMPDIR"
    "${CC:-cc}" "${INCLUDE[@]}" -o ranges ranges.c -ldl 2>/dev/null || skip "needs NVTX's headers"
    mkdir real fake
    ln -s "$LIBRARY" real
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o fake/libcuda.so.1 "$ROOT/tests/fakes/cuda.c"
    for dirs in real real:fake; do
        LD_LIBRARY_PATH=${dirs//real/$PWD/real}:$PWD/${dirs#*:} "$WPROF" record -o s --force --tier C --collect gpu,cpu -- ./ranges 2>err
        grep -q 'no kernels of process [0-9]*: CUPTI refuses, its error [0-9]* (it can.t connect to the driver' err
        "$WPROF" show --units step s >steps
        [ "$(grep -c '^ *step [01] ' steps)" = 2 ] # NVTX needs no CUPTI
    done
}

@test "nvtx: all that NVTX's own headers call: domains, registered strings, wide characters, ranges of the process" {
    need_headers
    cat >"$BATS_TEST_TMPDIR/ranges.c" <<'END'
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("ours");
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    nvtxRangeId_t range = nvtxRangeStartA("all of it");
    char text[32];

    attributes.message.registered = nvtxDomainRegisterStringA(domain, "iteration 1");
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePushW(L"batch_2");
    nvtxDomainRangePop(domain); /* of its domain: not the last one of the thread */
    nvtxRangePop();
    nvtxRangePop(); /* one too many */
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "moment";
    nvtxDomainMarkEx(domain, &attributes);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "deep %d", i);
        nvtxRangePushA(text);
    }
    for (int i = 0; i < 100; i++)
        nvtxRangePop();
    nvtxRangePushA("step 3");
    nvtxRangePop();
    nvtxRangeEnd(range);
    return 0;
}
END
    cd "$BATS_TEST_TMPDIR"
    "${CC:-cc}" "${INCLUDE[@]}" -o ranges ranges.c -ldl 2>/dev/null || skip "needs NVTX's headers"
    "$WPROF" record -q -o s --tier C --collect gpu,cpu -- ./ranges
    WPROF_SESSION=s "$BUILD/tests/unit/test_gpu_session" >events
    for name in 'all of it' 'iteration 1' 'batch 2' moment 'deep 0' 'deep 63' 'step 3'; do
        [ "$(grep -c "^mark|$name|" events)" = 1 ]
    done
    [ "$(grep -c '^mark|deep' events)" = 64 ]
    # "batch 2" goes on behind "iteration 1"
    awk -F'|' '$2 == "iteration 1" { i = $5 + $6 } $2 == "batch 2" { b = $5 + $6 } END { exit !(b >= i) }' events
}
