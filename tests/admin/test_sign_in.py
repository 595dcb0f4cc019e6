"""Sign-in, sessions, and conditions for requests to the console."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway.access.address_rates import AddressRates
from gateway.access.admins import Admins
from gateway.admin.console import API, COOKIE, OPERATIONS, create_console
from gateway.errors import GatewayError
from gateway.settings.model import ConfigError, load_settings
from gateway.storage.key_store import KeyStore
from tests.admin.conftest import CHECKED, SAME_ORIGIN, Console, settings_of
from tests.asgi_client import Request, send

PATHS = [(each.method, each.path) for each in OPERATIONS if not each.path.startswith(API)]
PATHS += [("POST", "/sign-out"), ("GET", "/nowhere")]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_every_page_needs_a_session(console: Console, method: str, path: str) -> None:
    """A page without a session gets 401 and a sign-in form that leads back to the page."""
    answer = console.send(method, path, session="")

    assert answer.status_code == 401
    assert 'name="secret"' in answer.content.decode()
    assert (f'value="{path}"' in answer.content.decode()) == (method == "GET")


@pytest.mark.parametrize("kind", ["admin key", "link"])
def test_a_sign_in_starts_a_session(console: Console, kind: str) -> None:
    """Signing in sets an HttpOnly, SameSite cookie that is valid until sign-out; a link
    works once.
    """
    secret = console.admin_key
    if kind == "link":
        (owner,) = console.call(console.admins.secrets.keys)
        secret = console.call(console.admins.link, owner)

    form = {"secret": f" {secret} ", "next": "/keys"}
    answer = console.send("POST", "/sign-in", form=form, session="")
    cookie = answer.headers["set-cookie"]
    session = cookie.partition(";")[0].removeprefix(f"__Host-{COOKIE}=")
    seen = console.send("GET", "/keys", session=session).status_code
    again = console.send("POST", "/sign-in", form=form, session="").status_code
    out = console.send("POST", "/sign-out", session=session)
    after = console.send("GET", "/keys", session=session).status_code

    assert (answer.status_code, answer.headers["location"]) == (303, "/keys")
    limits = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure"
    assert cookie == f"__Host-{COOKIE}={session}{limits}"
    assert (seen, after) == (200, 401)
    assert again == (303 if kind == "admin key" else 401)
    assert "Max-Age=0" in out.headers["set-cookie"]


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\\evil.example", "https://evil.example", ""]
)
def test_a_sign_in_redirects_to_the_console_only(console: Console, target: str) -> None:
    """A `next` URL of another site is ignored after sign-in."""
    form = {"secret": console.admin_key, "next": target}

    answer = console.send("POST", "/sign-in", form=form, session="")

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("name", ["paid", "session", "wrong", "unknown"])
def test_other_secrets_are_rejected(console: Console, name: str) -> None:
    """API keys, session values and unknown keys get 401 in the form and in `Authorization`."""
    secret = {**console.surface.keys, "session": console.session, "wrong": "x"}.get(
        name, "sga_" + "0" * 36
    )

    forms = console.send("POST", "/sign-in", form={"secret": secret}, session="")
    program = [("Authorization", f"Bearer {secret}")]
    asked = console.send("GET", "/keys", headers=program)

    assert (forms.status_code, asked.status_code) == (401, 401)
    assert "set-cookie" not in forms.headers


def test_an_admin_key_is_not_an_api_key(console: Console) -> None:
    """An admin key is accepted by the console and gets 401 from the API."""
    program = [("Authorization", f"Bearer {console.admin_key}")]

    page = console.send("GET", "/keys", headers=program, session="")
    rows = console.surface.send("GET", "Cities", key=None, headers=program)

    assert (page.status_code, rows.status_code) == (200, 401)


@pytest.mark.parametrize("path", ["/", "/data", "/keys", "/sign-in", "/console.css", "/admin/v1"])
def test_the_port_of_the_api_has_no_console(console: Console, path: str) -> None:
    """The port of the API has no paths of the console and does not mention it."""
    cookie = [("Cookie", f"__Host-{COOKIE}={console.session}")]

    answer = console.surface.send("GET", path, key=None, headers=cookie)

    assert path == "/" or answer.status_code == 404
    assert b"console" not in answer.content.lower()


REFUSED, PASSES = 403, 303
MATRIX = [
    ([("Sec-Fetch-Site", "same-origin")], PASSES),
    ([("Sec-Fetch-Site", "none")], PASSES),
    ([("Sec-Fetch-Site", "same-site")], REFUSED),
    ([("Sec-Fetch-Site", "cross-site")], REFUSED),
    ([("Sec-Fetch-Site", "cross-site"), ("Origin", "https://gateway.example")], REFUSED),
    ([("Origin", "https://gateway.example")], PASSES),
    ([("Origin", "http://gateway.example")], REFUSED),
    ([("Origin", "https://gateway.example:8000")], REFUSED),
    ([("Origin", "https://evil.example")], REFUSED),
    ([("Origin", "null")], REFUSED),
    ([], REFUSED),
]


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/data/row?sheet=Cities&row=2"])
@pytest.mark.parametrize(("headers", "status"), MATRIX)
def test_unsafe_methods_need_the_same_origin(
    console: Console, path: str, headers: list[tuple[str, str]], status: int
) -> None:
    """A POST from another origin, even another port, gets 403 and changes nothing."""
    session = console.call(console.admins.sign_in, console.admin_key, str)
    form = {"secret": console.admin_key, "f.name": "x", "o.name": "New York", "tag": '"x"'}
    before = console.surface.cells()
    if "row" in path:
        path += f"&key={console.key_id('deleting')}"

    answer = console.send("POST", path, headers=headers, form=form, session=session)

    # The ETag is wrong, so that an accepted form gets 412 and writes nothing.
    expected = 412 if "row" in path and status == PASSES else status
    assert answer.status_code == expected
    assert console.surface.cells() == before
    alive = console.send("GET", "/keys", session=session).status_code == 200
    assert alive == (path != "/sign-out" or status == REFUSED)


@pytest.mark.parametrize(
    ("url", "host", "status"),
    [
        ("", "127.0.0.1:8001", 200),
        ("", "localhost:8001", 200),
        ("", "[::1]:8001", 200),
        ("", "evil.example:8001", 421),
        ("", "", 421),
        ("https://admin.example", "admin.example", 200),
        ("https://admin.example", "127.0.0.1:8001", 421),
        ("https://admin.example", "evil.example", 421),
    ],
)
def test_only_host_names_of_the_listener_are_accepted(
    console: Console, tmp_path: Path, url: str, host: str, status: int
) -> None:
    """A request with another Host gets 421, which prevents DNS rebinding."""
    settings = settings_of(tmp_path, **{"admin.public_url": url})
    app = create_console(settings, api_url="http://api", check=CHECKED)
    request = Request(method="GET", target=b"/sign-in", headers=[(b"host", host.encode())])

    answer = console.call(send, app, console.surface.state, request)

    assert answer.status_code == status


def test_pages_of_other_origins_cannot_read(console: Console) -> None:
    """Answers of the console have no CORS headers, and a strict Content-Security-Policy."""
    asked = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")]

    answers = [
        console.send(method, "/keys", headers=[*asked, *SAME_ORIGIN])
        for method in ("OPTIONS", "GET", "POST")
    ]

    assert not any(name.startswith("access-control") for each in answers for name in each.headers)
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"


async def test_failed_sign_ins_have_a_limit(tmp_path: Path) -> None:
    """Ten failed sign-ins a minute per address are allowed; valid keys and sessions still work."""
    async with KeyStore.open(tmp_path / "keys.db") as store:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        times = [now]
        failures = AddressRates(10, timer=lambda: 0.0)
        admins = Admins(store.admin_secrets, b"pepper", lambda: times[-1], failures)
        owner, key = await admins.create("a")
        link = await admins.link(owner)
        session = await admins.sign_in(key, str)
        codes = []
        for _ in range(12):
            with pytest.raises(GatewayError) as error:
                await admins.sign_in("sga_wrong", lambda: "192.0.2.1")
            codes.append(error.value.status)
        valid = await admins.sign_in(key, lambda: "192.0.2.1")
        times.append(now + timedelta(minutes=10))
        with pytest.raises(GatewayError):
            await admins.sign_in(link, lambda: "192.0.2.9")
        alive = await admins.session(valid)
        times.append(now + timedelta(hours=12))
        over = await admins.session(session)
        assert await admins.secrets.revoke(owner.key_id)
        gone = await admins.session(valid)

    assert codes == [401] * 10 + [429] * 2
    assert alive is not None
    assert (over, gone) == (None, None)


@pytest.mark.parametrize(
    "settings",
    [
        {"admin.listen": "0.0.0.0:8001"},
        {"admin.listen": "8001", "admin.public_url": "http://admin.example"},
        {"admin.listen": "8001", "admin.public_url": "https://admin.example/console"},
        {"admin.listen": "8000"},
        {"admin.listen": "9100", "metrics.listen": "9100"},
    ],
)
def test_a_publicly_reachable_console_is_rejected(settings: dict[str, object]) -> None:
    """A console on a public address needs an https URL, and its port must differ from
    other ports.
    """
    with pytest.raises(ConfigError):
        load_settings(None, {}, settings)


def test_jinja_is_imported_for_the_console_only() -> None:
    """`gateway.commands.serve` does not import Jinja2."""
    program = "import sys, gateway.commands.serve; sys.exit('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=False)  # noqa: S603

    assert done.returncode == 0


@pytest.mark.parametrize("session", [None, ""], ids=["signed in", "signed out"])
def test_an_error_page_has_the_navigation(console: Console, session: str | None) -> None:
    """A 404 page has the navigation, the error's name and the admin's name; without a session the
    answer is 401.
    """
    page = console.send("GET", "/nowhere", session=session)
    has_navigation = b'<nav aria-label="Console">' in page.content

    assert (page.status_code, has_navigation) == ((404, True) if session is None else (401, False))
    assert (b"<h1>Not found <small>404</small></h1>" in page.content) == has_navigation
    assert (b"<span>admin</span>" in page.content) == has_navigation


@pytest.mark.parametrize(
    ("target", "count", "action"),
    [
        pytest.param("/data/row?row=2", 999, "/data/row?row=2", id="a form"),
        pytest.param("/data/row?row=2", 1001, None, id="a large form"),
        pytest.param("//evil.example/x", 3, "/", id="another site"),
        pytest.param("/sign-out", 0, None, id="no fields"),
    ],
)
def test_a_form_without_a_session_keeps_its_fields(
    console: Console, target: str, count: int, action: str | None
) -> None:
    """After sign-in a form of up to 1,000 fields can be sent again; larger forms are dropped."""
    form = [(f"f.{number}", '"><script>') for number in range(count)]
    answer = console.send("POST", target, form=form, session="")
    page = answer.content.decode()

    assert answer.status_code == 401
    assert page.count('value="&#34;&gt;&lt;script&gt;"') == (count if action else 0)
    assert "<script>" not in page
    assert (f'action="{action}"' in page) == (action is not None)
    assert ('action="/sign-in"' in page) == (action is None)


def test_the_pepper_is_not_in_the_repr_of_the_console(tmp_path: Path) -> None:
    """A debugger or an error report that prints the console does not print the pepper."""
    settings = settings_of(tmp_path, **{"access.pepper": "ab" * 32})
    app = create_console(settings, api_url="http://api", check=CHECKED)

    assert "_Console(" in repr(vars(app))
    assert "abab" not in repr(vars(app))
