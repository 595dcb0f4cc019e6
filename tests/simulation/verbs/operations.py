"""Operations of all kinds on a worksheet, each with unique marks in the text that it writes.

Rules
- An operation has a number for each row of its body. New rows have it in "id:17", and all written
  rows have it in "note:17". People write no marks.
- Keys of upserts, and groups for filters, come from a few values, so that operations collide.
- A shared row has a mark that several creates write. A sparse row has its mark only to the right of
  the blank column, so Google's search for the table at A1 ends above it.
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
"""Filled-down fields: a checkbox, and a formula that refers to the note."""
KEY = "key"
"""The field that identifies rows in upserts."""
SEEDS: Sequence[Sequence[Sequence[str]]] = (
    (("id:seed", "name:seed", "", "note:seed", "group:0", "key:0"),),
    (),
    (("id:seed", "", "", "", "group:1", ""), ("",) * 6, ("", "", "", "note:seed", "", "")),
)
"""Initial rows below the header; worksheets get these values in turn."""
KEYS, GROUPS = 8, 6
LONGEST_LIST = 5
ARCHIVE = "Archive"
FIRST_SHARED = 1_000_000_000
SHARED_CONTENTS = 5
LIMITED_FIELDS = ("note", "group")
"""All fields that the limited key can access. Rows of people often have neither."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Rows whose `field` has one of `texts`; without a field, the rows of a range."""

    field: str = ""
    texts: tuple[str, ...] = ()
    rows: range = range(0)

    @property
    def where(self) -> Mapping[str, object]:
        """The filter as a JSON object of the API."""
        if not self.field:
            return {"rowIndex": {"$gte": self.rows.start, "$lt": self.rows.stop}}
        is_one = len(self.texts) == 1
        return {self.field: self.texts[0] if is_one else {"$in": list(self.texts)}}

    def matches(self, row: int, texts: Texts) -> bool:
        return texts.get(self.field) in self.texts if self.field else row in self.rows


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A request. `bodies` are the rows to write; a write by filter has one for all rows.

    `rows` are the row numbers in the request. `tag` is the ETag for If-Match, `named` the row with
    this ETag as the client saw it, and `tagged` the times of request and answer of that read.
    `is_repeated`: the request is sent again after success, as after a lost answer. `is_limited`:
    the request uses the key with limited fields.
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
    """Number in the mark that other creates write, too; None for a unique mark."""

    @property
    def is_conditional(self) -> bool:
        """True if the gateway finds the rows by their cells, or compares an ETag."""
        is_found = self.filter is not None and bool(self.filter.field)
        return self.tag is not None or is_found or self.kind == "upsert"

    @property
    def numbers(self) -> range:
        """Numbers in the unique marks of its bodies; empty for a delete or a shared row."""
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
        """Path after the path of the worksheet."""
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
        """JSON body, or None without a body."""
        if self.kind == "update rows":
            pairs = zip(self.rows, self.bodies, strict=True)
            return [{"rowIndex": row, **texts} for row, texts in pairs]
        if not self.bodies:
            return None
        return [dict(each) for each in self.bodies] if self.is_list else dict(self.bodies[0])


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Weights of the kinds of operations, and shares of their variants."""

    creates: float = 20
    updates: float = 22
    lists: float = 8
    updates_where: float = 8
    deletes: float = 16
    deletes_where: float = 6
    upserts: float = 20
    keyed: float = 0.6
    repeated: float = 0.3
    """Share of the operations with an Idempotency-Key that are repeated after success."""
    conditional: float = 0.4
    """Share of the updates and deletes by row number that have If-Match."""
    arrays: float = 0.25
    ignoring: float = 0.3
    """Share of the upserts that leave existing rows unchanged."""
    limited: float = 0.15
    """Share of the writes by filter that are allowed to change at most two rows."""
    partial_keys: float = 0.0
    """Share of the conditional operations that use the key with limited fields."""
    shared: float = 0.0
    """Share of the creates whose row other creates write, too."""
    sparse: float = 0.0
    """Share of the other rows with cells only to the right of the blank column."""

    @classmethod
    def of(cls, **shares: float) -> "Mixture":
        """Return a mixture of only these kinds and shares, without limits."""
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
    """Draws random operations; `last_row` is the approximate number of rows."""

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
        """Return row numbers, most of which exist."""
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
    """Return the formula of a filled-down field in this row."""
    return f'=IF(D{row}="","",D{row}&"!")'


def seed_texts(
    worksheets: int,
    *,
    has_archive: bool = False,
    more_rows: int = 0,
    title_rows: int = 0,
    filled_rows: int = 0,
) -> Mapping[str, str]:
    """Return the initial worksheets as CSV by title; no operation uses the archive.

    `title_rows` rows are above the header: a title and blank rows. `filled_rows` rows below the
    records have only filled-down fields.
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
    """Return the requests that make a native table of each worksheet's rows."""
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
