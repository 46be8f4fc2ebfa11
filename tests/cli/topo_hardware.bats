#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# wprof topo on the /proc and /sys of other machines: real ones that hwloc's developers collected, with what hwloc says of
# them, and made-up ones (tests/fsroot/topo).
load common

setup() {
    need_python json
    json=$BATS_TEST_TMPDIR/topology.json
}

HARDWARE=cpu,numa,pci,nic,disk

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
        "infiniband": len([n for n in nodes("rdma-device") if n.get("pci_bus_id")])}
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
    # witty-profiler's shape takes it
    "$WPROF" import -o "$BATS_TEST_TMPDIR/s" "$json"
    "$WPROF" export --format witty "$BATS_TEST_TMPDIR/s" >"$BATS_TEST_TMPDIR/witty.json"
    grep -q NumaAccessEdge "$BATS_TEST_TMPDIR/witty.json"
    # without the right to read its pages, its threads are there
    rm "$tree/proc/4711/numa_maps"
    graph "$tree" --seed numa-use --hops 0
    check '"affinity" not in edges("numa-access", "Process(pid=4711,ppid=1)")[0].get("attrs") and len(edges("access-status")) == 2'
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
    as_hwloc_counts cpus packages numa l3 memory pci
    check 'cover("pci")["seen"] == 137' # hwloc shows 136: not the bridge 0000:00:11.0, whose bus numbers make no sense
    check '{n["attrs"]["interface"] for n in nodes("nic")} == {"eth0", "eth1", "ib0"}'
    check '{n["attrs"]["disk"] for n in nodes("disk")} == {"nvme0n1", "sda", "pmem0.1", "pmem0.2s", "pmem0.3", "pmem1", "pmem1.1s", "pmem1.2"}'
    check 'hosts("Pci(0000:82:00.0)") == ["Nic(ib0)"] and near("Pci(0000:82:00.0)") == [1]'
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
    check 'near("Pci(0004:05:00.0)") == [0] and near("Pci(0035:05:00.0)") == [8]'
    check '"250-255" in cover("numa")["detail"]'
}

@test "hwloc: CPUs and a node that are offline" {
    hwloc offline-cpu0-node0
    graph "$tree" --seed $HARDWARE --hops 0
    as_hwloc_counts cpus packages numa l3 memory
    check '"7 CPUs are offline: 0-3,21-23" in cover("cpu")["detail"]'
}
