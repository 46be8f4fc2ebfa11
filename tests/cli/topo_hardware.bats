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
