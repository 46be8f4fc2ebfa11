#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Databases of Nsight Systems.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    need_python sqlite3
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" report.sqlite
}

need_sqlite() {
    "$WPROF" version | grep -qE '^  sqlite +yes' || skip "needs SQLite in the build"
}

@test "import nsys: kernels, copies, calls, ranges; processes with the same correlation ids" {
    need_sqlite
    run -0 --separate-stderr "$WPROF" import -o s report.sqlite
    [[ $stderr == *"2 kernels, 1 copy, 3 allocations, 1 free, 1 call of the system, 2 runtime calls, 1 driver call, 4 NVTX ranges, 1 NVTX mark"* ]]
    [[ $stderr == *"1 definition of NVTX, 2 rows of other tables"* ]]
    [[ $stderr == *"1 row that ends before it begins"* ]]
    [[ $stderr == *"1 row without a start or an end"* ]]
    [[ $stderr == *"2 calls without a thread"* ]]
    "$WPROF" export --metric gpu s >got
    diff - got <<'END'
python3;worker;iteration;cudaMemcpyAsync_v3020;CUDA:Memcpy HtoD (Pinned -> Device) 400
python3;worker;iteration;forward;cudaLaunchKernel_v7000;CUDA:gemm(float*) 3000
server;cuLaunchKernel;CUDA:gemm(float*) 500
END
    [[ $stderr == *"1 other operation on memory"* ]]
    "$WPROF" show --gpu --json s 2>/dev/null | "$PYTHON" -c 'import json, sys
d = json.load(sys.stdin)
pools = sorted((m["memory"], m["allocations"], m["frees"], m["peak_bytes"], m["held_bytes"]) for m in d["memory"])
assert pools == [("device", 2, 1, 1500, 500), ("pinned", 1, 0, 70, 70)], pools
asked = {(a["memory"], a["where"]) for a in d["allocations"]} # those of a call that was seen
assert ("device", "forward") in asked or ("device", "cudaLaunchKernel_v7000") in asked, asked'
    "$WPROF" export --format chrome s | grep -q '"pthread_cond_wait","pid":100,"tid":101,.*"dur":0.8,'
    "$WPROF" show --units iteration s | grep -q 'iteration 2 .*5.26 us'
    "$WPROF" show --units step s | grep -q 'step 3 .*7.5 us'
    "$WPROF" show s | grep -q 'when  *2023-11-14 22:13:20 UTC'
}

@test "import nsys: what is damaged, empty, packed, from a pipe, or no such database" {
    need_sqlite
    head -c 3000 report.sqlite >cut.sqlite
    run -3 "$WPROF" import -o s cut.sqlite
    [[ $output == *"SQLite: "* ]]
    "$PYTHON" -c 'import sqlite3; d = sqlite3.connect("other.sqlite"); d.execute("CREATE TABLE t (a)"); d.commit()'
    run -3 "$WPROF" import -o s other.sqlite
    [[ $output == *"nsys export --type sqlite"* ]]
    gzip -k report.sqlite
    run -3 "$WPROF" import -o s report.sqlite.gz
    [[ $output == *"not through a pipe"* ]]
    run -3 "$WPROF" import -o s - <report.sqlite
    [[ $output == *"not through a pipe"* ]]
    [ ! -e s ]
}

@test "import nsys: a view in the place of a table does nothing" {
    need_sqlite
    "$PYTHON" -c 'import sqlite3
d = sqlite3.connect("report.sqlite")
d.execute("DROP TABLE OSRT_API")
d.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY RENAME TO m")
d.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT * FROM m")
d.commit()'
    run -3 "$WPROF" import -o s report.sqlite
    [[ $output == *CUPTI_ACTIVITY_KIND_MEMCPY* ]]
}

@test "import nsys: a report that only nsys reads is said to be one" {
    head -c 100 /dev/zero > "$BATS_TEST_TMPDIR/x.nsys-rep"
    run -3 "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/x.nsys-rep"
    [[ $output == *"nsys export --type sqlite"* ]]
}

# kernels SESSION: when its kernels began, in ns from the first one on
kernels() {
    "$WPROF" export --format chrome "$1" | "$PYTHON" -c '
import json, sys
d = json.load(sys.stdin)
k = [e for e in d["traceEvents"] if e.get("cat") == "kernel"]
begin = min(e["ts"] for e in k)
print(*sorted({round((e["ts"] - begin) * 1000) for e in k}))'
}

@test "import nsys: several databases, a rank each, are one session over one clock" {
    need_sqlite
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" three.sqlite --rank 3
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" five.sqlite --mpi-rank 5 --later 20000
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" six.sqlite --rank 6 --later 40000
    run -0 --separate-stderr "$WPROF" import -o s three.sqlite five.sqlite six.sqlite report.sqlite
    [[ $stderr == *"8 kernels, 4 copies"* ]]
    [[ $stderr == *"report.sqlite: no rank is told, it is taken for rank 4"* ]] # the first free one from its place on
    # Kernels of a file begin 2 and 6 us after it; two of the files began 20 and 40 us later.
    [ "$(kernels s)" = "0 4000 20000 24000 40000 44000" ]
    "$WPROF" show --gpu --json s | "$PYTHON" -c '
import json, sys
d = json.load(sys.stdin)
have = sorted((x["rank"], x["id"], x["kernel_count"], x["busy_ns"]) for x in d["devices"] if x["kernel_count"])
assert [h[0] for h in have] == [3, 4, 5, 6], have
assert all(h[1:] == (0, 2, 3500) for h in have), have'
    "$WPROF" show s | grep -q 'Nsight Systems, rank 6, on node3'
    "$WPROF" export --metric gpu s | grep -q 'iteration;forward;cudaLaunchKernel_v7000;CUDA:gemm(float\*) 3000'
}

@test "import nsys: a database that does not tell when it was is put to the others' beginning, which is said" {
    need_sqlite
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" untimed.sqlite --untimed --rank 1
    run -0 --separate-stderr "$WPROF" import -o s untimed.sqlite report.sqlite
    [[ $stderr == *"untimed.sqlite does not tell when it was"* ]]
    [ "$(kernels s)" = "0 4000" ]
    "$WPROF" show s | grep -q 'when  *2023-11-14 22:13:20 UTC'
}

# MPI's ranks of a machine under one nsys: each process is its rank's, with devices of its own.
@test "import nsys: one database of several ranks is told apart, alone and beside others" {
    need_sqlite
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" node0.sqlite --mpi-ranks 4,5
    "$PYTHON" "$ROOT/tests/tools/make_nsys.py" node1.sqlite --mpi-ranks 6,7 --later 20000
    "$WPROF" import -o one node0.sqlite 2>err
    "$WPROF" import -o two node0.sqlite node1.sqlite report.sqlite 2>err2
    not grep -q 'rank' err
    "$WPROF" show one | grep -q 'Nsight Systems, 2 ranks'
    grep -q 'report.sqlite: no rank is told, it is taken for rank 2' err2
    "$PYTHON" - <(ranks one) <(ranks two) <<'END'
import json, sys
one, two = (json.load(open(path)) for path in sys.argv[1:])
def devices(d):
    return sorted((x["rank"], x["id"], x["kernel_count"], x["busy_ns"]) for x in d["devices"] if x["kernel_count"])
assert devices(one) == [(4, 0, 1, 3000), (5, 0, 1, 500)], devices(one)
assert devices(two) == [(2, 0, 2, 3500), (4, 0, 1, 3000), (5, 0, 1, 500), (6, 0, 1, 3000), (7, 0, 1, 500)], devices(two)
assert [r["rank"] for r in one["ranks_compared"]] == [4, 5], one["ranks_compared"]
assert sorted(r["rank"] for r in two["ranks_compared"]) == [2, 4, 5, 6, 7], two["ranks_compared"]
clocks = {r["rank"]: r["clock"] for r in two["ranks_compared"]}
assert sorted((clocks[4], clocks[5])) == ["reference", "same boot"], clocks
assert {clocks[2], clocks[6], clocks[7]} == {"wall clock"}, clocks
END
}

ranks() {
    "$WPROF" show --gpu --ranks --json "$1"
}
