"""``report.html`` in a real Chromium: its policy, its layout, its colours, and its filters by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser_path, open_browser
from made_report import HOSTILE, made_document, made_exchange

from conformance.report.html import render_html

pytestmark = pytest.mark.skipif(browser_path() is None, reason="there is no Chromium on this machine")

SCHEMES = ("light", "dark")
SHOWN = "[...document.querySelectorAll('.requirements tbody tr')].filter(row => row.offsetParent).length"
CONTRASTS = """
(() => {
  document.querySelectorAll('details').forEach(each => each.open = true);
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const luminance = colour => {
    const [red, green, blue] = channels(colour).slice(0, 3)
      .map(each => each / 255).map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor, parts = channels(colour);
      if (parts.length < 4 || parts[3] === 1) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const low = [];
  for (const element of document.querySelectorAll('body *')) {
    const words = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!words || !element.checkVisibility()) continue;
    const [dark, light] = [getComputedStyle(element).color, behind(element)].map(luminance).sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) low.push(element.tagName + '.' + element.className + ' ' + ratio.toFixed(2));
  }
  return [...new Set(low)];
})()
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a page about a target that says hostile things."""
    folder = tmp_path_factory.mktemp("report")
    exchange: dict[str, Any] = made_exchange(HOSTILE)
    page = render_html(made_document(HOSTILE, findings=7), lambda _: exchange)
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Start a browser."""
    path = browser_path()
    assert path is not None
    with open_browser(path, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser: Page, written: Path) -> Page:
    """Open the page anew, on a wide window."""
    browser.console.clear()
    browser.requests.clear()
    browser.view(1280)
    browser.open(written / "report.html")
    return browser


def test_nothing_is_loaded_run_or_refused(page: Page, written: Path) -> None:
    """The page is the only request, its policy refuses none of its own parts, and no hostile text became an element."""
    assert [(written / "report.html").as_uri()] == page.requests
    assert [] == page.console
    assert 0 == page.evaluate("document.scripts.length + document.images.length")
    assert "rgb" in page.evaluate("getComputedStyle(document.querySelector('.banner')).backgroundColor")
    assert page.evaluate("getComputedStyle(document.querySelector('.banner')).borderLeftWidth") != "0px"


def test_the_policy_of_the_page_refuses_scripts(page: Page) -> None:
    """Neither an inline script nor a handler nor an image would come to anything."""
    page.evaluate("""(() => { const script = document.createElement('script'); script.textContent = 'window.ran = 1';
        document.body.append(script); document.body.setAttribute('onclick', 'window.ran = 2'); document.body.click();
        const image = new Image(); image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; })()""")
    assert page.evaluate("window.ran === undefined")


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_no_width_makes_the_page_scroll_sideways(page: Page, width: int) -> None:
    """With everything unfolded; wide tables and drawings scroll by themselves."""
    page.view(width)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("media", ["", "print"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_stands_out_from_its_background(page: Page, scheme: str, media: str) -> None:
    """By 4.5 to 1 everywhere (WCAG 2.2, 1.4.3), light, dark and printed."""
    page.view(1280, scheme=scheme, media=media)
    assert [] == page.evaluate(CONTRASTS)


def test_dark_is_dark_and_paper_is_white(page: Page) -> None:
    """Whoever prefers dark prints on white all the same."""
    background = "getComputedStyle(document.body).backgroundColor"
    page.view(1280, scheme="dark")
    assert "rgb(20, 23, 27)" == page.evaluate(background)
    page.view(1280, scheme="dark", media="print")
    assert "rgb(255, 255, 255)" == page.evaluate(background)


def test_the_filters_work_by_keyboard(page: Page) -> None:
    """Arrows change the outcome, and the letters of the family choose it; the focus can be seen."""
    assert 6 == page.evaluate(SHOWN)
    page.evaluate("document.querySelector('#show-looked-at').focus()")
    page.press("ArrowRight", 39)
    assert "show-all" == page.evaluate("document.activeElement.id")
    assert 8 == page.evaluate(SHOWN)
    outline = "getComputedStyle(document.activeElement.nextElementSibling).outlineStyle"
    assert "solid" == page.evaluate(outline)
    page.press("ArrowRight", 39)
    assert 1 == page.evaluate(SHOWN)
    page.evaluate("document.querySelector('#show-all').click()")
    page.evaluate("document.querySelector('#family').focus()")
    page.press("r", 82, "r")
    assert "race (4)" == page.evaluate("document.querySelector('#family').value")
    assert 4 == page.evaluate(SHOWN)


def test_everything_that_acts_is_reached_in_order(page: Page) -> None:
    """Tab goes from the skip link down the page, by way of every link, input, summary and region that scrolls."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = false)")
    wanted = page.evaluate("""(() => {
        const all = [...document.querySelectorAll('a, input, select, summary, [tabindex]')];
        all.forEach((each, index) => each.dataset.at = index);
        return all.filter(each => each.checkVisibility() && !(each.type === 'radio' && !each.checked))
            .map(each => +each.dataset.at); })()""")
    reached = []
    for _ in wanted:
        page.press("Tab", 9)
        reached.append(page.evaluate("+document.activeElement.dataset.at"))
    assert wanted == reached


def test_a_fold_opens_with_the_space_bar(page: Page) -> None:
    """As every part that is folded is a details element."""
    page.evaluate("document.querySelector('summary').focus()")
    page.press(" ", 32, " ")
    assert page.evaluate("document.querySelector('details').open")
