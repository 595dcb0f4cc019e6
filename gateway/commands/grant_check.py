"""Check of what a new key is granted: spreadsheets, worksheets and fields that do not exist."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from gateway.commands.doctor.account import context_of, opened_accounts
from gateway.commands.doctor.reasons import quoted, refusal_words
from gateway.errors import (
    GatewayError,
    SheetTooLarge,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UnsupportedDocument,
)
from gateway.google.adapter import GoogleSheets
from gateway.google.client import Client
from gateway.google.credentials import check_credentials
from gateway.settings.model import ConfigError, Settings
from gateway.storage.key_store import Grants
from gateway.table.texts import composed
from gateway.telemetry.redaction import redacted
from gateway.worksheets.access import Layouts, WorksheetId
from gateway.worksheets.catalogue import read_first_rows
from gateway.worksheets.loader import header_of

MOST_NEAR = 3
"""Names in a message about one that does not exist."""
MISSING = (SpreadsheetNotFound, SpreadsheetNotShared, UnsupportedDocument)


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What does not exist, and what could not be looked at."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


async def check_grants(settings: Settings, grants: Grants) -> Looked:
    """Look for the spreadsheets, worksheets and fields of a key.

    Cost for each spreadsheet: 1 read for each account that does not reach it, 1 for its worksheets,
    and with fields those of `read_first_rows`.
    """
    looked, titles, fields = Looked(), set[str](), set[str]()
    accounts = settings.google.by_account()
    try:
        for account in accounts.values():
            check_credentials(account, os.environ)
        async with opened_accounts(accounts) as opened:
            for spreadsheet in sorted(grants.spreadsheets or ()):
                found = await _names_in(settings, opened, spreadsheet, grants, looked)
                titles |= found[0]
                fields |= found[1]
    except ConfigError as error:
        looked.unchecked.extend(error.problems)
    if looked.problems or looked.unchecked:
        return looked
    for option, noun, names, known in (
        ("--worksheet", "worksheet", grants.worksheets, titles),
        ("--column", "field", grants.columns.readable, fields),
        ("--writable-column", "field", grants.columns.writable, fields),
    ):
        for name in sorted(names or ()):
            if composed(name) not in known:
                problem = f"there is no {noun} {quoted(name)}"
                near = sorted(known, key=lambda each: _likeness(name, each), reverse=True)
                if near:
                    problem += f"; near it are {', '.join(map(quoted, near[:MOST_NEAR]))}"
                looked.problems.append(f"{option}: {problem}")
    return looked


def _likeness(name: str, other: str) -> float:
    """How alike two names are, from 0 to 1; capitals do not count."""
    return SequenceMatcher(None, name.casefold(), other.casefold()).ratio()


async def _names_in(
    settings: Settings,
    opened: Mapping[str, Client],
    spreadsheet: str,
    grants: Grants,
    looked: Looked,
) -> tuple[set[str], set[str]]:
    """The worksheets of a spreadsheet, and the fields of those that are granted, in NFC."""
    failures: list[tuple[GatewayError, str]] = []
    for name, client in opened.items():
        sheets = GoogleSheets(client.make)
        try:
            return await _read_names(sheets, settings, spreadsheet, grants)
        except GatewayError as error:
            context = context_of(settings.google.by_account()[name], client)
            failures.append((error, redacted(refusal_words(error, context))))
    others = [words for error, words in failures if not isinstance(error, MISSING)]
    if others:
        looked.unchecked.append(f"spreadsheet {spreadsheet}: {others[0]}")
    else:
        looked.problems.extend(
            f"--spreadsheet: {spreadsheet}: {words}" for _, words in failures[:1]
        )
    return set(), set()


async def _read_names(
    sheets: GoogleSheets, settings: Settings, spreadsheet: str, grants: Grants
) -> tuple[set[str], set[str]]:
    listed = await sheets.list_worksheets(spreadsheet)
    titles = {composed(each.title) for each in listed}
    if grants.columns.readable is None and grants.columns.writable is None:
        return titles, set()
    granted = None if grants.worksheets is None else {*map(composed, grants.worksheets)}
    meant = [each for each in listed if granted is None or composed(each.title) in granted]
    if not meant:
        return titles, set()
    layouts = Layouts(settings.worksheets)
    view = await read_first_rows(sheets, spreadsheet, meant, layouts)
    if len(view.worksheets) < len(meant):
        raise SheetTooLarge("it has too many columns to look for fields; name --worksheet")
    fields: set[str] = set()
    for each in view.worksheets:
        layout = layouts.of(WorksheetId(spreadsheet, each.title))
        fields |= {*map(composed, header_of(each, layout).columns)}
    return titles, fields
