"""Bugs planted in a copy of the client: the tests of failures and retries find each."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
SOURCE = TOP / "clients" / "python" / "sheets_gateway_client"
CHECKS = ["test_failures.py", "test_faults.py", "test_retry.py"]
PATIENCE_SECONDS = 120


def failed(folder: Path, chosen: str, file: str, old: str, new: str) -> set[str]:
    """Those of the chosen tests that fail with this text of the client replaced."""
    copy = folder / "sheets_gateway_client"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / file).read_text("utf-8")
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new))
    done = subprocess.run(  # noqa: S603 - our own tests
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen),
            *("-o", f"pythonpath={folder}", "--maxfail=4"),
            *(str(Path(__file__).with_name(name)) for name in CHECKS),
        ],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize(
    ("file", "old", "new", "found_by"),
    [
        pytest.param(
            "connection.py",
            '"headers": dict(call.headers)',
            '"headers": {**call.headers, "Idempotency-Key": random.randbytes(8).hex()}',
            "test_a_row_is_created_once",
            id="a new key for each try",
        ),
        pytest.param(
            "calls.py",
            "IDEMPOTENCY_KEY: str(uuid.uuid4()) if key is None else key",
            "IDEMPOTENCY_KEY: key",
            "test_a_row_is_created_once",
            id="no key",
        ),
        pytest.param(
            "retry.py",
            "seconds = max(backoff, retry_after or 0.0)",
            "seconds = backoff",
            "test_retry_after_is_waited_for",
            id="Retry-After ignored",
        ),
        pytest.param(
            "retry.py",
            "seconds = max(backoff, retry_after or 0.0)",
            "seconds = min(max(backoff, retry_after or 0.0), options.max_wait_seconds)",
            "test_a_long_retry_after_ends_the_call",
            id="Retry-After cut short",
        ),
        pytest.param(
            "retry.py",
            'return body.retryable or body.outcome == "unknown"',
            "return True",
            "test_refusals_are_not_repeated",
            id="refusals repeated",
        ),
        pytest.param(
            "retry.py",
            "is_open=tries.is_open or is_open",
            "is_open=is_open",
            "test_the_outcome_is_that_of_all_tries",
            id="an open try forgotten",
        ),
        pytest.param(
            "retry.py",
            " and tries.count < options.tries",
            "",
            "test_the_tries_are_limited",
            id="tries without a limit",
        ),
        pytest.param(
            "retry.py",
            "tries.count + is_further",
            "tries.count + 1",
            "test_a_write_under_way_is_waited_for",
            id="waits for the first request counted",
        ),
        pytest.param(
            "connection.py",
            r'r"[\x21-\x7e]+"',
            r'r"[^\x7f]+"',
            "test_a_key_that_no_header_takes_is_refused_unseen",
            id="any key but one with DEL",
        ),
    ],
)
def test_a_planted_bug_is_found(
    tmp_path: Path, file: str, old: str, new: str, found_by: str
) -> None:
    """The test that is meant for it fails."""
    assert found_by in failed(tmp_path, found_by, file, old, new)
