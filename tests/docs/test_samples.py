"""Every sample of JavaScript and Python prints what it says."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from tests.docs.blocks import blocks_of, by_page
from tests.docs.conftest import Google
from tests.docs.samples import LANGUAGES, problems

PAGES = [
    pytest.param(language, page, id=f"{page} {language}")
    for language in LANGUAGES
    for page in by_page(blocks_of(language))
]
MANY = {
    "js": 'for (let i = 0; i < 24; i++) await call("/2");',
    "python": 'for _ in range(24): call("GET", "/2")',
}
NARROW = {"GATEWAY_PLANS__PAID__REQUESTS_PER_MINUTE": "240"}
"""A plan that lets one send as many requests as that at once, and a sample sends some before."""
IMPATIENT = {"js": ("data.retryable", "false"), "python": ('body["retryable"]', "False")}


@pytest.fixture(autouse=True)
def _needs_node(request: pytest.FixtureRequest) -> None:
    callspec = getattr(request.node, "callspec", None)
    if callspec and callspec.params.get("language") == "js" and shutil.which("node") is None:
        pytest.skip("there is no Node to run JavaScript")


def meant(demo: Demo, google: Google) -> Mapping[str, str]:
    return {
        "http://127.0.0.1:8000": demo.url,
        "http://127.0.0.1:9099": google.url,
        "3000": free_port(),
        "sgw_…": demo.paid_key,
        '"key.json"': f'"{google.key_file}"',
    }


def free_port() -> str:
    with bind("127.0.0.1", 0) as free:
        return str(free.getsockname()[1])


@pytest.mark.parametrize(("language", "page"), PAGES)
def test_the_samples_of_a_page_run(
    language: str, page: str, demo: Demo, google: Google, tmp_path: Path
) -> None:
    """Pasted into one program they end well, and print what their comments say."""
    blocks = by_page(blocks_of(language))[page]

    assert problems(blocks, meant(demo, google), tmp_path) == []


@pytest.mark.parametrize("waits", [True, False], ids=["waits", "does not wait"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_samples_wait_for_retry_after(
    language: str, waits: bool, google: Google, tmp_path: Path
) -> None:
    """A plan that soon answers 429 slows them down, and would end them if they did not wait."""
    (block,) = by_page(blocks_of(language))["README.md"]
    sample = block if waits else block.replaced(*IMPATIENT[language])
    with running_demo(bind("127.0.0.1", 0), NARROW) as demo:
        found = problems([sample], meant(demo, google), tmp_path, after=MANY[language])

    assert ("RateLimited" in "".join(found)) == (not waits)
    assert bool(found) == (not waits)


@pytest.mark.parametrize(
    ("language", "old", "new", "word"),
    [
        pytest.param("js", "results[0].name", "results[0].nmae", "prints", id="js-field"),
        pytest.param("js", "population: 961855", "popluation: 1", "InvalidBody", id="js-body"),
        pytest.param("js", "v2/sheets", "v2/sheet", "RouteNotFound", id="js-path"),
        pytest.param("js", "// 10", "// 11", "prints", id="js-comment"),
        pytest.param("js", "; // 10", ";", "does not say", id="js-silent"),
        pytest.param("python", 'results"][0]["name', 'results"][0]["nmae', "KeyError", id="field"),
        pytest.param("python", '"population": 961855', '"x": 1', "InvalidBody", id="body"),
        pytest.param("python", '"If-Match"', '"If-Macht"', "prints", id="header"),
        pytest.param("python", "  # 10", "", "does not say", id="silent"),
    ],
)
def test_a_mistake_in_a_sample_is_found(
    language: str, old: str, new: str, word: str, demo: Demo, google: Google, tmp_path: Path
) -> None:
    """A wrong field, path, body or result does not pass."""
    (block,) = by_page(blocks_of(language))["README.md"]
    found = problems([block.replaced(old, new)], meant(demo, google), tmp_path)

    assert len(found) == 1
    assert word in found[0]
