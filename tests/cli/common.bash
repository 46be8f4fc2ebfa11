# SPDX-License-Identifier: Apache-2.0
# What the command-line tests share. The runner sets WPROF (the program) and BUILD (the build folder).

bats_require_minimum_version 1.5.0

: "${BUILD:=$BATS_TEST_DIRNAME/../../build}"
: "${WPROF:=$BUILD/wprof}"
BUILD=$(cd "$BUILD" && pwd)
WPROF=$(cd "$(dirname "$WPROF")" && pwd)/$(basename "$WPROF")
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
WORKLOADS=$BUILD/workloads
export WPROF BUILD
unset XDG_CONFIG_HOME # a developer's own settings stay out

# Whether BPF recording works here: as root, and the kernel lets us. Asked once a test file.
need_tier_a() {
    [ "$(id -u)" = 0 ] || skip "needs root (BPF recording)"
    [ -e /sys/kernel/btf/vmlinux ] || skip "needs kernel BTF"
}

need_command() {
    command -v "$1" >/dev/null 2>&1 || skip "needs $1"
}

# One at a time, where files of tests run side by side.
build_workloads() {
    mkdir -p "$WORKLOADS"
    flock "$WORKLOADS" make -s -C "$ROOT/tests/workloads" O="$WORKLOADS"
}

# A python3 that imports the modules named, in $PYTHON; skips where none does.
need_python() {
    local p m=${*:-sys}
    for p in /usr/bin/python3 python3; do
        if "$p" -c "import ${m// /,}" >/dev/null 2>&1; then
            PYTHON=$p
            return
        fi
    done
    skip "needs a python3 with ${m}"
}

# find_python 3.N: the command that runs it, in PYTHON; skips where there is none.
find_python() {
    local dir=${PYENV_ROOT:-$HOME/.pyenv}/versions fetched=${WPROF_PYTHONS:-$BUILD/pythons}/$1/root/usr p
    for p in "$dir/$1".*/bin/python3 "/usr/bin/python$1"; do
        [ -x "$p" ] && { PYTHON=("$p"); return; }
    done
    [ -x "$fetched/bin/py" ] && { PYTHON=(env "PYTHONHOME=$fetched" "$fetched/bin/py"); return; }
    skip "needs CPython $1 (pyenv, or tests/tools/fetch-pythons.sh)"
}

# folded DIR: the session's on-CPU folded text.
folded() {
    "$WPROF" export --format folded "$1"
}

# share DIR REGEX [WITHIN]: of the samples whose stack matches WITHIN (all), the share whose stack matches REGEX.
share() {
    # by the environment: some awks take backslashes away from what -v gives
    folded "$1" | RE=$2 WITHIN=${3:-.} awk '
        BEGIN { re = ENVIRON["RE"]; within = ENVIRON["WITHIN"] }
        { n = $NF; sub(/ [0-9]+$/, "") }
        $0 ~ within { all += n; if ($0 ~ re) hit += n }
        END { if (all) printf "%.4f\n", hit / all; else print "0" }'
}

# samples DIR [REGEX]: how many samples' stacks match.
samples() {
    folded "$1" | RE=${2:-.} awk 'BEGIN { re = ENVIRON["RE"] } { n = $NF; sub(/ [0-9]+$/, "") } $0 ~ re { s += n } END { print s + 0 }'
}

# quality DIR FIELD: a field of `show --json`.
quality() {
    "$WPROF" show --json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

# whole DIR [SHARE]: all stacks but SHARE (0.5 %) of them, and but a few of a program's first and last moments, reach the root.
whole() {
    holds "(1 - $(quality "$1" unwound_share)) * $(quality "$1" taken) <= ${2:-0.005} * $(quality "$1" taken) + 5"
}

# held_by DIR FUNCTION HOLDER: what part of the time that threads wait for futexes in FUNCTION is for a mutex of HOLDER.
held_by() {
    "$WPROF" show --waits --top 0 --json "$1" |
        python3 -c 'import json, re, sys
ws = [w for w in json.load(sys.stdin)["waits"] if w["reason"] == "futex" and w["where"] == sys.argv[1]]
of = re.compile(r"futex 0x[0-9a-f]+ \(mutex, held by " + sys.argv[2] + r"\[\d+\]\)$")
print(sum(w["ns"] for w in ws if of.match(w["what"])) / sum(w["ns"] for w in ws))' "$2" "$3"
}

# holds EXPR: a numeric comparison, said when it fails.
holds() {
    awk "BEGIN { exit !($1) }" || { echo "does not hold: $1"; return 1; }
}

# near A B SHARE [MORE]: A is B, give or take SHARE of it and MORE.
near() {
    holds "($1 - $2) ^ 2 <= ($3 * $2 + ${4:-0}) ^ 2"
}

# in_three COMMAND...: holds in one of three recordings. For bounds tighter than what else a busy machine does to one of
# them: noise spoils some, a wrong figure all. The command must return its verdict: set -e does not act inside.
in_three() {
    "$@" || "$@" || "$@"
}

# not COMMAND...: it fails. After `!` alone set -e would not look, unless it is a test's last line.
not() {
    ! "$@"
}

# meta DIR FIELD: of the session's meta.json.
meta() {
    python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/meta.json"))[sys.argv[2]])' "$1" "$2"
}

# until_true SECONDS COMMAND...: the limit only keeps a broken recorder from hanging the tests.
until_true() {
    local n=$(($1 * 20))
    shift
    while ! "$@" 2>/dev/null; do
        n=$((n - 1))
        [ $n -gt 0 ] || return 1
        sleep 0.05
    done
}

# fails CODE COMMAND...: ends with that code; what it says, in $output.
fails() {
    local want=$1
    shift
    output=$("$@" 2>&1) && status=0 || status=$?
    [ "$status" = "$want" ] || { echo "status $status, expected $want: $output"; return 1; }
}

# says REGEX: in $output, whatever the case.
says() {
    grep -qiE "$1" <<<"$output" || { echo "no '$1' in: $output"; return 1; }
}
