# SPDX-License-Identifier: Apache-2.0
"""The page of a report in a headless Chromium: report_test.py PAGE prints "ok WHAT" or "bad WHAT: why" a line."""
import sys

from cdp import Browser

VISIBLE = "(s => { const e = document.querySelector(s); return !!e && e.getClientRects().length > 0; })"


def check(name, holds, why=""):
    print(f"ok {name}" if holds else f"bad {name}: {why}")


def visible(page, selector):
    return page.eval(f"{VISIBLE}({selector!r})")


def main(path):
    page = Browser()
    page.open(path)
    page.settle()
    check("no_console_message_and_no_request", not page.console and len(page.requests) == 1, f"{page.console} {page.requests}")
    check("report_is_read_first", visible(page, ".report h2") and page.eval("document.querySelector('.report').getBoundingClientRect().top < innerHeight"))
    check("the_page_scrolls", page.eval("document.documentElement.scrollHeight > innerHeight"))
    check("panes_are_below", visible(page, "main") and not visible(page, ".report figure.static"))
    check("names_are_text", page.eval("document.querySelector('.report').textContent.includes('<img src=x onerror=alert(1)>') && !document.querySelector('.report img')"))
    page.call("Emulation.setEmulatedMedia", {"media": "print"})
    check("print_has_pictures", visible(page, ".report figure.static") and not visible(page, "main"))
    page.close()

    page = Browser(scripts=False)
    page.open(path)
    check("without_a_script_too", not page.console, str(page.console))
    shot = page.call("Page.getLayoutMetrics")["cssContentSize"]["height"]
    check("without_a_script_it_is_long", shot > 800, str(shot))
    page.close()


main(sys.argv[1])
