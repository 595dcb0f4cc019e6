"""The pages for people: right about health, closed to scripts and paths from elsewhere."""

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
    """A key store that counts how often it is asked, and may fail."""

    fails: bool = False
    is_outlasted: bool = False
    refused_count: int = 0
    """Accounts that Google refuses."""
    is_redis_available: bool | None = None
    is_slow: bool = False
    """Ping and sign-in take longer than any probe."""
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
    """The endpoints of the gateway with a key store, and nothing that asks Google."""
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
    """Everything that a page links to or loads, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.urls += [value or "" for name, value in attrs if name in ("href", "src")]


def test_the_first_page_tells_that_all_is_well(client: TestClient, store: FakeStore) -> None:
    """With a key store that answers, it says what /readyz says, and one look is enough."""
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
def test_the_first_page_leads_to_the_console_that_a_visitor_reaches(
    store: FakeStore, listen: str, public_url: str, host: str, link: str | None
) -> None:
    """Its public URL, or its address on this machine; without a console nothing is said of it."""
    admin = NO_CONSOLE
    if listen:
        admin = AdminSettings(listen=parse_address(listen), public_url=public_url)
    with opened_client(store, ApiSettings(), admin) as client:
        page = client.get("/", headers={"Host": host}).text

    assert (f'<a href="{link}">Console</a>' in page) == (link is not None)
    assert (__version__ in page) == ("Console" in page) == (link is not None)


def test_accounts_that_google_refuses_are_counted(client: TestClient, store: FakeStore) -> None:
    """The gateway is ready all the same; without one, nothing is said of accounts."""
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
    """/readyz answers 200 and says whether Redis is there, with several processes only."""
    store.is_redis_available = is_available
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ready", **said})
    assert "Healthy: ready to serve." in client.get("/").text


def test_an_account_that_google_never_accepted_is_not_ready(
    client: TestClient, store: FakeStore
) -> None:
    """503 with the reason, which the first page has too: no key can be served."""
    store.was_accepted = False
    unready = client.get("/readyz")

    assert unready.status_code == 503
    assert unready.json() == {"status": "Google has accepted no account since the start"}
    assert "Not ready: Google has accepted no account since the start." in client.get("/").text


@pytest.mark.parametrize(
    ("was_accepted", "status"), [(False, 503), (True, 200)], ids=["signs in", "accepted"]
)
def test_a_slow_store_and_a_slow_sign_in_have_one_limit(
    client: TestClient, store: FakeStore, was_accepted: bool, status: int
) -> None:
    """Kubernetes waits 1 s for the answer."""
    store.is_slow = store.is_outlasted = True
    store.was_accepted = was_accepted
    began = time.monotonic()
    answer = client.get("/readyz")
    seconds = time.monotonic() - began

    assert answer.status_code == status
    assert 0.8 <= seconds < 1.3


def test_the_first_page_tells_that_the_key_store_fails(
    client: TestClient, store: FakeStore
) -> None:
    """Without the store's answer it is not healthy, and the reason is the one of /readyz."""
    store.fails = True
    page = client.get("/")

    assert "Healthy" not in page.text
    assert f"Not ready: {client.get('/readyz').json()['status']}." in page.text
    assert "disk" not in page.text


def test_known_keys_that_outlast_an_outage_are_ready(client: TestClient, store: FakeStore) -> None:
    """A proxy that follows /readyz goes on sending requests that will be answered."""
    store.fails = store.is_outlasted = True

    assert client.get("/readyz").json() == {"status": "ready"}


def test_the_first_page_is_right_again_when_the_key_store_is(
    client: TestClient, store: FakeStore
) -> None:
    """Nothing is kept of an answer before."""
    store.fails = True
    client.get("/")
    store.fails = False

    assert "Healthy" in client.get("/").text


@pytest.mark.parametrize("path", PAGES + FILES)
def test_nothing_from_elsewhere_may_run(client: TestClient, path: str) -> None:
    """Each page and file has the strict policy and the headers that go with it."""
    answer = client.get(path)

    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert not {"server", "x-powered-by"} & set(answer.headers)


def test_the_policy_opens_nothing() -> None:
    """It begins with nothing at all, and allows neither inline code nor other origins."""
    directives = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))

    assert directives["default-src"] == "'none'"
    assert set(" ".join(directives.values()).split()) == {"'none'", "'self'", "data:"}
    assert [name for name, value in directives.items() if "data:" in value] == ["img-src"]


@pytest.mark.parametrize("path", FILES)
def test_files_are_kept_for_a_day(client: TestClient, store: FakeStore, path: str) -> None:
    """They are known again by their tag, and no key is looked up for them."""
    answer = client.get(path)
    again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})

    assert answer.headers["cache-control"] == "public, max-age=86400"
    assert (again.status_code, again.content) == (304, b"")
    assert store.asked == 0


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_the_documentation_is_asked_for_each_time(client: TestClient, path: str) -> None:
    """It names the files of this version; an unchanged one is not sent again."""
    page = client.get(path)
    again = client.get(path, headers={"If-None-Match": page.headers["etag"]})

    assert page.headers["cache-control"] == "no-cache"
    assert again.status_code == 304


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_the_documentation_links_the_guides_of_the_operator(store: FakeStore, path: str) -> None:
    """Without a site of them, it names their place."""
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
def test_links_lead_to_what_is_there(client: TestClient, place: str, path: str) -> None:
    """They are relative, and right below any host and path that a proxy serves it at."""
    page = client.get(path).text
    urls = Links(page).urls
    reached = [urljoin(place + path, url).removeprefix(place) for url in urls]

    assert reached
    assert not [url for url in urls if urlsplit(url).netloc or url.startswith("/")]
    assert set(reached) <= {"/", "/docs", "/openapi.json"} | {
        f"{file}?v={_version(page)}" for file in FILES
    }


@pytest.mark.parametrize("path", PAGES)
def test_pages_hold_no_code(client: TestClient, path: str) -> None:
    """Scripts and styles are files, and no attribute is either."""
    page = client.get(path).text
    tags = Links(page).tags

    assert "<style" not in page
    assert all("src" in attributes for tag, attributes in tags if tag == "script")
    assert not [name for _, each in tags for name in each if name == "style" or name[:2] == "on"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_announce_changes_to_screen_readers(client: TestClient, path: str) -> None:
    """They have a language, a title, a heading, landmarks, and a label for each field."""
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
    """Files outside the table are a 404 in the API's form."""
    answer = client.get(f"http://gateway{path}")

    assert answer.status_code == 404
    assert (answer.json()["type"], answer.json()["code"]) == ("SheetsonError", 4040)


@pytest.mark.parametrize("path", [*PAGES, "/docs/docs.js"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_pages_are_only_read(client: TestClient, method: str, path: str) -> None:
    """Other methods are a 405 in the API's form that names those there are."""
    answer = client.request(method, path)

    assert answer.status_code == 405
    assert answer.json()["code"] == 4051
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", [*PAGES, "/docs/docs.js"])
def test_heads_are_those_of_the_pages(client: TestClient, path: str) -> None:
    """HEAD is answered as GET is, without the body."""
    whole, head = client.get(path), client.head(path)

    assert head.content == b""
    assert {"content-length", "content-type", "etag"} <= set(head.headers)
    assert head.headers["etag"] == whole.headers["etag"]


def test_what_is_vendored_is_what_was_published() -> None:
    """Swagger UI's files have the digests in its README."""
    folder = STATIC / "swagger-ui"
    told = {name: digest for digest, name in _VENDORED.findall((folder / "README.md").read_text())}
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in told}

    assert found == told
    assert set(told) == {name for name in ASSETS if name.startswith("swagger-ui")}


@pytest.mark.parametrize("file", OWN_FILES, ids=lambda file: file.name)
def test_our_files_name_no_other_host(file: Path) -> None:
    """No URL of theirs leads away; the name of SVG's language is not one."""
    text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)

    assert "//" not in code


def _version(page: str) -> str:
    (version,) = {str(each) for each in re.findall(r"\?v=([\w-]+)", page)}
    return version
