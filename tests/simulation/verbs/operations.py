"""Operations of all kinds on a worksheet, each with marks of its own in what it writes.

Rules
- An operation has a number for each row of its body. New rows have it in "id:17", all rows that are
  written in "note:17". People write no mark.
- Keys of upserts, and groups for filters, are drawn from a few, so that operations meet.
- Shared rows have a mark that several creates write. Sparse rows have their mark to the right of
  the blank column only, so that what looks for the table at A1 finds its end above them.
"""

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

Kind = Literal[
    "create", "update", "update rows", "update where", "delete", "delete where", "upsert"
]
Texts = Mapping[str, str]
"""The cells of a row that are not blank, by field."""

HEADER = ("id", "name", "", "note", "group", "key")
FILLED_DOWN = ("done", "mark")
"""Fields of worksheets with columns that are filled down: a checkbox, and a formula of the note."""
KEY = "key"
"""The field of all upserts' keys."""
SEEDS: Sequence[Sequence[Sequence[str]]] = (
    (("id:seed", "name:seed", "", "note:seed", "group:0", "key:0"),),
    (),
    (("id:seed", "", "", "", "group:1", ""), ("",) * 6, ("", "", "", "note:seed", "", "")),
)
"""The rows below the header of the worksheets by turns."""
KEYS, GROUPS = 8, 6
LONGEST_LIST = 5
ARCHIVE = "Archive"
FIRST_SHARED = 1_000_000_000
SHARED_CONTENTS = 5
LIMITED_FIELDS = ("note", "group")
"""All that the limited key sees. Rows of people often have neither."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Rows whose `field` holds one of `texts`, or without a field the rows of a range."""

    field: str = ""
    texts: tuple[str, ...] = ()
    rows: range = range(0)

    @property
    def where(self) -> Mapping[str, object]:
        """As it is sent."""
        if not self.field:
            return {"rowIndex": {"$gte": self.rows.start, "$lt": self.rows.stop}}
        is_one = len(self.texts) == 1
        return {self.field: self.texts[0] if is_one else {"$in": list(self.texts)}}

    def matches(self, row: int, texts: Texts) -> bool:
        return texts.get(self.field) in self.texts if self.field else row in self.rows


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A request. `bodies` are what it writes: a row each, or by filter one for all rows.

    `rows` are the row numbers that it names. `tag` is the state that it demands, `named` the row
    that had it, as the client saw it, `tagged` the times of the request for it and of the answer.
    `is_repeated`: it is sent once more when it was done, as if the answer were lost. `is_limited`:
    it is sent with the key that sees some fields only.
    """

    kind: Kind
    number: int
    bodies: tuple[Texts, ...] = ()
    rows: tuple[int, ...] = ()
    is_list: bool = False
    filter: Filter | None = None
    most_rows: int | None = None
    merges: bool = True
    key: str | None = None
    tag: str | None = None
    named: Texts | None = None
    tagged: tuple[float, float] = (0.0, 0.0)
    is_repeated: bool = False
    is_limited: bool = False
    shared: int | None = None
    """The mark of its row, which other creates have, too."""

    @property
    def is_conditional(self) -> bool:
        """True if the gateway found its rows by cells, or compared them with a tag."""
        is_found = self.filter is not None and bool(self.filter.field)
        return self.tag is not None or is_found or self.kind == "upsert"

    @property
    def numbers(self) -> range:
        """Those of its bodies that it shares with no other; a delete has none."""
        if self.shared is not None:
            return range(0)
        return range(self.number, self.number + len(self.bodies))

    @property
    def method(self) -> str:
        if self.kind in ("create", "upsert"):
            return "POST"
        if self.kind == "update" and self.number % 2:
            return "PUT"  # the same as PATCH
        return "DELETE" if self.kind.startswith("delete") else "PATCH"

    @property
    def suffix(self) -> str:
        """Of the path of the worksheet."""
        return f"/{self.rows[0]}" if self.kind in ("update", "delete") else ""

    @property
    def parameters(self) -> Mapping[str, str]:
        if self.kind == "upsert":
            return {"on_conflict": KEY}
        if self.filter is None:
            return {}
        is_preferred = self.number % 2
        limit = {} if self.most_rows is None or is_preferred else {"max-affected": self.most_rows}
        return {"where": json.dumps(self.filter.where), **{k: str(v) for k, v in limit.items()}}

    @property
    def headers(self) -> Mapping[str, str]:
        found = {}
        if self.key is not None:
            found["Idempotency-Key"] = f'"{self.key}"'
        if self.tag is not None:
            found["If-Match"] = self.tag
        if not self.merges:
            found["Prefer"] = "resolution=ignore-duplicates"
        if self.most_rows is not None and self.number % 2:
            found["Prefer"] = f"max-affected={self.most_rows}"
        return found

    @property
    def body(self) -> object:
        """As JSON; None without a body."""
        if self.kind == "update rows":
            pairs = zip(self.rows, self.bodies, strict=True)
            return [{"rowIndex": row, **texts} for row, texts in pairs]
        if not self.bodies:
            return None
        return [dict(each) for each in self.bodies] if self.is_list else dict(self.bodies[0])


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Weights of the kinds; shares of those with a key, a condition and so on."""

    creates: float = 20
    updates: float = 22
    lists: float = 8
    updates_where: float = 8
    deletes: float = 16
    deletes_where: float = 6
    upserts: float = 20
    keyed: float = 0.6
    repeated: float = 0.3
    """Of those with a key."""
    conditional: float = 0.4
    """Of the updates and deletes by number."""
    arrays: float = 0.25
    ignoring: float = 0.3
    """Of the upserts."""
    limited: float = 0.15
    """Of the writes by filter: those that may change two rows at most."""
    partial_keys: float = 0.0
    """Of those with a condition: those with a key that sees some columns."""
    shared: float = 0.0
    """Of the creates: those of a row that others create, too."""
    sparse: float = 0.0
    """Of the other rows: those with cells to the right of the blank column only."""

    @classmethod
    def of(cls, **shares: float) -> "Mixture":
        """A mixture of these kinds and shares only, without limits."""
        return cls(**{**_NOTHING, **shares})

    @property
    def weights(self) -> Mapping[Kind, float]:
        return {
            "create": self.creates,
            "update": self.updates,
            "update rows": self.lists,
            "update where": self.updates_where,
            "delete": self.deletes,
            "delete where": self.deletes_where,
            "upsert": self.upserts,
        }


_NOTHING = dict.fromkeys(
    ("creates", "updates", "lists", "updates_where", "deletes", "deletes_where", "upserts"), 0.0
)
USUAL = Mixture()


@dataclass(kw_only=True)
class Draw:
    """Draws operations of a worksheet; `last_row` is about how many rows it has."""

    chance: random.Random
    mixture: Mixture = USUAL
    numbers: "count[int]"
    header_row: int = 1

    def operation(self, last_row: int) -> Operation:
        mixture, chance = self.mixture, self.chance
        kind = chance.choices([*mixture.weights], [*mixture.weights.values()])[0]
        is_list = kind == "update rows" or (
            kind in ("create", "upsert") and chance.random() < mixture.arrays
        )
        number = next(self.numbers)
        size = chance.randint(1, LONGEST_LIST) if is_list else 1
        for _ in range(size - 1):
            next(self.numbers)
        key = f"{kind.replace(' ', '-')}-{number}" if chance.random() < mixture.keyed else None
        shared = None
        if kind == "create" and chance.random() < mixture.shared:
            is_list, shared = False, FIRST_SHARED + chance.randrange(SHARED_CONTENTS)
        filter_ = self._filter(last_row) if kind.endswith("where") else None
        return Operation(
            kind=kind,
            number=number,
            bodies=self._bodies(kind, number, size) if shared is None else (_shared_row(shared),),
            rows=self._rows(kind, last_row, size),
            is_list=is_list,
            filter=filter_,
            most_rows=2 if filter_ and chance.random() < mixture.limited else None,
            merges=kind != "upsert" or chance.random() >= mixture.ignoring,
            key=key,
            is_repeated=key is not None and chance.random() < mixture.repeated,
            shared=shared,
        )

    def wants_tag(self) -> bool:
        return self.chance.random() < self.mixture.conditional

    def wants_limited_key(self) -> bool:
        share = self.mixture.partial_keys
        return bool(share) and self.chance.random() < share

    def _bodies(self, kind: Kind, number: int, size: int) -> tuple[Texts, ...]:
        if kind.startswith("delete"):
            return ()
        keys = self.chance.sample(range(KEYS), size)
        return tuple(self._body(kind, number + at, keys[at]) for at in range(size))

    def _body(self, kind: Kind, number: int, key: int) -> Texts:
        group = f"group:{self.chance.randrange(GROUPS)}"
        has_group = self.chance.random() < (0.7 if kind == "create" else 0.3)
        body = {"note": f"note:{number}", **({"group": group} if has_group else {})}
        if kind == "create" and self.chance.random() < self.mixture.sparse:
            return {**body, KEY: f"{KEY}:row {number}"}
        if kind == "create":
            has_name = self.chance.random() < 0.5
            return {
                "id": f"id:{number}",
                **({"name": f"name:{number}"} if has_name else {}),
                **body,
            }
        return {KEY: f"key:{key}", **body} if kind == "upsert" else body

    def _rows(self, kind: Kind, last_row: int, size: int) -> tuple[int, ...]:
        """Rows that are there, most often."""
        if kind not in ("update", "delete", "update rows"):
            return ()
        header_row = self.header_row
        rows = range(header_row + 1, max(last_row, header_row + size) + 2)
        return tuple(self.chance.sample(rows, size))

    def _filter(self, last_row: int) -> Filter:
        match self.chance.choices(["group", "groups", "rows"], [6, 2, 2])[0]:
            case "rows":
                lowest = self.header_row + 1
                first = self.chance.randint(lowest, max(last_row, lowest))
                return Filter(rows=range(first, first + self.chance.randint(1, 3)))
            case how:
                groups = self.chance.sample(range(GROUPS), 1 if how == "group" else 2)
                return Filter(field="group", texts=tuple(f"group:{each}" for each in groups))


def _shared_row(number: int) -> Texts:
    return {name: f"{name}:{number}" for name in ("id", "name", "note")}


def titles(worksheets: int) -> Sequence[str]:
    return [f"Verbs{index}" for index in range(worksheets)]


def mark_of(row: int) -> str:
    """The formula of a filled-down field, with the number of its row."""
    return f'=IF(D{row}="","",D{row}&"!")'


def seed_texts(
    worksheets: int,
    *,
    has_archive: bool = False,
    more_rows: int = 0,
    title_rows: int = 0,
    filled_rows: int = 0,
) -> Mapping[str, str]:
    """The worksheets before all operations, as CSV by title; no operation names the archive.

    The first of so many rows above the header is a title, the others are blank. So many rows below
    the records have only fields that are filled down.
    """
    above = [("A title", *("",) * 5), *[("",) * 6] * title_rows][:title_rows]
    more = [("id:seed", f"name:seed {number}", "", "", "", "") for number in range(more_rows)]
    names = [*titles(worksheets), *[ARCHIVE] * has_archive]
    found: dict[str, str] = {}
    for index, title in enumerate(names):
        rows = [*above, HEADER, *SEEDS[index % len(SEEDS)], *more]
        if filled_rows:
            rows += [("",) * 6] * filled_rows
            rows[title_rows:] = [
                (*row, *(("FALSE", mark_of(number)) if number > title_rows + 1 else FILLED_DOWN))
                for number, row in enumerate(rows[title_rows:], title_rows + 1)
            ]
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(rows)
        found[title] = file.getvalue()
    return found


def native_tables(seeds: Mapping[str, str], *, header_row: int) -> list[Mapping[str, object]]:
    """The requests that make a native table of the rows of each worksheet."""
    requests: list[Mapping[str, object]] = []
    for sheet_id, (_, text) in enumerate(sorted(seeds.items())):
        place = {
            "sheetId": sheet_id,
            "startRowIndex": header_row - 1,
            "endRowIndex": text.count("\n"),
            "startColumnIndex": 0,
            "endColumnIndex": len(HEADER),
        }
        table = {"tableId": f"table-{sheet_id}", "name": f"Table_{sheet_id}", "range": place}
        requests.append({"addTable": {"table": table}})
    return requests
