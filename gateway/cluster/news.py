"""What a write did to a worksheet, as the writer tells other processes."""

from collections.abc import Mapping, Sequence

import msgspec

from gateway.table.header import parse_header
from gateway.table.patch import RowPatch
from gateway.worksheets.sharing import Missed, News, Seen, Written
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet

FORMAT = 2

MAX_BYTES = 256 * 1024
"""After a larger write the others read the worksheet."""

Cell = str | int | float | bool | None


class _Patch(msgspec.Struct, frozen=True, array_like=True):
    row: int
    texts: Mapping[int, str]
    values: Mapping[int, Cell]


class _Told(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """News of any kind; one of `missed`, `seen` and the rest is there."""

    header: Sequence[str] = ()
    missed: int = 0
    seen: Mapping[int, Sequence[str]] | None = None
    rows: Sequence[_Patch] = ()
    before: Mapping[int, Sequence[str]] = {}
    last_row: int = 0


class _All(msgspec.Struct, frozen=True, array_like=True):
    format: int
    told: Sequence[_Told]


_decoder = msgspec.msgpack.Decoder(_All)


def encode_news(news: Sequence[News] | None) -> bytes:
    """News as other processes read them; nothing if they are not known, or cannot be told."""
    if news is None:
        return b""
    try:
        encoded = msgspec.msgpack.encode(_All(FORMAT, [_told(each) for each in news]))
    except OverflowError:  # a number of more than 64 bits
        return b""
    return encoded if len(encoded) <= MAX_BYTES else b""


def take_in(worksheet: Worksheet, encoded: bytes) -> None:
    """Do to kept rows what the writer did to its own. Raises msgspec's errors before that."""
    found = _decoder.decode(encoded)
    if found.format != FORMAT:
        raise msgspec.ValidationError("another version's news")
    for each in found.told:
        header = parse_header(each.header)
        if each.missed:
            worksheet.missed(each.missed)
        elif each.seen is not None:
            worksheet.saw(header, each.seen)
        else:
            worksheet.written(
                Effect(
                    header=header,
                    rows=[
                        RowPatch(row=patch.row, texts=patch.texts, values=patch.values)
                        for patch in each.rows
                    ],
                    before=each.before,
                    last_row=each.last_row,
                )
            )


def _told(news: News) -> _Told:
    match news:
        case Missed(row):
            return _Told(missed=row)
        case Seen(header, rows):
            return _Told(header=header.cells, seen=rows)
        case Written(effect):
            return _Told(
                header=effect.header.cells,
                rows=[_Patch(each.row, each.texts, each.values) for each in effect.rows],  # type: ignore[arg-type]
                before=effect.before,
                last_row=effect.last_row,
            )
