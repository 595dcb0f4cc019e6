"""Pages as axe-core sees them.

Rules: axe comes with `npm ci` from the locked version in `axe`. Without npm's registry its tests
are skipped, but fail with `CI` set.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page

from tests.clients.typescript.package import NPM, run, unavailable

Scheme = Literal["light", "dark"]


def axe_source(folder: Path) -> str:
    """The text of axe-core, installed in this folder."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(Path(__file__).parent / "axe" / name, folder)
    npm = NPM or unavailable("npm is not installed")
    done = run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    if done.returncode:
        unavailable(f"npm ci failed: {done.stderr[-500:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


def violations(page: Page) -> list[str]:
    """The rules that a page with axe breaks."""
    result = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']})")
    return [each["id"] for each in result["violations"]]


def faults(
    browser: Browser,
    axe: str,
    urls: Mapping[str, str],
    *,
    cookies: Any,
    scheme: Scheme,
    width: int,
) -> tuple[dict[str, object], list[str]]:
    """By the names of pages: what axe finds with all details open, and what is too wide.

    The other list is what axe finds on the last page after a fault was planted there.
    """
    found: dict[str, object] = {}
    with browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
    ) as context:
        context.add_cookies(cookies)
        page = context.new_page()
        for name, url in urls.items():
            page.goto(url)
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            page.evaluate(axe)
            broken = violations(page)
            wide = page.evaluate("document.documentElement.scrollWidth") - width
            if broken or wide > 0:
                found[name] = (broken, wide)
        page.evaluate("document.querySelector('h1').style.color = '#888a'")
        return found, violations(page)
