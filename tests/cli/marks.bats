#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Marks of a recorded program: steps and requests with known lengths, what is lost, and views cut by them.

load common

setup_file() {
    build_workloads
    export PYTHONPATH=$ROOT/examples
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset WPROF_MARKS
}

# Five steps: step N sleeps (N + 1) * 100 ms in wait_N, then uses 60 ms of CPU time in work_N. A moment, and a phase that
# is not over.
steps_program() {
    cat >steps.py <<'PY'
import time
from marks import mark
def until(cpu):
    end = time.process_time() + cpu
    while time.process_time() < end:
        pass
for i in range(5):
    exec(f"def wait_{i}(): time.sleep({(i + 1) / 10})\ndef work_{i}(): until(0.06)")
until(0.1)
for i in range(5):
    mark(f"step {i}")
    globals()[f"wait_{i}"]()
    globals()[f"work_{i}"]()
mark("end step")
mark("mark half time")
mark("begin tail")
until(0.05)
PY
}

# judge DIR PYTHON OPTIONS...: statements on `d`, what show --json gives, and `u`, its units.
judge() {
    "$WPROF" show --json -n 0 "${@:3}" "$1" >out.json || return
    python3 -c '
import json, sys
d = json.load(open("out.json"))
u = d.get("units")
exec(sys.argv[1])' "$2" || { head -c 3000 out.json; return 1; }
}

sum_of() { # DIR METRIC [ONLY]
    "$WPROF" export -m "$2" ${3:+--only "$3"} "$1" | awk '{ s += $NF } END { printf "%.0f\n", s }' # mawk's integers end at 2^31
}

known_steps() {
    "$WPROF" record -q --force -o s -- python3 steps.py || return
    judge s '
assert [x["unit"] for x in u] == [f"step {i}" for i in range(5)] + ["[outside]"], u
for i, x in enumerate(u[:5]):
    slept = (i + 1) * 100e6
    assert slept * 0.996 <= x["offcpu_ns"] <= slept * 1.02 + 10e6, x
    assert 55e6 <= x["oncpu_ns"] <= 90e6, x # what a switch takes is neither, where others want the CPU
    assert abs(x["ns"] - x["offcpu_ns"] - x["runq_ns"] - x["oncpu_ns"]) < 1e3, x
    assert x["wait"] == f"sleep in wait_{i}", x
    assert ("slow" in (x["note"] or "")) == (x["of_median"] >= 1.5), x
assert d["units_median_ns"] == sorted(x["ns"] for x in u[:5])[2]' --steps
}

@test "steps of known length: each waits and works for its own" {
    need_tier_a
    steps_program
    in_three known_steps
    for i in 0 1 2 3 4; do
        "$WPROF" export -m offcpu --only step:$i s >folded
        grep -q "wait_$i " folded
        [ "$(grep -c 'wait_[0-9] (' folded)" = "$(grep -c "wait_$i (" folded)" ]
        "$WPROF" export --only step:$i s >folded
        [ "$(grep -c 'work_[0-9] ' folded)" = "$(grep -c "work_$i " folded)" ]
        grep -q "work_$i " folded
    done
}

@test "what lies in the steps and what lies outside adds up to the whole, to the ns" {
    need_tier_a
    steps_program
    "$WPROF" record -q --without metrics -o s -- python3 steps.py
    for m in oncpu offcpu runq; do
        whole=$(sum_of s $m)
        [ "$whole" -gt 0 ]
        in=0
        for i in 0 1 2 3 4; do
            in=$((in + $(sum_of s $m step:$i)))
        done
        [ "$in" = "$(sum_of s $m step)" ]
        [ "$in" = "$(($(sum_of s $m step:0-2) + $(sum_of s $m step:3,4)))" ]
        [ "$((in + $(sum_of s $m outside:step)))" = "$whole" ]
        # side by side
        "$WPROF" export -m $m --split step s >folded
        [ "$(awk '{ s += $NF } END { printf "%.0f", s }' folded)" = "$whole" ]
        [ "$(awk '/^step 3;/ { s += $NF } END { printf "%.0f", s }' folded)" = "$(sum_of s $m step:3)" ]
    done
    run -3 "$WPROF" export --format chrome --split step s
    [[ $output == *"--split is for profiles"* ]]
    # the table counts the same
    whole=$(sum_of s offcpu) samples=$(sum_of s oncpu)
    judge s "
assert sum(x['all_offcpu_ns'] for x in u) == $whole
assert sum(x['samples'] for x in u) == $samples" --steps
}

@test "moments, and what is not over" {
    need_tier_a
    steps_program
    "$WPROF" record -q -o s -- python3 steps.py
    judge s '
assert [x["unit"] for x in u] == ["tail", "[outside]"] and u[0]["note"] == "open", u
assert 50e6 <= u[0]["ns"], u' --units tail
    "$WPROF" export --format chrome s >chrome.json
    python3 -c '
import json
e = [x for x in json.load(open("chrome.json"))["traceEvents"] if x.get("cat") == "mark"]
assert [x["name"] for x in e if x["ph"] == "i"] == ["half time"], e
names = [x["name"] for x in e if x["ph"] == "b"]
assert names == [f"step {i}" for i in range(5)] + ["tail"], names'
}

# A wait is put in step with the scheduler, by a 256th of it at most.
cut_timeline() {
    rm -rf s
    "$WPROF" record -q -o s -- python3 steps.py || return 1
    "$WPROF" export --format chrome --only step:1-2 s >chrome.json || return 1
    python3 -c '
import json
e = json.load(open("chrome.json"))["traceEvents"]
b = {x["name"]: x["ts"] for x in e if x.get("cat") == "mark" and x["ph"] == "b"}
end = max(x["ts"] for x in e if x.get("cat") == "mark" and x["ph"] == "e")
assert set(b) == {"step 1", "step 2"}, b
spans = [x for x in e if x["ph"] == "X"]
assert spans and all(b["step 1"] - 1 <= x["ts"] and x["ts"] + x["dur"] <= end + 1 for x in spans)
slept = [x["dur"] for x in spans if x["name"] == "sleep" and x["dur"] > 50000]
assert len(slept) == 2 and 199e3 <= slept[0] <= 290e3 and 298e3 <= slept[1] <= 390e3, slept'
}

@test "a timeline cut to some steps has no lanes' time outside of them" {
    need_tier_a
    steps_program
    in_three cut_timeline
    "$WPROF" render --view timeline --only step:1-2 -o page.html s
    grep -q 'only step:1-2: 2 of them' page.html
}

@test "where none is over there is no median; a mark that is too long is cut, and that is said" {
    "$WPROF" record -o s -- python3 -c 'from marks import mark; mark("begin request 7"); mark("x" * 300)' 2>err
    grep -q 'marks: 1 were longer than 200 bytes' err
    run -0 "$WPROF" show --units request s
    [[ $output == *"request: 1, none of them over at the end; "* ]]
}

@test "requests of threads nest and overlap" {
    need_tier_a
    cat >requests.py <<'PY'
import threading, time
from marks import mark
def serve(i):
    mark(f"begin request {i}")
    mark(f"begin query {i}")
    time.sleep(0.1)
    mark(f"end query {i}")
    time.sleep(0.1 * i)
    mark(f"end request {i}")
threads = [threading.Thread(target=serve, args=(i,)) for i in (1, 2, 3)]
for t in threads: t.start()
for t in threads: t.join()
PY
    in_three known_requests
    [ "$(sum_of s offcpu request:1)" -ge 300000000 ] # the main thread and three workers
}

known_requests() {
    "$WPROF" record -q --force -o s -- python3 requests.py || return
    judge s '
assert sorted(x["unit"] for x in u) == ["[outside]", "request 1", "request 2", "request 3"], u
r = {x["unit"]: x for x in u}
for i in (1, 2, 3):
    assert 100e6 + 100e6 * i <= r[f"request {i}"]["ns"] <= 200e6 + 100e6 * i, u
assert r["request 3"]["start_ns"] < r["request 1"]["start_ns"] + r["request 1"]["ns"]' --units request &&
        judge s 'assert len(u) == 4 and all(100e6 <= x["ns"] <= 190e6 for x in u[:3]), u' --units query
}

@test "a flood: what arrives is kept or counted, and memory is bounded" {
    need_tier_a
    cat >flood.py <<'PY'
import sys
import time
import marks
ends = -1
for i in range(int(sys.argv[1])):
    marks.mark(f"step {i}")
    if i % 10 == 9 and len(sys.argv) > 2:
        time.sleep(0.001)
while ends < 0 or marks._unsent:  # until it has been said how many were not sent
    marks.mark("end step")
    ends += 1
print(ends, file=open("ends", "w"))
PY
    "$WPROF" record -q --without metrics -o few -- python3 flood.py 10
    for pace in "" slowly; do # as fast as it can; 10,000 a second
        "$WPROF" record -q --force --without metrics -o s -- python3 flood.py 60000 $pace
        judge s "
c = json.load(open('s/meta.json'))['counters']
few = json.load(open('few/meta.json'))['counters']
kept, ends = len(u) - 1, int(open('ends').read())
assert c['marks.malformed'] == c['marks.cut'] == 0, c
# each of 60,000 is a step, was not sent, or was dropped here
assert kept + c['marks.unsent'] + c['marks.dropped'] == 60000 + ends, (kept, ends, c)
assert c['own.rss_max'] < few['own.rss_max'] + (64 << 20), (c, few)" --steps
    done
    # and the session says so
    if [ "$(python3 -c "import json; c = json.load(open('s/meta.json'))['counters']; print(c['marks.unsent'])")" != 0 ]; then
        "$WPROF" show s | grep "were not sent, say their senders"
    fi
}

known_from_outside() {
    "$WPROF" record -q --force --tier C -o s -- python3 steps.py || return
    judge s '
assert [x["unit"] for x in u] == [f"step {i}" for i in range(5)] + ["[outside]"], u
for i, x in enumerate(u[:5]):
    assert (i + 1) * 100e6 + 60e6 <= x["ns"], x
    assert x["offcpu_ns"] >= (i + 1) * 100e6 - 60e6, x # on a busy machine a look comes late, and takes more for a wait
    assert i < 2 or x["wait"] == f"sleep in wait_{i}", x' --steps
}

@test "from outside (tier C) the steps are the same" {
    steps_program
    in_three known_from_outside
    whole=$(sum_of s offcpu)
    [ "$whole" -lt 100000000000 ]
    [ "$(($(sum_of s offcpu step) + $(sum_of s offcpu outside:step)))" = "$whole" ]
}

@test "the path fits a socket's name, however long the session's is" {
    local long
    long=$PWD/$(printf 'd%.0s' {1..120})/$(printf 'e%.0s' {1..120})
    mkdir -p "$long"
    "$WPROF" record -q -o "$long/s" -- python3 -c '
import os
from marks import mark
print(os.environ["WPROF_MARKS"])
assert len(os.environ["WPROF_MARKS"]) <= 107
mark("step 1"); mark("end step")' >path
    judge "$long/s" 'assert u[0]["unit"] == "step 1", u' --steps
    [ ! -e "$(dirname "$(dirname "$(cat path)")")" ] # nothing is left in /tmp
    [ ! -e "$long/s/marks" ]
}

@test "a recording that was killed leaves its socket; --force replaces it" {
    "$WPROF" record -q -o s -- sleep 100 &
    for _ in {1..300}; do [ -S s/marks ] && [ -s s/events.wlog ] && break; sleep 0.1; done
    [ "$(stat -c %a s/marks)" = 600 ]
    child=$(pgrep -P $! sleep) || true
    kill -9 $!
    wait $! || true
    [ -z "$child" ] || kill "$child"
    [ -S s/marks ]
    run -0 "$WPROF" mark --session s step 1 || run -3 "$WPROF" mark --session s step 1
    "$WPROF" record -q --force -o s -- true
    [ ! -e s/marks ]
}

@test "marks for a process that runs already" {
    need_tier_a
    "$WORKLOADS/split" 60 >/dev/null 2>&1 &
    burn=$!
    "$WPROF" record -q -F 499 -p $burn --duration 60s -o s &
    for _ in {1..300}; do [ -S s/marks ] && break; sleep 0.1; done
    sleep 0.5
    "$WPROF" mark --session s step 1 # from a shell that is not recorded: the whole recording's
    "$WPROF" mark --session s --pid $burn begin phase a
    sleep 0.5
    "$WPROF" mark --session s step 2
    sleep 0.5
    "$WPROF" mark --session s --pid $burn end phase a
    kill $burn
    wait
    judge s '
assert [x["unit"] for x in u][:2] == ["step 1", "step 2"] and u[0]["pid"] in (0, None), u
assert u[0]["ns"] >= 5e8' --steps
    judge s "
assert u[0]['unit'] == 'phase a' and u[0]['pid'] == $burn and u[0]['ns'] >= 1e9, u
assert u[0]['samples'] > 10, u" --units phase
    [ "$(sum_of s oncpu step:1)" -gt 0 ]
}

@test "a shell's steps are the shell's" {
    "$WPROF" record -q -o s -- sh -c '
        for i in 1 2 3; do '"$WPROF"' mark step $i; sleep 0.1; done
        '"$WPROF"' mark end step'
    judge s '
assert [x["unit"] for x in u] == ["step 1", "step 2", "step 3", "[outside]"], u
assert {x["process"] for x in u} == {"sh"}, u
assert all(x["ns"] >= 1e8 for x in u[:3]), u' --steps
}

@test "a worker without marks is cut by its parent's" {
    need_tier_a
    cat >workers.py <<'PY'
import os, time
from marks import mark
def work(end):
    while time.monotonic() < end:
        pass
begin = time.monotonic()
child = os.fork()
for i in range(2):
    if child:
        mark(f"step {i}")
    exec(f"def phase_{i}(): work({begin} + {(i + 1) * 0.4})\nphase_{i}()")
if child:
    os.waitpid(child, 0)
PY
    "$WPROF" record -q -F 499 -o s -- python3 workers.py
    "$WPROF" export --pids --only step:1 s >folded
    [ "$(cut -d';' -f1 folded | sort -u | wc -l)" = 2 ]
    hits=$(awk '/phase_1/ { s += $NF } END { print s + 0 }' folded)
    off=$(awk '/phase_0/ { s += $NF } END { print s + 0 }' folded)
    holds "$hits > 5 && $off <= 0.05 * $hits + 2"
}

@test "what is malformed or has no begin is counted and said" {
    run -0 "$WPROF" record -o s -- python3 -c '
from marks import mark
mark("stepp 1"); mark("end request 7"); mark("step " + "x" * 300)'
    [[ $output == *"marks: 1 lines that are no marks, as 'stepp 1'"* ]]
    [[ $output == *"marks: 1 ends without a begin"* ]]
    judge s '
c = json.load(open("s/meta.json"))["counters"]
assert (c["marks.taken"], c["marks.malformed"], c["marks.unmatched"], c["marks.cut"]) == (3, 1, 1, 1), c
assert any("no marks, as" in n for n in d["notes"]), d["notes"]'
}

@test "who asks for marks that are not there is told which are" {
    steps_program
    "$WPROF" record -q -o s -- python3 steps.py
    run -3 "$WPROF" show --only stp:1 s
    [[ $output == *"--only stp:1: no marks of the kind 'stp'; did you mean 'step'? (there are: step, tail)"* ]]
    run -3 "$WPROF" export --only step:7-9 s
    [[ $output == *"no step '7-9' in this session (it has 5, from '0' to '4')"* ]]
    "$WPROF" record -q -o none -- true
    run -3 "$WPROF" show --steps none
    [[ $output == *"no marks that begin and end"* ]]
    run -2 "$WPROF" show --steps --waits s
}
