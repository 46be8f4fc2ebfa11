#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only a machine with an NVIDIA GPU and torch can tell, in five minutes: tests/gpu/device.sh [WPROF [PYTHON]].
# WPROF: the program with libwprof-cuda.so beside it, or in ../lib/wprof; default: that of the unpacked tarball (make portable)
# or of the build that this script lies in. PYTHON (python3): one that has torch. Neither needs to be in PATH.
# Writes what it measured to OUT/device.txt (default: a new directory under /tmp), which tests/gpu/RESULTS.md is then
# made of, and ends with 1 where something does not hold. Where not all does, OUT/log tells more. ROUNDS (3): how often rates
# are measured with and without wprof, in turn.
set -u
here=$(cd "$(dirname "$0")" && pwd)
WPROF=${1:-$here/../../bin/wprof}
[ -n "${1:-}" ] || [ -x "$WPROF" ] || WPROF=$here/../../build/wprof
[ -x "$WPROF" ] || { echo "there is no program $WPROF: device.sh WPROF [PYTHON]" >&2; exit 3; }
WPROF=$(realpath "$WPROF")
PYTHON=${2:-python3}
[[ $PYTHON != */* ]] || PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON") # no link is followed: it may be of a venv
OUT=${OUT:-$(mktemp -d /tmp/wprof-gpu-XXXXXX)}
mkdir -p "$OUT"
cd "$OUT" || exit 3
failed=0

say() {
    echo "$*" | tee -a device.txt
}

# holds WHAT COMMAND...
holds() {
    local what=$1
    shift
    echo "+ $*" >>log
    if "$@" >>log 2>&1; then say "ok      $what"; else
        say "FAILED  $what"
        failed=1
    fi
}

# train NAME [ARGUMENT...]: the program, recorded as NAME.
train() {
    local name=$1
    shift
    rm -rf "$name"
    timeout 120 "$WPROF" record -o "$name" ${COLLECT:+--collect $COLLECT} -- "$PYTHON" "$here/train.py" "$@" >"$name.out" 2>"$name.err"
    echo "recorded $name: $?" >>log
    cat "$name.err" >>log
}

# alone NAME [ARGUMENT...]: the same without wprof.
alone() {
    local name=$1
    shift
    timeout 120 "$PYTHON" "$here/train.py" "$@" >"$name.out" 2>>log
}

# counter NAME COUNTER: a whole number in any case.
counter() {
    "$PYTHON" - "$1" "$2" 2>>log <<'END' || echo 0
import json, sys
m = json.load(open(sys.argv[1] + "/meta.json"))
print(next(c for c in m["collectors"] if c["name"] == "gpu")["counters"].get(sys.argv[2], 0))
END
}

# shown NAME OPTIONS EXPRESSION: what `wprof show` tells of it, as d.
shown() {
    "$WPROF" show -n 0 $2 --json "$1" >"$1.json" 2>>log || return 1
    "$PYTHON" - "$1.json" "$3" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2], {"d": d}))
END
}

# of FILE WORD: the number behind it.
of() {
    awk -v key="$2" '$1 == key { print $2; exit }' "$1"
}

# percent FILE PATTERN: of the weight of folded stacks that of those which match.
percent() {
    awk -v pattern="$2" '{ all += $NF } $0 ~ pattern { some += $NF } END { printf "%d\n", all ? 100 * some / all : 0 }' "$1"
}

"$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>>log || {
    say "there is no torch with a GPU here ($PYTHON): nothing was measured"
    exit 3
}
began=$SECONDS
say "date    $(date -u +%Y-%m-%d)"
say "GPU     $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)"
say "torch   $("$PYTHON" -c 'import torch; print(torch.__version__, "CUDA", torch.version.cuda)')"
say "wprof   $("$WPROF" version 2>/dev/null | sed -n '1s/^wprof //p; s/^portable: /portable: /p' | tr '\n' ' ')"
say "system  $(. /etc/os-release && echo "$PRETTY_NAME"), $(ldd --version 2>&1 | head -1), Linux $(uname -r)"

# ---- what is recorded ----

train small steps 20
holds "a small training is recorded" test -s small/events.wlog
holds "its exit code and output pass through" grep -q '^done' small.out
holds "kernels are there" test "$(counter small on_device)" -gt 100
holds "nothing was dropped" test "$(counter small dropped)" = 0
holds "no impossible times" test "$(counter small bad_times)" = 0
holds "no record of an unknown kind" test "$(counter small unknown_records)" = 0
holds "each kernel's call is known" test "$(counter small unasked)" -le "$(($(counter small on_device) / 100))"
holds "native stacks reach the thread's start: nine in ten" \
    test "$(($(counter small stacks_cut) * 10))" -le "$(counter small stacks)"
holds "a device was busy, and less than all of the time" shown small --gpu '0 < d["devices"][0]["busy_ns"] < d["devices"][0]["span_ns"]'
holds "copies: one a step at least" shown small --gpu 'sum(x["copy_count"] for x in d["devices"]) >= 20'
holds "NVTX: the 20 steps" shown small --steps 'sum(x["unit"].startswith("step ") for x in d["units"]) == 20'
"$WPROF" export --format folded --metric gpu small >small.folded 2>>log
holds "kernels have the Python function that launched them" grep -q 'steps (train\.py.*CUDA:' small.folded
say "stacks  $(counter small stacks) of $(counter small launches) launches; $(percent small.folded 'train[.]py') % of GPU time below a line of Python"

train graph graph 50
holds "graphs: each node ran as often as it was replayed" \
    shown graph --gpu 'd["graph_nodes"] and all(x["count"] == 50 for x in d["graph_nodes"])'
holds "graphs: nothing is damaged" test "$(counter graph damaged)" = 0

# the records are taken back after 60 turns of the agent
WPROF_GPU_TICK_MS=100 train both profiler 30 12
alone profiled profiler 30 0
holds "torch.profiler at once: it has the kernels that it has without wprof" \
    test "$(of both.out profiler_kernels)" -gt 0 -a "$(of both.out profiler_kernels)" = "$(of profiled.out profiler_kernels)"
holds "torch.profiler at once: kernels before it and after it are there" \
    test "$(counter both on_device)" -gt 300 -a "$(counter both gaps)" -le 1
say "gaps    $(counter both gaps) with torch.profiler"

# ---- what it costs: the same work with and without, in turn ----

for ((round = 0; round < ${ROUNDS:-3}; round++)); do
    alone rates rates 3
    cat rates.out >>without
    COLLECT=gpu train rates rates 3
    cat rates.out >>with
done
for size in tiny large; do
    "$PYTHON" - "$size" 2>>log <<'END' >rate || echo "FAILED  the rates of $size kernels" >rate
import statistics, sys
size = sys.argv[1]
def of(path):
    return statistics.median(float(l.split()[1]) for l in open(path) if l.startswith(size + " "))
a, b = of("without"), of("with")
print("rate    %s kernels: %.0f launches/s without, %.0f with: %.3f of it" % (size, a, b, b / a))
END
    say "$(cat rate)"
    ! grep -q FAILED rate || failed=1
done

say "took    $((SECONDS - began)) s"
say "result  $([ $failed = 0 ] && echo 'all holds' || echo 'something does not hold: see log') ($OUT)"
exit $failed
