"""Check of the room in a spreadsheet's developer metadata, which every write needs."""

import re
from collections.abc import AsyncIterator, Sequence

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.finding import Finding, listed, problem, quoted, warning
from gateway.commands.doctor.refusal import refusal_words
from gateway.errors import GatewayError
from gateway.google.sheets import MAX_METADATA_CHARACTERS, Fence, Sheets

NEARLY_FULL = 0.8 * MAX_METADATA_CHARACTERS
FULL = MAX_METADATA_CHARACTERS - 100
"""Room for three fences."""

_OF_GATEWAYS = re.compile(r"gw-[0-9a-f]{12}|gw-check")
"""Keys of fences: a gateway's, by its pepper, and this command's."""


async def check_metadata(
    sheets: Sheets, spreadsheet: str, context: CheckContext
) -> AsyncIterator[Finding]:
    """Find metadata that is full, or nearly; nothing if there is room. Cost: 1 read."""
    try:
        found = await sheets.find_fences(spreadsheet)
    except GatewayError as error:
        yield problem(f"spreadsheet {spreadsheet}: {refusal_words(error, context)}")
        return
    size = _size(found)
    if size < NEARLY_FULL:
        return
    is_full = size > FULL
    yield (problem if is_full else warning)(
        f"spreadsheet {spreadsheet}: its developer metadata has {size} of "
        f"{MAX_METADATA_CHARACTERS} characters; writes need room in it, and get 503 (5034) without "
        f"it. Entries of gateways by key (characters): {_shares(found, of_gateways=True)}; of "
        f"others: {_shares(found, of_gateways=False)}. A running gateway deletes its own old "
        "entries when it needs room. Delete those of gateways that are gone, or of others, with a "
        "script: see 5034 in docs/how-to/troubleshooting.md"
    )


def _shares(found: Sequence[Fence], *, of_gateways: bool) -> str:
    """The keys with the number and size of their entries, the largest first."""
    by_key: dict[str, list[Fence]] = {}
    for each in found:
        if (_OF_GATEWAYS.fullmatch(each.key) is not None) is of_gateways:
            by_key.setdefault(each.key, []).append(each)
    keys = sorted(by_key, key=lambda key: -_size(by_key[key]))
    shares = [f"{quoted(key)} {len(by_key[key])} ({_size(by_key[key])})" for key in keys]
    return listed(shares) if shares else "none"


def _size(found: Sequence[Fence]) -> int:
    return sum(len(each.key) + len(each.token) for each in found)
