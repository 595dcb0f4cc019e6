"""Minimal .xlsx files, built from XML cell by cell."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
FORMATS = ("General", "m/d/yyyy", "m/d/yyyy h:mm", "h:mm:ss", "[h]:mm:ss", "0.00%")


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A worksheet. `cells` has XML by cell reference (`B2`), made by the functions below."""

    title: str
    cells: Mapping[str, str] = field(default_factory=dict)
    state: str = "visible"
    kind: str = "worksheet"


def text(value: str) -> str:
    return f't="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def number(value: str, number_format: str = "General") -> str:
    return f's="{FORMATS.index(number_format)}"><v>{value}</v></c>'


def boolean(value: bool) -> str:
    return f't="b"><v>{int(value)}</v></c>'


def error(value: str) -> str:
    return f't="e"><v>{value}</v></c>'


def formula(source: str, result: str) -> str:
    return f"><f>{escape(source)}</f><v>{result}</v></c>"


def iso_date(value: str) -> str:
    return f't="d"><v>{value}</v></c>'


def blank(number_format: str) -> str:
    return f's="{FORMATS.index(number_format)}"></c>'


def worksheet(rows: str) -> bytes:
    """The XML of a worksheet with these rows."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode()


def with_parts(content: bytes, parts: Mapping[str, bytes]) -> bytes:
    """The .xlsx file with some parts replaced or added, by name."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        kept = {name: old.read(name) for name in old.namelist()}
        for name, part in {**kept, **parts}.items():
            new.writestr(name, part)
    return packed.getvalue()


def with_rows(rows: str) -> bytes:
    """An .xlsx file with the worksheet "A", which has these rows as XML."""
    return with_parts(xlsx(Tab(title="A")), {"xl/sheets/0.xml": worksheet(rows)})


def xlsx(*tabs: Tab, is_1904: bool = False) -> bytes:
    """An .xlsx file with these worksheets."""
    parts = {
        "[Content_Types].xml": _content_types(tabs),
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": _workbook(tabs, is_1904),
        "xl/_rels/workbook.xml.rels": _relations(
            [(tab.kind, f"sheets/{index}.xml") for index, tab in enumerate(tabs)]
            + [("styles", "styles.xml")]
        ),
        "xl/styles.xml": _styles(),
    }
    sheets = {f"xl/sheets/{index}.xml": _sheet(tab) for index, tab in enumerate(tabs)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**parts, **sheets}.items():
            archive.writestr(name, HEAD + part)
    return packed.getvalue()


def _content_types(tabs: Sequence[Tab]) -> str:
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    overrides = "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="{kind}.{of}+xml"/>'
        for name, of in (
            ("workbook", "sheet.main"),
            ("styles", "styles"),
            *((f"sheets/{index}", tab.kind) for index, tab in enumerate(tabs)),
        )
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{relations}"/>{overrides}</Types>'
    )


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    relations = "".join(
        f'<Relationship Id="rId{number}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{relations}</Relationships>'


def _workbook(tabs: Sequence[Tab], is_1904: bool) -> str:
    sheets = "".join(
        f'<sheet name={quoteattr(tab.title)} sheetId="{index + 1}" state="{tab.state}" '
        f'r:id="rId{index}"/>'
        for index, tab in enumerate(tabs)
    )
    return (
        f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">'
        f'<workbookPr date1904="{int(is_1904)}"/><sheets>{sheets}</sheets></workbook>'
    )


def _styles() -> str:
    first = 164  # smaller numbers are built-in formats
    formats = "".join(
        f'<numFmt numFmtId="{first + index}" formatCode={quoteattr(code)}/>'
        for index, code in enumerate(FORMATS)
    )
    cells = "".join(
        f'<xf numFmtId="{first + index if index else 0}" applyNumberFormat="1"/>'
        for index in range(len(FORMATS))
    )
    return (
        f'<styleSheet xmlns="{MAIN}"><numFmts count="{len(FORMATS)}">{formats}</numFmts>'
        f'<cellXfs count="{len(FORMATS)}">{cells}</cellXfs></styleSheet>'
    )


def _sheet(tab: Tab) -> str:
    rows: dict[int, str] = {}
    for place, cell in tab.cells.items():
        row = int(place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        rows[row] = rows.get(row, "") + f'<c r="{place}" {cell}'
    lines = "".join(f'<row r="{row}">{cells}</row>' for row, cells in sorted(rows.items()))
    return f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>'
