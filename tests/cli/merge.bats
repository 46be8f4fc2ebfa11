#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One session of many: ranks that mpirun and Slurm start, hosts in network namespaces; a slow rank is named, with what it does.
load common

setup_file() {
    build_workloads
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset RANK SLURM_PROCID OMPI_COMM_WORLD_RANK PMI_RANK LOCAL_RANK SLURM_JOB_ID WORLD_SIZE SLURM_NTASKS OMPI_COMM_WORLD_SIZE
}

# judge DIR PYTHON: statements on `d`, what show --ranks --json gives, `ranks` and `did` of it.
judge() {
    "$WPROF" show --ranks --top 0 --json "$1" >out.json || return
    python3 -c '
import json, sys
d = json.load(open("out.json"))
ranks, did = d["ranks_compared"], d["ranks_did"]
'"$2"
}

# straggler DIR RANKS SLOW STEPS: rank SLOW, and it alone, came last in half of the steps or more; while the others waited it ran
# slow_transform, as far as it ran.
straggler() {
    judge "$1" "
assert [r['rank'] for r in ranks] == list(range($2)), ranks
assert [r['rank'] for r in ranks if r['note'] == 'straggler'] == [$3], ranks
assert all(r['steps'] == $4 for r in ranks), ranks
assert ranks[$3]['last'] * 2 >= $4, ranks
ran = {x['where']: x['ns'] for x in did if x['rank'] == $3 and x['state'] == 'on CPU'}
assert max(ran, key=ran.get) == 'slow_transform', did
assert len(d['stragglers']) == 1 and 'slow_transform' in d['stragglers'][0]['text'], d['stragglers']
"
}

# free_port: a TCP port on loopback that nobody has.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

@test "what can't be merged is refused, and nothing is left" {
    printf 'a;b 3\n' >a.folded
    "$WPROF" import -o a a.folded
    run -2 "$WPROF" merge a -o m
    run -2 "$WPROF" merge a a
    [[ $output == *"-o DIR"* ]]
    fails 3 "$WPROF" merge a a -o m
    says "among those before"
    fails 3 "$WPROF" merge a nothing -o m
    [ ! -e m ]
    fails 3 "$WPROF" show --ranks a
    says "of one recording"
}

@test "imported profiles: samples add up, archives are taken, a merged session merges again" {
    for i in 1 2 3; do
        printf 'a;b %d\na;c 1\n' $i >$i.folded
        "$WPROF" import -o s$i $i.folded
    done
    "$WPROF" pack -o s2.tar.zst s2
    "$WPROF" merge s1 s2.tar.zst -o m
    [ "$(samples m)" = 5 ]
    "$WPROF" merge s1 - -o piped <s2.tar.zst
    [ "$(samples piped)" = 5 ]
    fails 3 "$WPROF" merge - - -o twice <s2.tar.zst
    says "stdin has one session"
    "$WPROF" merge m s3 -o mm
    [ "$(samples mm)" = 9 ]
    [ "$("$WPROF" query --format csv mm 'SELECT count(DISTINCT rank) FROM tasks' | tail -1)" = 3 ]
    "$WPROF" show --ranks mm >ranks # what is told of no rank has no column
    [ -z "$(awk '/^$/ { exit } length > 100' ranks)" ]
    run ! grep -q 'GPU busy' ranks
    for again in "mm s1" "s2.tar.zst mm" "mm m"; do
        # shellcheck disable=SC2086
        fails 3 "$WPROF" merge $again -o twice
        says "is among those before it already"
    done
    "$WPROF" verify mm
}

# source DIR LINE TEXT...: a session's source.json, of one file.
source_of() {
    local dir=$1 lines=
    shift
    while [ $# -gt 1 ]; do
        lines+="${lines:+,}[$1,\"$2\"]"
        shift 2
    done
    echo '{"format":"wprof-source","version":1,"files":[{"path":"/src/train.py","lines":['"$lines"']}]}' >"$dir/source.json"
}

@test "source lines and what lies in extra/ are carried over, under names of their own where they differ" {
    for i in 1 2 3; do
        printf 'a;b %d\n' $i >$i.folded
        "$WPROF" import --host node -o s$i $i.folded
        mkdir -p s$i/extra/logs
        echo the same >s$i/extra/config
        echo "of $i" >s$i/extra/logs/run
        echo "only $i" >s$i/extra/only$i
    done
    ln -s config s1/extra/link
    source_of s1 3 'x = 1' 7 'y = 2'
    source_of s2 7 'y = 3' 9 'z = 4'
    "$WPROF" pack -o s2.tar.zst s2
    "$WPROF" merge s1 s2.tar.zst s3 -o m
    diff - <(cd m/extra && find . -type f | sort) <<<$'./config\n./logs/run\n./node-r1/logs/run\n./node-r2/logs/run\n./only1\n./only2\n./only3'
    [ "$(cat m/extra/config m/extra/logs/run m/extra/node-r1/logs/run m/extra/node-r2/logs/run m/extra/only2)" = $'the same\nof 1\nof 2\nof 3\nonly 2' ]
    python3 -c '
import json
[f] = json.load(open("m/source.json"))["files"]
assert f == {"path": "/src/train.py", "lines": [[3, "x = 1"], [7, "y = 2"], [9, "z = 4"]]}, f
notes = json.load(open("m/meta.json"))["notes"].splitlines()
for n in ("7 files of extra/ are carried over", "2 of them lie in extra/HOST-rRANK/", "1 lines of source have another text", "1 links, devices"):
    assert sum(x.startswith(n) for x in notes) == 1, (n, notes)
assert not any("not carried over" in x for x in notes if not x.startswith("1 links")), notes
'
    "$WPROF" verify m
    # what is wprof's own is replaced; what somebody put there since is not
    "$WPROF" merge --force s1 s2 -o m
    [ ! -e m/extra/only3 ]
    echo mine >m/extra/mine
    fails 3 "$WPROF" merge --force s1 s2 -o m
    says "it holds extra"
    # merged again: theirs are where they were, equal ones once
    mkdir -p m/extra/node-r2/logs
    echo other >m/extra/node-r2/logs/run
    "$WPROF" merge m s3 -o mm
    diff - <(cd mm/extra && find . -type f | sort) \
        <<<$'./config\n./logs/run\n./mine\n./node-r1/logs/run\n./node-r2-2/logs/run\n./node-r2/logs/run\n./only1\n./only2\n./only3'
}

@test "imported traces are of clocks of their own, whose distance nobody knows" {
    for i in 1 2; do
        printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 171646%d000000000, "dur": 5, "args": {"device": 0, "stream": 7}}]}' $i >$i.json
        "$WPROF" -q import --from kineto -o k$i $i.json
    done
    run -0 "$WPROF" merge k1 k2 -o k
    [[ $output == *"nothing bounds how far its clock is apart"* ]]
    [ "$("$WPROF" query --format csv k 'SELECT count(*) FROM kernels' | tail -1)" = 2 ]
}

@test "mpirun -np 4: the slow rank is named, and what it does; other ranks' waits lead to it" {
    need_tier_a
    need_command mpirun
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # for this test alone
    timeout 120 mpirun --oversubscribe -np 4 "$WPROF" record -q -F 499 -o 'run-%j/%h-r%r' -- "$WORKLOADS/straggler" 8 2 127.0.0.1 "$(free_port)"
    "$WPROF" merge run-*/* -o m
    straggler m 4 2 8
    judge m "assert {r['clock'] for r in ranks} == {'reference', 'same boot'} and not any(r['error_ns'] for r in ranks), ranks"
    [ "$(samples m)" = "$(for s in run-*/*; do samples "$s"; done | paste -sd+ | bc)" ]
    # who wakes another rank is that rank's thread, whoever recorded the wait
    "$WPROF" show --waits --top 0 --json m | python3 -c '
import json, sys
whose = {}
for w in json.load(sys.stdin)["waits"]:
    for name, tid in ((w["thread"], w["tid"]), (w["waker"], w["waker_tid"])):
        if name and name.startswith("straggler"):
            whose.setdefault(tid, set()).add(name)
assert len(whose) == 4 and all(len(names) == 1 for names in whose.values()), whose
'
    folded m | grep -q '^straggler \[rank 2\];.*slow_transform'
}

# in_other_net PID: the process is in another network namespace than we are.
in_other_net() {
    [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# Two hosts with two ranks each, joined by a wire. They share a clock, so it is known how far their clocks are apart.
hosts_program() {
    mkfifo a.go b.go
    for h in a b; do
        unshare --net --uts --pid --fork --mount-proc sh -c "hostname node-$h; read x <$h.go; ip link set lo up; exec sh ./$h.sh" &
        echo $! >$h.pid
        until_true 20 in_other_net $! || return
    done
    ip link add "wpa$$" type veth peer name "wpb$$" || return
    ip link set "wpa$$" netns "$(cat a.pid)" && ip link set "wpb$$" netns "$(cat b.pid)" || return
    for h in a:1:0:1 b:2:2:3; do
        IFS=: read -r name number first second <<<"$h"
        cat >"$name.sh" <<SH
ip addr add 10.77.0.$number/24 dev wp$name$$
ip link set wp$name$$ up
for r in $first $second; do
    RANK=\$r WORLD_SIZE=4 "$WPROF" record -q -F 499 -o 'hosts/%h-r%r' -- "$WORKLOADS/straggler" 8 3 10.77.0.1 5301 &
done
wait
SH
    done
    echo >a.go
    echo >b.go
    wait
}

# Recorded and merged, from nothing.
two_hosts() {
    rm -rf hosts same sockets barriers a.go b.go
    hosts_program || return
    "$WPROF" merge hosts/* -o same || return
    judge same "assert {r['clock'] for r in ranks} == {'reference', 'same boot'}, ranks" || return
    # as if they were of two machines
    sed -i 's/"clock_id": "/"clock_id": "another /' hosts/node-b-*/meta.json
    for how in sockets barriers; do
        "$WPROF" merge hosts/* --clocks $how -o $how || return
        judge $how "
b = [r for r in ranks if r['host'] == 'node-b']
assert len(b) == 2 and all(r['clock'] == '$how' for r in b), ranks
assert all(r['error_ns'] > 0 and abs(r['offset_ns']) <= r['error_ns'] for r in b), b
" || return
        straggler $how 4 3 8 || return
    done
    grep -q 'clock of node-b: moved by .*(sockets;' <("$WPROF" show sockets) || return
    # the processes of both hosts, joined by the connection that each knew its own end of
    python3 -c '
import json
edges = json.load(open("sockets/topology.json"))["edges"]
tcp = [e for e in edges if e["kind"] == "tcp" and "ns=node-a" in e["a"] + e["b"] and "ns=node-b" in e["a"] + e["b"]]
assert len(tcp) == 2, tcp
'
}

@test "two hosts: clocks come out as near as is said, connections are joined, equal names stay apart" {
    need_tier_a
    need_command ip
    need_command unshare
    unshare --net --uts --pid --fork --mount-proc true 2>/dev/null || skip "needs namespaces of networks and pids"
    ip link add "wpt$$" type veth peer name "wpu$$" 2>/dev/null || skip "needs veth devices"
    ip link del "wpt$$"
    in_three two_hosts # a job of half a second: on a busy machine its sockets may end before anybody looks at them
}

# A batch system of one node that is this machine, in a folder of its own, on ports of loopback; ended in teardown.
start_slurm() {
    local d=$BATS_TEST_TMPDIR/slurm host
    host=$(hostname -s)
    mkdir -p "$d/state" "$d/spool"
    head -c 1024 /dev/urandom >"$d/key"
    chmod 600 "$d/key"
    cat >"$d/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$d/munge.socket
CredType=cred/munge
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool
SlurmctldPidFile=$d/slurmctld.pid
SlurmdPidFile=$d/slurmd.pid
SlurmctldLogFile=$d/slurmctld.log
SlurmdLogFile=$d/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
    export SLURM_CONF=$d/slurm.conf
    munged --foreground --force --key-file="$d/key" --socket="$d/munge.socket" --pid-file="$d/munge.pid" \
        --log-file="$d/munge.log" --seed-file="$d/munge.seed" >"$d/munged.out" 2>&1 3>&- &
    echo $! >>"$d/pids"
    until_true 10 test -S "$d/munge.socket" || return
    slurmctld -D >"$d/slurmctld.out" 2>&1 3>&- &
    echo $! >>"$d/pids"
    slurmd -D >"$d/slurmd.out" 2>&1 3>&- &
    echo $! >>"$d/pids"
    until_true 30 slurm_idles
}

slurm_idles() {
    [ "$(sinfo -h -o %T)" = idle ]
}

teardown() {
    local pid
    [ -e slurm/pids ] || return 0
    tac slurm/pids | while read -r pid; do
        kill "$pid" 2>/dev/null || true
    done
    # The folder is theirs until they are gone.
    while read -r pid; do
        until_true 20 eval "! kill -0 $pid" || kill -9 "$pid" || true
    done <slurm/pids
}

@test "srun -n 4 on a Slurm of one node: the same of its ranks" {
    need_tier_a
    PATH=$PATH:/usr/sbin:/sbin
    for c in munged slurmctld slurmd srun sinfo; do
        need_command $c
    done
    start_slurm || skip "Slurm does not run here: $(tail -n 1 slurm/slurmctld.out slurm/slurmd.out 2>/dev/null | tail -n 1)"
    timeout 60 srun -n 4 --overcommit "$WPROF" record -q -F 499 -o 'run-%j/%h-r%r' -- "$WORKLOADS/straggler" 8 1 127.0.0.1 "$(free_port)"
    "$WPROF" merge run-1/* -o m
    straggler m 4 1 8
    [ "$(meta m host)" = "$(hostname)" ]
}
