"""HTML pages: state of the gateway, Content-Security-Policy, files, and links."""

import asyncio
import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

import gateway.web.pages
from gateway import __version__
from gateway.settings.address import parse_address
from gateway.settings.model import AdminSettings, ApiSettings
from gateway.web.pages import ASSETS, POLICY
from tests.web.endpoints import serving

STATIC = Path(gateway.web.pages.__file__).parent / "static"
PAGES = ["/", "/docs", "/docs/"]
NO_CONSOLE = AdminSettings()
FIELDS = ("input", "select")
FILES = [f"/docs/{name}" for name in ASSETS]
OWN_FILES = [file for file in STATIC.iterdir() if file.is_file()]
_VENDORED = re.compile(r"^ {4}([0-9a-f]{64}) {2}(\S+)$", re.MULTILINE)


@dataclass
class FakeStore:
    """Fake key store and Google accounts; it counts pings, and can fail or be slow."""

    fails: bool = False
    is_outlasted: bool = False
    refused_count: int = 0
    """Number of accounts that Google refuses."""
    is_redis_available: bool | None = None
    is_slow: bool = False
    """True if ping and sign-in take longer than any probe waits."""
    was_accepted: bool = True
    asked: int = 0

    async def ping(self) -> None:
        self.asked += 1
        await self._work()
        if self.fails:
            raise OperationalError("select", {}, Exception("no such table"))

    async def find_acceptance(self) -> bool:
        if not self.was_accepted:
            await self._work()
        return self.was_accepted

    async def _work(self) -> None:
        if self.is_slow:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), 10.0)


@pytest.fixture
def store() -> FakeStore:
    """The key store behind the pages."""
    return FakeStore()


@pytest.fixture
def client(store: FakeStore) -> Iterator[TestClient]:
    with opened_client(store, ApiSettings()) as opened:
        yield opened


@contextmanager
def opened_client(
    store: FakeStore, api: ApiSettings, admin: AdminSettings = NO_CONSOLE
) -> Iterator[TestClient]:
    """Open a test client of the gateway with this key store, and without Google calls."""
    state = {
        "ready": store.ping,
        "outlasts_outage": lambda: store.is_outlasted,
        "is_redis_available": lambda: store.is_redis_available,
        "was_accepted": store.find_acceptance,
        "accounts": store,
        "api": api,
        "admin": admin,
    }
    with serving(state, "http://gateway") as opened:
        yield opened


class Links(HTMLParser):
    """All URLs that a page links to or loads, and all tags of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.urls += [value or "" for name, value in attrs if name in ("href", "src")]


def test_the_first_page_is_healthy(client: TestClient, store: FakeStore) -> None:
    """With a working key store, the page `/` says "Healthy" after one ping of the store."""
    page = client.get("/")

    assert page.status_code == 200
    assert "Healthy: ready to serve." in page.text
    assert store.asked == 1
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("listen", "public_url", "host", "link"),
    [
        ("", "", "127.0.0.1:8000", None),
        ("8001", "", "127.0.0.1:8000", "http://127.0.0.1:8001"),
        ("[::1]:8001", "", "localhost", "http://[::1]:8001"),
        ("8001", "", "gateway", None),
        ("0", "", "localhost", None),
        ("8001", "https://admin.example", "gateway", "https://admin.example"),
    ],
)
def test_the_first_page_links_the_console(
    store: FakeStore, listen: str, public_url: str, host: str, link: str | None
) -> None:
    """`/` links the console's public URL, or its local address for visitors on this machine."""
    admin = NO_CONSOLE
    if listen:
        admin = AdminSettings(listen=parse_address(listen), public_url=public_url)
    with opened_client(store, ApiSettings(), admin) as client:
        page = client.get("/", headers={"Host": host}).text

    assert (f'<a href="{link}">Console</a>' in page) == (link is not None)
    assert (__version__ in page) == ("Console" in page) == (link is not None)


def test_accounts_that_google_refuses_are_counted(client: TestClient, store: FakeStore) -> None:
    """/readyz answers 200 with `refused_accounts` if Google refuses an account."""
    before = client.get("/readyz").json()
    store.refused_count = 2

    assert before == {"status": "ready"}
    assert client.get("/readyz").json() == {"status": "ready", "refused_accounts": 2}


@pytest.mark.parametrize(
    ("is_available", "said"),
    [
        pytest.param(None, {}, id="no Redis"),
        pytest.param(True, {"redis": "available"}, id="there"),
        pytest.param(False, {"redis": "unavailable"}, id="away"),
    ],
)
def test_a_gateway_without_redis_is_ready(
    client: TestClient, store: FakeStore, is_available: bool | None, said: dict[str, str]
) -> None:
    """/readyz answers 200 and has the state of Redis, if this deployment uses Redis."""
    store.is_redis_available = is_available
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ready", **said})
    assert "Healthy: ready to serve." in client.get("/").text


def test_not_ready_before_google_accepts_an_account(client: TestClient, store: FakeStore) -> None:
    """/readyz answers 503, and `/` has the reason, until Google has accepted an account."""
    store.was_accepted = False
    unready = client.get("/readyz")

    assert unready.status_code == 503
    assert unready.json() == {"status": "Google has accepted no account since the start"}
    assert "Not ready: Google has accepted no account since the start." in client.get("/").text


@pytest.mark.parametrize(
    ("was_accepted", "status"), [(False, 503), (True, 200)], ids=["signs in", "accepted"]
)
def test_slow_probes_share_one_time_limit(
    client: TestClient, store: FakeStore, was_accepted: bool, status: int
) -> None:
    """/readyz answers in about one second even if both key store and sign-in are slow."""
    store.is_slow = store.is_outlasted = True
    store.was_accepted = was_accepted
    began = time.monotonic()
    answer = client.get("/readyz")
    seconds = time.monotonic() - began

    assert answer.status_code == status
    assert 0.8 <= seconds < 1.3


def test_the_first_page_shows_that_the_key_store_fails(
    client: TestClient, store: FakeStore
) -> None:
    """If the key store fails, `/` is not healthy and shows the reason of /readyz."""
    store.fails = True
    page = client.get("/")

    assert "Healthy" not in page.text
    assert f"Not ready: {client.get('/readyz').json()['status']}." in page.text
    assert "disk" not in page.text


def test_ready_while_cached_keys_outlast_an_outage(client: TestClient, store: FakeStore) -> None:
    """/readyz answers 200 during an outage of the key store if cached keys are still accepted."""
    store.fails = store.is_outlasted = True

    assert client.get("/readyz").json() == {"status": "ready"}


def test_the_first_page_is_healthy_after_an_outage(client: TestClient, store: FakeStore) -> None:
    """`/` pings the key store for each request, so it is healthy as soon as the store is."""
    store.fails = True
    client.get("/")
    store.fails = False

    assert "Healthy" in client.get("/").text


@pytest.mark.parametrize("path", PAGES + FILES)
def test_pages_and_files_have_security_headers(client: TestClient, path: str) -> None:
    """Each page and file has the Content-Security-Policy and the other security headers."""
    answer = client.get(path)

    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert not {"server", "x-powered-by"} & set(answer.headers)


def test_the_policy_allows_only_this_origin() -> None:
    """The Content-Security-Policy denies by default, inline code and other origins included."""
    directives = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))

    assert directives["default-src"] == "'none'"
    assert set(" ".join(directives.values()).split()) == {"'none'", "'self'", "data:"}
    assert [name for name, value in directives.items() if "data:" in value] == ["img-src"]


@pytest.mark.parametrize("path", FILES)
def test_files_are_cached_for_a_day(client: TestClient, store: FakeStore, path: str) -> None:
    """Clients cache files for a day, and a known ETag gets 304 without a ping of the key store."""
    answer = client.get(path)
    again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})

    assert answer.headers["cache-control"] == "public, max-age=86400"
    assert (again.status_code, again.content) == (304, b"")
    assert store.asked == 0


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_the_documentation_is_revalidated(client: TestClient, path: str) -> None:
    """/docs has `Cache-Control: no-cache`, and gets 304 for a known ETag."""
    page = client.get(path)
    again = client.get(path, headers={"If-None-Match": page.headers["etag"]})

    assert page.headers["cache-control"] == "no-cache"
    assert again.status_code == 304


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_the_documentation_links_the_guides_of_the_operator(store: FakeStore, path: str) -> None:
    """/docs links the configured `docs_url`; without that setting, /docs names `docs/`."""
    url = 'https://docs.example.org/a?b=1&c="'
    with opened_client(store, ApiSettings(docs_url=url)) as client:
        linked = client.get(path).text
    with opened_client(store, ApiSettings()) as client:
        named = client.get(path).text

    assert url in Links(linked).urls
    assert "docs/reference/api.md" not in linked
    assert "docs/reference/api.md" in named


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("place", ["http://gateway", "https://example.org/sheets"])
def test_links_are_relative_and_lead_to_existing_pages(
    client: TestClient, place: str, path: str
) -> None:
    """Links of a page work on any host and below any path of a proxy."""
    page = client.get(path).text
    urls = Links(page).urls
    reached = [urljoin(place + path, url).removeprefix(place) for url in urls]

    assert reached
    assert not [url for url in urls if urlsplit(url).netloc or url.startswith("/")]
    assert set(reached) <= {"/", "/docs", "/openapi.json"} | {
        f"{file}?v={_version(page)}" for file in FILES
    }


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_no_inline_code(client: TestClient, path: str) -> None:
    """Pages load scripts from files and have no inline styles and no `on` attributes."""
    page = client.get(path).text
    tags = Links(page).tags

    assert "<style" not in page
    assert all("src" in attributes for tag, attributes in tags if tag == "script")
    assert not [name for _, each in tags for name in each if name == "style" or name[:2] == "on"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_accessible(client: TestClient, path: str) -> None:
    """Each page has a language, a title, a heading, landmarks, and a label for each field."""
    page = client.get(path).text
    tags = Links(page).tags
    labelled = {attributes.get("for") for tag, attributes in tags if tag == "label"}

    assert ("html", {"lang": "en"}) in tags
    assert re.search(r"<title>[^<]+</title>", page)
    assert {"header", "main", "nav", "h1"} <= {tag for tag, _ in tags}
    assert labelled == {attributes["id"] for tag, attributes in tags if tag in FIELDS}


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "/docs//",
        "/docs/none.js",
        "/docs/README.md",
        "/docs/swagger-ui/swagger-ui.css",
        "/docs/..%2Fpages.py",
        "/docs/%2e%2e%2fpages.py",
        "/docs/..%5Cpages.py",
        "/docs/docs.js%00",
        "/docs/%2Fetc%2Fpasswd",
        "/docs//etc/passwd",
        "/docs/docs.js/x",
        "/static/docs.js",
    ],
)
def test_no_other_file_is_reached(client: TestClient, path: str) -> None:
    """A path that is not in the table of files gets 404, also with `..` and encoded slashes."""
    answer = client.get(f"http://gateway{path}")

    assert answer.status_code == 404
    assert (answer.json()["type"], answer.json()["code"]) == ("SheetsonError", 4040)


@pytest.mark.parametrize("path", [*PAGES, "/docs/docs.js"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_pages_reject_other_methods(client: TestClient, method: str, path: str) -> None:
    """POST, PUT and DELETE of a page get 405 with `Allow: GET, HEAD, OPTIONS`."""
    answer = client.request(method, path)

    assert answer.status_code == 405
    assert answer.json()["code"] == 4051
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", [*PAGES, "/docs/docs.js"])
def test_head_of_a_page(client: TestClient, path: str) -> None:
    """HEAD of a page has the headers of GET and no body."""
    whole, head = client.get(path), client.head(path)

    assert head.content == b""
    assert {"content-length", "content-type", "etag"} <= set(head.headers)
    assert head.headers["etag"] == whole.headers["etag"]


def test_vendored_files_have_the_published_digests() -> None:
    """The files of Swagger UI have the SHA-256 digests in their README."""
    folder = STATIC / "swagger-ui"
    told = {name: digest for digest, name in _VENDORED.findall((folder / "README.md").read_text())}
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in told}

    assert found == told
    assert set(told) == {name for name in ASSETS if name.startswith("swagger-ui")}


@pytest.mark.parametrize("file", OWN_FILES, ids=lambda file: file.name)
def test_static_files_contain_no_external_url(file: Path) -> None:
    """No static file of the gateway contains a URL of another host, except the SVG namespace."""
    text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)

    assert "//" not in code


def _version(page: str) -> str:
    (version,) = {str(each) for each in re.findall(r"\?v=([\w-]+)", page)}
    return version
