"""Check of writing to a spreadsheet: rights, and what Google does with used metadata ids."""

from collections.abc import AsyncIterator

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.finding import Finding, ok, problem, warning
from gateway.commands.doctor.refusal import refusal_words
from gateway.errors import GatewayError, UpstreamRefusal
from gateway.google.sheets import FENCE_REQUEST, Fence, Sheets, refused_request

KEY = "gw-check"


async def check_writing(
    sheets: Sheets, spreadsheet: str, context: CheckContext
) -> AsyncIterator[Finding]:
    """Create metadata with one id twice, and delete it. Cost: 3 writes."""
    place = f"spreadsheet {spreadsheet}:"
    used, other = Fence.random(KEY), Fence.random(KEY)
    try:
        await sheets.put_fence(spreadsheet, used, other)
    except GatewayError as error:
        yield problem(f"{place} it cannot be written to: {refusal_words(error, context)}")
        return
    try:
        is_refused = await _is_refused(sheets, spreadsheet, used, other)
        await sheets.delete_fences(spreadsheet, [used, other])
    except GatewayError as error:
        yield problem(f"{place} {refusal_words(error, context)}")
        return
    if is_refused:
        yield ok(f"{place} it can be written to; Google refuses used metadata ids: writes are safe")
    else:
        yield warning(
            f"{place} it can be written to, but Google accepts used metadata ids. A write whose "
            "answer is lost stays unknown for 185 seconds"
        )


async def _is_refused(sheets: Sheets, spreadsheet: str, used: Fence, other: Fence) -> bool:
    """The other fence is deleted first, so that a refusal is not for lack of room."""
    try:
        await sheets.put_fence(spreadsheet, used, forgotten=[other.id])
    except UpstreamRefusal as refusal:
        refusal.first_request = 1
        if refused_request(refusal) != FENCE_REQUEST:
            raise
        return True
    return False
