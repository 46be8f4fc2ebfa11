#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only a machine with an NVIDIA GPU and torch can tell, in five minutes: tests/gpu/device.sh [WPROF [PYTHON]].
# WPROF: the program with libwprof-cuda.so beside it, or in ../lib/wprof; default: that of the unpacked tarball (make portable)
# or of the build that this script lies in. PYTHON (python3): one that has torch. Neither needs to be in PATH.
# Writes what it measured to OUT/device.txt (default: a new directory under /tmp), which tests/gpu/RESULTS.md is then
# made of, and ends with 1 where something does not hold.
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
}

# figure FILE KEY: of what the program said.
figure() {
    awk -v key="$2" '$1 == key { print $2 }' "$1"
}

counter() {
    "$PYTHON" -c 'import json, sys
m = json.load(open(sys.argv[1] + "/meta.json"))
print(next(c for c in m["collectors"] if c["name"] == "gpu")["counters"].get(sys.argv[2], 0))' "$1" "$2"
}

"$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>>log || {
    say "there is no torch with a GPU here ($PYTHON): nothing was measured"
    exit 3
}
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
"$WPROF" show --gpu --json small >small.json 2>>log
holds "copies, NVTX and Python lines are in it" "$PYTHON" - <<'END'
import json
text = open("small.json").read()
d = json.loads(text)
assert d["devices"] and d["devices"][0]["busy_ns"] > 0
END
"$WPROF" export --format chrome small >small.timeline.json 2>>log
holds "steps by NVTX are in the timeline" grep -q 'step 3' small.timeline.json
say "stacks  $(counter small stacks) of $(counter small launches) launches"

train graph graph 50
holds "graphs: each replay's kernels" test "$(counter graph on_device)" -ge 100
holds "graphs: nothing is damaged" test "$(counter graph damaged)" = 0

train both profiler 30
holds "torch.profiler at once: both go on, it has its kernels" grep -q '^profiler_kernels [1-9]' both.out
say "gaps    $(counter both gaps) with torch.profiler"

# ---- what it costs: the same work with and without, in turn ----

for size in tiny large; do
    for round in 1 2 3; do
        "$PYTHON" "$here/train.py" "$size" 4 >>"$size.without" 2>>log
        COLLECT=gpu train "$size" "$size" 4
        cat "$size.out" >>"$size.with"
    done
    "$PYTHON" - "$size" <<'END' | tee -a device.txt
import statistics, sys
def of(path):
    return statistics.median(float(l.split()[1]) for l in open(path) if l.startswith("rate "))
size = sys.argv[1]
a, b = of(size + ".without"), of(size + ".with")
print("rate    %s kernels: %.0f launches/s without, %.0f with: %.3f of it" % (size, a, b, b / a))
END
done

say "result  $([ $failed = 0 ] && echo 'all holds' || echo 'something does not hold: see log') ($OUT)"
exit $failed
