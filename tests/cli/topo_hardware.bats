#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# wprof topo on the /proc and /sys of other machines: real ones that hwloc's developers collected, with what hwloc says of
# them, and made-up ones (tests/fsroot/topo).
load common

setup() {
    need_python json
    json=$BATS_TEST_TMPDIR/topology.json
}

HARDWARE=cpu,numa,pci,nic,disk,nvidia,rdma

# graph ROOT [OPTION...]: a snapshot of that root to $json; it must not fail, whatever is there.
graph() {
    timeout 60 "$WPROF" topo --format json --root "$@" >"$json" 2>"$BATS_TEST_TMPDIR/err"
}

# check EXPRESSION: on the graph: nodes(KIND), of(ID), near(ID) (NUMA nodes it is next to), links(ID), cover(SOURCE).
check() {
    "$PYTHON" - "$json" "$1" <<'END'
import json, sys
g = json.load(open(sys.argv[1]))
ids = {n["id"]: n for n in g["nodes"]}
assert len(ids) == len(g["nodes"])
def nodes(kind):
    return [n for n in g["nodes"] if n["kind"] == kind]
def of(id):
    return ids[id]["attrs"]
def edges(kind, a=None, b=None):
    return [e for e in g["edges"] if e["kind"] == kind and a in (None, e["a"]) and b in (None, e["b"])]
def near(id):
    return sorted(of(e["b"]).get("numa_id") for e in edges("numa-affinity", id))
def links(id):
    return sorted(e["b"] if e["a"] == id else e["a"] for e in edges("link") if id in (e["a"], e["b"]))
def hosts(a):
    return sorted(e["b"] for e in edges("host", a))
def cover(source):
    return next(c for c in g["coverage"] if c["source"] == source)
names = dict(g=g, ids=ids, nodes=nodes, of=of, edges=edges, near=near, links=links, hosts=hosts, cover=cover)
if not eval(sys.argv[2], names):
    print("not so:", sys.argv[2])
    print([n["id"] for n in g["nodes"]][:200])
    print(g["coverage"])
    sys.exit(1)
END
}

# hwloc NAME: unpacks that tree; $tree is its folder, $told what hwloc printed for it.
hwloc() {
    local data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/hwloc
    [ -d "$data" ] || skip "needs the shared data (hwloc's trees)"
    mkdir "$BATS_TEST_TMPDIR/tree"
    "$PYTHON" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$data/$1.tar.bz2" \
        "$BATS_TEST_TMPDIR/tree" 2>/dev/null || skip "needs a python3 with bz2"
    chmod -R u+rwX "$BATS_TEST_TMPDIR/tree"
    tree=$(echo "$BATS_TEST_TMPDIR"/tree/*)
    told=$data/$1.console
    [ -e "$told" ] || told=$data/$1.xml
}

# as_hwloc_counts KIND...: compares the graph in $json with $told: cpus, packages, numa, l3, pci, and memory of each node.
as_hwloc_counts() {
    "$PYTHON" - "$json" "$told" "$@" <<'END'
import json, re, sys, xml.etree.ElementTree as ET
g = json.load(open(sys.argv[1]))
text = open(sys.argv[2]).read()
def unit(name):
    return 1 << {"KiB": 10, "MiB": 20, "GiB": 30}[name]
SHOWN = ("01", "02", "03", "0502", "0b40", "0c04", "0c06", "12")
theirs = {}
if sys.argv[2].endswith(".xml"):
    root = ET.fromstring(text)
    empty = lambda o: not int(o.get("cpuset", "0x0").split(",")[0] or "0", 16)
    count = lambda t: len([o for o in root.iter("object") if o.get("type") == t])
    theirs = {"cpus": count("PU"), "packages": count("Package"), "numa": count("NUMANode")}
    theirs["l3"] = len([o for o in root.iter("object") if o.get("type") == "L3Cache" and not empty(o)])
    pci = [o.get("pci_type")[:4] for o in root.iter("object") if o.get("type") == "PCIDev"]
    theirs["pci"] = len([c for c in pci if c.startswith(SHOWN)])
    theirs["memory"] = {int(o.get("os_index")): int(o.get("local_memory")) for o in root.iter("object")
                        if o.get("type") == "NUMANode"}
    theirs["infiniband"] = len([o for o in root.iter("object") if o.get("type") == "OSDev" and int(o.get("osdev_type")) & 32])
else:
    depth = {t: int(n) for n, t in re.findall(r"depth -?\d+:\s+(\d+) (\w+)", text)}
    theirs = {"cpus": depth["PU"], "packages": depth["Package"], "numa": depth["NUMANode"], "l3": depth["L3Cache"],
              "pci": depth.get("PCIDev", 0)}
    theirs["memory"] = {int(i): (int(n), u) for i, n, u in re.findall(r"NUMANode L#\d+ \(P#(\d+) local=(\d+)(\w+)", text)}
nodes = lambda kind: [n["attrs"] for n in g["nodes"] if n["kind"] == kind]
def members(list_):
    out = set()
    for part in filter(None, list_.split(",")):
        a, _, b = part.partition("-")
        out |= set(range(int(a), int(b or a) + 1))
    return out
mine = lambda kind: [a for a in nodes(kind) if a.get("allowed", True) and not a.get("contradicted")]
numa = mine("numa")
ours = {"cpus": sum(len(members(p.get("allowed_cpus", p["cpus"]))) for p in nodes("package")),
        "packages": len(mine("package")), "numa": len(numa),
        "l3": len([c for c in mine("cache") if c["level"] == 3]), "pci": len(nodes("pci")),
        "memory": {n["numa_id"]: n["memory_bytes"] for n in numa},
        "infiniband": len(nodes("rdma-device"))}
bad = []
for what in sys.argv[3:]:
    if what == "memory":
        same = theirs[what].keys() == ours[what].keys() and all(
            ours[what][k] == v if isinstance(v, int) else (ours[what][k] + unit(v[1]) // 2) // unit(v[1]) == v[0]
            for k, v in theirs[what].items()) # text is rounded
    else:
        same = theirs[what] == ours[what]
    if not same:
        bad.append("%s: hwloc %s, wprof %s" % (what, theirs[what], ours[what]))
print("\n".join(bad))
sys.exit(bool(bad))
END
}

# made_up NAME: unpacks tests/fsroot/topo/NAME.tree; $tree is its folder.
made_up() {
    tree=$BATS_TEST_TMPDIR/$1
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/$1.tree" "$tree"
}

@test "a server with two sockets: NUMA, PCI switches, NICs, disks" {
    made_up numa-server
    graph "$tree"
    check 'hosts("Package(1)") == ["Cache(L3 of CPU 8)", "Numa(numa1)"] and of("Package(1)")["cores"] == 4 and of("Package(1)")["threads"] == 8'
    check 'of("Numa(numa1)")["memory_bytes"] == 528280000 << 10 and of("Numa(numa1)")["numa_stats"]["numa_miss"] == 10'
    # the GPU and the adapter below one switch; the root port above it and the ports below it are no nodes
    check 'links("Pci(0000:16:00.0)") == ["Pci(0000:18:00.0)", "Pci(0000:19:00.0)"]'
    check 'of("Pci(0000:18:00.0)")["bridges"] == "0000:17:00.0" and of("Pci(0000:18:00.0)")["pcie_gen"] == 5 and of("Pci(0000:18:00.0)")["pcie_width"] == 16'
    # two functions of one card are no reason to show the port above them
    check 'links("Pci(0000:02:00.0)") == [] and of("Pci(0000:02:00.1)")["bridges"] == "0000:00:0c.0" and "Pci(0000:00:04.0)" not in ids'
    check 'of("Nic(eno1)")["speed_mbps"] == 10000 and "speed_mbps" not in of("Nic(eno2)") and hosts("Pci(0000:02:00.0)") == ["Nic(eno1)"]'
    # an NVMe disk is below its subsystem, and on PCI by its controller; its partition is none
    check 'hosts("Pci(0000:00:0d.0)") == ["Disk(nvme0n1)"] and of("Disk(nvme0n1)")["bytes"] == 7501476528 * 512 and len(nodes("disk")) == 1'
}

@test "threads and memory on NUMA nodes: CPU time, pages, their cosine" {
    made_up numa-server
    graph "$tree" --seed numa-use --hops 0
    # 90 s of CPU on node 0 and 10 s on node 1; anonymous memory 16,621,568 and 4,096,000 bytes
    check 'len(edges("numa-access", "Process(pid=4711,ppid=1)", "NumaSet({0-1})")) == 1 and hosts("x") == []'
    check 'edges("numa-access", "Process(pid=4711,ppid=1)")[0]["attrs"]["affinity"] == round((90*16621568+10*4096000)/((90**2+10**2)**.5*(16621568**2+4096000**2)**.5), 3)'
    check 'edges("numa-access", "Process(pid=4711,ppid=1)")[0]["attrs"]["remote_share"] == round(1-(.9*16621568+.1*4096000)/(16621568+4096000), 3)'
    check 'edges("numa-access", "Process(pid=4711,ppid=1)")[0]["attrs"]["numa_access_info"]["file_bytes"] == {"0": 0, "1": 2457600}'
    # runs on node 1, has all its memory on node 0
    check 'edges("numa-access", "Process(pid=4800,ppid=4711)")[0]["attrs"]["affinity"] == 0'
    check 'edges("numa-access", "Process(pid=4800,ppid=4711)")[0]["attrs"]["remote_share"] == 1'
    # kept for their switches: 900 of 982 voluntary, 800 of 950 others; 10 % of the CPU time is not more than that
    check '{e["a"]: e["weight"] for e in edges("access-status")} == {"Thread(tid=4711)": .6, "Thread(tid=4712)": .3}'
    check '[e["b"] for e in edges("access-status", "Thread(tid=4712)")] == ["Numa(numa0)"]'
    # the rule by other shares: 10 % of the CPU time is more than 9, 900 of 982 switches are less than all
    graph "$tree" --seed numa-use --hops 0 --numa-cpu 9
    check '{e["weight"] for e in edges("access-status")} == {.6, .3, .1}'
    graph "$tree" --seed numa-use --hops 0 --numa-cpu 50 --numa-switches 100
    check '{e["a"]: e["weight"] for e in edges("access-status")} == {"Thread(tid=4711)": .6}'
    graph "$tree" --seed numa-use --hops 0
    # witty-profiler's shape takes it
    "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$json"
    "$WPROF" export --format witty "$BATS_TEST_TMPDIR/s" >"$BATS_TEST_TMPDIR/witty.json"
    grep -q NumaAccessEdge "$BATS_TEST_TMPDIR/witty.json"
    # without the right to read its pages, its threads are there
    rm "$tree/proc/4711/numa_maps"
    graph "$tree" --seed numa-use --hops 0
    check '"affinity" not in edges("numa-access", "Process(pid=4711,ppid=1)")[0].get("attrs") and len(edges("access-status")) == 2'
}

@test "NVIDIA's GPUs without the library: who has which one open" {
    made_up numa-server
    graph "$tree" --seed nvidia --hops 0
    # numbered in the order of PCI, which is not that of the minors
    check '[n["id"] for n in nodes("gpu")] == ["GPU(id=0,pci_bus_id=0000:18:00.0)", "GPU(id=1,pci_bus_id=0000:9a:00.0)"]'
    check 'of("GPU(id=0,pci_bus_id=0000:18:00.0)")["minor"] == 1 and of("GPU(id=0,pci_bus_id=0000:18:00.0)")["name"] == "NVIDIA H100 80GB HBM3"'
    check '{(e["a"], e["b"], e["confidence"]) for e in edges("access")} == {
        ("Process(pid=4711,ppid=1)", "GPU(id=0,pci_bus_id=0000:18:00.0)", .5), ("Process(pid=4800,ppid=4711)", "GPU(id=1,pci_bus_id=0000:9a:00.0)", .5)}'
    check 'near("GPU(id=1,pci_bus_id=0000:9a:00.0)") == [1] and hosts("Pci(0000:9a:00.0)") == ["GPU(id=1,pci_bus_id=0000:9a:00.0)"]'
    check 'of("GPU(id=1,pci_bus_id=0000:9a:00.0)")["pcie_gen"] == 5'
}

@test "RDMA devices, ports, counters, and who has them open" {
    made_up numa-server
    graph "$tree" --seed rdma --hops 0
    check 'of("RdmaDevice(dev=mlx5_0)")["ports"] == [{"port": 1, "state": "ACTIVE", "phys_state": "LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}]'
    check 'of("RdmaDevice(dev=mlx5_1)")["ports"][0]["state"] == "DOWN" and near("RdmaDevice(dev=mlx5_1)") == [1] and of("RdmaDevice(dev=mlx5_1)")["name"] == "MT4129"'
    check 'hosts("Pci(0000:19:00.0)") == ["RdmaDevice(dev=mlx5_0)"]'
    # data is counted in units of four bytes; of a recorded root there are no rates
    check 'of("RdmaStatisticPerSecond(dev=mlx5_1,port=1)")["totals"] == {"send_pkts": 5000, "recv_pkts": 6000, "send_bytes": 8000000, "recv_bytes": 8000000, "dupl_pkts": 3, "rnr_naks": 7}'
    check '"send_pkts" not in of("RdmaStatisticPerSecond(dev=mlx5_1,port=1)")'
    check '[(e["a"], e["b"]) for e in edges("access")] == [("Process(pid=4711,ppid=1)", "RdmaDevice(dev=mlx5_0)")]'
    # how the GPU's driver lets it reach GPU memory: not at all, by memory that it lends, by the module for it
    check 'of("RdmaDevice(dev=mlx5_0)")["gpu_direct"] == "none"'
    sed -i 's/ Kernel Module / Open Kernel Module for x86_64 /' "$tree/proc/driver/nvidia/version"
    graph "$tree" --seed rdma --hops 0
    check 'of("RdmaDevice(dev=mlx5_0)")["gpu_direct"] == "dma-buf"'
    mkdir -p "$tree/sys/module/nvidia_peermem/parameters"
    graph "$tree" --seed rdma --hops 0
    check 'of("RdmaDevice(dev=mlx5_0)")["gpu_direct"] == "nvidia_peermem"'
}

# fake NAME LIBRARY: builds tests/fakes/NAME.c as that library, where the loader looks.
fake() {
    need_command "${CC:-cc}"
    mkdir -p "$BATS_TEST_TMPDIR/lib"
    "${CC:-cc}" -shared -fPIC -O1 -Wall -o "$BATS_TEST_TMPDIR/lib/$2" "$ROOT/tests/fakes/$1.c"
    export LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/lib
}

# live [OPTION...]: a snapshot of this machine, with the fakes.
live() {
    timeout 120 "${program:-$WPROF}" topo --format json --timeout 30s "$@" >"$json" 2>"$BATS_TEST_TMPDIR/err"
}

@test "NVIDIA's library: memory and load by process, NVLink, PCIe" {
    fake nvml libnvidia-ml.so.1
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root, for devices of its own"
    # a process that has one of the driver's devices open, which is in no other's /dev
    unshare -m sh -c 'mount -t tmpfs none /dev && mknod /dev/nvidia1 c 1 3 && exec sleep 60 <>/dev/nvidia1' &
    user=$!
    until_open=300
    until ls -l "/proc/$user/fd" 2>/dev/null | grep -q /dev/nvidia1; do sleep 0.1; [ $((until_open--)) -gt 0 ]; done
    sleep 60 &
    other=$!
    FAKE_NVML_PID=$user live --seed nvidia --hops 0
    kill $user
    one="GPU(id=0,pci_bus_id=0000:1a:00.0)" two="GPU(id=1,pci_bus_id=0000:9a:00.0)"
    check "[n['id'] for n in nodes('gpu')] == ['$one', '$two']"
    check "of('$one')['memory_bytes'] == 80 << 30 and of('$one')['used_bytes'] == 1 << 30 and of('$two')['used_bytes'] == 2 << 30"
    check "of('$one')['busy_percent'] == 97 and 'busy_percent' not in of('$two') and of('$one')['device_id'] == 'GPU-1'"
    check "(of('$one')['pcie_gen'], of('$one')['pcie_width'], of('$one')['pcie_max_gen'], of('$one')['pcie_max_width']) == (1, 8, 5, 16)"
    # its memory, once; pid 1 is named by the driver, but has nothing of it open, where that may be seen
    check "[(e['b'], e['attrs']['memory_bytes'], e['attrs']['busy_percent'], e['confidence']) for e in edges('access') if of(e['a'])['pid'] == $user] == [('$one', 1 << 30, 55, 1)]"
    check '"not seen here: 1" in cover("nvidia")["detail"] or cover("process")["denied"]'
    # two links between them, told by both; one to a switch; one whose other end is not told
    check "[(e['weight'], e['attrs']['version']) for e in edges('link', '$one', '$two') + edges('link', '$two', '$one')] == [(2, 4)]"
    check "links('Pci(0000:c1:00.0)') == ['$two'] and of('$one')['nvlinks_to_switches'] == 1 and of('$one')['nvlinks'] == 3"
    FAKE_NVML_PID=$other live --seed nvidia --hops 0 # has none of the devices open: somebody else's pid
    kill $other
    check "not [e for e in edges('access') if of(e['a'])['pid'] == $other]"
    FAKE_NVML=lost live --seed nvidia --hops 0
    check 'len(nodes("gpu")) == 1 and cover("nvidia")["denied"] == 1 and cover("nvidia")["state"] == "partial"'
}

@test "libraries that hang or fail cost their source, and nothing else" {
    fake nvml libnvidia-ml.so.1
    fake dcmi libdcmi.so
    program=$BATS_TEST_TMPDIR/wprof # a name that no other test's has
    ln -s "$WPROF" "$program"
    FAKE_NVML=hang FAKE_DCMI=hang live --timeout 5s
    check '[cover(s)["state"] for s in ("nvidia", "npu")] == ["timed out", "timed out"] and cover("cpu")["state"] == "ok" and nodes("process")'
    grep -q 'nvidia timed out' "$BATS_TEST_TMPDIR/err"
    FAKE_NVML=mismatch FAKE_DCMI=broken live
    check 'cover("nvidia")["state"] == "failed" and "Driver/library version mismatch" in cover("nvidia")["detail"]'
    check 'cover("npu")["state"] == "failed" and "-8005" in cover("npu")["detail"]'
    for _ in $(seq 100); do # whoever was killed may still be on its way
        pgrep -f "$program topo" >/dev/null || return 0
        sleep 0.1
    done
    return 1
}

@test "Ascend's library: memory by process, HCCS, NPU and NUMA" {
    fake dcmi libdcmi.so
    FAKE_DCMI_PID=$$ live --seed npu --hops 0
    one="NPU(id=10,cpu_affinity=0-0)" two="NPU(id=11,cpu_affinity=1-1)"
    check "[n['id'] for n in nodes('npu')] == ['$one', '$two'] and of('$one')['name'] == 'Ascend 910B3' and of('$two')['pci_bus_id'] == '0000:81:00.0'"
    check "of('$one')['busy_percent'] == 88 and 'busy_percent' not in of('$two') and of('$one')['memory_bytes'] == 64 << 30 and of('$one')['used_bytes'] == 3000 << 20"
    check "[(of(e['a'])['pid'], e['b'], e['weight']) for e in edges('access')] == [($$, '$one', 2 << 30)]"
    check "links('$one') == ['$two'] and edges('link')[0]['attrs']['link'] == 'HCCS'"
    check 'cover("npu")["denied"] == 1 and "not seen here: 2" in cover("npu")["detail"]'
    [ ! -e /sys/devices/system/node/node0 ] || check "near('$one') == [0]"
}

@test "an Ascend machine without the library" {
    made_up ascend
    graph "$tree"
    # by the order of PCI: davinci0 is 81:00.0
    check '[n["id"] for n in nodes("npu")] == ["NPU(id=0,cpu_affinity=4-5)", "NPU(id=1,cpu_affinity=6-7)"] and nodes("npu")[0]["confidence"] == .5'
    check 'near("NPU(id=0,cpu_affinity=4-5)") == [2] and near("NPU(id=1,cpu_affinity=6-7)") == [3] and of("NPU(id=1,cpu_affinity=6-7)")["pcie_gen"] == 4'
    check '[(e["a"], e["b"]) for e in edges("access")] == [("Process(pid=900,ppid=1)", "NPU(id=1,cpu_affinity=6-7)")]'
    check 'hosts("Pci(0000:c1:00.0)") == ["NPU(id=1,cpu_affinity=6-7)"]'
    check 'cover("hccs")["state"] == "unavailable" and "does not read it" in cover("hccs")["detail"]'
    check '[e["attrs"]["affinity"] for e in edges("numa-access", "Process(pid=900,ppid=1)", "Numa(numa3)")] == [1]'
    # in a container: another number of devices than on PCI, so nobody knows which they are
    rm "$tree/dev/davinci0"
    graph "$tree" --seed npu --hops 0
    check '[n["attrs"]["id"] for n in nodes("npu")] == [1] and not near(nodes("npu")[0]["id"]) and nodes("npu")[0]["confidence"] == 1'
}

@test "AMD's GPUs and xGMI, other accelerators" {
    made_up amd-accel
    graph "$tree"
    one="GPU(id=0,pci_bus_id=0000:05:00.0)" two="GPU(id=1,pci_bus_id=0001:46:00.0)"
    check "of('$one')['name'] == 'AMD Instinct MI300X' and of('$two')['architecture'] == 'gfx942' and of('$one')['memory_bytes'] == 206141652992"
    check "of('$two')['used_bytes'] == 2 << 30 and of('$two')['busy_percent'] == 31 and near('$two') == [1]"
    check "links('$one') == ['$two'] and [e['attrs'] for e in edges('link')] == [{'link': 'xGMI', 'max_mb_per_s': 64000}]"
    # the driver tells of the memory of one; the other process has a device open
    check "[(e['a'], e['b'], e['confidence']) for e in edges('access')] == [('Process(pid=700,ppid=1)', '$one', 1),
        ('Process(pid=701,ppid=1)', '$two', .5), ('Process(pid=701,ppid=1)', 'Accel(accel0)', .5)]"
    check 'hosts("Pci(0000:0a:00.0)") == ["Accel(accel0)"] and near("Accel(accel0)") == [0] and of("Accel(accel0)")["driver"] == "habanalabs"'
}

@test "a VM with NUMA that is none" {
    made_up vm
    graph "$tree"
    check 'not nodes("numa") and not edges("numa-affinity") and cover("numa")["state"] == "unavailable" and cover("numa-use")["state"] == "unavailable"'
    check 'len(nodes("gpu")) == 2 and len(nodes("package")) == 2 and "pcie_gen" not in nodes("gpu")[0]["attrs"]'
    check 'hosts("Pci(0000:00:03.0)") == ["Nic(eth0)"] and "speed_mbps" not in of("Nic(eth0)")'
}

@test "what may not be read is counted" {
    [ "$(id -u)" = 0 ] || skip "needs root, to become another"
    id nobody >/dev/null 2>&1 || skip "needs the user nobody"
    made_up numa-server
    chmod 711 "$BATS_RUN_TMPDIR" "$(dirname "$BATS_TEST_TMPDIR")" "$BATS_TEST_TMPDIR"
    cp "$WPROF" "$BATS_TEST_TMPDIR/wprof" && chmod 755 "$BATS_TEST_TMPDIR/wprof"
    chmod 000 "$tree/proc/4711/numa_maps" "$tree/sys/devices/system/node/node1/meminfo" "$tree/sys/class/block"
    setpriv --reuid nobody --clear-groups timeout 60 "$BATS_TEST_TMPDIR/wprof" topo --root "$tree" --format json >"$json"
    check '[cover(s)["state"] for s in ("numa", "numa-use", "disk")] == ["partial"] * 3 and cover("disk")["denied"] == 1'
    check 'len(nodes("numa")) == 2 and "memory_bytes" not in of("Numa(numa1)") and not nodes("disk")'
}

@test "hwloc: 128 ARM cores, two packages, four NUMA nodes" {
    hwloc 128arm-2pa2n8cluster4co
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check 'hosts("Package(36)") == ["Cache(L3 of CPU 0)", "Cache(L3 of CPU 32)", "Numa(numa0)", "Numa(numa1)"]'
    check '[e["weight"] for e in edges("numa-distance", "Numa(numa0)", "Numa(numa3)")] == [33]'
    check 'of("Package(36)")["private_caches"][2] == {"level": 2, "type": "unified", "bytes": 524288, "count": 64}'
}

@test "hwloc: a cpuset of cgroup v1, mounted with noprefix, allows four CPUs and other nodes' memory" {
    hwloc 16amd64-4n4c-cgroup-distance-merge
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check 'len(nodes("package")) == 4 and len(nodes("numa")) == 4'
    check 'of("Package(0)")["allowed_cpus"] == "0-3" and of("Package(1)")["allowed"] is False and of("Package(2)")["allowed_cpus"] == ""'
    check '[n["attrs"]["allowed"] for n in nodes("numa")] == [False, False, True, True]'
    check '"CPUs 0-3" in cover("cpu")["detail"] and "nodes 2-3" in cover("numa")["detail"]'
}

@test "hwloc: cgroup v2 allows six CPUs and six nodes" {
    hwloc 32amd64-4s2n4c-cgroup2
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check 'len(nodes("numa")) == 8 and of("Cache(L3 of CPU 4)")["allowed_cpus"] == "4-5"'
}

@test "hwloc: PCI devices, disks and network interfaces" {
    hwloc 32em64t-2n8c+dax+nvme+mic+dimms
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory pci infiniband
    check 'hosts("Pci(0000:82:00.0)") == ["Nic(ib0)", "RdmaDevice(dev=mlx4_0)"] and near("RdmaDevice(dev=mlx4_0)") == [1]'
    check 'cover("pci")["seen"] == 137' # hwloc shows 136: not the bridge 0000:00:11.0, whose bus numbers make no sense
    check '{n["attrs"]["interface"] for n in nodes("nic")} == {"eth0", "eth1", "ib0"}'
    check '{n["attrs"]["disk"] for n in nodes("disk")} == {"nvme0n1", "sda", "pmem0.1", "pmem0.2s", "pmem0.3", "pmem1", "pmem1.1s", "pmem1.2"}'
    check 'near("Pci(0000:82:00.0)") == [1]'
    check 'of("Pci(0000:05:00.0)")["bridges"] == "0000:04:00.0,0000:00:1c.0"'
}

@test "hwloc: contradicting lists of CPUs, of a package and of a PCI device, are said" {
    hwloc 40intel64-4n10c+pci-conflicts
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa memory pci
    check '"warning" in cover("cpu")["detail"] and "CPU 3 " in cover("cpu")["detail"]'
    check '"warning" in cover("pci")["detail"] and not edges("numa-affinity")'
    check 'of("Package(3)")["contradicted"] and of("Package(3)")["cores"] == 10'
}

@test "hwloc: sparse numbers of nodes" {
    hwloc 48amd64-4pa2n6c-sparse
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check '[n["attrs"]["numa_id"] for n in nodes("numa")] == [0, 1, 2, 33, 34, 45, 72, 73]'
    check '[e["weight"] for e in edges("numa-distance", "Numa(numa33)", "Numa(numa72)")] == [22]'
    check 'of("Numa(numa72)")["distance_to_all_numa"]["33"] == 22'
}

@test "hwloc: one node, cores of two sorts" {
    hwloc nvidia-dgx-gb10
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check 'of("Cache(L3 of CPU 10)")["cpus"] == "10-19" and cover("pci")["state"] == "unavailable"'
}

@test "hwloc: GPU memory that is a NUMA node is none of the machine's" {
    hwloc nvidiagpunumanodes
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory pci
    # hwloc shows them as the six PCI devices that they are
    check 'len(nodes("gpu")) == 6 and [n["attrs"]["memory_numa_node"] for n in nodes("gpu")] == [255, 254, 253, 252, 251, 250]'
    check 'near("GPU(id=0,pci_bus_id=0004:05:00.0)") == [0] and near("GPU(id=3,pci_bus_id=0007:00:00.0)") == [8]'
    check 'near("Pci(0004:05:00.0)") == [0] and near("Pci(0035:05:00.0)") == [8]'
    check '"250-255" in cover("numa")["detail"]'
}

@test "hwloc: CPUs and a node that are offline" {
    hwloc offline-cpu0-node0
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check '"7 CPUs are offline: 0-3,21-23" in cover("cpu")["detail"]'
}
