"""Checks of a spreadsheet: access, worksheets, size of the metadata, and writes.

A fence is an entry of developer metadata that proves that Google applied a write.
"""

import re
from collections.abc import Sequence

from gateway.commands.doctor.reasons import (
    CheckContext,
    Finding,
    listed,
    ok,
    problem,
    quoted,
    refusal_words,
    warning,
)
from gateway.commands.doctor.worksheet import check_worksheet, read_worksheets
from gateway.commands.options import counted
from gateway.errors import GatewayError, UpstreamRefusal
from gateway.google.sheets import (
    FENCE_REQUEST,
    MAX_METADATA_CHARACTERS,
    Fence,
    Sheets,
    refused_request,
)
from gateway.settings.model import WorksheetSettings
from gateway.table import a1
from gateway.table.cells import composed
from gateway.worksheets.access import Layouts

NEARLY_FULL = 0.8 * MAX_METADATA_CHARACTERS
FULL = MAX_METADATA_CHARACTERS - 100
"""Number of characters of metadata above which the gateway cannot add an entry for a write."""
KEY = "gw-check"
"""Key of the metadata that `check --write` creates."""

_OF_GATEWAYS = re.compile(rf"gw-[0-9a-f]{{12}}|{KEY}")
"""Keys of metadata that gateways and this command create."""


async def check_spreadsheet(
    sheets: Sheets, given: str, context: CheckContext, worksheets: Sequence[WorksheetSettings]
) -> list[Finding]:
    """Check the ID, the read access, and each worksheet of a spreadsheet.

    `worksheets` are the tables `[[worksheets]]` of the settings. Cost: 1 read and the reads of
    `read_worksheets`; none for an invalid ID.
    """
    if not a1.is_spreadsheet_id(given):
        return [problem(f"spreadsheet {quoted(given)}: {id_words(given)}")]
    place = f"spreadsheet {given}:"
    try:
        layouts = Layouts(worksheets)
        shown = await sheets.list_worksheets(given)
        seen = await read_worksheets(sheets, given, shown, layouts) if shown else []
    except GatewayError as error:
        return [problem(f"{place} {refusal_words(error, context)}")]
    if not shown:
        return [
            problem(
                f"{place} it has no worksheet with cells, only charts or connected data. Add a "
                "worksheet (the + at the bottom left)"
            )
        ]
    found = [
        ok(
            f"{place} {counted(len(shown), 'worksheet')} can be read; writing was not tested, it "
            f"requires {context.who} to be an Editor"
        )
    ]
    for worksheet in seen:
        found += check_worksheet(worksheet, context.who)
    forms = {composed(each.title) for each in shown}
    found += [
        warning(
            f"worksheets: the spreadsheet {given} has no worksheet {quoted(each.title)}, which "
            "[[worksheets]] names. Correct its title in the configuration, or leave it out"
        )
        for each in worksheets
        if each.spreadsheet == given and composed(each.title) not in forms
    ]
    if len(seen) < len(shown):
        found += [warning(f"{place} only the first {len(seen)} worksheets were checked")]
    return found


def id_words(given: str) -> str:
    """Return the reason why a spreadsheet ID is invalid. For a URL, the text has the ID in it."""
    if a1.is_published(given):
        return (
            "this is the URL of a published copy, which does not contain the ID. Open the "
            "spreadsheet itself and copy the ID from its URL, between /d/ and /edit"
        )
    found = a1.id_in(given)
    if found:
        return f"this is a URL; use only the ID in it, {found}"
    if a1.is_spreadsheet_id(given.strip()):
        return "the ID has surrounding blanks. Remove them"
    return (
        "invalid spreadsheet ID: an ID has letters, digits, - and _ only. Copy it from the "
        "spreadsheet's URL, between /d/ and /edit"
    )


async def check_metadata(sheets: Sheets, spreadsheet: str, context: CheckContext) -> list[Finding]:
    """Report developer metadata that is full or nearly full. Cost: 1 read."""
    try:
        found = await sheets.find_fences(spreadsheet)
    except GatewayError as error:
        return [problem(f"spreadsheet {spreadsheet}: {refusal_words(error, context)}")]
    size = _size(found)
    if size < NEARLY_FULL:
        return []
    return [
        (problem if size > FULL else warning)(
            f"spreadsheet {spreadsheet}: its developer metadata has {size} of "
            f"{MAX_METADATA_CHARACTERS} characters; without free characters, writes get 503 "
            "(5034). Entries of gateways by key (characters): "
            f"{_shares(found, of_gateways=True)}; of others: {_shares(found, of_gateways=False)}. "
            "A running gateway deletes its own old entries when it needs room. Delete entries of "
            "former gateways, or of others, with a script: see 5034 in "
            "docs/how-to/troubleshooting.md"
        )
    ]


def _shares(found: Sequence[Fence], *, of_gateways: bool) -> str:
    """Return a text with key, number and characters of metadata entries, the largest key first.

    Includes either only the entries of gateways, or only the entries of other programs.
    """
    by_key: dict[str, list[Fence]] = {}
    for each in found:
        if (_OF_GATEWAYS.fullmatch(each.key) is not None) is of_gateways:
            by_key.setdefault(each.key, []).append(each)
    keys = sorted(by_key, key=lambda key: -_size(by_key[key]))
    shares = [f"{quoted(key)} {len(by_key[key])} ({_size(by_key[key])})" for key in keys]
    return listed(shares) if shares else "none"


def _size(found: Sequence[Fence]) -> int:
    return sum(len(each.key) + len(each.token) for each in found)


async def check_writing(sheets: Sheets, spreadsheet: str, context: CheckContext) -> list[Finding]:
    """Create developer metadata with the same ID twice, then delete it. Cost: 3 writes.

    The finding says whether Google rejects the second entry. If Google does, the gateway can find
    out whether Google applied a write whose answer was lost.
    """
    place, problem_words = f"spreadsheet {spreadsheet}:", "it cannot be written to: "
    used, other = Fence.random(KEY), Fence.random(KEY)
    is_refused = False
    try:
        await sheets.put_fence(spreadsheet, used, other)
        problem_words = ""
        try:  # the other entry is deleted, so that an error does not mean that metadata is full
            await sheets.put_fence(spreadsheet, used, forgotten=[other.id])
        except UpstreamRefusal as refusal:
            refusal.first_request = 1
            if refused_request(refusal) != FENCE_REQUEST:
                raise
            is_refused = True
        await sheets.delete_fences(spreadsheet, [used, other])
    except GatewayError as error:
        return [problem(f"{place} {problem_words}{refusal_words(error, context)}")]
    if is_refused:
        safe = "it can be written to; Google refuses used metadata ids: writes are safe"
        return [ok(f"{place} {safe}")]
    return [
        warning(
            f"{place} it can be written to, but Google does not refuse used metadata ids. If the "
            "answer to a write is lost, its outcome stays unknown for 185 seconds"
        )
    ]
