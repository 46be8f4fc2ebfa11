#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The topology of a recording, against programs that say who talked to whom, and how much.
load common

# Two processes, one of which sends the other 100 bytes over TCP every 10 ms, for ever.
TALKS='import os, socket, time
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen()
if os.fork():
    s = l.accept()[0]
    l.close()
    while True:
        s.recv(100)
else:
    s = socket.create_connection(l.getsockname())
    l.close()
    while True:
        s.send(b"x" * 100)
        time.sleep(0.01)'

# Two processes by one connection with 100 bytes, a pair of others by one with 10,000; for half a second.
SMALL_AND_LARGE='import os, socket, time
l = socket.create_server(("127.0.0.1", 0))
for size in (100, 10000):
    server = os.fork()
    if not server:
        s = l.accept()[0]
        l.close()
        while s.recv(65536):
            pass
        os._exit(0)
    if not os.fork():
        s = socket.create_connection(l.getsockname())
        s.sendall(b"x" * size)
        time.sleep(0.5)
        os._exit(0)
for n in range(4):
    os.wait()'

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

@test "datagrams of sockets that are connected to nobody: by where they are sent, both ways" {
    cat >"$BATS_TEST_TMPDIR/free.py" <<'END'
import os, socket, sys
family, where = {"udp4": (socket.AF_INET, ("127.0.0.1", 0)), "any": (socket.AF_INET, ("0.0.0.0", 0)),
                 "udp6": (socket.AF_INET6, ("::1", 0)), "unix": (socket.AF_UNIX, "%s/%d"), "abstract": (socket.AF_UNIX, "\0%s/%d")}[sys.argv[1]]
def bound(n):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind(where % (sys.argv[2], n) if family == socket.AF_UNIX else where)
    return s
x, y = bound(1), bound(2)
to_x, to_y = x.getsockname(), y.getsockname()
pid = os.fork()
if not pid:
    x.close()
    for n in range(5):
        y.recv(1000)
    y.sendto(b"y" * 300, to_x)
    y.sendmsg([b"y" * 300], [], 0, to_x)
    os._exit(0)
y.close()
for n in range(5):
    x.sendto(b"x" * 700, to_y)
for n in range(2):
    x.recv(1000)
os.wait()
print("a=%d b=%d" % (os.getpid(), pid))
END
    for means in udp4 any udp6 unix abstract; do
        "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" "$BATS_TEST_TMPDIR/free.py" "$means" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/said"
        eval "$(tr ' ' ';' <"$BATS_TEST_TMPDIR/said")"
        in_graph 'flow("udp", a, b) or flow("unix", a, b)' || { echo "$means"; return 1; }
        in_graph '(flow("udp", a, b) or flow("unix", a, b)) == [3500, 5, 600, 2]'
        in_graph '"elsewhere" not in coverage("flows")["detail"]'
        rm -r "$dir"
    done
    # whoever gets it is not recorded
    "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in (9, 9, 13):
    s.sendto(b"z" * 100, ("127.0.0.1", port))'
    in_graph 'sorted((e["b"], e["bytes_ab"], e["messages_ab"]) for e in of_kind("connect")) == [("Socket(127.0.0.1:13(UDP))", 100, 1), ("Socket(127.0.0.1:9(UDP))", 200, 2)]'
    in_graph '"2 with an end elsewhere" in coverage("flows")["detail"]'
}

@test "one flow is told alike between processes and between sockets" {
    "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" -c '
import os, socket
l = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    c = socket.create_connection(l.getsockname())
    for n in range(7):
        c.sendall(b"x" * 1000)
        c.recv(1)
    os._exit(0)
s = l.accept()[0]
for n in range(7):
    for piece in range(4):
        s.recv(250, socket.MSG_WAITALL)
    s.sendall(b"y")
os.wait()'
    in_graph '[sorted([(e["bytes_ab"], e["messages_ab"]), (e["bytes_ba"], e["messages_ba"])]) for e in of_kind("tcp") + of_kind("connect")] == [[(7, 7), (7000, 7)]] * 2'
}

@test "what begins after the first look: shared memory and pipes of processes that come later" {
    "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" -c '
import mmap, os, time
time.sleep(0.7)
m, (r, w) = mmap.mmap(-1, 1 << 20), os.pipe()
if os.fork():
    os.close(w)
    os.read(r, 1)
else:
    os.close(r)
    m[0] = 1
    time.sleep(3)'
    in_graph 'len([e for e in of_kind("shm") if pid(e["a"]) and pid(e["b"])]) == 1'
    in_graph 'len([e for e in of_kind("pipe") if "python" in nodes[e["a"]]["attrs"].get("name", "") and "python" in nodes[e["b"]]["attrs"].get("name", "")]) == 1'
    in_graph 'coverage("looks")["seen"] >= 2'
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

@test "eventfds and message queues with --pipe-bytes" {
    local want
    for means in eventfd mq sysv-msg; do
        "$WPROF" record -q --collect topology --pipe-bytes -o "$dir" -- sh -c 'sleep 0.2 | "$0" "$1" "$2" 100' "$PYTHON" \
            "$ROOT/tests/workloads/talk.py" "$means" >"$BATS_TEST_TMPDIR/said" 2>"$BATS_TEST_TMPDIR/err" || continue # no such thing here
        eval "$(tr ' ' ';' <"$BATS_TEST_TMPDIR/said")"
        case $means in # bytes and messages that a sent, b took one
        eventfd) want='[8, 1]' ;;
        mq) want='[200, 2]' ;;
        sysv-msg) want='[300, 3]' ;;
        esac
        in_graph "flow('${means/mq/mqueue}', a, b)[:2] == $want and flow('${means/mq/mqueue}', a, b)[2:] == [0, 0]"
        rm -r "$dir"
    done
}

@test "System V semaphores with --pipe-bytes: who adds, for whom" {
    "$WPROF" record -q --collect topology --pipe-bytes -o "$dir" -- "$PYTHON" -c '
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
id = libc.semget(0, 1, 0o600) # IPC_PRIVATE
assert id >= 0
def op(n):
    assert not libc.semop(id, struct.pack("=HhH", 0, n, 0), ctypes.c_size_t(1))
pid = os.fork()
if not pid:
    for n in range(7):
        op(1)
    os._exit(0)
for n in range(7):
    op(-1)
os.wait()
libc.semctl(id, 0, 0) # IPC_RMID
print("a=%d b=%d" % (pid, os.getpid()))' >"$BATS_TEST_TMPDIR/said"
    eval "$(tr ' ' ';' <"$BATS_TEST_TMPDIR/said")"
    in_graph 'flow("sysv-sem", a, b) == [0, 7, 0, 0]'
}

@test "a process that lives for an instant, with its parent" {
    "$WPROF" record -q -o "$dir" -- sh -c '"$0" -c "pass"; /bin/true; sleep 0.05' "$PYTHON"
    in_graph 'len(processes("true")) == 1 and processes("true")[0]["attrs"]["ended"]'
    in_graph '[e for e in of_kind("own") if e["b"] == processes("true")[0]["id"] and nodes[e["a"]]["attrs"]["name"] == "sh"]'
    in_graph '0 < processes("true")[0]["last_seen_ns"] - processes("true")[0]["first_seen_ns"] < 5e9'
    # It was over before the rest slept for 50 ms.
    in_graph 'processes("true")[0]["last_seen_ns"] < g["time_ns"] - 40e6'
}

@test "ports that are used again within a second: two connections, each between its own processes" {
    local word a1 b1 a2 b2
    "$WPROF" record -q -o "$dir" -- "$PYTHON" "$ROOT/tests/workloads/reuse.py" >"$BATS_TEST_TMPDIR/said"
    for word in $(cat "$BATS_TEST_TMPDIR/said"); do
        printf -v "${word%%=*}" %s "${word#*=}"
    done
    a=$a1 b=$b1 in_graph 'flow("tcp", a, b) == [1001, 2, 1, 1]'
    a=$a2 b=$b2 in_graph 'flow("tcp", a, b) == [2001, 2, 1, 1]'
    a=$a1 b=$b2 in_graph 'not flow("tcp", a, b)'
    in_graph 'len(of_kind("connect")) == 1'
}

@test "limits: what carried less is left out, and counted" {
    talk tcp4 --min-bytes 14k
    in_graph 'not flow("tcp", a, b) and "1 below the limits" in coverage("flows")["detail"]'
    rm -r "$dir"
    talk tcp4 --limits witty
    in_graph 'not flow("tcp", a, b) and "1 below the limits" in coverage("flows")["detail"]'
    rm -r "$dir"
    talk tcp4 --limits witty --min-messages 1
    in_graph 'flow("tcp", a, b)'
}

@test "limits: what a look has found of a small connection is left out, too" {
    "$WPROF" record -q --collect topology --interval 100ms --min-bytes 8k -o "$dir" -- "$PYTHON" -c "$SMALL_AND_LARGE"
    in_graph 'coverage("looks")["seen"] >= 1 and len(of_kind("tcp")) == 1 and len(of_kind("connect")) == 1'
    in_graph 'len([n for n in g["nodes"] if n["kind"] == "socket" and n["attrs"].get("state") != "listen"]) == 1' # the client's: the server's has the listener's address
    in_graph '"1 below the limits" in coverage("flows")["detail"]'
}

@test "who asked for a connection is known, whatever the ports are" {
    "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" -c '
import os, socket
l = socket.socket()
for port in range(65000, 60000, -1):
    try:
        l.bind(("127.0.0.1", port))
        break
    except OSError:
        pass
l.listen()
if not os.fork():
    for n in range(3):
        socket.create_connection(l.getsockname()).sendall(b"x")
    os._exit(0)
for n in range(3):
    l.accept()[0].recv(1)
os.wait()
print(port)' >"$BATS_TEST_TMPDIR/said"
    in_graph "[nodes[e['b']]['attrs']['socket_port'] for e in of_kind('connect')] == [$(cat "$BATS_TEST_TMPDIR/said")] * 3"
}

@test "two ranks of a training by gloo: which process, which thread, how much" {
    need_python torch.distributed
    cat >"$BATS_TEST_TMPDIR/train" <<'END'
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000))
RANK=0 "$1" "$2" 40 </dev/null >&2 &
echo a=$!
RANK=1 "$1" "$2" 40 </dev/null >&2 &
echo b=$!
wait
END
    "$WPROF" record -q -o "$dir" -- bash "$BATS_TEST_TMPDIR/train" "$PYTHON" "$ROOT/tests/workloads/ranks.py" \
        >"$BATS_TEST_TMPDIR/said" 2>"$BATS_TEST_TMPDIR/err"
    grep -q ready "$BATS_TEST_TMPDIR/err" || skip "gloo does not work here: $(tail -1 "$BATS_TEST_TMPDIR/err")"
    . "$BATS_TEST_TMPDIR/said"
    # In a ring of two each sends all of it once; the threads' sums are what the processes moved.
    in_graph '40000000 <= min(flow("tcp", a, b)[0], flow("tcp", a, b)[2]) and max(flow("tcp", a, b)[0], flow("tcp", a, b)[2]) < 40100000'
    in_graph 'sum(e["bytes_ab"] for e in of_kind("send")) >= 80000000'
    in_graph 'all(nodes[e["a"]]["attrs"]["pid"] in (a, b) for e in of_kind("send"))'
}

@test "two loader workers: pipes with what went through them, sockets for the memory they share" {
    need_python torch.utils.data
    local trainer w0 w1
    "$WPROF" record -q --pipe-bytes -o "$dir" -- "$PYTHON" "$ROOT/tests/workloads/loaders.py" >"$BATS_TEST_TMPDIR/said"
    . "$BATS_TEST_TMPDIR/said" 2>/dev/null || eval "$(cat "$BATS_TEST_TMPDIR/said")"
    for b in $w0 $w1; do
        a=$trainer in_graph 'any(e["bytes_ab"] > 0 for e in of_kind("pipe") if (pid(e["a"]), pid(e["b"])) == (a, b))'
        a=$trainer in_graph 'any(e["bytes_ab"] > 0 for e in of_kind("pipe") if (pid(e["a"]), pid(e["b"])) == (b, a))'
        a=$trainer in_graph 'flow("unix", a, b)[2] > 0'
    done
}

# looks_of OPTION...: records a command with snapshots until there are three of them, however busy the machine is.
looks_of() {
    "$WPROF" record -q --kill -o "$dir" "$@" 3>&- &
    local recorder=$! i
    for i in $(seq 600); do
        [ "$(cat "$dir/topology.ndjson" 2>/dev/null | wc -l)" -lt 3 ] || break
        sleep 0.1
    done
    kill -TERM "$recorder"
    wait "$recorder" || true
}

@test "--interval: a line for each look, with what had gone until then; first and last seen in the end" {
    looks_of --interval 300ms -- "$PYTHON" -c '
import socket, time
x, y = socket.socketpair()
while True:
    x.send(b"x" * 100)
    y.recv(100)
    time.sleep(0.1)'
    "$PYTHON" - "$dir" <<'END'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1] + "/topology.ndjson")]
assert len(lines) >= 3, len(lines)
times = [l["time_ns"] if "time_ns" in l else l["nodes"][0]["last_seen_ns"] for l in lines]
assert times == sorted(times)
meta = json.load(open(sys.argv[1] + "/meta.json"))
known = {c["source"]: c["state"] for c in json.load(open(sys.argv[1] + "/topology.json"))["coverage"]}
assert {"recording", "flows", "process", "socket", "pipe", "nvidia"} <= set(known) and known["nvidia"] == "off", known
assert {"topology", "topology-lines"} <= {a["kind"] for a in meta["artifacts"]}
END
}

@test "a recorder that was killed: what its looks have written is its topology, also as lines alone" {
    "$PYTHON" -c "$TALKS" 3>&- &
    local program=$! recorder
    "$WPROF" record -q --collect topology --interval 100ms -o "$dir" -p $program 3>&- &
    recorder=$!
    until_true 60 grep -q '"kind": *"tcp"' "$dir/topology.ndjson"
    kill -KILL $recorder
    wait $recorder || true
    kill $program # the other one with it
    [ ! -e "$dir/topology.json" ]
    "$WPROF" render --view topology --format text -o - "$dir" | grep -q 'IPC\[tcp\]'
    "$WPROF" render -o "$BATS_TEST_TMPDIR/page.html" "$dir"
    "$WPROF" diff --topology "$dir" "$dir"
    "$WPROF" import -o "$BATS_TEST_TMPDIR/lines" "$dir/topology.ndjson"
    "$WPROF" diff --topology "$dir" "$BATS_TEST_TMPDIR/lines"
    in_graph 'any(e["bytes_ab"] + e["bytes_ba"] for e in of_kind("tcp"))' "$BATS_TEST_TMPDIR/lines"
}

@test "tier C: bytes by TCP's own counters, between looks" {
    looks_of --tier C --interval 200ms -- "$PYTHON" -c "$TALKS"
    in_graph 'any(max(e["bytes_ab"], e["bytes_ba"]) > 1000 for e in of_kind("tcp"))'
    in_graph 'coverage("flows")["state"] == "partial"'
}

@test "the profile on it: who ran, who waited for whom" {
    "$WPROF" record -q --pipe-bytes -o "$dir" -- "$PYTHON" -c '
import os, time
r, w = os.pipe()
pid = os.fork()
if not pid:
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
    os.write(w, b"x" * 7)
    os._exit(0)
os.read(r, 7)
os.waitpid(pid, 0)
print("a=%d b=%d" % (os.getpid(), pid))' >"$BATS_TEST_TMPDIR/said"
    eval "$(tr ' ' ';' <"$BATS_TEST_TMPDIR/said")"
    in_graph '0.45e9 < [n for n in g["nodes"] if pid(n["id"]) == b][0]["attrs"]["cpu_ns"] < 1.5e9'
    in_graph '[n for n in g["nodes"] if pid(n["id"]) == b][0]["attrs"]["cpu_share"] > 0.3' # the other one has an interpreter to start
    in_graph '[n for n in g["nodes"] if pid(n["id"]) == a][0]["attrs"]["io_ns"] > 0.4e9'
    in_graph '[e for e in of_kind("wait") if (pid(e["a"]), pid(e["b"])) == (a, b)][0]["weight"] > 0.4e9'
    in_graph '[e for e in of_kind("pipe") if (pid(e["a"]), pid(e["b"])) == (b, a)][0]["attrs"]["waited_b_ns"] > 0.4e9'
}

@test "more connections than there is room for: what is not told apart is counted" {
    "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" -c '
import socket
for _ in range(33500): # 67,000 ends: more than any recording holds
    a, b = socket.socketpair()
    a.send(b"x" * 3)
    b.recv(3)
    a.close()
    b.close()'
    in_graph 'coverage("flows")["state"] == "partial"'
    in_graph '(lambda lost, seen: lost[0] > 0 and lost[0] + seen == 67000 and lost[1] == 3 * lost[0])(
        [int(w) for w in coverage("flows")["detail"].split("no room for ")[1].split() if w.isdigit()], coverage("flows")["seen"])'
}

@test "two network namespaces: the same addresses are others there" {
    unshare -n true 2>/dev/null || skip "needs root, for network namespaces"
    "$WPROF" record -q --collect topology -o "$dir" -- sh -c '
        for n in 1001 2002; do
            (sleep 0.2 | unshare -n "$0" "$1" lo+tcp4 $n 10) &
        done
        wait' "$PYTHON" "$ROOT/tests/workloads/talk.py" >"$BATS_TEST_TMPDIR/said"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/said")" = 2 ]
    "$PYTHON" - "$dir" "$BATS_TEST_TMPDIR/said" <<'END'
import json, re, sys
g = json.load(open(sys.argv[1] + "/topology.json"))
pid = {n["id"]: n["attrs"].get("pid") for n in g["nodes"] if n["kind"] == "process"}
told = sorted(sorted((e["bytes_ab"], e["bytes_ba"])) + sorted((pid[e["a"]], pid[e["b"]])) for e in g["edges"] if e["kind"] == "tcp")
said = [sorted(map(int, re.findall(r"[ab]=(\d+)", l))) for l in open(sys.argv[2])]
assert len(told) == 2 and [t[:2] for t in told] == [[10, 1001], [10, 2002]], told
assert sorted(t[2:] for t in told) == sorted(said), (told, said)
nets = {n["instance"] for n in g["nodes"] if n["kind"] == "socket" and "instance" in n}
assert len(nets) >= 2, nets
END
}

@test "a pid that is used again within the recording is two processes" {
    unshare -pf --mount-proc test -w /proc/sys/kernel/ns_last_pid 2>/dev/null || skip "needs root, for a pid namespace"
    unshare -pf --mount-proc "$WPROF" record -q --collect topology -o "$dir" -- "$PYTHON" -c '
import os, time
def child():
    pid = os.fork()
    if not pid:
        time.sleep(0.03)
        os._exit(0)
    os.waitpid(pid, 0)
    return pid
for _ in range(100): # a helper of the recorder may be faster, or have it
    first = child()
    with open("/proc/sys/kernel/ns_last_pid", "w") as f:
        f.write(str(first - 1))
    if child() == first:
        break
print(first)' >"$BATS_TEST_TMPDIR/said"
    a=$(cat "$BATS_TEST_TMPDIR/said")
    in_graph '(lambda twins: len(twins) == 2 and len({n["instance"] for n in twins}) == 2 and
               min(n["last_seen_ns"] for n in twins) <= max(n["first_seen_ns"] for n in twins))(
               [n for n in g["nodes"] if pid(n["id"]) == a])'
}

@test "-a: processes that were there before, and what goes between them" {
    "$PYTHON" -c '
import os, socket, time
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen()
b = os.fork()
if not b:
    s = l.accept()[0]
    while s.recv(7, socket.MSG_WAITALL):
        s.sendall(b"y" * 3)
    os._exit(0)
s = socket.create_connection(l.getsockname())
print("a=%d b=%d" % (os.getpid(), b), flush=True)
while True:
    s.sendall(b"x" * 7)
    s.recv(3, socket.MSG_WAITALL)
    time.sleep(0.01)
    if not os.fork():
        os._exit(0)
    os.wait()' >"$BATS_TEST_TMPDIR/said" 3>&- &
    until_true 30 test -s "$BATS_TEST_TMPDIR/said"
    eval "$(tr ' ' ';' <"$BATS_TEST_TMPDIR/said")"
    "$WPROF" record -q -a --collect topology --duration 1s -o "$dir" 3>&- &
    recorder=$!
    wait $recorder
    kill $a
    in_graph '(lambda f: f and f[0] >= 7 and f[0] // 7 - f[2] // 3 in (0, 1, -1) and f[0] % 7 == 0 and f[2] % 3 == 0)(flow("tcp", a, b))'
    in_graph '1 in [pid(n["id"]) for n in g["nodes"]]'
    # who starts another is its parent, though it was there before
    in_graph '(lambda mine: len(mine) > 1 and all(n["attrs"].get("ppid") == a for n in mine))(
        [nodes[e["b"]] for e in of_kind("own") if pid(e["a"]) == a and pid(e["b"]) not in (None, b)])'
    in_graph "$recorder not in [n['attrs'].get(key) for n in g['nodes'] for key in ('pid', 'ppid')]"
}

@test "the recorder is left out, and whom the recorded ones know through it alone" {
    "$WPROF" record -q --collect topology --interval 300ms -o "$dir" -- "$PYTHON" -c 'import os, time; print(os.getpid(), os.getppid()); time.sleep(0.8)' >"$BATS_TEST_TMPDIR/said"
    read -r a b <"$BATS_TEST_TMPDIR/said"
    in_graph 'a in [pid(n) for n in nodes] and b not in [pid(n) for n in nodes]'
    "$PYTHON" -c 'import json, sys
looks = [json.loads(line) for line in open(sys.argv[1])]
assert looks and not [n for look in looks for n in look["nodes"] if n["attrs"].get("pid") == int(sys.argv[2])]' "$dir/topology.ndjson" "$b"
}

@test "the profile on it: who waited for whom over loopback TCP" {
    "$WPROF" record -q -o "$dir" -- "$PYTHON" -c '
import os, socket, time
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen()
b = os.fork()
if not b:
    s = socket.create_connection(l.getsockname())
    time.sleep(1.2) # there is a look, which knows whose sockets they are
    s.sendall(b"x" * 7)
    os._exit(0)
s = l.accept()[0]
s.recv(7, socket.MSG_WAITALL)
os.waitpid(b, 0)
print("a=%d b=%d" % (os.getpid(), b))' >"$BATS_TEST_TMPDIR/said"
    eval "$(tr ' ' ';' <"$BATS_TEST_TMPDIR/said")"
    in_graph '(lambda e: e["attrs"]["waited_a_ns" if pid(e["a"]) == a else "waited_b_ns"] > 0.6e9)(
        [e for e in of_kind("tcp") if {pid(e["a"]), pid(e["b"])} == {a, b}][0])'
}

@test "kernels that load no programs for flows: what TCP counts tells, and it is said" {
    WPROF_FLOWS=none talk tcp4 --collect topology
    in_graph 'coverage("flows")["state"] == "partial" and "WPROF_FLOWS" in coverage("flows")["detail"]'
    rm -r "$dir"
    export WPROF_FLOWS=none
    looks_of --collect topology --interval 200ms -- "$PYTHON" -c "$TALKS"
    unset WPROF_FLOWS
    in_graph 'any(max(e["bytes_ab"], e["bytes_ba"]) > 1000 for e in of_kind("tcp"))'
}

@test "kernels without tracepoints for flows: counted where functions return" {
    WPROF_FLOWS=exits talk tcp4 --collect topology
    in_graph '"functions return" in coverage("flows")["detail"]' >/dev/null ||
        { in_graph '"refuses" in coverage("flows")["detail"]' && skip "needs a kernel that loads fexit programs"; }
    in_graph 'flow("tcp", a, b)[0] == 12345 and flow("tcp", a, b)[2] == 678'
    for means in tcp6 unix dgram udp4 udp6; do
        rm -r "$dir"
        WPROF_FLOWS=exits talk "$means" --collect topology
        in_graph '(flow("tcp", a, b) or flow("unix", a, b) or flow("udp", a, b))[0] == 12345' || { echo "$means"; return 1; }
    done
}
