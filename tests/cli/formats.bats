#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What export writes for others: read back by wprof, and by readers that others wrote.
load common

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    "$WPROF" -q import -o s "$BATS_TEST_DIRNAME/../fixtures/query/threads.speedscope.json"
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

need_sqlite() {
    "$WPROF" version | grep -qE '^  sqlite +yes' || skip "needs a build with SQLite"
}

sum() {
    "$WPROF" -q export "$@" | awk '{ s += $NF } END { print s }'
}

need_node() {
    need_command node
    node -e "require.resolve('$1/package.json')" 2>/dev/null || skip "needs $1 (npm, by NODE_PATH)"
}

@test "formats: exported, imported, the same total" {
    for f in folded pprof speedscope callgrind; do
        "$WPROF" -q export -f $f -o "x.$f" s
        "$WPROF" -q import -o "r.$f" "x.$f"
        [ "$(sum "r.$f")" = "$(sum s)" ]
    done
}

@test "formats: pprof's stacks are those of folded, below the processes and threads of its labels" {
    "$WPROF" -q export -f pprof -o x.pb.gz s
    "$WPROF" -q import -o p x.pb.gz
    diff <("$WPROF" export p) <("$WPROF" export s)
    diff <("$WPROF" query -f csv p "select name, pid, tid from tasks") <("$WPROF" query -f csv s "select name, pid, tid from tasks")
}

@test "formats: threads, the kernel's functions and Python's frozen ones come back" {
    printf '%s\n' 'app one 12/13 1.5: 1 cycles: ' '	ff05 do_read ([kernel.kallsyms])' '	7f01 main (/bin/app)' '' \
        'app; 2 12/14 1.5: 1 cycles: ' '	7f02 work (/bin/app)' '' 'app 12/12 1.5: 1 cycles: ' '	7f02 work (/bin/app)' '' >x
    "$WPROF" -q import --force -o k x
    for f in pprof speedscope; do
        "$WPROF" -q export -f $f -o k.$f k
        "$WPROF" -q import --force -o k.back k.$f
        diff <("$WPROF" query -f csv k "SELECT name, pid, tid FROM tasks ORDER BY tid") <("$WPROF" query -f csv k.back "SELECT name, pid, tid FROM tasks ORDER BY tid")
    done
    "$WPROF" -q import --force -o k.back k.pprof
    "$WPROF" export --kernel k.back | grep -q 'main;do_read_\[k\] 1$'
    printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"wprof","shared":{"frames":[{"name":"load","file":"<frozen importlib._bootstrap>","line":3}]},"profiles":[{"type":"sampled","name":"p (x) (12) a (b) (13)","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}]}' >z
    "$WPROF" -q import --force -o z.s z
    [ "$("$WPROF" query -f csv z.s "SELECT name, pid, tid FROM tasks WHERE tid != pid" | tail -1)" = 'a (b),12,13' ]
    [[ $("$WPROF" export z.s) == *'load (<frozen importlib._bootstrap>) 1' ]]
    "$WPROF" -q export -f pprof -o z.pb z.s
    "$WPROF" -q import --force -o z.s z.pb
    [[ $("$WPROF" export z.s) == *'load (<frozen importlib._bootstrap>) 1' ]]
}

@test "formats: pprof's modules with their build ids, and how many samples there were, are taken" {
    python3 - <<'END'
import gzip
def num(field, v):
    out = bytes([field << 3])
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])
def msg(field, data):
    return bytes([field << 3 | 2]) + bytes([len(data)]) + data
names = ["", "samples", "count", "cpu", "nanoseconds", "/opt/app", "aabbccdd00112233445566778899aabbccddeeff", "hot", "handler", "GET /"]
p = msg(1, num(1, 1) + num(2, 2)) + msg(1, num(1, 3) + num(2, 4)) + num(14, 3)
p += msg(3, num(1, 1) + num(2, 4096) + num(3, 65536) + num(5, 5) + num(6, 6))
p += msg(5, num(1, 1) + num(2, 7)) + msg(4, msg(4, num(1, 1)) + num(1, 1) + num(2, 1))
p += msg(2, num(1, 1) + num(2, 3) + num(2, 90) + msg(3, num(1, 8) + num(2, 9)))
p += b"".join(msg(6, s.encode()) for s in names)
open("go.pb.gz", "wb").write(gzip.compress(p))
END
    run -0 --separate-stderr "$WPROF" import -o go go.pb.gz
    [[ $stderr == *"left out: 1 label of a stack"* && $stderr == *"1 stack, 3 samples from"* ]]
    "$WPROF" show --by module go | grep -q /opt/app
    "$WPROF" query go "select build_id from frames" | grep -q aabbccdd00112233445566778899aabbccddeeff
    [ "$("$WPROF" export go)" = 'hot 90' ]
    "$WPROF" show go | grep -q 'Only 3 samples: shares are rough'
}

@test "formats: speedscope's profiles of one unit are taken together, others not; what is left open ends with the profile" {
    printf '%s' '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":[
        {"type":"evented","name":"x","unit":"seconds","startValue":0,"endValue":3,"events":[{"type":"O","frame":0,"at":0.5},{"type":"O","frame":1,"at":1}]},
        {"type":"sampled","name":"y","unit":"bytes","startValue":0,"endValue":3,"samples":[[0]],"weights":[3]},
        {"type":"sampled","name":"z","unit":"milliseconds","startValue":0,"endValue":3,"samples":[[0]],"weights":[3]}]}' >units.speedscope.json
    run -0 "$WPROF" import -o units units.speedscope.json
    [[ $output == *"2 beginnings without an end"*"1 profile in another unit than the first"* ]] || { echo "$output"; false; }
    diff <("$WPROF" export units) - <<'END'
x;a 500000000
x;a;b 2000000000
z;a 3000000
END
}

@test "formats: of the GPU each work counts once in pprof" {
    echo '{"traceEvents": [' >t.json
    for i in 1 2 3; do
        echo '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": '$i'0, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 10'$i'}},' >>t.json
    done
    echo '{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "x"}}]}' >>t.json
    "$WPROF" -q import --from kineto -o t t.json
    "$WPROF" -q export -m gpu -f pprof -o t.pb.gz t
    "$WPROF" -q import --event spans -o counts t.pb.gz
    [ "$(sum counts)" = 3 ]
}

@test "formats: pprof-format decodes it" {
    need_node pprof-format
    "$WPROF" -q export -f pprof -o x.pb.gz s
    node - "$(sum s)" <<'END'
const { Profile } = require("pprof-format"), assert = require("assert"), fs = require("fs");
const p = Profile.decode(require("zlib").gunzipSync(fs.readFileSync("x.pb.gz")));
const text = (i) => p.stringTable.strings[Number(i)];
assert.equal(text(0), "");
assert.deepEqual(p.sampleType.map((t) => text(t.type) + "/" + text(t.unit)), ["samples/count"]);
assert.equal(p.sample.reduce((sum, s) => sum + Number(s.value[0]), 0), Number(process.argv[2]));
const functions = new Map(p.function.map((f) => [f.id, f])), locations = new Map(p.location.map((l) => [l.id, l]));
const stack = (s) => s.locationId.map((id) => locations.get(id).line.map((l) => text(functions.get(l.functionId).name) + ":" + l.line));
assert(p.sample.some((s) => stack(s).join() === " spaces :0,f:3,main;odd:0"), p.sample.map(stack).join(" | "));
assert(functions.get(p.function[1].id) && p.function.some((f) => text(f.filename) === "a/b.py"));
for (const s of p.sample) {
    const labels = new Map(s.label.map((l) => [text(l.key), text(l.str) || Number(l.num)]));
    assert(["one", "two"].includes(labels.get("process")) && labels.get("pid") > 0, [...labels].join());
}
END
}

# rows FILE: what speedscope's page shows of a file in its table: "Total (share) Self (share) Name ...".
rows() {
    local release
    release=$(dirname "$(node -p "require.resolve('speedscope/package.json')")")/dist/release
    python3 - "$1" >page.js <<'END'
import base64, json, sys
data = base64.b64encode(open(sys.argv[1], "rb").read()).decode()
print("speedscope.loadFileFromBase64(%s, %s)" % (json.dumps(sys.argv[1]), json.dumps(data)))
END
    timeout 60 "$browser" --headless --no-sandbox --user-data-dir="$PWD/browser" --use-angle=swiftshader --enable-unsafe-swiftshader --allow-file-access-from-files \
        --virtual-time-budget=20000 --dump-dom "file://$release/index.html#view=sandwich&localProfilePath=$PWD/page.js" 2>/dev/null |
        sed 's/<[^>]*>/ /g' | tr -s ' \n' ' '
}

@test "formats: speedscope's own importer reads speedscope and pprof" {
    need_node speedscope
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "needs Chromium"
    printf 'main;work;inner 30\nmain;work 50\nmain;rest 20\n' | "$WPROF" -q import --force -o t -
    for f in speedscope pprof; do
        "$WPROF" -q export -f $f -o "t.$f" t
        cp "t.$f" "t.$f.pb.gz"
        [ $f = pprof ] && shown=$(rows t.pprof.pb.gz) || shown=$(rows t.speedscope)
        [[ $shown == *"80 (80%) 50 (50%) work"* ]] || { echo "$f: $shown"; false; }
        [[ $shown == *"30 (30%) 30 (30%) inner"* ]]
        [[ $shown == *"100 (100%)"*main* ]]
    done
}

@test "formats: callgrind's own costs add up to its totals, calls to what they called" {
    printf 'a;b;c 3\na;b 2\na;c 5\na;r;r;r 7\n' | "$WPROF" -q import -o c -
    "$WPROF" -q export -f callgrind -o x.callgrind c
    python3 - <<'END'
import re
names, own, calls, fn, cfn = {}, {}, {}, None, None
def name(text):
    number, rest = re.match(r"\((\d+)\) ?(.*)", text).groups()
    return names.setdefault(number, rest)
lines = open("x.callgrind").read().split("\n")
assert lines[0] == "# callgrind format" and "events: oncpu" in lines and "totals: 17" in lines and "summary: 17" in lines
for line in lines:
    if line.startswith("fn="):
        fn = name(line[3:])
    elif line.startswith("cfn="):
        cfn = name(line[4:])
    elif re.match(r"\d+ \d+$", line):
        into, key = (calls, (fn, cfn)) if cfn else (own, fn)
        into[key] = into.get(key, 0) + int(line.split()[1])
        cfn = None
assert own == {"b": 2, "c": 8, "r": 7}, own
assert calls == {("a", "b"): 5, ("a", "c"): 5, ("a", "r"): 7, ("b", "c"): 3, ("r", "r"): 7}, calls
head = [line.split(":")[0] for line in lines[1:lines.index("")]]
assert head == ["version", "creator", "cmd", "positions", "desc", "events", "summary"], head # costs begin behind events
END
    if command -v callgrind_annotate >/dev/null; then
        callgrind_annotate x.callgrind >annotated 2>&1
        grep -q '17 (100.0%).*TOTALS' annotated
        [[ $(<annotated) != *malformed* ]]
    fi
}

@test "formats: csv, one table" {
    "$WPROF" -q export -f csv -o x.csv s
    python3 - "$(sum s)" <<'END'
import csv, sys
rows = list(csv.DictReader(open("x.csv", newline="")))
assert sum(int(r["value"]) for r in rows) == int(sys.argv[1])
assert {(r["process"], r["thread"]) for r in rows} == {("one", "one"), ("two", "two")}, rows[0]
assert any(r["stack"] == "main_odd;f (b.py); spaces_" for r in rows), [r["stack"] for r in rows]
END
    [ "$("$WPROF" export -f csv --table tasks s | wc -l)" = 3 ]
    run -3 "$WPROF" export -f csv --table nothing s
    run -3 "$WPROF" export -f pprof --table samples s
}

@test "formats: ndjson, an object a line, the topology too" {
    "$WPROF" -q import -o g "$BATS_TEST_DIRNAME/../fixtures/topology/small.json"
    for i in s g; do "$WPROF" -q export -f ndjson $i; done >x.ndjson
    python3 - "$(sum s)" <<'END'
import json, sys
of = {}
for line in open("x.ndjson"):
    row = json.loads(line)
    of.setdefault(row["type"], []).append(row)
assert sum(r["value"] for r in of["sample"]) == int(sys.argv[1])
assert len(of["session"]) == 2 and len(of["node"]) > 5 and len(of["edge"]) > 5, {k: len(v) for k, v in of.items()}
assert isinstance(of["node"][0]["attributes"], dict) and isinstance(of["session"][0]["languages"], list)
END
    [ "$("$WPROF" export -f ndjson --table tasks s | wc -l)" = 2 ]
    run -3 "$WPROF" export -f ndjson --table stacks s
}

@test "formats: the database of sqlite has what query has" {
    need_sqlite
    need_python sqlite3
    "$WPROF" -q export -f sqlite -o x.db s
    "$PYTHON" - "$(sum s)" >had <<'END'
import sqlite3, sys
db = sqlite3.connect("x.db")
assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
assert db.execute("SELECT count(*) FROM pragma_foreign_key_check").fetchone() == (0,)
assert db.execute("SELECT sum(value) FROM samples").fetchone() == (int(sys.argv[1]),)
assert db.execute("SELECT sum(samples) FROM folded").fetchone() == (int(sys.argv[1]),)
assert db.execute("PRAGMA application_id").fetchone() == (0x77707266,)
for (stack, n) in db.execute("SELECT stack, samples FROM folded ORDER BY stack COLLATE BINARY"):
    print(stack, n)
END
    diff had <("$WPROF" export s)
}

@test "formats: aiprof's directory, imported again, has the same totals" {
    mkdir -p s/extra/sub
    echo note >s/extra/sub/note
    ln -sf /etc/hostname s/extra/link
    "$WPROF" -q export -f aiprof -o theirs s
    for f in extra/sub/note flamegraph.svg folded.txt meta.json; do [ -s "theirs/$f" ]; done
    [ ! -e theirs/extra/link ] && [ ! -e theirs/cupti ]
    python3 -c 'import json, sys
m = json.load(open("theirs/meta.json"))
assert list(m) == ["session_id", "schema_version", "host", "workload", "kind", "pid", "start_ts", "end_ts", "duration_s", "languages", "agent_ver", "notes"], m
assert m["schema_version"] == 1 and m["kind"] == "cpu-oncpu", m'
    "$WPROF" -q import -o again theirs
    [ "$(sum again)" = "$(sum s)" ]
    run -3 "$WPROF" export -f aiprof -o theirs s
    [[ $output == *"theirs is not empty"* ]]
    run -3 "$WPROF" export -f aiprof s
    [[ $output == *"name it with --output"* ]]
}

@test "formats: what ran on a GPU keeps its time in every format" {
    cat >trace.json <<'END'
{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "g"}], "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 8, "ts": 10, "dur": 2, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "gemm<1, 2>", "pid": 0, "tid": 20, "ts": 15, "dur": 30, "args": {"device": 0, "context": 1, "stream": 20, "correlation": 5, "grid": [4, 2, 1], "block": [64, 1, 1]}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 21, "ts": 50, "dur": 7.5, "args": {"device": 0, "context": 1, "stream": 21, "correlation": 6, "bytes": 4096}}]}
END
    "$WPROF" -q import -o gpu trace.json
    [ "$(sum -m gpu gpu)" = 37500 ]
    for f in folded pprof speedscope callgrind; do
        "$WPROF" -q export -m gpu -f $f -o "gpu.$f" gpu
        "$WPROF" -q import --from $f -o "gpu-$f" "gpu.$f"
        [ "$(sum "gpu-$f")" = 37500 ] || { echo "$f"; false; }
    done
    "$WPROF" -q export -f aiprof -o gpu-theirs gpu
    python3 - <<'END'
import json
kernels = [json.loads(line) for line in open("gpu-theirs/cupti/kernels.jsonl")]
assert [(k["name"], k["dur_ns"], k["stream"]) for k in kernels] == [("gemm<1, 2>", 30000, 20), ("Memcpy HtoD (Pinned -> Device)", 7500, 21)], kernels
assert kernels[0]["grid"] == [4, 2, 1] and kernels[1]["bytes"] == 4096
assert json.load(open("gpu-theirs/meta.json"))["kind"] == "cupti"
END
    "$WPROF" -q import -o gpu-again gpu-theirs
    [ "$(sum -m gpu gpu-again)" = 37500 ]
    [ -z "$("$WPROF" export gpu-again)" ] # and none of it as samples of a CPU
    "$WPROF" import --force -o gpu-again gpu-theirs 2>&1 | grep -q "left out: .*folded.txt"
    "$WPROF" -q export -f csv -t kernels gpu | python3 -c 'import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert [(r["op"], r["dur"], r["grid"], r["bytes"]) for r in rows] == [("kernel", "30000", "4x2x1", ""), ("copy", "7500", "", "4096")], rows'
}

# Each process counts correlation ids on its own: of two ranks' traces all are 5.
@test "export chrome: calls of several processes keep numbers of their own; what is not told is left out" {
    for rank in 0 1; do
        cat > "$BATS_TEST_TMPDIR/r$rank.json" <<EOF
{"schemaVersion": 1, "distributedInfo": {"rank": $rank}, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7$rank, "tid": 8, "ts": 1${rank}0, "dur": 2, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "k$rank", "pid": 0, "tid": 20, "ts": 115, "dur": 30, "args": {"device": 0, "context": 1, "stream": 20, "correlation": 5}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 0, "tid": 20, "ts": 150, "dur": 5, "args": {"device": 0, "stream": 20, "correlation": 9}}]}
EOF
    done
    "$WPROF" import -o "$BATS_TEST_TMPDIR/two" "$BATS_TEST_TMPDIR"/r?.json
    "$WPROF" export -f chrome -o "$BATS_TEST_TMPDIR/two.json" "$BATS_TEST_TMPDIR/two"
    python3 - "$BATS_TEST_TMPDIR/two.json" <<'EOF'
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
kernels = {e["args"]["correlation"]: e for e in events if e.get("cat") == "kernel"}
assert len(calls) == len(kernels) == 2 and calls.keys() == kernels.keys(), (calls, kernels)
for number, e in kernels.items():
    assert abs(calls[number]["ts"] - (0 if e["name"] == "k0" else 10) - min(c["ts"] for c in calls.values())) < 1e-6
    assert not {"grid", "block", "registers per thread", "shared memory"} & e["args"].keys(), e
arrows = collections.Counter((e["id"], e["ph"]) for e in events if e.get("cat") == "ac2g")
assert set(arrows.values()) == {1} and len(arrows) == 4, arrows
copy = [e for e in events if e.get("cat") == "gpu_memcpy"]
assert len(copy) == 2 and not {"bytes", "memory bandwidth (GB/s)"} & copy[0]["args"].keys(), copy
EOF
}

@test "import chrome: spans ProfilerStep#N are steps" {
    cat > "$BATS_TEST_TMPDIR/t.json" <<'EOF'
[{"ph": "X", "name": "ProfilerStep#1", "pid": "main", "tid": 1, "ts": 0, "dur": 50, "args": {}},
 {"ph": "X", "name": "ProfilerStep#2", "pid": "main", "tid": 1, "ts": 50, "dur": 60, "args": {}}]
EOF
    "$WPROF" -q import -o "$BATS_TEST_TMPDIR/t" "$BATS_TEST_TMPDIR/t.json"
    run -0 "$WPROF" show --units step "$BATS_TEST_TMPDIR/t"
    [[ $output == *"step 1"* && $output == *"step 2"* ]]
}

@test "import kineto: PyTorch without Kineto: kernels with their functions, steps, a file a rank" {
    for n in 1 2; do
        cat > "$BATS_TEST_TMPDIR/$n.json" <<EOF
[{"name": "ProfilerStep#$n", "ph": "X", "ts": 0, "dur": 50, "tid": 1, "pid": "CPU functions", "args": {}},
 {"name": "mm", "ph": "X", "ts": 5, "dur": 9, "tid": 1, "pid": "CPU functions", "args": {}},
 {"name": "mm", "ph": "s", "ts": 5, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda", "args": {}},
 {"name": "gemm", "ph": "f", "ts": 8, "tid": 0, "pid": "CUDA functions", "id": 0, "cat": "cpu_to_cuda", "args": {}},
 {"name": "gemm", "ph": "X", "ts": 8, "dur": ${n}0, "tid": 0, "pid": "CUDA functions", "args": {}}, ]
EOF
    done
    cd "$BATS_TEST_TMPDIR"
    run -0 --separate-stderr "$WPROF" import -o s 1.json 2.json
    [[ $stderr == *"4 operators, 2 steps, 2 kernels"* ]]
    "$WPROF" show --units step s | grep -q 'step 2 .*rank 1'
    "$WPROF" export --metric gpu s >got
    diff - got <<'EOF'
CPU functions [rank 0];ProfilerStep;mm;CUDA:gemm 10000
CPU functions [rank 1];ProfilerStep;mm;CUDA:gemm 20000
EOF
    "$WPROF" show --gpu s | grep -q '^ *rank 1 GPU 0 .*20 us'
}

@test "formats: bytes that are no UTF-8 are in no file" {
    printf 'a;\xff\xfe 3\n' >odd.folded
    "$WPROF" -q import --from folded -o odd odd.folded
    [ "$("$WPROF" export odd)" = 'a;__ 3' ]
    "$WPROF" -q export -f sqlite -o odd.db odd
    for f in csv ndjson speedscope; do
        "$WPROF" -q export -f $f -o odd.$f odd
    done
    "$WPROF" query -f csv odd "select * from frames" >odd.query
    python3 - <<'END'
import sqlite3
for f in ("odd.csv", "odd.ndjson", "odd.speedscope", "odd.query"):
    assert "_" in open(f, encoding="utf-8").read() or f == "odd.speedscope", f
assert "\ufffd\ufffd" in open("odd.query", encoding="utf-8").read()
names = [r[0] for r in sqlite3.connect("odd.db").execute("select function from frames")]
assert "\ufffd\ufffd" in names, names
END
}
