#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

# session NAME JSON: a session with that topology.
session() {
    printf '{"format": "wprof-topology", "version": 1, "nodes": [%s], "edges": [%s]}' "$2" "$3" >"$BATS_TEST_TMPDIR/$1.json"
    "$WPROF" import --from topology -o "$BATS_TEST_TMPDIR/$1" "$BATS_TEST_TMPDIR/$1.json"
}

process() {
    printf '{"id": "Process(pid=%s,ppid=1)", "kind": "process", "attrs": {"pid": %s, "ppid": 1, "name": "%s"}}' "$1" "$1" "$2"
}

edge() {
    printf '{"kind": "tcp", "a": "Process(pid=%s,ppid=1)", "b": "Process(pid=%s,ppid=1)", "bytes_ab": %s, "bytes_ba": 1}' "$1" "$2" "$3"
}

setup() {
    need_python
    cd "$BATS_TEST_TMPDIR"
    session a "$(process 10 x), $(process 11 y)" "$(edge 10 11 100)"
    session b "$(process 20 x), $(process 21 y)" "$(edge 20 21 100)"
    session c "$(process 20 x), $(process 21 y), $(process 22 z)" "$(edge 20 21 900), $(edge 20 22 5)"
}

@test "diff --topology: equal is 0" {
    run -0 "$WPROF" diff --topology a a
    [ "$output" = "no difference" ]
    run -0 "$WPROF" diff --topology --by-name a b
}

@test "diff --topology: other pids are other processes, names are not" {
    run -1 "$WPROF" diff --topology a b
    [[ $output == *"- node Process(pid=10,ppid=1)"* && $output == *"+ node Process(pid=20,ppid=1)"* ]]
}

@test "diff --topology --by-name: made-up names of shared memory are one" {
    shm() {
        printf '{"id": "SharedMemory(name=/dev/shm/%s,size=64)", "kind": "shm", "attrs": {"shm_name": "/dev/shm/%s", "shm_size": 64}}' "$1" "$1"
    }
    session one "$(process 1 x), $(shm sem.GjFesE), $(shm torch_1201_77_0), $(shm frames)" ""
    session two "$(process 1 x), $(shm sem.78jOVF), $(shm torch_1444_9_0), $(shm frames)" ""
    session three "$(process 1 x), $(shm sem.78jOVF), $(shm torch_1444_9_0), $(shm pixels)" ""
    run -0 "$WPROF" diff --topology --by-name one two
    run -1 "$WPROF" diff --topology --by-name one three
    [[ $output == *"+ node "*pixels* && $output != *torch* ]]
    run -1 "$WPROF" diff --topology one two
}

@test "diff --topology: gone, new, heavier, lighter, as text and as JSON" {
    run -1 "$WPROF" diff --topology --by-name b c
    [[ $output == *"+ node Process(z)"* && $output == *"> edge tcp Process(x) -- Process(y): 101 -> 901 bytes"* ]]
    run -1 "$WPROF" diff --topology --by-name c b
    [[ $output == *"- node Process(z)"* && $output == *"< edge tcp Process(x) -- Process(y): 901 -> 101 bytes"* ]]
    run -1 "$WPROF" diff --topology --by-name --json b c
    python3 -c 'import json, sys
d = json.loads(sys.argv[1])
assert not d["equal"] and d["nodes"] == {"gone": [], "new": ["Process(z)"]}, d
flow = lambda ab: {"bytes_ab": ab, "bytes_ba": 1, "messages_ab": 0, "messages_ba": 0}
assert d["edges"]["heavier"] == [{"edge": "tcp Process(x) -- Process(y)", "bytes_before": 101, "bytes_after": 901, "before": flow(100), "after": flow(900)}], d
assert d["edges"]["new"][0]["bytes_after"] == 6, d' "$output"
}

@test "diff --topology: a flow that goes the other way differs; other messages do where processes are the same" {
    session turned "$(process 10 x), $(process 11 y)" "$(edge 11 10 100)"
    run -1 "$WPROF" diff --topology a turned
    [[ $output == *"~ edge tcp"*"101 -> 101 bytes (there 100 -> 1, back 1 -> 100)"* ]]
    run -1 "$WPROF" diff --topology --by-name --json b turned
    python3 -c 'import json, sys
d = json.loads(sys.argv[1])["edges"]["other"]
assert len(d) == 1 and d[0]["before"]["bytes_ab"] == d[0]["after"]["bytes_ba"] == 100, d' "$output"
    session more "$(process 10 x), $(process 11 y)" "$(edge 10 11 100 | sed 's/}$/, "messages_ab": 7}/')"
    run -1 "$WPROF" diff --topology a more
    [[ $output == *"0 -> 7 messages"* ]]
    run -0 "$WPROF" diff --topology --by-name a more
}

@test "diff: of topologies what every run of a side has and none of the other" {
    local i
    for i in 1 2; do # z is new in both runs, w in one alone
        session "base$i" "$(process 10 x), $(process 11 y)" "$(edge 10 11 100)"
        session "new$i" "$(process 10 x), $(process 12 z)$([ "$i" = 1 ] || echo ", $(process 13 w)")" "$(edge 10 12 100)"
        printf 'x;f 100\n' >x
        "$WPROF" import -o "s$i" x
        cp -r "s$i" "p$i"
        cp "base$i/topology.json" "s$i/"
        cp "new$i/topology.json" "p$i/"
    done
    run -0 "$WPROF" diff --json --base s1 s2 --new p1 p2
    python3 -c 'import json, sys
d = json.loads(sys.argv[1])
assert "+ node Process(z)" in d["topology"] and "- node Process(y)" in d["topology"], d["topology"]
assert not [t for t in d["topology"] if "(w)" in t], d["topology"]
assert [n for n in d["notes"] if "p 0.33" in n], d["notes"]' "$output"
    run -0 "$WPROF" diff --json --base s1 --new p2
    [[ $output == *"+ node Process(w)"* ]]
}

@test "diff --topology: into a file; what it does not do is wrong usage" {
    run -1 "$WPROF" diff --topology --format json -o out.json b c
    [ -z "$output" ]
    python3 -c 'import json; assert not json.load(open("out.json"))["equal"]'
    for wrong in "--format html" "--format junit" "--fail-above 5%" --self "--only x"; do
        # shellcheck disable=SC2086
        run -2 "$WPROF" diff --topology $wrong a b
    done
    run -2 "$WPROF" diff --by-name a b
}

@test "diff: what it can not do is said" {
    run -2 "$WPROF" diff --topology a
    run -2 "$WPROF" diff a
    run -2 "$WPROF" diff --base a
    run -2 "$WPROF" diff --alpha 2 a b
    run -2 "$WPROF" diff --fail-above lots a b
    run -3 "$WPROF" diff --topology a nowhere
    run -3 "$WPROF" diff a nowhere
    mkdir empty
    run -3 "$WPROF" diff empty a
    [[ $output == *"neither a session nor a folder of sessions"* ]]
    run -3 "$WPROF" diff --per step x.folded x.folded
}

# runs SIDE GROWTH: three files of stacks, in the second column what slow() takes beside others that vary a little.
runs() {
    mkdir -p "$1"
    for i in 1 2 3; do
        printf 'app;main;slow %d\napp;main;fast %d\napp;main;fast;leaf %d\napp;idle %d\n' \
            $((4000 * (100 + $2) / 100 + 13 * i)) $((3000 - 11 * i)) $((2000 + 7 * i)) $((1000 - 9 * i)) >"$1/$i.folded"
    done
}

# value JQ-LIKE PYTHON: evaluates it on the JSON d.
value() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
row = lambda name, level="functions": next(r for r in d[level]["rows"] if r["name"] == name)
sys.exit(not eval(sys.argv[2]))' "$1" "$2"
}

@test "diff: what grew is found, with its sign; swapped it shrank by as much" {
    runs base 0
    runs new 20
    "$WPROF" diff --json --base base/*.folded --new new/*.folded >there.json
    "$WPROF" diff --json --base new/*.folded --new base/*.folded >back.json
    value there.json 'row("slow")["significant"] and row("slow")["change"] > 0 and d["certainty"] == "high"'
    value there.json 'row("slow")["low"] < row("slow")["change"] < row("slow")["high"] and row("slow")["low"] > 0'
    value there.json 'abs(row("slow")["change"] - (4826/10826 - 4026/10026)) < 1e-3'
    python3 - <<'END'
import json
a, b = json.load(open("there.json")), json.load(open("back.json"))
of = lambda d: {r["name"]: r for r in d["functions"]["rows"]}
for name, r in of(a).items():
    assert abs(r["change"] + of(b)[name]["change"]) < 1e-12 and abs(r["q"] - of(b)[name]["q"]) < 1e-9, name
END
    # Equal programs: nothing.
    "$WPROF" diff --json --base base/*.folded --new base/*.folded >same.json
    value same.json 'not any(r["significant"] for r in d["functions"]["rows"])'
}

@test "diff: the gate fails, passes, can't judge; its last line says why" {
    runs base 0
    runs new 40
    run -1 "$WPROF" diff --fail-above 5% --base base/*.folded --new new/*.folded
    [[ ${lines[-1]} == "FAIL: "*"slow: +"* ]]
    run -0 "$WPROF" diff --fail-above 5% --only slow --base new/*.folded --new base/*.folded
    [[ ${lines[-1]} == "pass: "* ]]
    run -0 "$WPROF" diff --fail-above 5% --only fast --base base/*.folded --new new/*.folded
    run -0 "$WPROF" diff --fail-above 20% --base base/*.folded --new new/*.folded
    run -3 "$WPROF" diff --fail-above 5% --only nobody --base base/*.folded --new new/*.folded
    [[ ${lines[-1]} == "can't judge: "* ]]
    run -125 "$WPROF" diff --bisect --fail-above 5% --only nobody --base base/*.folded --new new/*.folded
    run -128 "$WPROF" diff --bisect --fail-above 5% base nowhere
    run -128 "$WPROF" diff --bisect
    run -1 "$WPROF" diff --bisect --fail-above 0.05 -o out.md --format md --base base/*.folded --new new/*.folded
    [[ $output == "FAIL: "* ]] && grep -qF '| slow |' out.md
}

@test "diff: every key of the JSON stands in the man page" {
    runs base 0
    runs new 40
    "$WPROF" diff --json --fail-above 5% --base new/*.folded --new base/*.folded | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert (d["format"], d["version"]) == ("wprof-diff", 1)
print("\n".join([*d, *d["base"], *d["functions"], *d["functions"]["rows"][0]]))' >keys
    [ "$(wc -l <keys)" -gt 40 ]
    while read -r key; do
        tr -d '\\' <"$ROOT/man/wprof-diff.1.md" | sed -n '/^# JSON/,/^# TOPO/p' | grep -qE "[*]$key[*]" || { echo "$key is not in the man page"; false; }
    done <keys
}

# recorded SESSION KEY=JSON...: what meta.json says of how it was recorded.
recorded() {
    python3 - "$@" <<'END'
import json, sys
m = json.load(open(sys.argv[1] + "/meta.json"))
m.update((k, json.loads(v)) for k, v in (a.split("=", 1) for a in sys.argv[2:]))
json.dump(m, open(sys.argv[1] + "/meta.json", "w"))
END
}

@test "diff: sides that were recorded otherwise are not judged by their functions, and it is said" {
    for i in one two; do
        printf 'app;slow 500\napp;fast 500\n' | "$WPROF" import --from folded -o $i - 2>/dev/null
    done
    recorded one 'tier="A"' 'event="cpu-clock"' frequency=99
    recorded two 'tier="C"' 'event="cpu-clock"' frequency=499
    run -3 "$WPROF" diff --fail-above 5% one two
    [[ ${lines[-1]} == "can't judge: "*"tier A"*"tier C"* ]]
    [[ $output == *"note: the base side was recorded in tier A, the new one in tier C"* ]]
    [[ $output == *"note: the base side was recorded at 99 samples a second, the new one at 499"* ]]
    run -125 "$WPROF" diff --bisect --fail-above 5% two one
    recorded two 'tier="A"' frequency=99
    run -0 "$WPROF" diff --fail-above 5% one two
    [[ $output != *"note: "* ]]
}

@test "diff: one session given twice is said" {
    for i in one two; do
        printf 'app;f 100\n' | "$WPROF" import --from folded -o $i - 2>/dev/null
    done
    run -0 "$WPROF" diff --base one one --new two
    [[ $output == *"note: one is the same session as one ("*"another run, which it is not"* ]]
    run -0 "$WPROF" diff one one
    [[ $output == *"note: one is the same session as one ("*"the other side"* ]]
    run -0 "$WPROF" diff one two
    [[ $output != *"same session"* ]]
}

@test "diff --only: a figure that was tested and is fine passes the gate" {
    mkdir base new
    for side in base new; do
        for i in 1 2 3; do
            printf 'app;f %d\n' $((1000 + i)) | "$WPROF" import --from folded -o $side/$i - 2>/dev/null
            recorded $side/$i duration_s=10.00$i
        done
    done
    run -0 "$WPROF" diff --only wall --fail-above 5% base new
    [[ ${lines[-1]} == "pass: wall: "* ]]
    for i in 1 2 3; do recorded new/$i duration_s=12.00$i; done
    run -1 "$WPROF" diff --only wall --fail-above 5% base new
    run -3 "$WPROF" diff --only wall --fail-above 5% base/1 new/1
}

@test "diff: folded files of different totals, in three columns and in two" {
    printf 'a;b 10\na;c 30\n' >one.folded
    printf 'a;b 20\na;c 50\na;d 10\n' >two.folded
    run -0 "$WPROF" diff --format folded one.folded two.folded
    [ "$output" = $'a;b 20 20\na;c 60 50\na;d 0 10' ]
    run -0 "$WPROF" diff --format folded --two-column one.folded two.folded
    [ "$output" = $'a;c -10\na;d 10' ]
    run -0 "$WPROF" diff --format folded one.folded one.folded
    [ "$output" = $'a;b 10 10\na;c 30 30' ]
}

@test "diff: values of folded files that were rounded are said" {
    printf 'a;b 1.5\na;c 3\n' >half.folded
    run -0 "$WPROF" diff half.folded half.folded
    [[ $output == *"half.folded: 1 values with a fraction were rounded"* ]]
}

@test "diff: addresses, clones and lines are not compared, what moved is" {
    printf 'a;f (x.py:10) 50\na;g.isra.0 30\na;[lib.so.1+0x1234] 10\na;at 0x7f0012345678 10\na;work (old.py:3) 100\n' >one.folded
    printf 'a;f (x.py:99) 50\na;g.constprop.1 30\na;[lib.so.2+0x9999] 10\na;at 0x7f0087654321 10\na;work (new.py:7) 100\n' >two.folded
    "$WPROF" diff --json one.folded two.folded >d.json
    value d.json 'all(r["change"] == 0 for r in d["functions"]["rows"])'
    value d.json '{r["name"] for r in d["functions"]["rows"]} == {"a", "f (x.py)", "g", "[lib.so]", "at 0x", "work (new.py)"}'
    value d.json 'row("work (new.py)")["was"] == "work (old.py)"'
}

@test "diff: the recorded program is one module under another name; a module has what ran in it" {
    mkdir s
    for i in base new; do
        python3 - $i <<'END' >s/$i.txt
import sys
# perf script's text: the program is old on the base side and app-2 on the new one; ld.so has a _start, too, there.
program = {"base": "old", "new": "app-2"}[sys.argv[1]]
for n in range(200):
    print("%s 10 %d.%06d: 1 cpu-clock:" % (program, n // 100, n % 100 * 10000))
    if n == 7 and program != "old":
        print("\t    1000 _start+0x1 (/lib/ld-linux.so.2)")
    else:
        f = "work" if n % 3 else "moved"
        print("\t    2000 %s+0x1 (%s)" % (f, "/lib/libone.so.1" if f == "moved" and program == "old" else "/lib/libtwo.so.1" if f == "moved" else "/x/" + program))
        print("\t    3000 main+0x1 (/x/%s)" % program)
        print("\t    4000 _start+0x1 (/x/%s)" % program)
    print()
END
        "$WPROF" import --from perf-script -o $i s/$i.txt 2>/dev/null
    done
    recorded base 'command=["./old"]'
    recorded new 'command=["/x/app-2", "1"]'
    run -0 "$WPROF" diff --fail-above 5% base new
    [[ $output == *"the program that was recorded is old on the base side and app-2 on the new one"* ]]
    "$WPROF" diff --json --fail-above 5% base new >there.json
    value there.json 'row("_start")["was"] is None and row("_start")["module"] == "app-2" and abs(row("_start")["change"]) < 0.01'
    value there.json 'row("moved")["was"] == "moved (libone.so)" and row("main")["base_weight"] == 200'
    value there.json 'row("app-2", "modules")["base_weight"] == 200 and not any(r["name"] == "old" for r in d["modules"]["rows"])'
    value there.json 'row("libone.so", "modules")["new"] == 0 == row("libtwo.so", "modules")["base"]'
    "$WPROF" diff --json new base >back.json
    python3 - <<'END'
import json
a, b = (json.load(open(x)) for x in ("there.json", "back.json"))
of = lambda d: {"program" if r["name"] in ("old", "app-2") else r["name"]: r["change"] for r in d["modules"]["rows"]}
assert all(abs(v + of(b)[k]) < 1e-12 for k, v in of(a).items()), (of(a), of(b))
END
}

@test "diff: Markdown and JUnit keep foreign names as text" {
    printf 'a;x|<b>&`*@you 60\na;y 40\n' >one.folded
    printf 'a;x|<b>&`*@you 10\na;y 90\n' >two.folded
    run -0 "$WPROF" diff --format md one.folded two.folded
    [[ $output == *'x\|&#60;b&#62;&#38;\`\*&#64;you'* && $output != *"<b>"* ]]
    run -1 "$WPROF" diff --format junit --fail-above 5% one.folded two.folded
    "$WPROF" diff --format junit --fail-above 5% one.folded two.folded >out.xml || true
    python3 -c 'import sys, xml.etree.ElementTree as t
s = t.parse("out.xml").getroot()
assert s.tag == "testsuite" and int(s.get("failures")) == 1 and int(s.get("tests")) == len(s.findall("testcase")), s.attrib
assert any(c.get("name") == "x|<b>&`*@you" for c in s.iter("testcase"))'
}

@test "diff: a folder of sessions is a side" {
    mkdir base new
    for i in 1 2; do
        printf 'a;b %d\na;c %d\n' $((100 + i)) $((300 - i)) | "$WPROF" import --from folded -o "base/wprof-$i" -
        printf 'a;b %d\na;c %d\n' $((200 + i)) $((200 - i)) | "$WPROF" import --from folded -o "new/wprof-$i" -
    done
    "$WPROF" diff --json base new >d.json
    value d.json 'len(d["base"]["sessions"]) == 2 and d["certainty"] == "medium" and row("b")["change"] > 0.2'
}

@test "diff: the flame graph in both directions, as a picture and in a page" {
    printf 'a;gone<b> 6000\na;same 3000\na;noise 1000\n' >one.folded
    printf 'a;same;come 5000\na;same 3990\na;noise 1010\n' >two.folded
    "$WPROF" diff --format svg one.folded two.folded >d.svg
    "$WPROF" diff --format html --fail-above 5% -o d.html one.folded two.folded || [ $? -eq 1 ]
    python3 - <<'END'
import re, xml.etree.ElementTree as t
text = open("d.svg").read()
root = t.fromstring(text)
ns = "{http://www.w3.org/2000/svg}"
box = lambda part, name: next(g for g in t.fromstring("<x xmlns='http://www.w3.org/2000/svg'>" + part + "</x>").iter(ns + "g")
                              if g.find(ns + "title").text.startswith(name))
after, before = text.split("BEFORE: ")[0].split("AFTER: ")[1], text.split("BEFORE: ")[1]
after, before = ("<text>" + after).split("\n", 1)[1], ("<text>" + before).split("\n", 1)[1].replace("</svg>", "")
after, before = after[:after.rindex("<text class=\"h\"")], before
assert box(after, "come").find(ns + "rect").get("class").startswith("m"), "what came is red after"
assert box(before, "gone<b>").find(ns + "rect").get("class").startswith("l"), "what went is blue before"
noise = box(after, "noise")
assert noise.find(ns + "rect").get("class") == "um", "what may be noise is pale"
assert noise.find(ns + "title").text.endswith(", not significant") and ", q " in noise.find(ns + "title").text
assert " %), q " in box(after, "come").find(ns + "title").text and box(after, "come").find(ns + "title").text.endswith(", significant")
assert "base 60.0 %, new 0.00 %: -60.0 % points" in box(before, "gone<b>").find(ns + "title").text
assert "gone" not in after and "come" not in before
page = open("d.html").read()
assert "FAIL: " in page and "AFTER: " in page and "BEFORE: " in page and "<script" not in page and "gone<b>" not in page
END
}

@test "diff --format html: how whole runs were tested is said once where it is the same of all" {
    printf 'app;f 100\n' | "$WPROF" import --from folded -o one - 2>/dev/null
    recorded one duration_s=1.5
    cp -r one two
    "$WPROF" diff --format html one two >out.html
    [ "$(grep -c 'not tested: one run a side' out.html)" = 1 ]
    grep -q '<p>tested by: not tested: one run a side</p>' out.html
}

# same_and_other SECONDS TIMES: work.py OTHER, so many times a function that takes SECONDS of CPU time, then one that takes OTHER.
same_and_other() {
    cat >work.py <<PY
import sys, time
def until(cpu):
    end = time.process_time() + cpu
    while time.process_time() < end:
        pass
def same():
    until($1)
def other():
    until(float(sys.argv[1]))
for _ in range($2):
    same()
    other()
PY
}

@test "the gate: what takes as long as before does not fail since others take less" {
    same_and_other 0.15 1
    "$WPROF" record -q -F 997 --collect cpu,metrics --repeat 3 -o took --against 'python3 work.py 0.02' -- python3 work.py 0.4
    run -1 "$WPROF" diff --fail-above 20% --only 'other*' --base took/base --new took/new
    run -0 "$WPROF" diff --fail-above 20% --only 'same*' --base took/new --new took/base
    [[ ${lines[-1]} == "pass: "*"the share of 1 grew"*"the others take less" ]]
}

@test "the gate: of one run a side, too, if both were recorded to their end" {
    same_and_other 0.01 25
    "$WPROF" record -q -F 997 --collect cpu,metrics -o short -- "$PYTHON" work.py 0.001
    "$WPROF" record -q -F 997 --collect cpu,metrics -o long -- "$PYTHON" work.py 0.03
    run -0 "$WPROF" diff --fail-above 20% --only 'same*' long short
    [[ ${lines[-1]} == "pass: "*"the share of 1 grew"*"the others take less" ]]
    run -1 "$WPROF" diff --fail-above 20% --only 'other*' short long
    recorded long end_reason='"duration"'
    run -1 "$WPROF" diff --fail-above 20% --only 'same*' long short
}

@test "record --repeat: sessions in turn, as diff takes them; the first that fails is the last" {
    "$WPROF" record --collect cpu --repeat 2 -o runs --against "sh -c 'exit 0'" -- true
    "$WPROF" diff --json runs/base runs/new >d.json
    value d.json '[len(d[s]["sessions"]) for s in ("base", "new")] == [2, 2] and any(f["name"] == "wall" and f["p"] is not None for f in d["figures"])'
    run -3 "$WPROF" record --collect cpu --repeat 3 -o failing -- sh -c 'exit 3'
    [ "$(ls failing)" = 1 ]
    run -125 "$WPROF" record --repeat 2 -a
    run -125 "$WPROF" record --repeat 2 --against 'a | b' -- true
}

# traces SIDE GEMM_US: three traces of a GPU, ten steps of two kernels each, whose lengths vary by half a percent from run to run.
traces() {
    python3 - "$@" <<'END'
import json, sys
side, gemm = sys.argv[1], float(sys.argv[2])
for run, by in enumerate((0.995, 1, 1.005)):
    events, at = [], 1000
    for step in range(10):
        for name, us in (("gemm", gemm * by), ("relu", 500 / by)):
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": us, "args": {"device": 0, "stream": 7}})
            at += us + 10
        events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1,
                       "ts": at - gemm - 600, "dur": (gemm + 510) * by})
    json.dump({"traceEvents": events}, open(f"{side}{run}.json", "w"))
END
    for run in 0 1 2; do "$WPROF" import -o "$1$run" "$1$run.json" 2>/dev/null; done
}

@test "diff: kernels, GPU time and steps of several runs a side are tested as functions are" {
    traces base 1000
    traces new 1300
    local sides=(--base base0 base1 base2 --new new0 new1 new2)
    run -1 "$WPROF" diff --by kernel --metric gpu --per 10 --fail-above 5% "${sides[@]}"
    [[ ${lines[-1]} == "FAIL: step, mean: +19."*"; gemm: +20.00 % of the base side's whole"* ]]
    run -1 "$WPROF" diff --by kernel --metric gpu --fail-above 5% --only gemm "${sides[@]}"
    [[ ${lines[-1]} == "FAIL: gemm: +5.56 percentage points of all time"* ]] # 2/3 and 13/18
    run -0 "$WPROF" diff --json --by kernel --metric gpu --per 10 "${sides[@]}"
    python3 -c 'import json, sys
d = json.loads(sys.argv[1])
rows = {r["name"]: r for r in d["kernels"]["rows"]}
assert rows["gemm"]["significant"] and not rows["relu"]["significant"], rows
assert rows["gemm"]["low"] > 0 and rows["relu"]["low"] < 0 < rows["relu"]["high"], rows
figures = {f["name"]: f for f in d["figures"]}
for name in ("GPU busy", "step, mean", "step, median"):
    assert figures[name]["significant"] and figures[name]["change"] > 0, figures[name]
assert not figures["GPU idle"]["significant"]' "$output"
}

# steps NAME KERNEL:US...: a trace of 30 steps, in each of which aten::mm asks for these kernels and aten::gelu for another; lengths vary by half a percent.
steps() {
    python3 - "$@" <<'END'
import json, sys
events, at, ids = [], 1000.0, 0
def span(cat, name, ts, dur, tid, **args): events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args})
for step in range(30):
    begin = at
    for operator, kernels in (("aten::mm", [k.rsplit(":", 1) for k in sys.argv[2:]]), ("aten::gelu", [("gelu", "500")])):
        span("cpu_op", operator, at, 20 * len(kernels) + 1, 1)
        for i, (name, us) in enumerate(kernels):
            us, ids = float(us) * (1 + 0.005 * ((step * 7 + i) % 3 - 1)), ids + 1
            span("cuda_runtime", "cudaLaunchKernel", at + 20 * i + 1, 5, 1, correlation=ids)
            span("kernel", name, at + 100 + 4000 * i, us, 7, correlation=ids, device=0, stream=7)
        at += 100 + 4000 * len(kernels)
    span("user_annotation", "ProfilerStep#%d" % step, begin, at - begin - 1, 1)
json.dump({"traceEvents": events}, open(sys.argv[1] + ".json", "w"))
END
    "$WPROF" import -o "$1" "$1.json" 2>/dev/null
}

@test "diff: a library that picks other kernels for the same operator isn't growth, a slower one is" {
    steps base ampere:1000 volta:1000
    steps other cutlass:1000 volta:1000
    steps often volta:1000 volta:1000
    steps slower cutlass:3000 volta:1000 # 80 % of the time become 89 %
    for metric in gpu oncpu; do
        run -0 "$WPROF" diff --by kernel --metric "$metric" --fail-above 5% base other
        [[ $output == *"cutlass (instead of others, in aten::mm)"* ]]
    done
    run -0 "$WPROF" diff --by kernel --fail-above 5% base often
    [[ $output == *"volta (instead of others, in aten::mm)"* ]]
    run -0 "$WPROF" diff --metric gpu --fail-above 5% base other
    [[ $output == *"cutlass (was in aten::mm)"* ]] # not in what asks for all kernels
    run -1 "$WPROF" diff --by kernel --fail-above 5% base slower
    [[ ${lines[-1]} == "FAIL: cutlass: "* ]]
    run -1 "$WPROF" diff --metric gpu --fail-above 5% base slower
}

@test "diff: on a terminal of 80 columns sentences are wrapped, and figures give way before names" {
    need_command script
    local name=a_name_that_is_as_long_as_some_are_in_programs_that_people_write
    printf 'app;%s 500\napp;other 500\n' "$name" >one.folded
    printf 'app;%s 700\napp;other 300\n' "$name" >two.folded
    run -0 env PAGER=cat TERM=dumb script -qec "stty cols 80; '$WPROF' diff --fail-above 50% one.folded two.folded" /dev/null </dev/null
    [ "$(tr -d '\r' <<<"$output" | awk 'length > 80' | wc -l)" = 0 ]
    [[ $output == *"left out to fit the terminal: interval"* ]]
    [[ $(tr -d ' \r\n' <<<"$output") == *"$name"* ]]
}

@test "diff: kernels and operators of a real pair of traces, against a calculation of their own" {
    local data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/kineto
    [ -e "$data/diff-test.json.gz" ] || skip "needs kineto/diff-*.json.gz in WPROF_SHARED_DATA"
    "$WPROF" import -o control "$data/diff-control.json.gz" 2>/dev/null
    "$WPROF" import -o test "$data/diff-test.json.gz" 2>/dev/null
    "$WPROF" diff --json --min-share 0 control test >d.json
    "$PYTHON" "$ROOT/tests/cli/diff_kineto.py" d.json "$data/diff-control.json.gz" "$data/diff-test.json.gz"
    value d.json '{f["name"] for f in d["figures"]} >= {"wall", "GPU busy", "GPU idle", "step, median"}'
    # Six steps a side tell how much kernels vary within a run.
    value d.json 'd["kernels"]["tests"] > 50 and "resampled in 6 steps" in d["kernels"]["method"] and d["certainty"] == "low"'
    value d.json '[(r["significant"], r["change"] > 0) for r in d["kernels"]["rows"] if r["name"].startswith("Memcpy DtoD")] == [(True, True)]'
    run -1 "$WPROF" diff --by kernel --fail-above 5% control test
    [[ ${lines[-1]} == "FAIL: Memcpy DtoD"* && $output == *"tested: one run a side, resampled in 6 steps"* ]]
    run -0 "$WPROF" diff --by kernel --fail-above 5% control control
    [[ ${lines[-1]} == "pass: "* ]]
    "$WPROF" diff --format html -o d.html control test
    grep -q "kernels, tested: one run a side" d.html
}

@test "diff: of a side where nothing was counted nothing is tested" {
    printf 'main;a 300\nmain;b 200\n' >full.folded
    run -0 "$WPROF" diff full.folded a
    [[ $output == *"tested: nothing: one side has none of them; 0 functions"* ]]
    [[ $output == *"note: the new side has no samples of oncpu"* && $output != *"< 0.0001"* ]]
    run -3 "$WPROF" diff --fail-above 5% full.folded a
    [[ ${lines[-1]} == "can't judge: the new side has no samples of oncpu" ]]
}

@test "diff: imported samples with periods are as many as they were, not their periods" {
    for run in base new; do
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
            printf 'app 1 %d.5: 10101010 cpu-clock: \n\t7f01 %s (/bin/app)\n\n' $i "$([ $i -le $([ $run = base ] && echo 2 || echo 4) ] && echo some || echo most)"
        done >$run.txt
        "$WPROF" -q import --from perf-script -o $run $run.txt
    done
    run -0 "$WPROF" diff --fail-above 5% base new
    "$WPROF" diff --json base new | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert '"'"'"significant": true'"'"' not in json.dumps(d), d["functions"]
'
}

@test "diff: costs that were measured are no samples: one run a side tests nothing of them" {
    local from=$BATS_TEST_TMPDIR
    printf 'events: Ir\nfn=main\n1 1000000\nfn=work\n1 %d\n' 9000000 >"$from/a.callgrind"
    printf 'events: Ir\nfn=main\n1 1000000\nfn=work\n1 %d\n' 19000000 >"$from/b.callgrind"
    printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main"},{"name":"work"}]},"profiles":[{"type":"evented","name":"p","unit":"milliseconds","startValue":0,"endValue":1000,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":%d},{"type":"C","frame":1,"at":900},{"type":"C","frame":0,"at":1000}]}]}' 500 >"$from/a.speedscope.json"
    sed 's/"at":500/"at":100/' "$from/a.speedscope.json" >"$from/b.speedscope.json"
    for format in callgrind speedscope.json; do
        rm -rf a1 a2 b1 b2
        for i in a b; do
            "$WPROF" -q import -o ${i}1 "$from/$i.$format"
            "$WPROF" -q import -o ${i}2 "$from/$i.$format"
        done
        run -0 "$WPROF" diff a1 b1
        [[ $output == *"tested: nothing: of one run a side nothing tells how much"* ]] || { echo "$output"; false; }
        not grep -q "samples" <<<"$output" || { echo "$output"; false; }
        run -3 "$WPROF" diff --fail-above 1% a1 b1
        [[ $output == *"can't judge"* ]]
        run -1 "$WPROF" diff --fail-above 1% --base a1 a2 --new b1 b2
        [[ $output == *"tested: by how runs differ"*FAIL*work* ]] || { echo "$output"; false; }
    done
}

@test "diff: a function that is taken out of another, or renamed, or a lambda's number is no growth; a new one is" {
    printf '%s\n' 'app;main;process 2000' 'app;main;process;encode 4000' 'app;main;process;parse 4000' \
        'app;main;each<main::{lambda(int)#1}> 900' >base.folded
    sed 's/;encode 4000/;encode;encode_block 4000/' base.folded >extract.folded
    sed 's/;parse 4000/;parse_v2 4000/' base.folded >rename.folded
    { sed 's/#1/#2/' base.folded; echo 'app;main;each<main::{lambda(int)#1}> 50'; } >lambda.folded
    for new in extract rename lambda; do
        run -0 "$WPROF" diff --fail-above 5% base.folded $new.folded
        [[ ${lines[-1]} == pass:* ]]
    done
    "$WPROF" diff --json --fail-above 5% base.folded extract.folded >d.json
    value d.json 'row("encode_block")["within"] == "encode"'
    "$WPROF" diff base.folded rename.folded | grep -q 'parse_v2 (was in process)'
    # What is slower with its new name, or really new, fails as ever.
    sed 's/;parse 4000/;parse_v2 7000/' base.folded >slower.folded
    run -1 "$WPROF" diff --fail-above 5% base.folded slower.folded
    [[ ${lines[-1]} == "FAIL: parse_v2:"* ]]
    { cat base.folded; echo 'app;main;process;validate 2000'; } >new.folded
    run -1 "$WPROF" diff --fail-above 5% base.folded new.folded
    [[ ${lines[-1]} == "FAIL: validate:"* ]]
    "$WPROF" diff --json base.folded new.folded >d.json
    value d.json 'row("validate")["within"] is None'
}

@test "diff: the recorded program is one, whatever its files are called; without symbols functions can't be judged" {
    for i in base1 base2 new strip; do
        python3 - $i >$i.txt <<'END'
import sys
# perf script's text; started by a link or a shell.
name = sys.argv[1]
for n in range(400):
    print("%s 10 %d.%06d: 1 cpu-clock:" % (name, n // 100, n % 100 * 10000))
    for k, f in enumerate(("work" if n % 4 else "rest", "main", "_start")):
        print("\t    %d %s (/x/%s)" % (2000 + k, "[unknown]" if name == "strip" else f + "+0x1", name))
    print()
END
        "$WPROF" import --from perf-script -o s.$i $i.txt 2>/dev/null
        recorded s.$i 'command=["/bin/sh"]'
    done
    run -0 "$WPROF" diff --fail-above 5% --base s.base1 s.base2 --new s.new
    [[ $output == *"the program that was recorded is base1, base2 on the base side and new on the new one"* ]]
    "$WPROF" diff --json --base s.base1 s.base2 --new s.new >d.json
    value d.json 'row("work")["module"] == "new" and row("work")["base_weight"] == 600 and len(d["functions"]["rows"]) == 4'
    run -3 "$WPROF" diff --fail-above 5% s.base1 s.strip
    [[ ${lines[-1]} == *"can't judge: 0.0 % of the base side's samples and 100.0 % of the new one's are in code of the program without names"* ]]
    run -0 "$WPROF" diff --fail-above 5% --by module s.base1 s.strip
}

@test "diff: what failed, what is no profile, and what so few samples can't show" {
    for i in base new; do
        printf 'app;slow 500\napp;fast 500\n' | "$WPROF" import --from folded -o $i - 2>/dev/null
    done
    recorded new exit_code=134
    run -3 "$WPROF" diff --fail-above 5% base new
    [[ $output == *"note: 1 of 1 run of the new side ended by signal 6"* ]]
    [[ ${lines[-1]} == "can't judge: 1 of 1 run of the new side ended by signal 6, of the base side none" ]]
    recorded base exit_code=1
    run -0 "$WPROF" diff --fail-above 5% base new # both failed
    printf '%s\n' '#include <stdio.h>' 'int main(void)' '{' '#define N 3' '    puts("x");' '}' >app.c
    run -3 "$WPROF" diff base app.c
    [[ $output == *"app.c: 5 of 6 lines made no sense, the first is line 1: no folded stacks"* ]]
    printf 'app;slow 50\napp;fast 50\n' >few.folded
    printf 'app;slow 55\napp;fast 45\n' >other.folded
    run -0 "$WPROF" diff --fail-above 5% few.folded other.folded
    [[ ${lines[-1]} == pass:*"shows no change below "*" percentage points of all: more runs"* ]]
}
