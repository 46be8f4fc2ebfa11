#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common
load topo

@test "TCP over IPv4, IPv6 and from one to the other: exact bytes, from both ends" {
    for means in tcp4 tcp6 mapped; do
        talk $means 12345 678
        graph
        in_graph 'len(edges("tcp", a, b)) == 1 and edges("tcp", a, b)[0][:2] == (12345, 678)'
        in_graph 'edges("tcp", a, b)[0][2]["weight"] == 1 and edges("tcp", a, b)[0][2]["confidence"] == 1'
        in_graph "any(e['kind'] == 'connect' and e['b'].find(':$port(TCP)') > 0 and (e['bytes_ab'], e['bytes_ba']) == (12345, 678)
                      for e in g['edges'])"
    done
}

@test "--min-bytes and --min-messages leave small connections out, and count them" {
    talk tcp4 1000
    for option in "--min-bytes 1001" "--min-messages 1000"; do
        # shellcheck disable=SC2086
        graph $option
        in_graph 'a in of_pid and not edges("tcp", a, b) and "too small" in cover("socket")["detail"]'
    done
    graph --min-bytes 1000 --min-messages 1
    in_graph 'len(edges("tcp", a, b)) == 1'
    graph --limits witty # 5 packets
    in_graph 'not edges("tcp", a, b) and "too small" in cover("socket")["detail"]'
    graph --limits witty --min-messages 1
    in_graph 'len(edges("tcp", a, b)) == 1'
}

@test "unix sockets with a path, abstract, datagrams; UDP" {
    for means in unix abstract dgram; do
        talk $means
        graph
        in_graph 'len(edges("unix", a, b)) == 1'
    done
    for means in udp4 udp6; do
        talk $means
        graph
        in_graph 'len(edges("udp", a, b)) == 1'
    done
}

@test "a pipe and a FIFO have a direction; an eventfd has none" {
    talk pipe
    graph
    in_graph 'len(edges("pipe", a, b)) == 1 and not edges("pipe", b, a)'
    talk fifo
    graph
    in_graph "len(edges('fifo', a, b)) == 1 and not edges('fifo', b, a) and edges('fifo', a, b)[0][2]['attrs']['path'] == '$path'"
    talk eventfd
    graph
    in_graph 'len(edges("eventfd", a, b)) == 1'
}

@test "sockets that a third process made and passed by SCM_RIGHTS" {
    talk passed
    graph
    in_graph 'len(edges("unix", a, b)) == 1 and edges("unix", a, b)[0][2]["confidence"] == 1'
}

@test "two network namespaces: each has its own 127.0.0.1" {
    unshare -n true 2>/dev/null || skip "needs root, for network namespaces"
    first=$(mktemp) second=$(mktemp)
    for f in "$first" "$second"; do
        mkfifo "$f.out"
        exec {fd}> >(exec unshare -n "$PYTHON" "$ROOT/tests/workloads/talk.py" lo+tcp4 4321 >"$f.out")
        talkers+=("$fd")
        read -r -t 30 line <"$f.out"
        echo "$line" >"$f"
    done
    graph
    for f in "$first" "$second"; do
        eval "$(cat "$f")"
        in_graph 'len(edges("tcp", a, b)) == 1 and edges("tcp", a, b)[0][0] == 4321'
        in_graph 'sum(e["kind"] == "tcp" and any(nodes[e[k]]["attrs"]["pid"] == a for k in "ab") for e in g["edges"]) == 1'
    done
    in_graph '"3 network namespaces" in cover("socket")["detail"] or int(cover("socket")["detail"].split()[0]) >= 3'
}

@test "--pid: what is around a process, its children with it; a dead one is said" {
    talk tcp4
    graph --pid "$a"
    in_graph 'a in of_pid and b in of_pid and len(g["nodes"]) < 40'
    parent=$(awk '/PPid/ { print $2 }' "/proc/$a/status")
    graph --pid "$parent" --hops 0
    in_graph 'a in of_pid and b in of_pid and all(n["kind"] in ("process", "thread") for n in g["nodes"])'
    sleep 0 &
    dead=$!
    wait $dead
    run -0 "$WPROF" topo --pid "$a" --pid $dead --format json
    [[ $output == *"no such process: $dead"* ]]
    run -3 "$WPROF" topo --pid $dead
    [[ $output == *"no such process: $dead"* ]]
    run -2 "$WPROF" topo --pid 12x
}

@test "--around, --match, --seed and --without-source" {
    talk tcp4 10
    graph --around "pid=$a" --hops 1
    in_graph 'a in of_pid and b in of_pid'
    graph --match "(TCP))"
    in_graph 'g["nodes"] and all(n["kind"] == "socket" for n in g["nodes"])'
    graph --without-source socket,pipe
    in_graph 'a in of_pid and not edges("tcp", a, b) and cover("socket")["state"] == "off"'
    graph --seed socket --hops 0
    in_graph 'g["nodes"] and all("socket" in n["source"] for n in g["nodes"])'
    graph --seed witty --pid "$a" --hops 0
    in_graph 'a in of_pid and all("common-parent" in n["source"] or n["kind"] not in ("process", "thread") or n is of_pid[a]
              for n in g["nodes"])'
    run -2 "$WPROF" topo --seed sockte
    [[ $output == *"did you mean socket?"* ]]
    run -2 "$WPROF" topo --without-source static
    run -3 "$WPROF" topo --around nobody-of-that-name
    [[ $output == *"no node 'nobody-of-that-name'"* ]]
}

@test "the seed top-cpu takes the busiest" {
    sh -c 'while :; do :; done' &
    busy=$!
    a=$busy
    "$WPROF" topo --format json --seed top-cpu --top 200 --hops 0 --duration 300ms >"$BATS_TEST_TMPDIR/t.json"
    json=$BATS_TEST_TMPDIR/t.json
    kill $busy
    in_graph 'of_pid[a]["attrs"]["cpu_cores"] > 0'
}

@test "common parents: who has two children" {
    sh -c 'sleep 60 & sleep 60 & wait' &
    a=$!
    until_true 'ps --ppid $a -o pid= | wc -l | grep -qx 2'
    graph
    kids=$(ps --ppid $a -o pid=)
    kill $kids
    in_graph 'of_pid[a]["attrs"]["children"] == 2 and "common-parent" in of_pid[a]["source"]'
    in_graph 'sum(e["kind"] == "own" and e["a"] == of_pid[a]["id"] for e in g["edges"]) == 2'
}

@test "text and lines; two runs give the same order" {
    talk tcp4 2048
    run -0 bash -c '"$WPROF" topo --pid "$1" --hops 1 2>/dev/null' - "$a"
    [[ ${lines[0]} =~ ^Graph\ with\ [0-9]+\ nodes\ and\ [0-9]+\ edges$ ]]
    [[ $output == *"Nodes:"*"Edges:"*"IPC[tcp]"*"2.0 KiB"*"Sources:"* ]]
    "$WPROF" topo --pid "$a" --hops 1 --duration 300ms --interval 100ms --format ndjson >"$BATS_TEST_TMPDIR/lines"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" -ge 3 ]
    "$PYTHON" - "$BATS_TEST_TMPDIR/lines" <<'END'
import json, sys
looks = [json.loads(l) for l in open(sys.argv[1])]
assert [n["id"] for n in looks[0]["nodes"]] == [n["id"] for n in looks[-1]["nodes"]]
assert looks[0]["time_ns"] < looks[-1]["time_ns"]
END
}

@test "the manual's lines for curl post each look by itself" {
    local line at server
    need_command curl
    mkdir "$BATS_TEST_TMPDIR/got"
    "$PYTHON" "$ROOT/tests/tools/collector.py" "$BATS_TEST_TMPDIR/got" 3>&- &
    server=$!
    until_true 'test -s "$BATS_TEST_TMPDIR/got/port"' 30
    at=127.0.0.1:$(<"$BATS_TEST_TMPDIR/got/port")
    line=$(sed -n '/wprof topo .*ndjson |$/,/done$/p' "$ROOT/man/wprof-topo.1.md")
    line=${line/wprof topo --interval 5s/'"$WPROF"' topo --pid $$ --duration 300ms --interval 100ms}
    (unset http_proxy ALL_PROXY all_proxy; eval "${line/collector:8080/$at}")
    kill "$server"
    "$PYTHON" - "$BATS_TEST_TMPDIR"/got/*.body <<'END'
import json, sys
looks = [json.load(open(f))["data"] for f in sys.argv[1:]]
assert len(looks) >= 2 and all(look["nodes"] for look in looks)
assert len({look["time_ns"] for look in looks}) == len(looks)
END
}

@test "--duration: what was there in between stays, with the times when it was seen" {
    (sleep 0.5; exec sleep 0.5) &
    a=$!
    graph --duration 1.5s --interval 100ms
    in_graph 'a in of_pid and of_pid[a]["first_seen_ns"] < of_pid[a]["last_seen_ns"] < g["time_ns"]'
}

@test "--schema fits what is written; --sources" {
    talk tcp4
    graph
    "$WPROF" topo --schema >"$BATS_TEST_TMPDIR/schema.json"
    "$PYTHON" - "$BATS_TEST_TMPDIR/schema.json" "$json" <<'END'
import json, sys
schema, graph = (json.load(open(f)) for f in sys.argv[1:])
types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
def check(s, v, where):
    if "$ref" in s:
        s = schema["$defs"][s["$ref"].split("/")[-1]]
    if "type" in s:
        assert isinstance(v, types[s["type"]]) and (s["type"] == "boolean" or not isinstance(v, bool)), where
    assert "const" not in s or v == s["const"], where
    assert "enum" not in s or v in s["enum"], where
    assert "minimum" not in s or v >= s["minimum"], where
    for k in s.get("required", []):
        assert k in v, (where, k)
    for k, x in (v.items() if "properties" in s else ()):
        assert k in s["properties"], (where, k) # what is written is described
        check(s["properties"][k], x, where + "." + k)
    for i, x in enumerate(v if "items" in s else ()):
        check(s["items"], x, "%s[%d]" % (where, i))
check(schema, graph, "topology")
END
    run -0 "$WPROF" topo --sources
    [[ $output == *"common-parent"*"CommonProcessParent"* ]]
}

@test "what cannot be done is said: wrong usage, nothing to look at" {
    for wrong in "--layout gephi --format json" "--layout constraint" "--around=" "--timeout 0"; do
        # shellcheck disable=SC2086
        run -2 "$WPROF" topo $wrong
    done
    mkdir "$BATS_TEST_TMPDIR/empty"
    run -3 "$WPROF" topo --root "$BATS_TEST_TMPDIR/empty"
    [[ $output == *"nothing could be looked at"* ]]
}

@test "wprof topo is no part of what it shows" {
    graph -o "$BATS_TEST_TMPDIR/of-its-own"
    "$PYTHON" -c 'import json, sys
assert not [n for n in json.load(open(sys.argv[1]))["nodes"] if sys.argv[1] in n["attrs"].get("cmdline", "")]' "$BATS_TEST_TMPDIR/of-its-own"
}

@test "secrets in command lines are not shown" {
    sleep 30 TOKEN=opensesame 2>/dev/null &
    "$PYTHON" -c 'import time; time.sleep(30)' --password opensesame &
    a=$!
    until_true 'grep -q opensesame /proc/$a/cmdline'
    graph
    kill $a
    in_graph 'a in of_pid and "[redacted]" in of_pid[a]["attrs"]["cmdline"]'
    not grep -q opensesame "$json"
}

@test "an ordinary user sees what is his, and is told what is not" {
    [ "$(id -u)" = 0 ] || skip "needs root, to become another"
    id nobody >/dev/null 2>&1 || skip "needs the user nobody"
    cp "$WPROF" "$BATS_TEST_TMPDIR/wprof" && chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/wprof"
    json=$BATS_TEST_TMPDIR/topology.json
    setpriv --reuid nobody --clear-groups "$BATS_TEST_TMPDIR/wprof" topo --format json >"$json" 2>"$BATS_TEST_TMPDIR/err"
    in_graph 'cover("process")["denied"] > 0 and cover("process")["state"] == "partial" and 1 in of_pid'
    grep -q "may not be looked into" "$BATS_TEST_TMPDIR/err"
}

@test "--root: a recorded tree of files gives its graph" {
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/small.tree" "$BATS_TEST_TMPDIR/root"
    graph --root "$BATS_TEST_TMPDIR/root"
    a=10 b=11
    in_graph 'g["host"] == "node7" and sorted(of_pid) == [1, 10, 11, 20]'
    in_graph 'of_pid[10]["attrs"]["name"] == "python3 (train)" and of_pid[10]["attrs"]["cpu_s"] == 9.05'
    in_graph 'of_pid[10]["attrs"]["started_ns"] == 1700000050 * 10**9 and of_pid[10]["instance"] == "5000"'
    in_graph '"abc" not in of_pid[10]["attrs"]["cmdline"]'
    in_graph '[n["attrs"]["name"] for n in g["nodes"] if n["kind"] == "thread"] == ["python3 (train)", "pin memory"]'
    in_graph 'len(edges("pipe", 11, 10)) == 1 and not edges("pipe", 10, 11) and len(edges("eventfd", 10, 11)) == 1'
    in_graph 'len(edges("tcp", 10, 11)) == 1 and len(edges("tcp", 10, 20)) == 1' # the latter from namespace to namespace
    in_graph '[(e["a"], e["b"]) for e in g["edges"] if e["kind"] == "connect"] == [
        ("Socket(10.0.0.1:40001(TCP))", "Socket(10.0.0.2:80(TCP))"),
        ("Socket(10.0.0.1:40002(TCP))", "Socket(8.8.8.8:443(TCP))"),
        ("Socket(127.0.0.1:40000(TCP))", "Socket(127.0.0.1:5000(TCP),net=100)")]'
    in_graph '"Socket(127.0.0.1:5000(TCP),net=101)" in nodes'
    in_graph '"2 network namespaces" in cover("socket")["detail"] and "1 lines" in cover("socket")["detail"]'
    run -0 diff <("$WPROF" topo --root "$BATS_TEST_TMPDIR/root") <("$WPROF" topo --root "$BATS_TEST_TMPDIR/root" --seed all)
}

@test "UDP from one network namespace to another: a socket bound to the address takes it, one bound to all does not" {
    local root=$BATS_TEST_TMPDIR/root head='  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/small.tree" "$root"
    ln -s 'socket:[800]' "$root/proc/11/fd/9"
    ln -s 'socket:[801]' "$root/proc/11/fd/10"
    ln -s 'socket:[810]' "$root/proc/20/fd/5"
    ln -s 'socket:[811]' "$root/proc/20/fd/6"
    udp() { printf '   0: %s %s 07 00000000:00000000 00:00000000 00000000  1000        0 %s 2 0000000000000000 0\n' "$@"; }
    { echo "$head"; udp 0100000A:9C50 0200000A:1E79 800; udp 0100000A:9C51 0200000A:1E7A 801; } >"$root/proc/1/net/udp"
    { echo "$head"; udp 0200000A:1E79 00000000:0000 810; udp 00000000:1E7A 00000000:0000 811; } >"$root/proc/20/net/udp"
    graph --root "$root"
    a=11 b=20
    in_graph 'len(edges("udp", 11, 20)) == 1'
    in_graph '("Socket(10.0.0.1:40016(UDP))", "Socket(10.0.0.2:7801(UDP))") in [(e["a"], e["b"]) for e in g["edges"] if e["kind"] == "connect"]'
    in_graph '"Socket(0.0.0.0:7802(UDP))" not in [e["b"] for e in g["edges"] if e["kind"] == "connect"]'
}

@test "two ranks of a training by gloo: their flow, both ways, with its bytes" {
    need_python torch.distributed
    local rank pids=() port=$((20000 + RANDOM % 10000)) fd
    for rank in 0 1; do
        exec {fd}> >(RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            exec "$PYTHON" "$ROOT/tests/workloads/ranks.py" 40 >"$BATS_TEST_TMPDIR/$rank" 2>"$BATS_TEST_TMPDIR/err$rank")
        pids+=($!)
        talkers+=("$fd")
    done
    for rank in 0 1; do
        until_true 'grep -q ready "$BATS_TEST_TMPDIR/$rank" || ! kill -0 ${pids[$rank]}' 60
        grep -q ready "$BATS_TEST_TMPDIR/$rank" || skip "gloo does not work here: $(tail -1 "$BATS_TEST_TMPDIR/err$rank")"
    done
    a=${pids[0]} b=${pids[1]}
    graph
    # In a ring of two each sends all of it once.
    in_graph 'len(edges("tcp", a, b)) == 1 and min(edges("tcp", a, b)[0][:2]) >= 40000000 and max(edges("tcp", a, b)[0][:2]) < 44000000'
}

@test "every kind is in the manual page" {
    sed -nE 's/^(NODE|EDGE)\([A-Z0-9_]+, "([^"]+)".*/\2/p' "$ROOT/src/model/graph_kinds.def" | while read -r kind; do
        grep -qE "^\| $kind \|" "$ROOT/man/wprof-topology.5.md" || [ "$kind" = other ] || echo "wprof-topology(5) lacks $kind"
    done >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "--duration: a reader that goes away ends it; so does the end of all processes asked for" {
    run -3 bash -c '"$WPROF" topo --duration 20s --interval 50ms --format ndjson 2>"$1" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}' - "$BATS_TEST_TMPDIR/err"
    grep -q "Broken pipe" "$BATS_TEST_TMPDIR/err"
    run -3 bash -c '"$WPROF" topo --interval 20ms --format ndjson 2>"$1" | head -n 3 | wc -l; exit ${PIPESTATUS[0]}' - "$BATS_TEST_TMPDIR/err"
    [ "$output" = 3 ] # without --duration it goes on
    grep -q "Broken pipe" "$BATS_TEST_TMPDIR/err"
    run -2 "$WPROF" topo --interval 20ms
    [[ $output == *"--interval: for how long?"* ]]
    run -2 "$WPROF" topo --interval 20ms --format ndjson -o x
    sleep 1.5 &
    a=$!
    graph --pid $a --duration 20s --interval 100ms 2>"$BATS_TEST_TMPDIR/err"
    in_graph 'a in of_pid'
    grep -q "ended early" "$BATS_TEST_TMPDIR/err"
}

@test "lines: a reader that stops costs looks, which are counted, and holds nobody up" {
    "$PYTHON" - "$WPROF" 2>&1 <<'END'
import fcntl, json, os, select, signal, subprocess, sys, tempfile
def start(duration):
    r, w = os.pipe()
    fcntl.fcntl(w, 1031, 4096) # F_SETPIPE_SZ: less than a line
    err = tempfile.TemporaryFile()
    p = subprocess.Popen([sys.argv[1], "topo", "--duration", duration, "--interval", "50ms", "--format", "ndjson"], stdout=w, stderr=err)
    os.close(w)
    select.select([r], [], [])
    return p, r, err
def said(err):
    err.seek(0)
    return err.read().decode()
p, r, err = start("300s") # nobody reads: it ends when it is asked to
p.send_signal(signal.SIGINT)
assert p.wait(60) == 3 and "cut off" in said(err), said(err)
p, r, err = start("1s")
select.select([], [], [], 1.5) # what is read late is whole
lines = os.fdopen(r).read().splitlines()
assert p.wait(60) == 0 and all(json.loads(line)["nodes"] for line in lines), said(err)
assert "looks were left out" in said(err) and len(lines) < 20, (said(err), len(lines))
END
}

@test "--duration: ^C ends it, and what was seen is shown" {
    "$WPROF" topo --duration 30s --interval 100ms --format json -o "$BATS_TEST_TMPDIR/t.json" 2>/dev/null &
    pid=$!
    # signals are its own by now: it blocks or catches SIGTERM, bit 14
    until_true '(( 0x$(awk "/^SigBlk|^SigCgt/ { print \$2 }" /proc/$pid/status | paste -sd"|" | sed "s/|/|0x/") & 0x4000 ))'
    sleep 0.5
    kill -INT $pid || kill -TERM $pid
    until_true '! kill -0 $pid 2>/dev/null || { kill -TERM $pid; false; }'
    wait $pid
    json=$BATS_TEST_TMPDIR/t.json
    in_graph '1 in of_pid'
}

@test "a pid that is used again is two processes, told apart by their start" {
    unshare -pf --mount-proc test -w /proc/sys/kernel/ns_last_pid 2>/dev/null || skip "needs root, for a pid namespace"
    json=$BATS_TEST_TMPDIR/t.json
    unshare -pf --mount-proc "$PYTHON" - "$WPROF" "$json" >"$BATS_TEST_TMPDIR/pid" 2>/dev/null <<'END'
import os, signal, subprocess, sys, time
def child():
    pid = os.fork()
    if not pid:
        signal.pause()
    return pid
def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
def reap(): # we are this namespace's first process
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
first = child()
topo = subprocess.Popen([sys.argv[1], "topo", "--duration", "2.6s", "--interval", "100ms", "--format", "json", "-o", sys.argv[2]])
time.sleep(1.3)
end(first)
for _ in range(1000): # somebody else may be faster
    reap()
    with open("/proc/sys/kernel/ns_last_pid", "w") as f:
        f.write(str(first - 1))
    again = child()
    if again == first:
        break
    end(again)
else:
    sys.exit("somebody else has the pid")
topo.wait()
end(again)
print(first)
END
    a=$(cat "$BATS_TEST_TMPDIR/pid")
    in_graph '(lambda twins: len(twins) == 2 and all(",start=" in n["id"] for n in twins) and
              min(n["last_seen_ns"] for n in twins) < max(n["first_seen_ns"] for n in twins))(
              [n for n in g["nodes"] if n["kind"] == "process" and n["attrs"]["pid"] == a])'
}

@test "a process that hangs in the kernel costs its command line, not the others'" {
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/small.tree" "$BATS_TEST_TMPDIR/root"
    rm "$BATS_TEST_TMPDIR/root/proc/10/cmdline"
    mkfifo "$BATS_TEST_TMPDIR/root/proc/10/cmdline" # who reads it waits
    graph --root "$BATS_TEST_TMPDIR/root"
    in_graph '"cmdline" not in of_pid[10]["attrs"] and all("cmdline" in of_pid[p]["attrs"] for p in (1, 11, 20))'
    in_graph 'cover("process")["state"] == "partial" and "1 command lines" in cover("process")["detail"]'
}

@test "descriptors that may not be read are counted; what others say of them stays" {
    [ "$(id -u)" = 0 ] || skip "needs root, to become another"
    id nobody >/dev/null 2>&1 || skip "needs the user nobody"
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/small.tree" "$BATS_TEST_TMPDIR/root"
    chmod 711 "$BATS_RUN_TMPDIR" "$(dirname "$BATS_TEST_TMPDIR")" "$BATS_TEST_TMPDIR"
    chmod -R a+rX "$BATS_TEST_TMPDIR/root"
    cp "$WPROF" "$BATS_TEST_TMPDIR/wprof" && chmod 755 "$BATS_TEST_TMPDIR/wprof"
    chmod 000 "$BATS_TEST_TMPDIR/root/proc/11/fd"
    json=$BATS_TEST_TMPDIR/topology.json
    cd "$BATS_TEST_TMPDIR"
    setpriv --reuid nobody --clear-groups ./wprof topo --format json --root root >"$json"
    in_graph 'sorted(of_pid) == [1, 10, 11, 20] and cover("process")["denied"] == cover("pipe")["denied"] == 1'
    in_graph 'cover("socket")["state"] == "partial" and cover("process")["state"] == "partial"'
    in_graph 'not edges("pipe", 11, 10) and not edges("tcp", 10, 11) and len(edges("tcp", 10, 20)) == 1'
    in_graph 'of_pid[11]["attrs"]["name"] and "Socket(127.0.0.1:5000(TCP),net=100)" in nodes'
}

# A host of its own: it sees no process of the others. $1: its address; runs "$@" there.
host() {
    local address=$1
    shift
    ip netns exec "wprof-$address-$$" unshare -pf --mount-proc "$@"
}

@test "two hosts, as namespaces that this test makes: their connection is one, between their processes" {
    command -v ip >/dev/null || skip "needs ip(8)"
    local x=wprof-10.9.8.1-$$ y=wprof-10.9.8.2-$$ fd
    ip netns add "$x" 2>/dev/null || skip "needs root, for network namespaces"
    ip netns add "$y"
    ip link add veth0 netns "$x" type veth peer name veth0 netns "$y" 2>/dev/null || {
        ip netns del "$x"
        ip netns del "$y"
        skip "needs virtual Ethernet"
    }
    for n in 1 2; do
        ip -n "wprof-10.9.8.$n-$$" addr add 10.9.8.$n/24 dev veth0
        ip -n "wprof-10.9.8.$n-$$" link set veth0 up
    done
    # Each end takes its own host's snapshot once all has gone.
    cat >"$BATS_TEST_TMPDIR/end.py" <<'END'
import os, socket, subprocess, sys, time
role, wprof, out = sys.argv[1:]
if role == "server":
    l = socket.socket()
    l.bind(("10.9.8.2", 7000))
    l.listen()
    open(out + ".listens", "w").close()
    s = l.accept()[0]
    left = 12345
    while left:
        left -= len(s.recv(left))
    s.sendall(b"y" * 678)
else:
    s = socket.create_connection(("10.9.8.2", 7000))
    s.sendall(b"x" * 12345)
    left = 678
    while left:
        left -= len(s.recv(left))
s.sendall(b".")
s.recv(1)
with open(out, "w") as f:
    subprocess.run([wprof, "topo", "--format", "json"], stdout=f, check=True)
print(os.getpid(), flush=True)
open(out + ".done", "w").close()
while not all(os.path.exists(os.path.join(os.path.dirname(out), f)) for f in ("x.done", "y.done")):
    time.sleep(0.02)
END
    host 10.9.8.2 "$PYTHON" "$BATS_TEST_TMPDIR/end.py" server "$WPROF" "$BATS_TEST_TMPDIR/y" >"$BATS_TEST_TMPDIR/server" &
    until_true '[ -e "$BATS_TEST_TMPDIR/y.listens" ]'
    host 10.9.8.1 "$PYTHON" "$BATS_TEST_TMPDIR/end.py" client "$WPROF" "$BATS_TEST_TMPDIR/x" >"$BATS_TEST_TMPDIR/client"
    wait $!
    ip netns del "$x"
    ip netns del "$y"
    a=$(cat "$BATS_TEST_TMPDIR/client") b=$(cat "$BATS_TEST_TMPDIR/server")
    mkdir -p "$BATS_TEST_TMPDIR/none/proc"
    graph --root "$BATS_TEST_TMPDIR/none" --remote "x=$BATS_TEST_TMPDIR/x" --remote "y=$BATS_TEST_TMPDIR/y"
    in_graph 'cover("remote")["detail"] == "1 connections between hosts" and cover("x:socket")["state"] == "ok"'
    in_graph '[(e["a"].split("(")[1].split(",")[0], e["b"].split("(")[1].split(",")[0], e["bytes_ab"], e["bytes_ba"], e["weight"])
               for e in g["edges"] if e["kind"] == "connect"] == [("ns=x", "ns=y", 12346, 679, 1)]'
    in_graph '[(e["a"], e["b"], e["bytes_ab"], e["bytes_ba"], e["confidence"]) for e in g["edges"] if e["kind"] == "tcp"] == [
              ("Process(ns=x,pid=%d,ppid=0)" % a, "Process(ns=y,pid=%d,ppid=0)" % b, 12346, 679, 1)]'
    # A host in another's file is there by its own name; of one name there are two.
    graph --root "$BATS_TEST_TMPDIR/none" --remote "$BATS_TEST_TMPDIR/x" --remote "$BATS_TEST_TMPDIR/y" --seed remote --hops 0
    in_graph 'len({n["namespace"] for n in g["nodes"]}) == 2'
    run -3 "$WPROF" topo --remote /dev/null
    [[ $output == *"--remote /dev/null"* ]]
}
