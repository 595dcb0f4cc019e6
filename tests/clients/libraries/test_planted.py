"""The cases find each bug that is planted in a copy of the libraries."""

import importlib
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import sheets_gateway_client
from tests.clients.libraries.case import complaints
from tests.clients.libraries.conftest import SenderOf, StageOf
from tests.clients.libraries.senders import NodeSender, PythonSender, Sender
from tests.clients.libraries.test_cases import CASES

NAME = sheets_gateway_client.__name__
SOURCE = Path(sheets_gateway_client.__file__).parent


Bug = tuple[str, str, str]
"""File name, original text, and the text that replaces it."""

CREATED_ONCE = "a row is created once, although twice the answer is lost"
WAIT, RIGHT_WAIT = "retry.py", "seconds = max(backoff, retry_after or 0.0)"
NODE_WAIT, RIGHT_NODE_WAIT = "retry.js", "Math.max(backoff, atLeastSeconds);"
SHORT, SHORT_NODE = "options.max_wait_seconds", "options.maxWaitSeconds"
IS_HELP = 'body.retryable or body.outcome == "unknown"'
BUGS: Mapping[str, tuple[str, Bug | None, Bug]] = {
    "a new key for each try": (
        CREATED_ONCE,
        ("connection.py", "dict(call.headers)", '{**call.headers, "Idempotency-Key": str(id([]))}'),
        ("client.js", "...call.headers }", '...call.headers, "Idempotency-Key": Math.random() }'),
    ),
    "no key": (
        CREATED_ONCE,
        ("calls.py", "        IDEMPOTENCY_KEY: str(uuid", "        'X': str(uuid"),
        ("calls.js", '"Idempotency-Key": idempotencyKey,', ""),
    ),
    "Retry-After ignored": (
        "a wait follows Retry-After, and grows without this header",
        (WAIT, RIGHT_WAIT, "seconds = backoff"),
        (NODE_WAIT, RIGHT_NODE_WAIT, "backoff;"),
    ),
    "Retry-After cut short": (
        "a Retry-After of 3600 s",
        (WAIT, RIGHT_WAIT, f"seconds = min(max(backoff, retry_after or 0.0), {SHORT})"),
        (NODE_WAIT, RIGHT_NODE_WAIT, f"Math.min(Math.max(backoff, atLeastSeconds), {SHORT_NODE});"),
    ),
    "refusals repeated": (
        "104 is not repeated",
        ("retry.py", f"return {IS_HELP}", "return True"),
        ("retry.js", 'body.retryable || body.outcome === "unknown"', "true"),
    ),
    "an open try forgotten": (
        "a later error does not settle the outcome of a request whose answer was lost",
        ("retry.py", "is_open=tries.is_open or is_open", "is_open=is_open"),
        ("retry.js", "isOpen: tries.isOpen || isOpen", "isOpen"),
    ),
    "tries without a limit": (
        "the error of the last request says that the row might exist",
        ("retry.py", " and tries.count < options.tries", ""),
        ("retry.js", " && count < options.tries", ""),
    ),
    "waits for the first request counted": (
        "answers 4090 while the first request runs do not count as tries",
        ("retry.py", "tries.count + is_further", "tries.count + 1"),
        ("retry.js", "tries.count + Number(isFurther)", "tries.count + 1"),
    ),
    "any key but one with DEL": (
        "{'api_key': 'sgw a'} is an error",
        ("connection.py", r'r"[\x21-\x7e]+"', r'r"[^\x7f]+"'),
        ("client.js", r"/^[\x21-\x7e]+$/", r"/^[^\x7f]+$/"),
    ),
    "redirects followed": (
        "a redirect to the same is reported as another server's answer to get",
        None,
        ("client.js", '"manual"', '"follow"'),
    ),
}
"""Name of the case that finds each bug, and the bug in Python and in TypeScript."""


def planted(source: Path, folder: Path, bug: Bug) -> Path:
    """Return a copy of a library with the bug."""
    file, old, new = bug
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / file).read_text("utf-8")
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    return folder


def imported(folder: Path) -> ModuleType:
    """Import the Python library of a folder next to the one that is already imported."""

    def taken() -> dict[str, ModuleType]:
        own = [name for name in sys.modules if name.partition(".")[0] == NAME]
        return {name: sys.modules.pop(name) for name in own}

    real = taken()
    sys.path.insert(0, str(folder.parent))
    try:
        return importlib.import_module(NAME)
    finally:
        sys.path.remove(str(folder.parent))
        taken()
        sys.modules.update(real)


@pytest.mark.parametrize(
    ("found_by", "sender", "bug"),
    [
        pytest.param(found_by, sender, bug, id=f"{sender}: {name}")
        for name, (found_by, *bugs) in BUGS.items()
        for sender, bug in zip(("sync", "typescript"), bugs, strict=True)
        if bug is not None
    ],
)
def test_a_planted_bug_is_found(
    found_by: str, sender: str, bug: Bug, sender_of: SenderOf, stage_of: StageOf, tmp_path: Path
) -> None:
    """The case of each bug has complaints with the bug, and none without it."""
    (case,) = [each for each in CASES if each.name == found_by]
    real = sender_of(sender)
    buggy: Sender
    if isinstance(real, NodeSender):
        folder = planted(real.module.parent, tmp_path / "dist", bug)
        (tmp_path / "package.json").write_text('{"type": "module"}')
        buggy = replace(real, module=folder / real.module.name)
    else:
        buggy = PythonSender(module=imported(planted(SOURCE, tmp_path / NAME, bug)))
    found = [complaints(case, each, stage_of(case.settings)) for each in (real, buggy)]
    if isinstance(buggy, PythonSender):
        buggy.close()

    assert found[0] == []
    assert found[1] != []
