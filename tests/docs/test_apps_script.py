"""The Apps Script of the documentation sends the changed tab to `refresh`."""

import json
import shutil
import subprocess

import pytest

from tests.docs.blocks import all_blocks

LANGUAGE = "gs"
NODE = shutil.which("node")
STUBS = """
const sent = [];
const UrlFetchApp = { fetch: (url, options) => sent.push({ url, ...options }) };
"""
CALL = """
report({ source: { getActiveSheet: () => ({ getName: () => 'Städte/2' }) } });
console.log(JSON.stringify(sent));
"""


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_the_script_reports_the_tab() -> None:
    """The script posts to `refresh` of the tab with its percent-encoded title and the key."""
    (block,) = [each for each in all_blocks() if each.language == LANGUAGE]
    script = STUBS + block.text + CALL
    done = subprocess.run(  # noqa: S603 - our own script
        [NODE or "", "-e", script], capture_output=True, check=True, text=True
    )

    assert json.loads(done.stdout) == [
        {
            "url": "https://sheets.example.org/v2/sheets/St%C3%A4dte%2F2/refresh",
            "method": "post",
            "headers": {"Authorization": "Bearer sgw_…"},
            "muteHttpExceptions": True,
        }
    ]
