"""Lenient decoding of titles and fields, remembered title aliases, and titles in errors."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TypeVar, cast

import pytest

from gateway.errors import InvalidQuery, RowNotFound, UnknownField, WorksheetNotFound
from gateway.telemetry.events import RequestEvent
from gateway.web.admission import Admitted
from gateway.web.operations import OPERATIONS
from gateway.web.parameters import Leniency, RowAsked, row_asked
from gateway.web.request import Request
from gateway.web.rows import Asked, RowOperation, run_as_meant
from gateway.web.state import State
from gateway.web.title_aliases import REMEMBERED_SECONDS, TitleAliases, not_found_by
from gateway.worksheets.access import Access, Target, WorksheetId, worksheet_not_found
from tests.clock import ManualClock
from tests.request_events import during
from tests.web.requests import make_request, make_scope

NFC, NFD = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"


def target(title: str, visible: frozenset[str] | None = None) -> Target:
    return Target(WorksheetId("s", title), Access(titles=visible))


def make_title_aliases(clock: ManualClock | None = None) -> TitleAliases:
    return TitleAliases(write_seconds=10.0, timer=clock or ManualClock())


T = TypeVar("T")


def running(run: Callable[[Target, Asked], Awaitable[T]], *, is_write: bool) -> RowOperation:
    """Return an operation, a write or a read, that calls `run`."""

    async def run_it(_: Request, __: Admitted, target: Target, asked: Asked) -> T:
        return await run(target, asked)

    return replace(OPERATIONS["create" if is_write else "list"], run=run_it)


def admitted_to(
    target: Target, title_aliases: TitleAliases, text: bytes = b""
) -> tuple[Request, Admitted]:
    """Return an admitted request to a worksheet with this query string, and its admission."""
    request = make_request(make_scope())
    request.state = cast(State, {"title_aliases": title_aliases})
    return request, cast(Admitted, SimpleNamespace(target=target, asked=text))


async def on_worksheet(
    title_aliases: TitleAliases,
    target: Target,
    act: Callable[[Target], Awaitable[T]],
    *,
    is_write: bool,
) -> T:
    """Run `act` on the worksheet that the title means, as the handlers do."""
    operation = running(lambda meant, _: act(meant), is_write=is_write)
    request, admitted = admitted_to(target, title_aliases)
    _, _, result = await run_as_meant(operation, request, admitted, Asked())
    return cast(T, result)


async def with_fields(
    text: bytes,
    asked: RowAsked,
    parse: Callable[[Leniency], RowAsked],
    act: Callable[[RowAsked], Awaitable[T]],
) -> T:
    """Run `act` on an existing worksheet with the parameters that the request means."""
    operation = running(lambda _, meant: act(meant.parameters), is_write=False)
    request, admitted = admitted_to(target("Cities"), make_title_aliases(), text)
    _, _, result = await run_as_meant(operation, request, admitted, Asked(asked, parse))
    return cast(T, result)


class Workbook:
    """Fake workbook: `act` succeeds if the worksheet exists and records each title in `tried`."""

    def __init__(self, *titles: str) -> None:
        self.titles = list(titles)
        self.tried: list[str] = []

    async def act(self, target: Target) -> str:
        worksheet = target.worksheet
        self.tried.append(worksheet.title)
        if worksheet.title not in self.titles:
            error = WorksheetNotFound(worksheet.title)
            error.titles = tuple(self.titles)
            raise error
        return worksheet.title


async def read(title_aliases: TitleAliases, target: Target, workbook: Workbook) -> str:
    return await on_worksheet(title_aliases, target, workbook.act, is_write=False)


async def write(title_aliases: TitleAliases, target: Target, workbook: Workbook) -> str:
    return await on_worksheet(title_aliases, target, workbook.act, is_write=True)


@pytest.mark.parametrize(
    ("titles", "asked", "tried"),
    [
        (["a b"], "a b", ["a b"]),
        (["a b", "a%20b"], "a%20b", ["a%20b"]),
        (["a b", "a+b"], "a+b", ["a+b"]),
        (["a b"], "a%20b", ["a%20b", "a b"]),
        (["a b"], "a+b", ["a+b", "a b"]),
        (["a%20b c"], "a%20b+c", ["a%20b+c", "a%20b c"]),
        ([NFD], NFC, [NFC, NFD]),
        ([NFD, NFC], NFC, [NFC]),
    ],
)
async def test_the_exact_title_is_tried_first(
    titles: Sequence[str], asked: str, tried: Sequence[str]
) -> None:
    """Another title is only tried if no worksheet has the exact title."""
    workbook = Workbook(*titles)

    assert await read(make_title_aliases(), target(asked), workbook) == tried[-1]
    assert workbook.tried == tried


async def test_a_missing_worksheet_is_reported_by_the_exact_title() -> None:
    """If no title matches, the error names the title that the client sent, after one read."""
    workbook = Workbook("another")

    with pytest.raises(WorksheetNotFound, match="a%20b"):
        await read(make_title_aliases(), target("a%20b"), workbook)
    assert workbook.tried == ["a%20b"]


async def test_a_hidden_title_is_not_tried() -> None:
    """Lenient decoding never reaches a worksheet that the key is not allowed to see."""
    workbook, title_aliases = Workbook("a b"), make_title_aliases()
    await read(title_aliases, target("a%20b"), workbook)

    for use in (read, write):
        with pytest.raises(WorksheetNotFound):
            await use(title_aliases, target("a%20b", frozenset({"a%20b"})), workbook)
    assert workbook.tried == ["a%20b", "a b", "a%20b", "a%20b"]


async def test_aliases_are_separate_for_other_grants() -> None:
    """A failed lookup of a key that sees fewer worksheets does not change lookups of other keys."""
    workbook, title_aliases = Workbook("a b"), make_title_aliases()
    with pytest.raises(WorksheetNotFound):
        await read(title_aliases, target("a+b", frozenset({"a+b"})), workbook)

    assert await read(title_aliases, target("a+b"), workbook) == "a b"


async def test_an_alias_is_remembered() -> None:
    """A remembered alias is used before the exact title is tried, and the log has the alias."""
    clock, workbook = ManualClock(), Workbook("a b")
    title_aliases = make_title_aliases(clock)
    await read(title_aliases, target("a%20b"), workbook)
    event = RequestEvent(id="r", method="GET", path="/")

    with during(event):
        await read(title_aliases, target("a%20b"), workbook)
    clock.advance(REMEMBERED_SECONDS)
    await read(title_aliases, target("a%20b"), workbook)

    assert workbook.tried == ["a%20b", "a b", "a b", "a%20b", "a b"]
    assert (event.reading, event.worksheet) == ("worksheet-twice", "a b")


async def test_writes_use_an_alias_for_a_shorter_time() -> None:
    """After 10 s, a write tries the exact title again, because a worksheet can have it by then."""
    clock, workbook = ManualClock(), Workbook("a b")
    title_aliases = make_title_aliases(clock)
    await write(title_aliases, target("a%20b"), workbook)
    await write(title_aliases, target("a%20b"), workbook)
    clock.advance(10.0)
    workbook.titles.append("a%20b")

    assert await write(title_aliases, target("a%20b"), workbook) == "a%20b"
    assert workbook.tried == ["a%20b", "a b", "a b", "a%20b"]


async def test_an_alias_of_a_removed_worksheet_is_dropped() -> None:
    """If the worksheet of an alias is gone, the exact title is tried and the alias is forgotten."""
    workbook, title_aliases = Workbook("a b"), make_title_aliases()
    await read(title_aliases, target("a%20b"), workbook)
    workbook.titles = ["a%20b"]

    assert await read(title_aliases, target("a%20b"), workbook) == "a%20b"
    assert await read(title_aliases, target("a%20b"), workbook) == "a%20b"
    assert workbook.tried == ["a%20b", "a b", "a b", "a%20b", "a%20b"]


async def test_an_alias_is_remembered_after_an_error_in_its_worksheet() -> None:
    """If the alias's worksheet lacks the row, the error is RowNotFound; the alias is remembered."""
    title_aliases, tried = make_title_aliases(), list[str]()

    async def act(target: Target) -> None:
        title = target.worksheet.title
        tried.append(title)
        if title == "a b":
            raise RowNotFound("no row")
        error = WorksheetNotFound("")
        error.titles = ("a b",)
        raise error

    event = RequestEvent(id="r", method="GET", path="/")
    with during(event):
        for _ in range(2):
            with pytest.raises(RowNotFound):
                await on_worksheet(title_aliases, target("a+b"), act, is_write=False)

    assert tried == ["a+b", "a b", "a b"]
    assert event.reading == "worksheet-plus,worksheet-plus"


class Worksheet:
    """Fake worksheet: `act` returns the keys, or raises UnknownField for a checked key."""

    def __init__(self, *fields: str) -> None:
        self.fields = set(fields)
        self.tried: list[tuple[str, ...]] = []

    async def act(self, asked: RowAsked) -> tuple[str, ...]:
        keys = asked.keys
        names = () if keys is None else keys.names
        self.tried.append(names)
        unknown = [name for name in keys.checked if name not in self.fields] if keys else []
        if unknown:
            raise UnknownField(f"no {unknown}", parameter="keys", names=unknown)
        return names


async def answered(worksheet: Worksheet, text: bytes) -> tuple[str, ...]:
    return await with_fields(
        text, row_asked(text), lambda again: row_asked(text, again), worksheet.act
    )


async def test_keys_are_decoded_once_more_if_they_name_no_field() -> None:
    """Names of fields that exist are not decoded again, and plain unknown names raise no error."""
    assert await answered(Worksheet("a", "b"), b"keys=a%252Cb") == ("a", "b")
    assert await answered(Worksheet("a%2Cb"), b"keys=a%252Cb") == ("a%2Cb",)
    assert await answered(Worksheet(), b"keys=nope") == ("nope",)
    assert await answered(Worksheet("x%20y"), b"keys=x%2520y,z%2520") == ("x%20y", "z ")
    assert await answered(Worksheet("x%20y"), b"keys=x%2520y,nope") == ("x%20y", "nope")


async def test_an_unknown_field_without_an_escape_is_tried_once() -> None:
    """An unknown field is not tried again if lenient decoding does not change its name."""
    attempts = 0

    async def refuse(_: RowAsked) -> None:
        nonlocal attempts
        attempts += 1
        raise UnknownField("no such field", parameter="order")

    with pytest.raises(UnknownField):
        await with_fields(b"order=x", row_asked(b""), lambda _: row_asked(b""), refuse)
    assert attempts == 1


async def test_the_first_error_of_a_parameter_is_reported() -> None:
    """If the decoded name is unknown too, the error is about the name that the client sent."""

    async def refuse(asked: RowAsked) -> None:
        raise UnknownField(f"no {asked.no_cache}", parameter="order")

    with pytest.raises(UnknownField, match="no False"):
        await with_fields(
            b"order=%2541", row_asked(b""), lambda _: row_asked(b"no-cache=true"), refuse
        )


async def test_lenient_decoding_to_an_invalid_query() -> None:
    """If lenient decoding gives an invalid query, the error is about the unknown field."""

    def parse(_: Leniency) -> RowAsked:
        raise InvalidQuery("broken")

    async def refuse(_: RowAsked) -> None:
        raise UnknownField("no such field", parameter="where")

    with pytest.raises(UnknownField, match="no such field"):
        await with_fields(b"where=%2541", row_asked(b""), parse, refuse)


async def test_a_missing_worksheet_lists_only_visible_titles() -> None:
    """The error about a missing worksheet names only the titles that the key is allowed to see."""
    workbook = Workbook("Cities", "Salaries")
    told = []
    for visible in (None, frozenset({"Towns", "Cities"})):
        with pytest.raises(WorksheetNotFound) as caught:
            await read(make_title_aliases(), target("Towns", visible), workbook)
        told.append(caught.value.message.partition(" Worksheets: ")[2])

    assert told == ['"Cities", "Salaries".', '"Cities".']


async def test_an_alias_that_disappears_is_not_reported() -> None:
    """If the worksheet of an alias disappears, the error names the title that was sent."""
    workbook = Workbook("a b")

    async def rename(target: Target) -> str:
        try:
            return await workbook.act(target)
        finally:
            workbook.titles = ["c"]

    with pytest.raises(WorksheetNotFound, match='named "a%20b"') as caught:
        await on_worksheet(make_title_aliases(), target("a%20b"), rename, is_write=False)

    assert workbook.tried == ["a%20b", "a b"]
    assert 'Worksheets: "a b"' in caught.value.message


async def test_an_alias_is_tried_with_the_exact_fields() -> None:
    """The worksheet of an alias is first read with the field names that the client sent."""
    tried: list[tuple[str, tuple[str, ...]]] = []
    text = b"keys=a%252Cb"
    missing = WorksheetNotFound("")
    missing.titles = ("a b",)
    errors = [UnknownField("no such field", parameter="keys", names=["a%2Cb"]), missing]

    async def act(target: Target, asked: Asked) -> None:
        tried.append((target.worksheet.title, asked.parameters.keys.names))
        if errors:
            raise errors.pop(0)

    request, admitted = admitted_to(target("a+b"), make_title_aliases(), text)
    asked = Asked(row_asked(text), lambda again: row_asked(text, again))
    await run_as_meant(running(act, is_write=False), request, admitted, asked)

    assert tried == [("a+b", ("a%2Cb",)), ("a+b", ("a", "b")), ("a b", ("a%2Cb",))]


def message(title: str, titles: list[str], *, visible: set[str] | None = None) -> str:
    """Return the error message about a missing title in a workbook with these titles."""
    worksheet = WorksheetId("book", title)
    granted = None if visible is None else frozenset(visible)
    target = Target(worksheet, Access(titles=granted))
    return not_found_by(target, worksheet_not_found(worksheet, titles)).message


def test_a_shared_error_keeps_all_titles() -> None:
    """The exception keeps all titles, because callers with other grants can receive it too."""
    worksheet = WorksheetId("book", "Cities")
    error = worksheet_not_found(worksheet, ["City"])

    assert error.titles == ["City"]
    assert "City" not in error.message.replace("Cities", "")
    assert not_found_by(Target(worksheet), error).titles == ["City"]


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_hidden_titles_are_not_suggested(hidden: list[str]) -> None:
    """Hidden worksheets do not replace visible worksheets among the suggested titles."""
    told = message("Sale", [*hidden, "Sales old"], visible={"Sale", "Sales old"})

    assert told.endswith(' Worksheets: "Sales old".')


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_many_titles_are_reduced_to_similar_titles(hidden: list[str]) -> None:
    """Up to 10 visible titles are all named. Of more titles, only similar titles are named."""
    heard_of = [*map("Month {}".format, range(9)), "Sales old"]
    wide = {*heard_of, "Staff"}

    few = message("Sale", [*hidden, *heard_of], visible=set(heard_of))
    many = message("Sale", [*hidden, *heard_of, "Staff"], visible=wide)
    far = message("zzz", [*hidden, *heard_of, "Staff"], visible=wide)

    names = ", ".join(f'"{title}"' for title in heard_of)
    assert few.endswith(f"GET /v2/sheets lists the worksheets. Worksheets: {names}.")
    assert many.endswith('GET /v2/sheets lists the worksheets. Similar names: "Sales old".')
    assert far.endswith("case and blanks count. GET /v2/sheets lists the worksheets.")


def test_only_hidden_titles_look_like_no_titles() -> None:
    """The error in a spreadsheet of only hidden worksheets is the error in an empty spreadsheet."""
    hidden = message("Sale", ["Sales"], visible={"Sale"})

    assert hidden == message("Sale", [], visible={"Sale"})


def test_titles_are_escaped_and_cut() -> None:
    """Titles in the error have escaped control characters and at most 100 characters."""
    told = message("a\n", ["b\u202e", "x" * 101])

    assert 'named "a\\n";' in told
    assert f'Worksheets: "b\\u202e", "{"x" * 100}…".' in told
