# SPDX-License-Identifier: Apache-2.0
"""What the checks of the HTML page share: the page as a person sees it, and the list that they are put on."""

from cdp import Browser

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Page:
    """A browser with helpers to look at the page from outside, by what a person sees and does."""

    def __init__(self, pages):
        self.pages = pages
        self.browser = Browser()

    def open(self, name):
        self.browser.open(self.pages / f"{name}.html")
        self.browser.settle()

    def text(self, selector):
        return self.browser.eval(f"document.querySelector({selector!r}).textContent")

    def visible(self, selector):
        return self.browser.eval(f"document.querySelector({selector!r}).checkVisibility()")

    def path(self):
        """What the path to the zoomed frame says."""
        return self.text("#path")

    def box(self, name):
        """The middle of the first box with this name, in the window. Boxes are painted, not elements: this asks the
        pane where it put them."""
        found = self.browser.eval(f"""(() => {{
            const p = wprof.pane, l = p.layout, r = p.painter.canvas.getBoundingClientRect();
            const i = l.node.findIndex(n => n >= 0 && p.model.name(p.model.tree.frame[n]) === {name!r});
            return i < 0 ? null : [r.left + l.x[i] + l.w[i] / 2, r.top + p.top(p.rowOf(i)) + 9, l.w[i]];
        }})()""")
        assert found, f"no box '{name}' is laid out"
        return found

    def has_box(self, name):
        try:
            return bool(self.box(name))
        except AssertionError:
            return False

    def click(self, name, button="left"):
        x, y, _ = self.box(name)
        self.browser.click(x, y, button)

    def click_element(self, selector):
        x, y = self.browser.eval(f"""(() => {{
            const r = document.querySelector({selector!r}).getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2];
        }})()""")
        self.browser.click(x, y)

    def search(self, text):
        self.browser.key("/")
        self.browser.eval("document.activeElement.select()")
        self.browser.type(text)

    def pixel(self, x, y):
        """The colour of the canvas there, #rrggbb."""
        return self.browser.eval(f"""(() => {{
            const c = wprof.pane.painter.canvas, r = c.getBoundingClientRect();
            const d = c.getContext("2d").getImageData({x} - r.left, {y} - r.top, 1, 1).data;
            return "#" + [...d.slice(0, 3)].map(v => v.toString(16).padStart(2, "0")).join("");
        }})()""")

    def quiet(self):
        assert not self.browser.console, self.browser.console


def near(got, want, slack=2):
    assert abs(got - want) <= slack, f"{got} is not about {want}"
