"""`_next` of a form: where a browser may be sent, and where never."""

from collections.abc import Iterator

import pytest

from tests.surfaces.form_stage import KEYS, PAGE, UNLIMITED, post, stored
from tests.surfaces.stage import Surface, open_surface

HOST = PAGE.removeprefix("https://")
EVIL = "evil.example"


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """A gateway that no case changes."""
    with open_surface(tmp_path_factory.mktemp("redirects"), KEYS, UNLIMITED) as surface:
        yield surface


REFUSED = [
    # other origins
    f"https://{EVIL}",
    f"https://{EVIL}/{PAGE}",
    f"https://{EVIL}?{PAGE}",
    f"https://{EVIL}#{PAGE}",
    f"http://{HOST}/",
    f"ftp://{HOST}/",
    f"wss://{HOST}/",
    f"{PAGE}:8443/",
    f"{PAGE}:0/",
    f"{PAGE}:99999/",
    f"{PAGE}:443:80/",
    f"{PAGE}.{EVIL}/",
    f"{PAGE}./",
    f"https://www.{HOST}/",
    f"https://{EVIL}.{HOST}/",
    f"{PAGE}x/",
    "https://shop.exampl/",
    "http://localhost/",
    "http://localhost:5501/",
    "https://localhost:5500/",
    # the user of another host
    f"{PAGE}@{EVIL}/",
    f"{PAGE}:pw@{EVIL}/",
    f"https://user@{HOST}/",
    f"https://:@{HOST}/",
    f"https://{EVIL}%40{HOST}/",
    f"{PAGE}%40{EVIL}/",
    # without a scheme
    f"//{EVIL}",
    f"//{EVIL}/thanks",
    f"///{EVIL}",
    f"////{EVIL}",
    f"//{HOST}/",
    f"/\\{EVIL}",
    f"\\\\{EVIL}",
    f"\\/\\/{EVIL}/",
    f"/\t/{EVIL}",
    f"https:{EVIL}",
    f"https:/{EVIL}",
    f"https:///{EVIL}",
    f"https:{HOST}/",
    f"https:/{HOST}/",
    # backslashes, blanks and control characters
    f"https:\\\\{EVIL}",
    f"{PAGE}\\@{EVIL}/",
    f"{PAGE}\\.{EVIL}/",
    f"{PAGE}/\\{EVIL}",
    f"https://{EVIL}\\@{HOST}/",
    f" {PAGE}/",
    f"{PAGE}/ ",
    f"\t{PAGE}/",
    f"{PAGE}/\r\nSet-Cookie: a=b",
    f"{PAGE}/\n",
    f"{PAGE}/\x00",
    f"ht\ntps://{HOST}/",
    f"{PAGE}\u3002{EVIL}/",
    f"{PAGE}\uff0f{EVIL}/",
    f"http\u017f://{HOST}/",
    f"{PAGE}/\u202e",
    "https://\uff53hop.example/",
    # other schemes
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    f"javascript://{HOST}/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    f"vbscript://{HOST}/",
    "file:///etc/passwd",
    "blob:https://shop.example/1",
    # relative ones, which would be the gateway's
    "/thanks",
    "thanks.html",
    "?sent=1",
    "#sent",
    ".",
    "..//evil.example",
    # no URL
    "%68ttps://shop.example/",
    "null",
    "*",
    f"{PAGE},https://{EVIL}",
    f"[{PAGE}]",
]
ACCEPTED = {
    PAGE: f"{PAGE}/",
    f"{PAGE}/thanks?a=b//c#d": f"{PAGE}/thanks?a=b//c#d",
    f"{PAGE}?sent": f"{PAGE}?sent",
    f"{PAGE}#sent": f"{PAGE}#sent",
    "HTTPS://SHOP.example:443/A": f"{PAGE}/A",
    f"{PAGE}//{EVIL}": f"{PAGE}//{EVIL}",
    f"{PAGE}/@{EVIL}": f"{PAGE}/@{EVIL}",
    "http://localhost:5500/ok": "http://localhost:5500/ok",
}


def test_there_are_enough_of_them() -> None:
    """All cases are different, and there are enough of them."""
    assert len(set(REFUSED)) == len(REFUSED) >= 60


@pytest.mark.parametrize("url", REFUSED, ids=map(repr, REFUSED))
@pytest.mark.parametrize("key", ["form", "open"])
def test_an_open_redirect_is_refused(surface: Surface, url: str, key: str) -> None:
    """A foreign `_next` gets 400 as a page without redirect, and nothing is written."""
    answer = post(surface, {"name": "Ann", "_next": url}, key=key)

    assert (answer.status_code, answer.headers.get("location")) == (400, None)
    assert EVIL not in answer.content.decode()
    assert (stored(surface), surface.calls.writes, surface.calls.reads) == ([], 0, 0)


@pytest.mark.parametrize(("url", "location"), ACCEPTED.items(), ids=ACCEPTED)
def test_a_page_of_the_key_is_next(surface: Surface, url: str, location: str) -> None:
    """The redirect goes to an origin of the key, written as the key has it."""
    surface.reset()

    answer = post(surface, {"name": "Ann", "_next": url})

    assert (answer.status_code, answer.headers["location"]) == (303, location)
    surface.reset()
