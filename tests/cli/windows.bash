# SPDX-License-Identifier: Apache-2.0
# Recordings of a part of a run, in each tier that works here. The program `phases` is in a known function at a known time.

setup_file() {
    load common
    build_workloads
    export TIERS="" t # those that work here
    for t in A B C; do
        ! "$WPROF" -q record --force --tier $t -o "$BATS_FILE_TMPDIR/probe" -- true 2>/dev/null || TIERS+=$t
    done
}

setup() {
    D=$(mktemp -d)
    chmod 755 "$D"
    cd "$D" || return 1
    PHASES=$WORKLOADS/phases
}

teardown() {
    cd /
    for pid in ${STARTED:-}; do
        kill -9 "$pid" 2>/dev/null || true
    done
    rm -rf "$D"
}

folded() {
    cat "$1/folded.txt"
}

# tiers COMMAND...: in each tier that works here; of a busy machine's recordings one of three.
tiers() {
    local t
    for t in A B C; do
        [[ $TIERS == *$t* ]] || continue
        in_three anew "$@" $t || { echo "in tier $t"; return 1; }
        rm -rf s
    done
}

anew() {
    rm -rf s
    "$@"
}

# Functions of native code are told apart only in tiers A and B.
need_native() {
    [[ $TIERS == *[AB]* ]] || skip "needs BPF or perf events"
}
