#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ranks of a run: whose session is whose, and who is recorded at all.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    unset RANK SLURM_PROCID OMPI_COMM_WORLD_RANK PMI_RANK LOCAL_RANK SLURM_JOB_ID PBS_JOBID LSB_JOBID JOB_ID \
        TORCHELASTIC_RUN_ID PMIX_NAMESPACE WORLD_SIZE SLURM_NTASKS OMPI_COMM_WORLD_SIZE PMI_SIZE
}

# named PATTERN DIR [NAME=VALUE]...: in that environment, PATTERN names DIR.
named() {
    local pattern=$1 dir=$2
    shift 2
    env "$@" "$WPROF" record -q --keep-going -o "$pattern" -- true
    [ -s "$dir/meta.json" ] || { find . -name meta.json; return 1; }
}

@test "-o: rank, ranks on this host, how many, job, host" {
    host=$(hostname | cut -d. -f1 | tr -c 'A-Za-z0-9._\n-' _)
    named 'run-%j/%h-r%r' "run-77/$host-r3" SLURM_JOB_ID=77 SLURM_PROCID=3
    named 'a/b/%l-of-%n' a/b/1-of-8 LOCAL_RANK=1 WORLD_SIZE=8
    named 'o%r' o5 OMPI_COMM_WORLD_RANK=5 PMI_RANK=9 # the first of the list
    named 'p%r' p9 PMI_RANK=9
    named 'none%r-%n' none0-1
    named 'job-%j' job-a_b_1 PMIX_NAMESPACE=a@b/1
    named 'torch-%j' torch-r2 TORCHELASTIC_RUN_ID=r2
    named '100%%' 100%
    run -125 "$WPROF" record -o 'x%z' -- true
    [[ $output == *"%z is none of"* ]]
    run -125 "$WPROF" record -o 'x%' -- true
    [ ! -e x ]
}

@test "--ranks: the others run as without wprof" {
    RANK=2 run -0 "$WPROF" record -q --ranks 0,7-8 -o s -- sh -c 'echo "$RANK $WPROF_MARKS"'
    [ "$output" = "2 " ] && [ ! -e s ]
    for r in 0 7 8; do
        RANK=$r "$WPROF" record -q --keep-going --ranks 0,7-8 -o 's%r' -- true
        [ -s s$r/meta.json ]
    done
    RANK=1 run -7 "$WPROF" record --ranks 0 -- sh -c 'exit 7'
    RANK=1 run -127 "$WPROF" record --ranks 0 -- ./nothing
    run -125 "$WPROF" record --ranks 3-1 -- true
    [[ $output == *"not a list of ranks"* ]]
    run -125 "$WPROF" record --ranks 0 -p $$
}

@test "mpirun -np 4: a session each, in the job's folder" {
    need_command mpirun
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # for this test alone
    timeout 120 mpirun --oversubscribe -np 4 "$WPROF" record -q --keep-going -o 'run-%j/r%r' -- true
    [ "$(ls -d run-*)" = "$(ls -d run-* | head -1)" ]
    [ "$(ls run-* | paste -sd' ')" = "r0 r1 r2 r3" ]
    for r in 0 1 2 3; do
        grep -q "OMPI_COMM_WORLD_RANK=$r" run-*/r$r/meta.json
    done
}

# in_path NAME COMMAND: a program of that name, before all others.
in_path() {
    mkdir -p bin
    printf '#!/bin/sh\nexec %s "$@"\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}

@test "examples: mpirun.sh and torchrun.sh record each rank into the job's folder" {
    PATH=$PWD/bin:$PATH
    in_path wprof "'$WPROF'"
    if command -v mpirun >/dev/null; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
        timeout 120 sh "$ROOT/examples/ranks/mpirun.sh" 3 true
        [ "$(ls run-*/ | grep -c -- '-r[012]$')" = 3 ]
        rm -r run-*
    fi
    need_python torch.distributed.run
    in_path python3 "$PYTHON"
    # each rank's output to a file and here: torch 1.13 with CPython 3.11 can't do without being told so
    in_path torchrun "$PYTHON -m torch.distributed.run --redirects 0:1,1:1 --tee 0:1,1:1"
    echo 'import os; print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])' >train.py
    JOB=night timeout 120 sh "$ROOT/examples/ranks/torchrun.sh" 2 train.py >out 2>&1 || { cat out; false; }
    grep -q 'rank 1 of 2' out
    [ "$(ls run-night | grep -c -- '-r[01]$')" = 2 ]
    "$WPROF" -q merge -o merged run-night/*
    [ "$("$WPROF" show --ranks --json merged | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["ranks_compared"]))')" = 2 ]
}
