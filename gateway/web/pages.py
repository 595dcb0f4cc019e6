"""HTML pages: `/` and `/docs`.

Rules: no calls to Google, and only the first page uses the key store. No part of a path reaches the
file system: a table of all files is read at startup. Links are relative, so that a proxy may serve
the gateway under any host or path.
"""

from collections.abc import Mapping
from functools import lru_cache
from html import escape
from pathlib import Path
from string import Template

from gateway.errors import RouteNotFound
from gateway.table.header import opaque_tag
from gateway.web.answers import Answer
from gateway.web.assets import Asset, make_asset, read_asset
from gateway.web.health import readiness
from gateway.web.request import Request

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # the arrows in Swagger UI's style sheet
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""Nothing external, nothing inline, no frames; Swagger UI needs no more."""

_STATIC = Path(__file__).parent / "static"
_SAFE = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FILES = (
    "docs.js",
    "icon.svg",
    "page.css",
    "swagger-ui/swagger-ui-bundle.js",
    "swagger-ui/swagger-ui-bundle.js.LICENSE.txt",
    "swagger-ui/swagger-ui.css",
)
_A_DAY = {"Cache-Control": "public, max-age=86400", **_SAFE}
ASSETS: Mapping[str, Asset] = {
    Path(name).name: read_asset(_STATIC / name, _A_DAY) for name in _FILES
}
"""Files of the pages by their names below /docs/."""

_VERSION = opaque_tag("".join(asset.tag for asset in ASSETS.values()).encode()).strip('"')
"""Part of all file URLs, so that no page gets an older copy from a browser's cache."""

_HOME = Template((_STATIC / "home.html").read_text("utf-8"))
_DOCS = Template((_STATIC / "docs.html").read_text("utf-8"))
_GUIDES = (
    "The reference (<code>docs/reference/api.md</code>) and the guides in the gateway's repository "
    "explain"
)


def _page(template: Template, caching: str, **words: str) -> Asset:
    content = template.substitute(words, version=_VERSION).encode()
    return make_asset(content, ".html", {"Cache-Control": caching, **_SAFE})


@lru_cache(2)
def _docs_page(root: str, docs_url: str) -> Asset:
    link = f'<a href="{escape(docs_url)}">reference and guides</a>'
    guides = f"The {link} explain" if docs_url else _GUIDES
    return _page(_DOCS, "no-cache", root=root, guides=guides)


async def home(request: Request) -> Answer:
    """Start page: name, readiness, link to the documentation."""
    if len(request.scope["raw_path"]) > 1:  # two slashes, which the routes see as one
        raise RouteNotFound("There is nothing at this path. The documentation is at /docs.")
    is_ready, found = await readiness(request)
    status = "Healthy: ready to serve." if is_ready else f"Not ready: {found['status']}."
    page = _page(
        _HOME,
        "no-store",
        root="./",
        mood="good" if is_ready else "bad",
        status=escape(status),
    )
    return page.answer(request.head)


async def docs(request: Request) -> Answer:
    """The documentation; a slash at the end of the path would change the base of its links."""
    root = "../" if request.scope["raw_path"].endswith(b"/") else "./"
    return _docs_page(root, request.state["api"].docs_url).answer(request.head)


async def docs_file(request: Request) -> Answer:
    asset = ASSETS.get(request.event.path.rpartition("/")[2])
    if asset is None:
        raise RouteNotFound("There is no such file. The documentation is at /docs.")
    return asset.answer(request.head)
