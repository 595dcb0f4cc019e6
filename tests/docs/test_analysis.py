"""The how-to on analysis: DuckDB reads the export, and Excel's query names existing columns.

Excel is not available to tests. So the test parses the query, sends its request, and compares its
columns with the answer.
"""

import csv
import re
import urllib.parse
from collections.abc import Callable, Mapping
from datetime import date
from io import StringIO
from pathlib import Path

import duckdb
import httpx2

from gateway.commands.demo import Demo
from tests.docs.blocks import TOP, blocks_of

PAGE = "docs/how-to/analysis.md"
_FILE = re.compile(r'-o (\S+) "http://127\.0\.0\.1:8000([^"]+)"')
_TEXTS = re.compile(r'(#?[\w"-]+|\{)\s*[=,]\s*"([^"]*)"')
_COLUMN = re.compile(r'\{"(\w+)", ([\w. ]+?)\}')
TYPES: Mapping[str, Callable[[str], object]] = {
    "Int64.Type": int,
    "type number": float,
    "type date": date.fromisoformat,
    "type logical": {"true": True, "false": False}.__getitem__,
}
"""Types of Power Query, and functions that parse their English texts."""


def test_duckdb_reads_the_exported_file(demo: Demo, tmp_path: Path) -> None:
    """DuckDB's query on the exported file gives the rows in the comment of the page."""
    (block,) = blocks_of("sql")
    found = _FILE.search((TOP / PAGE).read_text("utf-8"))
    assert found is not None
    answer = httpx2.get(demo.url + found[2], headers={"API-Key": demo.full_key})
    (tmp_path / found[1]).write_bytes(answer.content)
    query, _, comment = block.text.replace(found[1], str(tmp_path / found[1])).partition("; -- ")
    rows = duckdb.execute(query).fetchall()
    shown = "; ".join(", ".join(map(_shown, row)) for row in rows)

    assert shown == comment


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_the_query_of_excel_gets_its_columns(demo: Demo) -> None:
    """The request of the Power Query sample gives CSV whose cells have the declared types."""
    (block,) = blocks_of("powerquery")
    texts = {name.strip('#"'): text for name, text in _TEXTS.findall(block.text)}
    query = urllib.parse.urlencode({name: texts[name] for name in ("format", "values")})
    answer = httpx2.get(
        f"{demo.url}/{texts['RelativePath']}?{query}", headers={"API-Key": demo.full_key}
    )
    rows = list(csv.DictReader(StringIO(answer.text)))
    columns = _COLUMN.findall(block.text)

    assert texts["API-Key"] == "sgw_…"
    assert answer.headers["content-type"].startswith("text/csv")
    assert len(rows) == 3
    assert [name for name, _ in columns] == ["rowIndex", "price", "added", "available"]
    for name, kind in columns:
        assert [TYPES[kind](row[name]) for row in rows]
