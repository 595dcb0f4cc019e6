"""Accessibility checks of pages with axe-core.

Rules: `npm ci` installs the version of axe-core locked in the folder `axe`. Without npm's registry
the tests are skipped, or fail if `CI` is set.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from tests.clients.typescript.package import NPM, run, unavailable

Scheme = Literal["light", "dark"]


def axe_source(folder: Path) -> str:
    """Install axe-core in this folder, and return its source."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(Path(__file__).parent / "axe" / name, folder)
    npm = NPM or unavailable("npm is not installed")
    done = run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    if done.returncode:
        unavailable(f"npm ci failed: {done.stderr[-500:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


SCHEMES: Sequence[Scheme] = ("light", "dark")
WIDTHS = (1280, 400)
_COLORS = "color-contrast", "link-in-text-block"
"""axe rules about colors."""
_TAGS = "wcag2a", "wcag2aa", "wcag21aa", "best-practice"

_BROKEN = """async rules => {
  const result = await axe.run({runOnly: rules, resultTypes: ["violations"]});
  return result.violations.map(each => each.id);
}"""


def faults(page: Page, axe: str) -> list[str]:
    """Return violations of a page with all details open, in light and dark, 1280 and 400 pixels
    wide.

    All rules are checked in light mode, and only rules about colors in dark mode.
    """
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(axe)
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            rules = _TAGS if scheme == "light" else _COLORS
            found += [f"{width} {scheme}: {rule}" for rule in page.evaluate(_BROKEN, [*rules])]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{width}: too wide")
    return found
