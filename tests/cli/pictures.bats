#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

# The name of one process in tests/fixtures/topology/small.json, as a picture shows it: a newline is no part of it.
odd='"<b>&amp;\N?é日# (200)'

setup() {
    small=$BATS_FILE_TMPDIR/small
    cd "$BATS_TEST_TMPDIR"
}

setup_file() {
    "$WPROF" -q import "$BATS_TEST_DIRNAME/../fixtures/topology/small.json" -o "$BATS_FILE_TMPDIR/small"
}

need_graphviz() {
    "$WPROF" version | grep -qE '^  graphviz +yes' || skip "needs a build with Graphviz"
}

# draw FORMAT [OPTION...]: the small graph, to out.FORMAT.
draw() {
    "$WPROF" -q render --view topology --format "$1" -t 'Two <ranks> & "one" GPU' -o "out.$1" "${@:2}" "$small"
}

# golden FORMAT: out.FORMAT is tests/golden/topology.FORMAT. WPROF_GOLDEN=write makes it so.
golden() {
    [ "${WPROF_GOLDEN:-}" != write ] || cp "out.$1" "$ROOT/tests/golden/topology.$1"
    diff -u "$ROOT/tests/golden/topology.$1" "out.$1"
}

@test "text, Mermaid, and DrawIO and GEXF in columns are as they were" {
    for f in text mermaid; do
        draw $f
        golden $f
    done
    for f in drawio gexf; do
        draw $f --layout constraint
        golden $f
    done
}

@test "every format that has places has them in every layout; the others say that they have none" {
    need_graphviz
    for l in default constraint gephi; do
        for f in svg png pdf dot drawio gexf; do
            draw $f --layout $l
            [ -s out.$f ]
        done
        [ "$(head -c 4 out.png | tail -c 3)" = PNG ]
        [ "$(head -c 4 out.pdf)" = %PDF ]
    done
    for f in text mermaid; do
        run -3 draw $f --layout gephi
        run -3 "$WPROF" render --view topology --format $f --layout gephi "$small"
        [[ $output == *"$f has no places"* ]]
    done
}

@test "each figure stands at its edge, whatever the layout; GEXF, which has no boxes, tells what is in what by edges" {
    need_graphviz
    need_python xml.etree.ElementTree
    for l in default constraint gephi; do
        draw svg --layout $l
        draw drawio --layout $l
        draw gexf --layout $l
        "$PYTHON" - <<'END'
import xml.etree.ElementTree as et
svg = et.parse("out.svg")
ns = "{http://www.w3.org/2000/svg}"
drawn = [g for g in svg.iter(ns + "g") if g.get("class") == "edge" and g.find(".//" + ns + "text") is not None]
ways = [o for o in et.parse("out.drawio").iter("UserObject") if o.get("id").startswith("e")]
told = [o for o in ways if o.get("label")]
assert told and len(drawn) == len(told), (len(drawn), len(told))
points = {}
for o in ways:
    cell = o.find("mxCell")
    way = tuple((p.get("x"), p.get("y")) for p in o.iter("mxPoint"))
    assert len(way) == 3, o.attrib
    assert points.setdefault(way, o) is o, (o.attrib, points[way].attrib)  # each has its own
gexf = et.parse("out.gexf")
kinds = {v.get("value") for v in gexf.iter("{http://gexf.net/1.3}attvalue") if v.get("for") in ("kind", "relation")}
assert {"host", "own"} <= kinds, kinds
END
    done
}

@test "what is of the topology alone is refused without --view topology, and the other way round" {
    run -2 "$WPROF" render --format drawio "$small"
    [[ $output == *"--view topology"* ]]
}

@test "a page of a session without samples shows the topology, of one without a topology has none" {
    "$WPROF" -q render -t 'Two <ranks>' -o page.html "$small"
    "$WPROF" -q render --view topology --layout constraint -o view.html "$small"
    for f in page.html view.html; do
        grep -q 'data-pane="topology"' $f
        grep -q 'id="topology">{' $f
        not grep -q '<b>&amp' $f
        not grep -qE '(src|href)=|https?://|@import|url\(' $f
    done
    cp -r "$small" bare
    rm bare/topology.json
    "$WPROF" -q render -o bare.html bare
    not grep -q 'data-pane="topology"' bare.html
    run -3 "$WPROF" render --view topology -o none.html bare
    [[ $output == *"has no topology"* ]]
    echo '{' >bare/topology.json
    run -0 --separate-stderr "$WPROF" render -o bare.html bare
    [[ $stderr == *"without the topology"* ]]
}

@test "wprof topo writes a page of the topology alone" {
    bash "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/small.tree" root
    "$WPROF" -q topo --root root --format html --layout constraint -o page.html
    grep -q 'data-pane="topology"' page.html
    not grep -qE 'data-pane="(flame|table|timeline)"|not measured' page.html
    not grep -qE '(src|href)=|https?://|@import|url\(' page.html
}

@test "SVG, DrawIO and GEXF are well-formed, and names with quotes, <, &, backslashes and UTF-8 are in them" {
    need_graphviz
    need_python xml.etree.ElementTree
    for l in default constraint gephi; do
        for f in svg drawio gexf; do
            draw $f --layout $l
            command -v xmllint >/dev/null && xmllint --noout out.$f
            "$PYTHON" - out.$f "$odd" <<'END'
import sys, xml.etree.ElementTree as et
texts = set()
for e in et.parse(sys.argv[1]).iter():
    texts.add((e.text or "").strip())
    texts.update(e.attrib.values())
assert sys.argv[2] in texts, sorted(texts)
assert any('Two <ranks> & "one" GPU' in t for t in texts), sorted(texts)
END
        done
    done
}

@test "DOT is accepted by dot, and keeps its places" {
    need_graphviz
    need_command dot
    draw dot
    [ -z "$(dot -Tplain out.dot 2>&1 >plain)" ]
    [ "$(grep -c ^node plain)" = "$(grep -cE '^\s+n[0-9]+\s*\[' out.dot)" ]
    grep -q 'pos=' out.dot
    grep -qF '\"<b>&amp;amp;\\N?é日#' out.dot
}

@test "GEXF in 1.2draft is read by NetworkX: places, times, bytes" {
    need_graphviz
    need_python networkx
    draw gexf --gexf 1.2
    "$PYTHON" - <<'END'
import networkx as nx
g = nx.read_gexf("out.gexf")
nodes = {d["node"]: d for _, d in g.nodes(data=True)}
p = nodes["Process(pid=101,ppid=100)"]
assert p["start"] == 1700000000.5 and p["end"] == 1700000060, p
assert p["place"] == "box & co / Container cac9af6a", p
assert p["viz"]["size"] > 0 and p["viz"]["color"]["r"] == 0xcf, p
assert len({(d["viz"]["position"]["x"], d["viz"]["position"]["y"]) for d in nodes.values()}) == len(nodes)
tcp = [d for _, _, d in g.edges(data=True) if d["relation"] == "tcp"]
assert len(tcp) == 1 and {tcp[0]["bytes_ab"], tcp[0]["bytes_ba"]} == {1048576, 4096}, tcp
END
}

@test "GEXF 1.3 is read by graphology-gexf, DrawIO decoded by mxGraph" {
    need_graphviz
    need_command node
    node -e 'require("graphology-gexf"), require("mxgraph"), require("jsdom")' 2>/dev/null ||
        skip "needs graphology, graphology-gexf, mxgraph, jsdom (npm, by NODE_PATH)"
    draw gexf
    draw drawio
    node - <<'END'
const fs = require("fs"), assert = require("assert"), { MultiGraph } = require("graphology"), { JSDOM } = require("jsdom");
const g = require("graphology-gexf").parse(MultiGraph, fs.readFileSync("out.gexf", "utf8"));
const gpu = g.findNode((n, a) => a.kind === "gpu");
assert(Number.isFinite(g.getNodeAttribute(gpu, "x")) && g.getNodeAttribute(gpu, "size") > 0);
assert.equal(g.getNodeAttribute(gpu, "color"), "rgba(183,225,205,1.0)");
assert(g.someEdge((e, a) => a.relation === "tcp" && a.bytes_ab + a.bytes_ba === 1052672));
const window = new JSDOM("").window, set = { mxLoadResources: false, mxLoadStylesheets: false, mxBasePath: "." };
Object.assign(global, { window, document: window.document, navigator: window.navigator, DOMParser: window.DOMParser, XMLSerializer: window.XMLSerializer }, set);
const mx = require("mxgraph")(set);
Object.assign(window, mx);
Object.assign(global, mx);
const doc = new window.DOMParser().parseFromString(fs.readFileSync("out.drawio", "utf8"), "text/xml");
const model = new mx.mxGraphModel(), alone = doc.implementation.createDocument("", "", null);
alone.appendChild(alone.importNode(doc.getElementsByTagName("mxGraphModel")[0], true));
new mx.mxCodec(alone).decode(alone.documentElement, model);
const cells = Object.values(model.cells), edges = cells.filter((c) => c.edge);
assert.equal(edges.length, g.size);
assert(edges.every((c) => c.source && c.target));
assert(cells.every((c) => !c.vertex || c.geometry.width > 0));
END
}

@test "in DrawIO a process lies within its container, a container within its host" {
    need_graphviz
    need_python xml.etree.ElementTree
    draw drawio
    "$PYTHON" - <<'END'
import xml.etree.ElementTree as et
cells, nodes = {}, {}
for parent in et.parse("out.drawio").getroot().iter():
    for c in parent.findall("mxCell"):
        ident = c.get("id") or parent.get("id")
        cells[ident] = c
        if parent.get("node"):
            nodes[parent.get("node")] = c
def inside(c):
    """Its geometry lies in its parent's, as far up as there are containers."""
    up = []
    while c.get("parent") not in ("1", None):
        outer = cells[c.get("parent")]
        g, o = c.find("mxGeometry"), outer.find("mxGeometry")
        x, y, w, h = (float(g.get(k)) for k in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= float(o.get("width")) and y + h <= float(o.get("height")), (c.attrib, g.attrib, o.attrib)
        up.append(outer.get("value"))
        c = outer
    return up
assert inside(nodes["Process(pid=102,ppid=100)"]) == ["Container cac9af6a", "box & co"]
assert inside(nodes["Thread(tid=103)"]) == ["", "Container cac9af6a", "box & co"]
assert inside(nodes["Socket(10.0.0.9:443(TCP))"]) == []
edges = [c for c in cells.values() if c.get("edge")]
assert edges and all(c.get("source") in cells and c.get("target") in cells for c in edges)
END
}

# 5,000 nodes in 40 containers, each node joined to others at random.
big_graph() {
    "$PYTHON" - >big.json <<'END'
import json, random, sys
random.seed(4)
nodes, edges = [], []
def node(kind, ident, **attrs):
    nodes.append({"id": ident, "kind": kind, "attrs": attrs})
    return ident
def edge(kind, a, b, directed=True, ab=0):
    edges.append({"kind": kind, "a": a, "b": b, "directed": directed, "bytes_ab": ab, "bytes_ba": 0})
procs = []
for c in range(40):
    inside = node("container", "Container(c%03d)" % c, container_id="c%03d" % c)
    for k in range(62):
        pid = 1000 + c * 100 + k
        procs.append(node("process", "Process(pid=%d,ppid=1)" % pid, pid=pid, ppid=1, name=random.choice(["python3", "nginx", "worker-%d" % k])))
        edge("host", inside, procs[-1])
        tid = 10000 + pid
        edge("own", procs[-1], node("thread", "Thread(tid=%d)" % tid, tid=tid, name="pool-%d" % k))
for i in range(12000):
    edge("tcp", *random.sample(procs, 2), directed=False, ab=random.randrange(10**7))
json.dump({"format": "FORMAT", "version": 1, "nodes": nodes, "edges": edges}, sys.stdout)
END
    sed -i "s/\"FORMAT\"/$(sed -n 's/.*"format": \("[^"]*"\).*/\1/p' "$ROOT/tests/fixtures/topology/small.json")/" big.json
    "$WPROF" -q import big.json -o big
}

@test "5,000 nodes are folded by group, and the picture says how" {
    need_graphviz
    need_python json
    big_graph
    for l in default constraint gephi; do
        "$WPROF" render --view topology --layout $l --format svg -o big.svg big 2>said
        grep -q 'nodes folded into' said
        grep -q '5,000 nodes folded into' big.svg
        [ "$(grep -c 'class="node"' big.svg)" -le 100 ]
        [ "$(grep -c 'class="node"' big.svg)" -ge 3 ]
        [ "$(grep -c 'class="edge"' big.svg)" -le 300 ]
    done
    # nobody is lost: those with a number and those without are all processes there are
    "$WPROF" -q render --view topology --format gexf --gexf 1.2 -o big.gexf big
    total=$(sed -n 's/.*for="kind" value="process".*for="count" value="\([0-9]*\)".*/\1/p' big.gexf | paste -sd+ | bc)
    [ "$total" = 2480 ]
}

@test "what is not folded and too large is laid out in a cheaper way, which is said" {
    need_graphviz
    need_python json
    big_graph
    "$WPROF" render --view topology --max-nodes 0 --layout constraint --format svg -o all.svg big
    [ "$(grep -c 'class="node"' all.svg)" = 5000 ]
    "$WPROF" render --view topology --max-nodes 0 --format gexf -o all.gexf big 2>said
    grep -q 'too large for the layered layout' said
    [ "$(grep -c '<node ' all.gexf)" = 4960 ] || [ "$(grep -c '<node ' all.gexf)" = 5000 ]
}

@test "wprof topo draws this machine" {
    "$WPROF" topo --format mermaid -o now.mmd
    grep -q '^flowchart LR' now.mmd
    need_graphviz
    "$WPROF" topo --format svg -o now.svg
    grep -q '</svg>' now.svg
}

@test "witty-profiler's graph has a picture" {
    need_graphviz
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/witty/graph.json
    [ -e "$data" ] || skip "needs witty/graph.json in WPROF_SHARED_DATA"
    "$WPROF" -q import "$data" -o witty
    "$WPROF" -q render --view topology --format svg -o witty.svg witty
    grep -q 'Container cac9af6a' witty.svg
    grep -q '127.0.0.1 ×44' witty.svg
    "$WPROF" render --view topology --format text -o - witty | grep -q '^Graph with 129 nodes and 259 edges'
}
