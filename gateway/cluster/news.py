"""What a write did to a worksheet, as the writer tells other processes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from gateway.cluster.stored_values import MAX_NEWS_BYTES, decoded
from gateway.google.rendering import MAX_COLUMNS
from gateway.table.header import parse_header
from gateway.table.table import RowPatch
from gateway.worksheets.sharing import Missed, News, Seen, Written
from gateway.worksheets.snapshot import Effect

FORMAT = 2

MAX_ROW = 10_000_000
"""Google's maximum number of cells of a spreadsheet, and so of rows."""

MAX_CELLS = 1_000_000
"""Maximum product of rows and columns that news name: they may be widened to it."""

Cell = str | int | float | bool | None
Row = Annotated[int, msgspec.Meta(ge=2, le=MAX_ROW)]
RowOrNone = Annotated[int, msgspec.Meta(ge=0, le=MAX_ROW)]
Place = Annotated[int, msgspec.Meta(ge=0, lt=MAX_COLUMNS)]
"""A column, from 0."""
Texts = Annotated[Sequence[str], msgspec.Meta(max_length=MAX_COLUMNS)]


class _Patch(msgspec.Struct, frozen=True, array_like=True):
    row: Row
    texts: Mapping[Place, str]
    values: Mapping[Place, Cell]


class _Told(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """News of any kind; one of `missed`, `seen` and the rest is there."""

    header: Texts = ()
    missed: RowOrNone = 0
    seen: Mapping[Row, Texts] | None = None
    rows: Sequence[_Patch] = ()
    before: Mapping[Row, Texts] = {}
    last_row: RowOrNone = 0


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
    return encoded if len(encoded) <= MAX_NEWS_BYTES else b""


def news_between(stored: Iterable[bytes], at: str, epoch: str) -> Sequence[News] | None:
    """The news of the writes from one epoch to another, in their order; None if any is missing."""
    following = dict(_links(stored))
    chain: list[News] = []
    while at != epoch:
        at, told = following.pop(at, ("", b""))
        found = decoded(_decoder, told)
        if found is None or found.format != FORMAT or not all(map(_is_small, found.told)):
            return None
        chain += map(_news, found.told)
    return chain


def _links(stored: Iterable[bytes]) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """Epoch before, epoch after and news of each write."""
    for each in stored:
        earlier, _, rest = each.partition(b"\n")
        later, _, told = rest.partition(b"\n")
        yield earlier.decode("ascii", "replace"), (later.decode("ascii", "replace"), told)


def _is_small(told: _Told) -> bool:
    """True if all rows that news name, as wide as the widest of them, are not too many cells."""
    lines = [told.header, *(told.seen or {}).values(), *told.before.values()]
    places = [place for patch in told.rows for place in (*patch.texts, *patch.values)]
    width = max([*map(len, lines), *(place + 1 for place in places)])
    return width * (len(lines) + len(told.rows)) <= MAX_CELLS


def _news(told: _Told) -> News:
    header = parse_header(told.header)
    if told.missed:
        return Missed(told.missed)
    if told.seen is not None:
        return Seen(header, told.seen)
    return Written(
        Effect(
            header=header,
            rows=[
                RowPatch(row=patch.row, texts=patch.texts, values=patch.values)
                for patch in told.rows
            ],
            before=told.before,
            last_row=told.last_row,
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
