#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# What folded text means: equal stacks summed, sorted by bytes.
summed() {
    awk '{ n = $NF; sub(/ +[0-9]+$/, ""); s[$0] += n } END { for (k in s) print k, s[k] }' "$@" | LC_ALL=C sort
}

@test "import: stacks made elsewhere come out the same" {
    printf '%s\n' 'main;run;leaf 3' 'main;run 2' 'main;run;leaf 4' 'main;other::operator() const 1' 'x 9' >a.folded
    run -0 --separate-stderr "$WPROF" import --from folded a.folded
    [ -d "$output" ]
    [[ $output == wprof-a.folded-* ]]
    "$WPROF" export --format folded "$output" >out
    diff <(summed a.folded) out
    LC_ALL=C sort -c out
}

@test "import: CR LF, spaces before the value, stdin, a last line without an end" {
    printf 'a;b  1\r\n\r\na;c 2 \r\na;b 5' | "$WPROF" import -o s -
    "$WPROF" export s >out
    diff - out <<<$'a;b 6\na;c 2'
}

@test "import: UTF-16 in both orders, UTF-8 with a byte order mark, packed" {
    text=$'a;b 1\nπ;c 𝄞 2\n'
    for order in UTF-16LE:'\xff\xfe' UTF-16BE:'\xfe\xff' UTF-8:'\xef\xbb\xbf'; do
        { printf "${order#*:}"; printf %s "$text" | iconv -f UTF-8 -t "${order%%:*}"; } >x
        "$WPROF" import --force -o s x
        [ "$("$WPROF" export s)" = "${text%$'\n'}" ]
    done
    printf '\xff\xfea\0 \0001\0\r\0\n\0' | gzip | "$WPROF" import --force -o s -
    [ "$("$WPROF" export s)" = "a 1" ]
    printf '\xff\xfea\0\x34\xd8 \0001\0' | "$WPROF" import --force -o s - # half of a pair
    [ "$("$WPROF" export s)" = $'a\xef\xbf\xbd 1' ]
}

@test "import: formats by name, the nearest of one that is none, events where there are none" {
    echo nothing >x
    for form in perf-script folded pprof speedscope cpuprofile callgrind pyspy austin witty kineto chrome nsys; do
        run -3 "$WPROF" import --from "$form" -o s x
    done
    run -2 "$WPROF" import --from speedscop x
    [[ $output == *"did you mean 'speedscope'?"* ]]
    run -2 "$WPROF" import --from perfscript x
    [[ $output == *"did you mean 'perf-script'?"* ]]
    run -3 "$WPROF" import --from folded --event cycles -o s x
    [[ $output == *"--event: files of folded have one kind of values"* ]]
}

@test "import: lines that make no sense are counted and the first is told" {
    printf '# a comment\na;b 1\nno value here\na;b;c\n 7\na;b 99999999999999999999999\n' >x
    run -3 "$WPROF" import -o s x # so many say that it is something else
    run -0 --separate-stderr "$WPROF" import --from folded -o s x
    [[ $stderr == *"5 lines of it made no sense"*"line 1: # a comment"* ]]
    "$WPROF" show s | grep -q '5 lines of it made no sense'
    [ "$("$WPROF" export s)" = "a;b 1" ]
}

@test "import: text that is no profile is no folded text; perf script's with CR LF is perf script's" {
    printf 'processor\t: 0\ncpu MHz : 2100\ncache size : 512 KB\nmodel : 85\n' >settings
    printf 'ftp 21/tcp\nssh 22/tcp # secure\n# all: 3\n' >services
    for f in settings services; do
        run -3 "$WPROF" import -o s $f
        [[ $output == *"no format that import knows"* ]]
    done
    printf '%s\r\n' 'a 1 1.5: 7 cycles: ' '	7f01 f (/bin/a)' '' 'a 1 1.8: 5 cycles: ' '	7f02 g (/bin/a)' '' >crlf
    "$WPROF" -q import -o s crlf
    diff - <("$WPROF" export s) <<<$'a;f 7\na;g 5'
}

@test "import: fractions are rounded and said" {
    printf 'a 1.5\nb 2.4\n' >x
    run -0 --separate-stderr "$WPROF" import -o s x
    [[ $stderr == *"2 values with a fraction were rounded"* ]]
    [ "$("$WPROF" export s)" = $'a 2\nb 2' ]
}

@test "import: kinds by name" {
    printf 'prog;do_syscall_64_[k] 1\nprog;step (net.py:12) 2\nprog;blob_[j] 3\nprog;f (not python) 4\n' >x
    "$WPROF" import -o s x
    "$WPROF" show --json s | python3 -c '
import json, sys
kinds = {f["name"]: (f["kind"], f["line"]) for f in json.load(sys.stdin)["functions"]}
assert kinds["do_syscall_64"][0] == "kernel", kinds
assert kinds["step (net.py:12)"][0] == "python", kinds
assert kinds["blob_[j]"][0] == "jit", kinds
assert kinds["f (not python)"][0] == "native", kinds'
    "$WPROF" export --kernel s >out
    diff <(summed x) out
    "$WPROF" export s | grep -qx 'prog;do_syscall_64 1'
}

@test "import: the session says where it is from and how little is known" {
    echo 'a;b 3' >x
    "$WPROF" import -o s x
    python3 - <<'PY'
import json
m = json.load(open("s/meta.json"))
assert m["kind"] == "imported" and m["state"] == "sealed" and m["schema_version"] == 1
assert m["workload"] == "x" and m["session_id"]
assert [a["path"] for a in m["artifacts"]] == ["events.wlog"]
assert m["quality"]["unwound_share"] is None and m["quality"]["cost_share"] is None
PY
    [ "$(stat -c %a s s/events.wlog s/meta.json | xargs)" = "700 600 600" ]
}

@test "import: deep and wide" {
    python3 - >x <<'PY'
print(";".join(f"f{i}" for i in range(20000)), 1)
for i in range(3000):
    print(f"root;child{i} {i + 1}")
PY
    "$WPROF" import -o s x
    "$WPROF" export s >out
    diff <(LC_ALL=C sort x) out
}

@test "import: files of others" {
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/folded
    [ -d "$data" ] || skip "needs the shared data"
    for f in "$data"/*.txt; do
        "$WPROF" import -o "$(basename "$f").s" "$f"
        diff <(grep -E ' [0-9]+$' "$f" | summed) <("$WPROF" export "$(basename "$f").s")
    done
}

@test "import: refusals" {
    run -2 "$WPROF" import
    run -2 "$WPROF" import --from folded a b
    run -3 "$WPROF" import a b
    run -2 "$WPROF" import --from nonsense x
    run -3 "$WPROF" import nowhere
    [[ $output == *nowhere*"No such file"* ]]
    run -3 "$WPROF" import .
    echo nothing >x
    run -3 "$WPROF" import x
    [[ $output == *"no format that import knows"* ]]
    run -3 "$WPROF" import --from folded x
    [[ $output == *"no folded stack"* ]]
    [ -z "$(find . -name 'wprof-*')" ] # nothing was made for it
    : >empty
    run -3 "$WPROF" import empty
    echo 'a 1' >x
    mkdir full && touch full/file
    run -3 "$WPROF" import -o full x
    [[ $output == *"not empty"* ]]
    run -3 "$WPROF" import --force -o full x
    [ -e full/file ]
    "$WPROF" import -o s x
    run -3 "$WPROF" import -o s x
    "$WPROF" import --force -o s x
}

@test "import: the example" {
    run -0 "$ROOT/examples/folded.sh"
    [[ $output == *"gemm"*"4 stacks written back"* ]]
}

@test "import: what fails leaves nothing behind" {
    [ "$(id -u)" = 0 ] || skip "needs root (mounts a small file system)"
    mkdir small
    mount -t tmpfs -o size=256k tmpfs small || skip "cannot mount a tmpfs"
    python3 -c 'import random
for i in range(40000): print(";".join("f%d" % random.randrange(10**9) for k in range(3)), 1)' >many.folded
    run -3 --separate-stderr "$WPROF" import -o small/new many.folded
    left=$(ls -A small)
    umount small
    [[ $stderr == *"No space left"* ]]
    [ -z "$left" ]
}

@test "import: counts that add up to more than 64 bits are refused" {
    printf 'a 18446744073709551615\nb 18446744073709551615\n' >huge
    run -3 --separate-stderr "$WPROF" import -o h huge
    [[ $stderr == *"the counts up to line 2 add up to more than 64 bits can hold"* ]]
    [ ! -e h ]
    printf 'a 18446744073709551615\n' | "$WPROF" import -o h -
    [ "$("$WPROF" export h)" = 'a 18446744073709551615' ]
}

@test "witty-profiler's graph.json comes back as it was" {
    need_python json
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/witty/graph.json
    [ -e "$data" ] || skip "needs the shared data (witty/graph.json)"
    run -0 "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$data"
    [[ $output == *"129 nodes and 259 edges"* ]]
    "$WPROF" export --format witty "$BATS_TEST_TMPDIR/s" >"$BATS_TEST_TMPDIR/back.json" 2>"$BATS_TEST_TMPDIR/said"
    diff <(cat "$data" && echo) "$BATS_TEST_TMPDIR/back.json"
    [ ! -s "$BATS_TEST_TMPDIR/said" ]
}

@test "witty's graph: unknown kinds, other namespaces, edges without direction; what is no graph" {
    need_python json
    small=$ROOT/tests/fuzz/corpus/witty/small.json
    "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$small"
    "$WPROF" export --format witty "$BATS_TEST_TMPDIR/s" >"$BATS_TEST_TMPDIR/back.json"
    "$PYTHON" - "$small" "$BATS_TEST_TMPDIR/back.json" <<'END'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert all(n in b["nodes"] for n in a["nodes"]), b["nodes"]
assert len(b["nodes"]) == 5 # the one that only an edge has
assert sorted(e["edge_type"] for e in b["edges"]) == ["SendToSocketEdge", "UndirectedEdge"]
of_type = {e["edge_type"]: e for e in b["edges"]}
assert [n["pid"] for n in of_type["UndirectedEdge"]["nodes"]] == [7, 9]
assert of_type["SendToSocketEdge"]["data_flow"] == a["edges"][0]["data_flow"]
END
    echo '{"nodes": 1}' >"$BATS_TEST_TMPDIR/no.json"
    run -3 "$WPROF" import -o "$BATS_TEST_TMPDIR/t" "$BATS_TEST_TMPDIR/no.json"
    [[ $output == *'lists "nodes" and "edges"'* ]]
    [ ! -e "$BATS_TEST_TMPDIR/t" ]
    echo '{"nodes": [{"entity_type": "ProcessEntity"}], "edges": []}' >"$BATS_TEST_TMPDIR/no.json"
    run -3 "$WPROF" import -o "$BATS_TEST_TMPDIR/t" "$BATS_TEST_TMPDIR/no.json"
    [[ $output == *"ProcessEntity without pid"* ]]
}

@test "a topology that wprof topo wrote" {
    "$WPROF" topo --format json -o "$BATS_TEST_TMPDIR/t.json" 2>/dev/null
    "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/t.json"
    diff "$BATS_TEST_TMPDIR/t.json" "$BATS_TEST_TMPDIR/s/topology.json"
    "$WPROF" export --format witty "$BATS_TEST_TMPDIR/s" 2>/dev/null | grep -q '"ProcessEntity"'
    "$WPROF" show "$BATS_TEST_TMPDIR/s" | grep -q topology
}

@test "export witty: a session without a topology; options of profiles" {
    printf 'a;b 1\n' >"$BATS_TEST_TMPDIR/f"
    "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/f"
    run -3 "$WPROF" export --format witty "$BATS_TEST_TMPDIR/s"
    [[ $output == *"has no topology"* ]]
    run -3 "$WPROF" export --format witty --metric oncpu "$BATS_TEST_TMPDIR/s"
    [[ $output == *"topology as a whole"* ]]
}
