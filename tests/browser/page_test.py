# SPDX-License-Identifier: Apache-2.0
"""The HTML page in a real browser: page_test.py PAGES RESULTS

PAGES is a folder of pages made by the unit test test_render_html (WPROF_PAGES). RESULTS gets a line for each check,
"ok NAME" or "FAIL NAME: why"; page.bats has a test for each of them.
"""

import pathlib
import sys
import traceback

import topology_checks  # noqa: F401: its checks are on the list, too
from cdp import Browser
from page import CHECKS, Page, check, near


@check
def no_console_message_and_no_request(p):
    for name in ("train", "hostile", "bad", "empty", "one", "deep", "names", "metrics", "timeline", "lanes", "ticks", "gpu",
                 "topology", "crowd", "alone"):
        p.open(name)
        p.quiet()
        others = [url for url in p.browser.requests if not url.startswith("file:") or not url.endswith(name + ".html")]
        assert not others, others


@check
def quality_is_in_view(p):
    p.open("train")
    assert p.visible(".quality")
    for part in ("expected 1,981", "taken 1,979", "lost 0", "unwound 99.90 %", "cost 0.61 %"):
        assert part in p.text(".quality"), part


@check
def warnings_are_in_view(p):
    p.open("bad")
    assert p.visible(".warnings li")
    assert "lost" in p.text(".warnings")


@check
def click_zooms_and_path_leads_back(p):
    p.open("train")
    p.click("Conv2d.forward")
    near(p.box("Conv2d.forward")[2], p.browser.eval("wprof.pane.scroller.clientWidth"))
    assert "Conv2d.forward" in p.path() and "%" in p.path()
    assert not p.has_box("SGD.step")
    p.click_element("#path button")
    assert p.has_box("SGD.step")


@check
def search_says_the_share(p):
    p.open("train")
    p.search("slow_transform")
    assert p.text("#search-result") == "22.2 % matched, 1 function", p.text("#search-result")
    x, y, _ = p.box("slow_transform")
    match = p.browser.eval("getComputedStyle(document.documentElement).getPropertyValue('--match').trim()")
    assert p.pixel(x, y - 7) == match, p.pixel(x, y - 7)
    p.search("^(conv|sgd)")
    assert "3 functions" not in p.text("#search-result")
    p.search("file:train")
    assert p.text("#search-result").startswith("100 % matched")
    p.quiet()


@check
def search_takes_case_from_the_pattern(p):
    p.open("train")
    p.search("sgd")
    assert "15.4 % matched" in p.text("#search-result"), p.text("#search-result")
    p.search("Sgd")
    assert "0 % matched" in p.text("#search-result"), p.text("#search-result")


@check
def bad_expression_is_said(p):
    p.open("train")
    p.search("(")
    assert "not a regular expression" in p.text("#search-result")
    p.quiet()


@check
def enter_goes_from_match_to_match(p):
    p.open("train")
    p.search("^train$")
    p.browser.key("Enter")
    assert "train" in p.text("#status b")


@check
def range_recomputes_the_graph(p):
    p.open("train")
    assert p.has_box("slow_transform")
    left, top, width = p.browser.eval("""(() => {
        const r = document.querySelector("#range canvas").getBoundingClientRect();
        return [r.left, r.top, r.width]; })()""")
    # The worker is busy in the first half only.
    p.browser.drag(left + width * 0.6, left + width * 0.9, top + 20)
    assert not p.has_box("slow_transform")
    assert p.has_box("Conv2d.forward")
    near(p.browser.eval("wprof.model.sum"), 300, 5)
    assert "s (" in p.text(".range-label"), p.text(".range-label")
    p.click_element("#range button")
    assert p.has_box("slow_transform")
    assert p.browser.eval("wprof.model.sum") == 1500


@check
def hidden_function_gives_its_time_to_callers(p):
    p.open("train")
    p.click("slow_transform", "right")
    p.click_element("#box-menu button:nth-child(2)")
    assert not p.has_box("slow_transform")
    assert p.has_box("float_mul")
    assert p.browser.eval("wprof.model.sum") == 1500
    assert "slow_transform" in p.text("#hidden")
    p.click_element("#hidden button")
    assert p.has_box("slow_transform")


@check
def kinds_can_be_taken_out(p):
    p.open("train")
    p.click_element("#kinds [data-kind=python]")
    assert not p.has_box("train")
    assert p.has_box("at::conv2d")
    assert p.browser.eval("wprof.model.sum") == 1500
    p.click_element("#kinds [data-kind=python]")
    assert p.has_box("train")


def choose_focus(p, text):
    p.browser.eval(f"""(() => {{
        const s = document.querySelector("#focus");
        s.value = [...s.options].find(o => o.textContent.includes({text!r})).value;
        s.dispatchEvent(new Event("change")); }})()""")
    p.browser.settle()


@check
def focus_shows_one_thread(p):
    p.open("train")
    choose_focus(p, "pt_data_worker (102)")
    assert p.browser.eval("wprof.model.sum") == 500
    assert not p.has_box("train")
    assert p.has_box("slow_transform")
    choose_focus(p, "python3 (100)")
    assert p.browser.eval("wprof.model.sum") == 1000
    assert p.has_box("train")


@check
def processes_are_joined_by_name_or_apart(p):
    p.open("train")
    width = p.browser.eval("wprof.pane.scroller.clientWidth")
    near(p.box("python3")[2], width)
    p.click("pt_data_worker")
    choose_focus(p, "all, apart")
    assert "python3 (101)" in p.path() and "pt_data_worker (102)" in p.path(), p.path()
    p.browser.key("0")
    near(p.box("python3 (100)")[2], width * 2 / 3)
    near(p.box("python3 (101)")[2], width / 3)
    choose_focus(p, "all, joined")
    near(p.box("python3")[2], width)


@check
def interpreter_can_be_taken_out(p):
    p.open("train")
    p.click_element("#kinds button:last-child")
    assert not p.has_box("_PyEval_EvalFrameDefault")
    assert p.has_box("at::conv2d") and p.has_box("<module>")
    assert p.browser.eval("wprof.model.sum") == 1500
    p.browser.key("r")
    assert p.has_box("_PyEval_EvalFrameDefault")


@check
def keyboard(p):
    p.open("train")
    p.browser.key("i")
    assert "icicle" in p.text("#icicle")
    top = p.box("all")[1]
    assert p.box("python3")[1] > top
    p.browser.key("i")
    assert p.box("python3")[1] < p.box("all")[1]
    p.browser.key("ArrowUp")
    p.browser.key("ArrowUp")
    assert p.text("#status b") == "python3", p.text("#status")
    p.browser.key("ArrowUp")
    p.browser.key("ArrowRight")
    assert p.text("#status b") == "pt_data_worker", p.text("#status")
    p.browser.key("+")
    assert "pt_data_worker" in p.path()
    p.browser.key("-")
    assert "pt_data_worker" not in p.path()
    p.browser.key("?")
    assert p.browser.eval("document.querySelector('#help').open")
    p.browser.key("Escape")
    assert not p.browser.eval("document.querySelector('#help').open")
    p.search("slow")
    p.browser.key("Escape")
    assert p.browser.eval("document.querySelector('#search').value") == ""
    p.quiet()


@check
def reset_undoes_everything(p):
    p.open("train")
    p.search("slow")
    p.browser.eval("document.activeElement.blur()")
    p.click_element("#kinds [data-kind=kernel]")
    p.click("train")
    p.browser.key("h")
    p.browser.key("r")
    assert p.has_box("schedule") and p.has_box("train")
    assert p.path().startswith("all") and "train" not in p.path()
    assert p.text("#hidden") == "" and p.text("#search-result") == ""


@check
def tooltip_has_the_whole_story(p):
    p.open("train")
    x, y, _ = p.box("Conv2d.forward")
    p.browser.mouse("mouseMoved", x, y)
    p.browser.settle()
    assert p.visible("#tooltip")
    for part in ("Conv2d.forward", "Python", "/srv/app/train.py:12", "20.5 %"):
        assert part in p.text("#tooltip"), p.text("#tooltip")


@check
def functions_sort_and_filter(p):
    p.open("train")
    p.browser.key("l")
    assert p.visible("#pane-table tbody tr")
    first = "#pane-table tbody tr:first-child"
    assert "[jit]" in p.text(first), p.text(first)
    p.click_element("#pane-table th[data-key=total] button")
    assert "<module>" in p.text(first) and "66.7 %" in p.text(first), p.text(first)
    p.click_element("#pane-table th[data-key=func] button")
    assert "<module>" in p.text(first), p.text(first)
    p.click_element("#pane-table th[data-key=func] button")
    assert "write" in p.text(first), p.text(first)
    p.click_element("#pane-table input")
    p.browser.type("^slow")
    assert p.browser.eval("document.querySelectorAll('#pane-table tbody tr').length") == 1
    p.click_element(first)
    assert p.visible("#pane-flame") and "22.2 % matched" in p.text("#search-result")


@check
def hostile_names_stay_text(p):
    p.open("hostile")
    p.browser.key("l")
    p.browser.key("f")
    p.click("</script><img src=x onerror=alert(1)>")
    p.search("img")
    assert p.browser.eval("document.querySelectorAll('img, body script ~ script ~ script ~ script').length") == 0
    assert "</script><img src=x onerror=alert(1)>" in p.text("h1")
    assert "</script><img src=x onerror=alert(1)>" in p.path()
    assert p.has_box("line\u240abreak")
    p.quiet()


@check
def dark_follows_the_system_and_the_button(p):
    ground = "getComputedStyle(document.body).backgroundColor"
    p.open("train")
    light = p.browser.eval(ground)
    p.browser.dark(True)
    p.open("train")
    assert p.browser.eval(ground) != light
    x, y, _ = p.box("all")
    dark_box = p.pixel(x, y - 7)
    p.browser.key("t")
    assert p.browser.eval(ground) == light
    assert p.pixel(x, y - 7) != dark_box
    p.browser.eval("localStorage.clear()")
    p.browser.dark(False)


@check
def metrics_can_be_chosen(p):
    p.open("metrics")
    p.browser.eval("""(() => {
        const s = document.querySelector("select.metric"); s.value = 1; s.dispatchEvent(new Event("change")); })()""")
    p.browser.settle()
    assert p.has_box("futex_wait") and not p.has_box("slow_transform")
    assert "2.00 s" in p.path(), p.path()
    p.browser.eval("wprof.showPane('table')")
    assert p.browser.eval("document.querySelector('#pane-table select.metric').value") == "1"
    assert "futex_wait" in p.text("#pane-table tbody tr:first-child")
    p.quiet()


@check
def empty_profile_says_so(p):
    p.open("empty")
    assert p.visible(".nothing")
    assert not p.visible(".flame-scroll")


@check
def one_sample_is_a_graph(p):
    p.open("one")
    assert p.has_box("_start")
    assert "1 sample" in p.path() and "1 samples" not in p.path(), p.path()


@check
def search_scrolls_to_a_match(p):
    p.open("deep")
    for far in (0, 1e9):  # one of them is the end at which the root is not
        p.search("x")
        p.browser.eval(f"wprof.pane.scroller.scrollTop = {far}")
        p.search("^app$")
        p.browser.settle()
        y, room = p.browser.eval("[wprof.pane.top(wprof.pane.rowOf(wprof.pane.layout.node.findIndex("
                                 "n => n >= 0 && wprof.pane.matched[wprof.pane.model.tree.frame[n]]))), "
                                 "wprof.pane.scroller.clientHeight]")
        assert 0 <= y < room, f"the match is at {y} of {room}"


@check
def deep_recursion_scrolls(p):
    p.open("deep")
    assert p.browser.eval("wprof.pane.layout.rows") == 2002
    p.browser.key("i")
    p.browser.eval("wprof.pane.scroller.scrollTop = 1e9")
    p.browser.settle()
    x, y = p.browser.eval("""(() => {
        const r = wprof.pane.scroller.getBoundingClientRect(); return [r.left + 400, r.bottom - 20]; })()""")
    assert p.pixel(x, y) in p.browser.eval("wprof.pane.painter.fills"), p.pixel(x, y)
    p.browser.click(x, y)
    assert "recurse" in p.path()
    p.quiet()


@check
def pruned_weight_is_shown(p):
    p.open("names")
    assert p.visible("#pruned")
    assert p.has_box("[pruned]")
    p.search("vector")
    assert p.text("#search-result").startswith("\u2265 "), p.text("#search-result")


@check
def many_stacks_are_usable(p):
    p.open("many")
    p.browser.key("s")
    p.search("function_name_3")
    assert "matched" in p.text("#search-result")
    p.click_element("#kinds [data-kind=kernel]")
    assert p.browser.eval("wprof.model.sum") == p.browser.eval("wprof.model.info.metrics[0].sum")
    p.browser.key("Escape")
    p.browser.key("l")
    assert p.visible("#pane-table tbody tr")
    p.quiet()


def lane_point(p, lane, t, depth=0):
    """Where lane number `lane` is at `t` seconds, in the window."""
    return p.browser.eval(f"""(() => {{
        const tl = wprof.timeline, row = tl.layout.rows.find(r => r.index === {lane});
        const r = tl.painter.canvas.getBoundingClientRect();
        return [r.left + tl.painter.x({t} * 1e9), r.top + tl.painter.top(row) + 9 + {depth} * 17]; }})()""")


def side(p):
    return p.text(".timeline-side")


# Lanes of timeline.html: 0 load, 1 marks, 2 python3 (the trainer), 3 its worker with a hostile name.


@check
def timeline_adds_up_states(p):
    p.open("timeline")
    assert p.visible("#pane-timeline") and not p.visible("#pane-flame")
    for part in ("running16.00 s", "futex3.00 s", "runnable500 ms", "10.00 s of 2 threads"):
        assert part in side(p), side(p)
    p.quiet()


@check
def timeline_tells_what_is_under_the_pointer(p):
    p.open("timeline")
    p.browser.mouse("mouseMoved", *lane_point(p, 2, 3))
    p.browser.settle()
    for part in ("futex 0x7f00", "3.00 s", "woken by", "101", "slow_transform", "Queue.get"):
        assert part in p.text("#tooltip"), p.text("#tooltip")
    p.browser.mouse("mouseMoved", *lane_point(p, 2, 8.05))
    p.browser.settle()
    assert "running" in p.text("#tooltip") and "conv2d" in p.text("#tooltip"), p.text("#tooltip")
    p.browser.mouse("mouseMoved", *lane_point(p, 0, 3.5))
    p.browser.settle()
    assert "load300" in p.text("#tooltip"), p.text("#tooltip")
    p.browser.mouse("mouseMoved", *lane_point(p, 1, 1, 1))
    p.browser.settle()
    assert "request 7" in p.text("#tooltip"), p.text("#tooltip")


@check
def timeline_click_shows_the_stack(p):
    p.open("timeline")
    p.browser.click(*lane_point(p, 2, 3))
    names = p.browser.eval("[...document.querySelectorAll('.timeline-side li')].map(li => li.textContent)")
    assert names == ["futex_wait", "Queue.get (queue.py)", "main (train.py)", "slow_transform (train.py)"], names
    p.browser.key("k")
    assert "running" in side(p) and "101" in side(p), side(p)
    p.browser.key("Escape")
    assert "Time in view" in side(p)
    p.browser.click(*lane_point(p, 2, 3))
    p.click_element(".timeline-side ol:last-child button")
    assert p.visible("#pane-flame") and "22.2 % matched" in p.text("#search-result"), p.text("#search-result")


@check
def timeline_zooms_and_moves(p):
    view = "wprof.timeline.view.from / 1e9, wprof.timeline.view.to / 1e9"
    p.open("timeline")
    x, y = lane_point(p, 2, 3)
    p.browser.call("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -150})
    p.browser.settle()
    begin, end = p.browser.eval(f"[{view}]")
    assert end - begin < 9.9 and begin < 3 < end, (begin, end)
    near(lane_point(p, 2, 3)[0], x)
    p.browser.drag(x, x + 100, y)
    near(lane_point(p, 2, 3)[0], x + 100)
    p.browser.key("d")
    assert p.browser.eval(f"[{view}]")[0] > begin - 2
    p.browser.key("w")
    assert p.browser.eval(f"[{view}][1] - [{view}][0]") < end - begin
    p.browser.key("0")
    assert p.browser.eval(f"[{view}]")[0] == 0
    p.browser.key("ArrowDown")
    p.browser.key("ArrowLeft")
    assert "running" in side(p) or "futex" in side(p), side(p)
    p.browser.key("Enter")
    assert p.browser.eval(f"[{view}][1] - [{view}][0]") < 9
    p.quiet()


@check
def timeline_and_flame_graph_share_the_range(p):
    p.open("timeline")
    left, top = p.browser.eval("""(() => {
        const r = document.querySelector(".timeline-ruler").getBoundingClientRect(); return [r.left, r.top]; })()""")
    x0, x1 = (lane_point(p, 2, t)[0] for t in (6, 9))
    p.browser.drag(x0, x1, top + 10)
    near(p.browser.eval("wprof.model.sum"), 300, 8)
    assert "Selected time" in side(p) and "running" in side(p) and "futex" not in side(p), side(p)
    p.browser.key("f")
    assert not p.has_box("slow_transform")
    p.browser.key("g")
    p.click_element("#timeline-unselect")
    assert p.browser.eval("wprof.model.sum") == 1500
    assert not p.visible("#timeline-unselect")


@check
def timeline_filters_and_searches(p):
    p.open("timeline")
    p.click_element("#timeline-filter")
    p.browser.type("^python3 100$|load")
    assert p.browser.eval("wprof.timeline.threads().length") == 2, "the process fits, so its threads do"
    p.browser.eval("document.activeElement.select()")
    p.browser.type("script")
    assert p.browser.eval("wprof.timeline.threads().length") == 1
    p.browser.eval("document.activeElement.select()")
    p.browser.type("nothing")
    assert p.browser.eval("wprof.timeline.threads().length") == 0
    p.browser.eval("document.activeElement.select()")
    p.browser.type("(")
    assert p.browser.eval("document.querySelector('#timeline-filter').classList.contains('bad')")
    p.open("timeline")
    p.browser.key("/")
    p.browser.type("queue")
    assert p.text(".timeline-found").startswith("1 span, 3.00 s; 0 samples"), p.text(".timeline-found")
    p.browser.key("Enter")
    assert "futex 0x7f00" in side(p), side(p)
    p.browser.key("Escape")
    assert p.text(".timeline-found") == ""
    p.quiet()


@check
def help_lists_the_keys_of_the_pane(p):
    p.open("timeline")
    p.browser.key("?")
    said = p.browser.eval("[...document.querySelectorAll('#help td:last-child')].map(cell => cell.textContent)")
    assert "who woke the selected span" in said and said.count("search") == 1 and "one row up" not in said, said
    p.browser.key("?")
    p.browser.key("f")
    p.browser.key("?")
    assert "who woke" not in p.text("#help") and "icicle or flame" in p.text("#help")


@check
def timeline_folds_processes(p):
    p.open("timeline")
    assert len(p.browser.eval("wprof.timeline.layout.rows.map(r => r.y)")) == 6
    x, y = p.browser.eval("""(() => {
        const r = wprof.timeline.painter.canvas.getBoundingClientRect(); return [r.left + 40, r.top + 10]; })()""")
    p.browser.click(x, y)
    assert len(p.browser.eval("wprof.timeline.layout.rows.map(r => r.y)")) == 5


@check
def timeline_of_samples_alone(p):
    p.open("ticks")
    p.browser.key("g")
    assert "Switches were not recorded" in side(p)
    p.browser.click(*lane_point(p, 0, 3.003))
    assert "1 sample" in side(p) and "main (train.py)" in side(p), side(p)
    p.quiet()


@check
def timeline_says_what_it_merged(p):
    p.open("lanes")
    p.browser.key("g")
    for part in ("39,774 spans below", "not those from 4.972 s to 5.028 s", "4 threads with the least to show are left out"):
        assert part in p.text(".timeline-note"), p.text(".timeline-note")
    p.browser.mouse("mouseMoved", *lane_point(p, 0, 3))
    p.browser.settle()
    assert "spans too short to keep apart: running" in p.text("#tooltip"), p.text("#tooltip")
    p.click_element("#pane-timeline [data-zoom=apart]")
    p.browser.settle()
    p.browser.mouse("mouseMoved", *lane_point(p, 0, 5))
    p.browser.settle()
    assert "too short to keep apart" not in p.text("#tooltip"), p.text("#tooltip")
    p.quiet()


# Lanes of gpu.html: 0 idle, 1 stream 7, 2 python3, 3 its calls.


@check
def timeline_shows_gpus_and_who_asked(p):
    p.open("gpu")
    # the one gap is of three parts, which show --gpu has, too
    for part in ("GPUs", "kernel4.00 s", "idle: host off CPU500 ms", "idle: host on CPU250 ms", "idle: launching250 ms"):
        assert part in side(p), side(p)
    p.browser.click(*lane_point(p, 1, 3))
    for part in ("kernel: sgemm", "asked for 1.00 s before, by python3 100 in cudaLaunchKernel", "grid 8\u00d716\u00d75",
                 "occupancy 25.0 %"):
        assert part in side(p), side(p)
    launch = "wprof.timeline.model.spans.launch[wprof.timeline.selected.span]"
    assert p.browser.eval(f"wprof.timeline.words.short({launch} - 1)") == "cudaLaunchKernel"
    p.browser.click(*lane_point(p, 0, 4.5))
    assert "idle: host off CPU 500 ms, idle: host on CPU 250 ms, idle: launching 250 ms" in side(p), side(p)
    p.browser.click(*lane_point(p, 3, 1.1, 1))
    assert "call: cudaLaunchKernel" in side(p), side(p)
    p.browser.click(*lane_point(p, 3, 0.7, 0))
    assert "<img" in side(p) or "script" in side(p), side(p)
    p.quiet()


@check
def timeline_keeps_hostile_names_text(p):
    p.open("timeline")
    p.browser.click(*lane_point(p, 3, 8))
    assert "</script><img src=x onerror=alert(1)>" in side(p)
    assert p.browser.eval("document.querySelectorAll('img').length") == 0
    p.quiet()


@check
def timeline_is_absent_without_times(p):
    p.open("train")
    assert p.browser.eval("document.querySelector('[data-pane=timeline]')") is None
    p.browser.key("g")
    assert p.visible("#pane-flame")
    p.quiet()


@check
def without_scripts_there_are_words(p):
    other = Browser(scripts=False)
    try:
        other.open(p.pages / "train.html")
        other.call("Emulation.setScriptExecutionDisabled", {"value": False})
        assert other.eval("document.querySelector('noscript').textContent.includes('slow_transform')")
        assert other.eval("document.querySelector('.quality').checkVisibility()")
        assert not other.eval("document.querySelector('main').checkVisibility()")
    finally:
        other.close()


def main():
    pages, results = map(pathlib.Path, sys.argv[1:3])
    page = Page(pages)
    try:
        with results.open("w") as out:
            for function in CHECKS:
                try:
                    function(page)
                    print("ok", function.__name__, file=out)
                except Exception as error:  # whatever it is, the next check is still worth its run
                    where = traceback.extract_tb(error.__traceback__)
                    line = next((f.line for f in reversed(where) if f.filename.endswith(("page_test.py", "topology_checks.py"))), "")
                    print(f"FAIL {function.__name__}: {line}: {error}".replace("\n", " "), file=out)
                out.flush()
    finally:
        page.browser.close()


if __name__ == "__main__":
    main()
