# SPDX-License-Identifier: Apache-2.0
# Talkers, and questions about the graph of them.

setup() {
    need_python ctypes
    talkers=()
}

# until_true CONDITION [SECONDS]: for at most so long (10).
until_true() {
    local i
    for i in $(seq "${2:-10}0"); do
        eval "$1" && return
        sleep 0.1
    done
    echo "never: $1"
    return 1
}

teardown() {
    local fd
    for fd in ${talkers[@]+"${talkers[@]}"}; do
        exec {fd}>&- # they end when their stdin does
    done
}

# talk MEANS [BYTES [REPLY]]: starts two processes that talk; $a, $b and what else they tell become variables.
talk() {
    local fd out=$BATS_TEST_TMPDIR/talk.$RANDOM line word
    mkfifo "$out"
    exec {fd}> >(exec "$PYTHON" "$ROOT/tests/workloads/talk.py" "$@" >"$out" 2>"$out.err")
    talkers+=("$fd")
    read -r -t 30 line <"$out" || { cat "$out.err"; return 1; }
    for word in $line; do
        printf -v "${word%%=*}" %s "${word#*=}"
    done
}

# graph [OPTION...]: a snapshot to $json.
graph() {
    json=$BATS_TEST_TMPDIR/topology.json
    "$WPROF" topo --format json "$@" >"$json"
}

# in_graph EXPRESSION: of nodes and edges; edges(KIND, pid, pid) are those between two processes, the first pid being the
# one that `ab` is from.
in_graph() {
    "$PYTHON" - "$json" "$1" "${a:-0}" "${b:-0}" <<'END'
import json, sys
g = json.load(open(sys.argv[1]))
a, b = int(sys.argv[3]), int(sys.argv[4])
nodes = {n["id"]: n for n in g["nodes"]}
of_pid = {n["attrs"]["pid"]: n for n in g["nodes"] if n["kind"] == "process"}
def edges(kind, x, y):
    out = []
    for e in g["edges"]:
        if e["kind"] != kind:
            continue
        ends = [nodes[e["a"]]["attrs"].get("pid"), nodes[e["b"]]["attrs"].get("pid")]
        if ends == [x, y]:
            out.append((e["bytes_ab"], e["bytes_ba"], e))
        elif ends == [y, x] and not e["directed"]:
            out.append((e["bytes_ba"], e["bytes_ab"], e))
    return out
def use(pid, node): # how a process has an object
    return next(e["attrs"] for e in g["edges"] if e["kind"] == "access" and (e["a"], e["b"]) == (of_pid[pid]["id"], node["id"]))
def used_by(node):
    return {nodes[e["a"]]["attrs"].get("pid") for e in g["edges"] if e["kind"] == "access" and e["b"] == node["id"]}
def cover(source):
    return next(c for c in g["coverage"] if c["source"] == source)
names = dict(g=g, nodes=nodes, of_pid=of_pid, edges=edges, use=use, used_by=used_by, cover=cover, a=a, b=b)
if not eval("(" + sys.argv[2] + "\n)", names):
    print("not so:", sys.argv[2], "a=%d b=%d" % (a, b))
    for e in g["edges"]:
        if any(("=%d" % p) in e[k] for p in (a, b) for k in "ab"):
            print(e)
    sys.exit(1)
END
}
