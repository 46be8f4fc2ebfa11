# SPDX-License-Identifier: Apache-2.0
"""Checks of the topology on the page; page_test.py runs them. topology.html: 100 trains, 101 loads, 200 looks on."""

from page import check, near


def topology_node(p, name):
    """Where the node with this in its label is, in the window. Elements have no places of their own to ask for while
    the picture moves: this asks the pane."""
    found = p.browser.eval(f"""(() => {{
        const t = wprof.topology, n = t.model.nodes.find(n => t.model.name(n).includes({name!r}));
        const r = n?.element.querySelector(".outline").getBoundingClientRect();
        return r && [r.left + r.width / 2, r.top + r.height / 2]; }})()""")
    assert found, f"no node '{name}' is drawn"
    return found


def topology_edge(p, kind):
    """The middle of the first edge of that kind, in the window."""
    return p.browser.eval(f"""(() => {{
        const t = wprof.topology, e = t.model.edges.find(e => t.model.relations[e.kind].id === {kind!r});
        const line = e.element.querySelector(".line"), m = line.getScreenCTM(), at = line.getPointAtLength(line.getTotalLength() / 2);
        return [at.x * m.a + m.e, at.y * m.d + m.f]; }})()""")


def what(p):
    return p.text(".topology-what")


def drawn(p, state):
    """Labels of the nodes that are in a state: near, match, gone ..."""
    return p.browser.eval(f"""wprof.topology.model.nodes.filter(n => n.element.classList.contains({state!r}))
                              .map(n => wprof.topology.model.name(n))""")


@check
def topology_tells_what_is_under_the_pointer(p):
    p.open("topology")
    p.browser.key("o")
    assert p.visible("#pane-topology") and not p.visible("#pane-flame")
    assert "Not seenpipe: 2 deniedgpu: timed out (the driver hangs)" in what(p), what(p)
    p.browser.mouse("mouseMoved", *topology_node(p, "python3 (101)"))
    p.browser.settle()
    for part in ("python3 (101)", "process", "on the CPU 2.50 s, 25.0 % of all", "blocked on I/O 6.00 s, 100 % of all"):
        assert part in p.text("#tooltip"), p.text("#tooltip")
    p.browser.mouse("mouseMoved", *topology_edge(p, "unix"))
    p.browser.settle()
    for part in ("python3 (100) \u2192 python3 (101): 1 MiB in 12 messages", "python3 (101) \u2192 python3 (100): 4 KiB in 3 messages",
                 "python3 (100) waited 2.00 s for python3 (101)", "seen from the start to 9.00 s"):
        assert part in p.text("#tooltip"), p.text("#tooltip")
    p.quiet()


@check
def topology_click_shows_the_neighbours(p):
    p.open("topology")
    p.browser.key("o")
    p.browser.click(*topology_node(p, "autograd"))
    assert "autograd \u00d73" in what(p) and "Stands for 3" in what(p), what(p)
    p.browser.click(*topology_node(p, "python3 (101)"))
    near = drawn(p, "near")
    assert "python3 (100)" in near and "SharedMemory \u00d75" in near and "autograd \u00d73" not in near, near
    assert "wait \u2194 python3 (100)\u2192 500 ms \u2190 2.00 s" in what(p), what(p)
    p.browser.click(*topology_edge(p, "wait"))
    assert "python3 (101) waited 500 ms for python3 (100)" in what(p), what(p)
    assert sorted(drawn(p, "near")) == ["python3 (100)", "python3 (101)"]
    p.browser.key("Escape")
    assert drawn(p, "near") == [] and "CPU time of processes" in what(p)
    p.quiet()


@check
def topology_leads_to_the_flame_graph_and_back(p):
    p.open("topology")
    assert not p.visible("#to-topology")
    p.browser.key("o")
    p.browser.click(*topology_node(p, "python3 (101)"))
    p.click_element(".side-actions button")
    assert p.visible("#pane-flame") and p.has_box("slow_transform") and not p.has_box("train")
    assert p.browser.eval("wprof.model.sum") == 500
    p.click_element("#to-topology")
    assert p.visible("#pane-topology") and drawn(p, "focused") == ["python3 (101)"]
    assert "python3 (101)" in what(p)
    p.click_element("#topology-unfocus")
    assert p.browser.eval("wprof.model.sum") == 1500 and drawn(p, "focused") == []
    p.browser.click(*topology_node(p, "(200)"))
    p.browser.key("Enter")
    assert p.visible("#pane-topology"), "nothing was recorded of it"
    p.quiet()


@check
def topology_zooms_and_moves(p):
    view = "wprof.topology.view"
    p.open("topology")
    p.browser.key("o")
    x, y = topology_node(p, "python3 (101)")
    scale = p.browser.eval(f"{view}.scale")
    p.browser.call("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -150})
    p.browser.settle()
    assert p.browser.eval(f"{view}.scale") > scale * 1.2
    near(topology_node(p, "python3 (101)")[0], x)
    near(topology_node(p, "python3 (101)")[1], y)
    p.browser.drag(x, x - 100, y)
    near(topology_node(p, "python3 (101)")[0], x - 100)
    assert drawn(p, "near") == [], "a press that moves is no click"
    p.browser.key("d")
    assert topology_node(p, "python3 (101)")[0] < x - 150
    p.browser.key("0")
    near(p.browser.eval(f"{view}.scale"), p.browser.eval("wprof.topology.whole().scale"), 0.001)
    p.click_element("#pane-topology [data-zoom=in]")
    p.browser.key("-")
    near(p.browser.eval(f"{view}.scale"), p.browser.eval("wprof.topology.whole().scale"), 0.001)
    p.browser.key("ArrowRight")
    assert "python3 (100)" in what(p), "keys start from the busiest"
    p.browser.key("e")
    assert "\u2192" in p.text(".topology-what h3") or "\u2013" in p.text(".topology-what h3"), what(p)
    p.quiet()


@check
def topology_searches(p):
    p.open("topology")
    p.browser.key("o")
    p.browser.key("/")
    p.browser.type("torch_3")
    assert p.text(".topology-found") == "1 node, 0 edges; 1 of those folded in them", p.text(".topology-found")
    assert drawn(p, "match") == ["SharedMemory \u00d75"]
    p.browser.key("Enter")
    assert "SharedMemory" in what(p)
    p.browser.eval("document.activeElement.select()")
    p.browser.type("^nccl$") # an attribute of an edge
    assert p.text(".topology-found") == "0 nodes, 1 edge", p.text(".topology-found")
    p.browser.eval("document.activeElement.select()")
    p.browser.type("^unix$")
    assert p.text(".topology-found") == "0 nodes, 1 edge", p.text(".topology-found")
    p.browser.eval("document.activeElement.select()")
    p.browser.type("(")
    assert "not a regular expression" in p.text(".topology-found")
    p.browser.key("Escape")
    assert p.text(".topology-found") == "" and drawn(p, "match") == []
    p.quiet()


@check
def topology_hides_kinds(p):
    p.open("topology")
    p.browser.key("o")
    assert "shm 5" in p.text(".topology-legend") and "access 10" in p.text(".topology-legend"), p.text(".topology-legend")
    p.click_element("[data-node=shm]")
    assert drawn(p, "gone") == ["SharedMemory \u00d75"]
    gone = "wprof.topology.model.edges.filter(e => e.element.classList.contains('gone')).length"
    assert p.browser.eval(gone) == 2, "with what ended at it"
    p.click_element("[data-edge=wait]")
    assert p.browser.eval(gone) == 3
    p.click_element("[data-node=shm]")
    p.click_element("[data-edge=wait]")
    assert p.browser.eval(gone) == 0 and drawn(p, "gone") == []
    p.quiet()


@check
def topology_keeps_hostile_names_text(p):
    p.open("topology")
    p.browser.key("o")
    p.browser.click(*topology_node(p, "(200)"))
    assert '</script><img src=x onerror=alert(1)>\u240a"\u65e5\u672c' in what(p), what(p)
    assert p.browser.eval("document.querySelectorAll('img').length") == 0
    p.quiet()


@check
def topology_of_thousands_is_folded(p):
    p.open("crowd")
    p.browser.key("o")
    assert p.browser.eval("wprof.topology.model.nodes.length") <= 100
    assert "5,050 nodes folded" in p.text(".topology-note"), p.text(".topology-note")
    p.browser.key("/")
    p.browser.type("worker-7 ")
    assert "50 of those folded in them" in p.text(".topology-found"), p.text(".topology-found")
    p.quiet()


@check
def topology_stands_alone(p):
    p.open("alone")
    assert p.visible("#pane-topology") and p.text(".quality") == ""
    p.browser.key("f")
    p.browser.key("l")
    assert p.visible("#pane-topology")
    p.open("train")
    assert p.browser.eval("document.querySelector('[data-pane=topology]')") is None
    p.browser.key("o")
    assert p.visible("#pane-flame")
    p.quiet()
