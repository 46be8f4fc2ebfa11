#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The topology of a recording, against programs that say who talked to whom, and how much.
load common

setup() {
    need_tier_a
    need_python socket
    dir=$BATS_TEST_TMPDIR/s
}

# talk MEANS [OPTION...]: a records what talk.py does by MEANS, 12345 bytes there and 678 back; $a and $b are its pids.
talk() {
    local means=$1 word
    shift
    "$WPROF" record -q "$@" -o "$dir" -- sh -c 'sleep 0.2 | "$0" "$1" "$2" 12345 678' "$PYTHON" \
        "$ROOT/tests/workloads/talk.py" "$means" >"$BATS_TEST_TMPDIR/said"
    for word in $(cat "$BATS_TEST_TMPDIR/said"); do
        printf -v "${word%%=*}" %s "${word#*=}"
    done
}

# in_graph EXPRESSION [DIR]: flow(KIND, pid, pid) gives [bytes, messages] from the first to the second and back, or None.
in_graph() {
    A=${a:-0} B=${b:-0} "$PYTHON" - "${2:-$dir}/topology.json" "$1" <<'END'
import json, os, sys
g = json.load(open(sys.argv[1]))
a, b = int(os.environ["A"]), int(os.environ["B"])
nodes = {n["id"]: n for n in g["nodes"]}
def pid(id):
    return nodes[id]["attrs"].get("pid") if nodes[id]["kind"] == "process" else None
def flow(kind, x, y):
    for e in g["edges"]:
        if e["kind"] == kind and (pid(e["a"]), pid(e["b"])) in ((x, y), (y, x)):
            ab, ba = [e["bytes_ab"], e["messages_ab"]], [e["bytes_ba"], e["messages_ba"]]
            return ab + ba if pid(e["a"]) == x else ba + ab
def of_kind(kind):
    return [e for e in g["edges"] if e["kind"] == kind]
def processes(name):
    return [n for n in g["nodes"] if n["kind"] == "process" and n["attrs"].get("name") == name]
def coverage(source):
    return [c for c in g["coverage"] if c["source"] == source][0]
if not eval(sys.argv[2]):
    print("does not hold:", sys.argv[2])
    for e in g["edges"]:
        print(e)
    sys.exit(1)
END
}

@test "TCP, IPv4 and IPv6: bytes and direction, from both ends" {
    talk tcp4
    in_graph 'flow("tcp", a, b)[0] == 12345 and flow("tcp", a, b)[2] == 678'
    in_graph 'flow("tcp", a, b)[3] == 1'
    in_graph 'any({e["bytes_ab"], e["bytes_ba"]} == {12345, 678} for e in of_kind("connect"))'
    rm -r "$dir"
    talk tcp6
    in_graph 'flow("tcp", a, b)[0] == 12345 and flow("tcp", a, b)[2] == 678'
    rm -r "$dir"
    talk mapped
    in_graph 'flow("tcp", a, b)[0] == 12345 and flow("tcp", a, b)[2] == 678'
}

@test "unix sockets: stream, datagram, abstract, passed" {
    for means in unix abstract dgram passed; do
        talk "$means"
        in_graph 'flow("unix", a, b)[0] == 12345' || { echo "$means"; return 1; }
        rm -r "$dir"
    done
    talk abstract
    in_graph 'any(e["attrs"].get("name", "").startswith("@wprof-talk-") for e in of_kind("unix"))'
}

@test "UDP: the server's socket is connected to nobody" {
    talk udp4
    in_graph 'flow("udp", a, b)[:2] == [12345, 1]'
    rm -r "$dir"
    talk udp6
    in_graph 'flow("udp", a, b)[:2] == [12345, 1]'
}

@test "pipes and FIFOs with --pipe-bytes" {
    talk pipe --pipe-bytes
    in_graph 'flow("pipe", a, b)[:2] == [12345, 1]'
    rm -r "$dir"
    talk fifo --pipe-bytes
    in_graph 'flow("fifo", a, b)[:2] == [12345, 1]'
    rm -r "$dir"
    talk pipe
    in_graph 'not [e for e in of_kind("pipe") if e["bytes_ab"]]'
}

@test "a process that lives for an instant, with its parent" {
    "$WPROF" record -q -o "$dir" -- sh -c '"$0" -c "pass"; /bin/true; sleep 0.05' "$PYTHON"
    in_graph 'len(processes("true")) == 1 and processes("true")[0]["attrs"]["ended"]'
    in_graph '[e for e in of_kind("own") if e["b"] == processes("true")[0]["id"] and nodes[e["a"]]["attrs"]["name"] == "sh"]'
    in_graph '0 < processes("true")[0]["last_seen_ns"] - processes("true")[0]["first_seen_ns"] < 5e9'
}
