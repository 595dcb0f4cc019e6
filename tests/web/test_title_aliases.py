"""Second readings, remembered aliases, and worksheets named in errors."""

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
    """An operation that does this."""

    async def run_it(_: Request, __: Admitted, target: Target, asked: Asked) -> T:
        return await run(target, asked)

    return replace(OPERATIONS["create" if is_write else "list"], run=run_it)


def admitted_to(
    target: Target, title_aliases: TitleAliases, text: bytes = b""
) -> tuple[Request, Admitted]:
    """A request that was admitted to a worksheet, with these parameters."""
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
    """Do something with the worksheet that a name means, as the handlers do."""
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
    """Answer what is asked of a worksheet that is there."""
    operation = running(lambda _, meant: act(meant.parameters), is_write=False)
    request, admitted = admitted_to(target("Cities"), make_title_aliases(), text)
    _, _, result = await run_as_meant(operation, request, admitted, Asked(asked, parse))
    return cast(T, result)


class Workbook:
    """Does something with worksheets, if there are any of the name."""

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
async def test_the_plain_name_comes_first(
    titles: Sequence[str], asked: str, tried: Sequence[str]
) -> None:
    """Another is only tried if there is no worksheet of it, and there is one of the other."""
    workbook = Workbook(*titles)

    assert await read(make_title_aliases(), target(asked), workbook) == tried[-1]
    assert workbook.tried == tried


async def test_the_error_is_that_of_the_plain_name() -> None:
    """If no title matches, the error names the one that the client sent, after one read."""
    workbook = Workbook("another")

    with pytest.raises(WorksheetNotFound, match="a%20b"):
        await read(make_title_aliases(), target("a%20b"), workbook)
    assert workbook.tried == ["a%20b"]


async def test_a_name_that_the_key_may_not_hear_of_is_not_tried() -> None:
    """Lenient decoding does not extend a grant."""
    workbook, title_aliases = Workbook("a b"), make_title_aliases()
    await read(title_aliases, target("a%20b"), workbook)

    for use in (read, write):
        with pytest.raises(WorksheetNotFound):
            await use(title_aliases, target("a%20b", frozenset({"a%20b"})), workbook)
    assert workbook.tried == ["a%20b", "a b", "a%20b", "a%20b"]


async def test_a_key_that_may_not_hear_of_a_name_does_not_hide_it_from_others() -> None:
    """An alias of one key is not used for keys that see other worksheets."""
    workbook, title_aliases = Workbook("a b"), make_title_aliases()
    with pytest.raises(WorksheetNotFound):
        await read(title_aliases, target("a+b", frozenset({"a+b"})), workbook)

    assert await read(title_aliases, target("a+b"), workbook) == "a b"


async def test_a_reading_is_remembered_for_a_while() -> None:
    """Until then the plain name is not tried; the log still has the reading."""
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


async def test_writes_trust_a_reading_for_a_shorter_time() -> None:
    """A worksheet of the plain name may exist by then, and would be the one to write to."""
    clock, workbook = ManualClock(), Workbook("a b")
    title_aliases = make_title_aliases(clock)
    await write(title_aliases, target("a%20b"), workbook)
    await write(title_aliases, target("a%20b"), workbook)
    clock.advance(10.0)
    workbook.titles.append("a%20b")

    assert await write(title_aliases, target("a%20b"), workbook) == "a%20b"
    assert workbook.tried == ["a%20b", "a b", "a b", "a%20b"]


async def test_what_is_remembered_of_a_worksheet_that_is_gone_does_no_harm() -> None:
    """The plain name is tried again when the other one fails, and the other is forgotten."""
    workbook, title_aliases = Workbook("a b"), make_title_aliases()
    await read(title_aliases, target("a%20b"), workbook)
    workbook.titles = ["a%20b"]

    assert await read(title_aliases, target("a%20b"), workbook) == "a%20b"
    assert await read(title_aliases, target("a%20b"), workbook) == "a%20b"
    assert workbook.tried == ["a%20b", "a b", "a b", "a%20b", "a%20b"]


async def test_a_worksheet_that_lacks_what_is_asked_for_is_the_one_that_was_meant() -> None:
    """It is there: its name is remembered, and the error is its own."""
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
    """Answers for rows if the fields that must be there are."""

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
    """Those that do stay as they are, and plain ones are never required to."""
    assert await answered(Worksheet("a", "b"), b"keys=a%252Cb") == ("a", "b")
    assert await answered(Worksheet("a%2Cb"), b"keys=a%252Cb") == ("a%2Cb",)
    assert await answered(Worksheet(), b"keys=nope") == ("nope",)
    assert await answered(Worksheet("x%20y"), b"keys=x%2520y,z%2520") == ("x%20y", "z ")
    assert await answered(Worksheet("x%20y"), b"keys=x%2520y,nope") == ("x%20y", "nope")


async def test_a_field_without_a_second_reading_is_asked_for_once() -> None:
    """An unknown field costs no second attempt if nothing else can be meant."""
    attempts = 0

    async def refuse(_: RowAsked) -> None:
        nonlocal attempts
        attempts += 1
        raise UnknownField("no such field", parameter="order")

    with pytest.raises(UnknownField):
        await with_fields(b"order=x", row_asked(b""), lambda _: row_asked(b""), refuse)
    assert attempts == 1


async def test_the_first_error_of_a_parameter_is_reported() -> None:
    """Fields of the second reading are not in the client's text."""

    async def refuse(asked: RowAsked) -> None:
        raise UnknownField(f"no {asked.no_cache}", parameter="order")

    with pytest.raises(UnknownField, match="no False"):
        await with_fields(
            b"order=%2541", row_asked(b""), lambda _: row_asked(b"no-cache=true"), refuse
        )


async def test_a_second_reading_that_cannot_be_read_is_none() -> None:
    """The client hears of the field, not of what decoding made of it."""

    def parse(_: Leniency) -> RowAsked:
        raise InvalidQuery("broken")

    async def refuse(_: RowAsked) -> None:
        raise UnknownField("no such field", parameter="where")

    with pytest.raises(UnknownField, match="no such field"):
        await with_fields(b"where=%2541", row_asked(b""), parse, refuse)


async def test_a_missing_worksheet_is_reported_in_words_for_the_caller() -> None:
    """One read answers all who joined it; each error names the titles visible to its caller."""
    workbook = Workbook("Cities", "Salaries")
    told = []
    for visible in (None, frozenset({"Towns", "Cities"})):
        with pytest.raises(WorksheetNotFound) as caught:
            await read(make_title_aliases(), target("Towns", visible), workbook)
        told.append(caught.value.message.partition(" Worksheets: ")[2])

    assert told == ['"Cities", "Salaries".', '"Cities".']


async def test_an_alias_that_is_gone_by_then_is_not_named() -> None:
    """The error is that of the name that was sent."""
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


async def test_another_worksheet_is_asked_for_the_plain_fields() -> None:
    """Its fields are others: what the first one lacked it may have."""
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
    """The error's message for a missing title among these."""
    worksheet = WorksheetId("book", title)
    granted = None if visible is None else frozenset(visible)
    target = Target(worksheet, Access(titles=granted))
    return not_found_by(target, worksheet_not_found(worksheet, titles)).message


def test_the_titles_stay_with_the_error() -> None:
    """Another caller needs them later."""
    worksheet = WorksheetId("book", "Cities")
    error = worksheet_not_found(worksheet, ["City"])

    assert error.titles == ["City"]
    assert "City" not in error.message.replace("Cities", "")
    assert not_found_by(Target(worksheet), error).titles == ["City"]


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_what_a_key_may_not_hear_of_leaves_no_trace(hidden: list[str]) -> None:
    """Hidden worksheets take no place among the near names."""
    told = message("Sale", [*hidden, "Sales old"], visible={"Sale", "Sales old"})

    assert told.endswith(' Worksheets: "Sales old".')


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_of_many_worksheets_the_near_ones_are_named(hidden: list[str]) -> None:
    """Up to 10 visible titles are all named, of more only the similar ones."""
    heard_of = [*map("Month {}".format, range(9)), "Sales old"]
    wide = {*heard_of, "Staff"}

    few = message("Sale", [*hidden, *heard_of], visible=set(heard_of))
    many = message("Sale", [*hidden, *heard_of, "Staff"], visible=wide)
    far = message("zzz", [*hidden, *heard_of, "Staff"], visible=wide)

    names = ", ".join(f'"{title}"' for title in heard_of)
    assert few.endswith(f"GET /v2/sheets lists the worksheets. Worksheets: {names}.")
    assert many.endswith('GET /v2/sheets lists the worksheets. Similar names: "Sales old".')
    assert far.endswith("case and blanks count. GET /v2/sheets lists the worksheets.")


def test_nothing_is_said_where_nothing_may_be_heard_of() -> None:
    """A spreadsheet of hidden worksheets looks like an empty one."""
    hidden = message("Sale", ["Sales"], visible={"Sale"})

    assert hidden == message("Sale", [], visible={"Sale"})


def test_titles_are_escaped_and_cut() -> None:
    """Neither the name that was sent nor those that there are move a terminal or fill a page."""
    told = message("a\n", ["b\u202e", "x" * 101])

    assert 'named "a\\n";' in told
    assert f'Worksheets: "b\\u202e", "{"x" * 100}…".' in told
