"""Pages without a key: `/` and `/docs` with their files, `/livez` and `/readyz`.

Until Google has accepted an account, `/readyz` sometimes requests tokens. Afterwards `/readyz` does
not depend on Google, because cached rows can be served during an outage of Google.

Rules: no page reads or writes rows, and only `/` and `/readyz` use the key store. All files are
read at startup, so that no path of a request reaches the file system. Links are relative, so that a
proxy can serve the gateway under any host or path. Only the link to the console is absolute.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from pathlib import Path
from string import Template

from gateway import __version__
from gateway.errors import RouteNotFound
from gateway.settings.address import host_in, is_loopback
from gateway.settings.model import AdminSettings
from gateway.storage.database import STORE_ERRORS
from gateway.table.header import opaque_tag
from gateway.web.answers import Answer, header_lines, json_answer
from gateway.web.compression import BEST, compressed
from gateway.web.head import Head, is_known, takes_gzip
from gateway.web.request import Request

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy without external or inline content, and without frames.

The style sheet of Swagger UI needs images in `data:`.
"""

CHUNK_BYTES = 64 * 1024
"""Size in bytes of the parts of a body that are sent one by one."""

_MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(kw_only=True)
class Asset:
    """A file or page in memory. The first request that accepts gzip compresses the content."""

    content: Sequence[bytes]
    """The content in parts, which all answers share, so that slow clients need no copies."""
    headers: Sequence[tuple[bytes, bytes]]
    tag: str
    """Weak ETag, because gzip and plain content have the same ETag."""
    _packed: Sequence[bytes] = field(default=(), init=False)

    async def answer(self, head: Head) -> Answer:
        """Return the content, or 304 if `If-None-Match` has its ETag."""
        if is_known(head, self.tag):
            return Answer(304, self.headers)
        is_packed = takes_gzip(head.lines.get(b"accept-encoding", ()))
        if is_packed and not self._packed:
            content = b"".join(self.content)
            self._packed = _chunks(await asyncio.to_thread(compressed, content, BEST))
        chunks = self._packed if is_packed else self.content
        length = (b"content-length", b"%d" % sum(map(len, chunks)))
        coding = [(b"content-encoding", b"gzip")] if is_packed else []
        return Answer(200, [*self.headers, length, *coding], chunks)


def make_asset(content: bytes, suffix: str, headers: Mapping[str, str]) -> Asset:
    """Make an asset. The file suffix, such as `.css`, selects the media type."""
    tag = f"W/{opaque_tag(content)}"
    own = {"Content-Type": _MEDIA_TYPES[suffix], "ETag": tag, "Vary": "Accept-Encoding"}
    return Asset(content=_chunks(content), headers=header_lines({**headers, **own}), tag=tag)


def _chunks(content: bytes) -> Sequence[bytes]:
    return [content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES)]


_STATIC = Path(__file__).parent / "static"
_SAFE = {"Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin"}
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
    Path(name).name: make_asset((_STATIC / name).read_bytes(), Path(name).suffix, _A_DAY)
    for name in _FILES
}
"""Files of the pages, by name below /docs/."""

_VERSION = opaque_tag("".join(asset.tag for asset in ASSETS.values()).encode()).strip('"')
"""Version in all file URLs, so that pages get no older file from a browser's cache."""

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
    """Return the start page: readiness, links to the documentation and to the console."""
    if len(request.scope["raw_path"]) > 1:  # `//`, which the frame shortens to `/`
        raise RouteNotFound("There is nothing at this path. The documentation is at /docs.")
    is_ready, found = await readiness(request)
    status = "Healthy: ready to serve." if is_ready else f"Not ready: {found['status']}."
    page = _page(
        _HOME,
        "no-store",
        root="./",
        mood="good" if is_ready else "bad",
        status=escape(status),
        console=_console_link(request.state["admin"], host_in(request.head.first(b"host") or "")),
    )
    return await page.answer(request.head)


def _console_link(admin: AdminSettings, host: str) -> str:
    """Return an HTML link to the console. Without a public URL, only this machine gets the link."""
    url, listen = admin.public_url, admin.listen
    if listen and listen.port and not url and (host == "localhost" or is_loopback(host)):
        at = f"[{listen.host}]" if ":" in listen.host else listen.host
        url = f"http://{at}:{listen.port}"
    link = f'\n        <li><a href="{escape(url)}">Console</a> Rows, keys and usage, for operators'
    return f"{link} (version {__version__})</li>" if listen and url else ""


async def docs(request: Request) -> Answer:
    """Return the documentation page. If the path ends with a slash, links begin with `../`."""
    root = "../" if request.scope["raw_path"].endswith(b"/") else "./"
    return await _docs_page(root, request.state["api"].docs_url).answer(request.head)


async def docs_file(request: Request) -> Answer:
    asset = ASSETS.get(request.event.path.rpartition("/")[2])
    if asset is None:
        raise RouteNotFound("There is no such file. The documentation is at /docs.")
    return await asset.answer(request.head)


PROBE_SECONDS = 0.8
"""Time limit in seconds for key store and sign-in together. Kubernetes waits 1 s for a probe."""


async def livez(_request: Request) -> Answer:
    return json_answer({"status": "alive"})


async def readyz(request: Request) -> Answer:
    is_ready, members = await readiness(request)
    return json_answer(members, status=200 if is_ready else 503)


async def readiness(request: Request) -> tuple[bool, Mapping[str, object]]:
    """Return whether requests can be served, and the JSON members of `/readyz`."""
    ends = asyncio.get_running_loop().time() + PROBE_SECONDS
    try:
        async with asyncio.timeout_at(ends):
            await request.state["ready"]()
    except STORE_ERRORS:
        if not request.state["outlasts_outage"]():
            return False, {"status": "the key store does not answer"}
    is_accepted = False
    with suppress(TimeoutError):  # a sign-in continues, and the next probe sees its result
        async with asyncio.timeout_at(ends):
            is_accepted = await request.state["was_accepted"]()
    if not is_accepted:
        return False, {"status": "Google has accepted no account since the start"}
    members: dict[str, object] = {"status": "ready"}
    if refused := request.state["accounts"].refused_count:
        members["refused_accounts"] = refused
    if (is_available := request.state["is_redis_available"]()) is not None:
        members["redis"] = "available" if is_available else "unavailable"
    return True, members
