"""The body of a request, as far as the emulator reads one."""

from starlette.requests import Request

from sheets_emulator.refusal import of_code

MOST_BYTES = 32 * 1024 * 1024  # ours; Google's own limit is not known


async def whole_body(request: Request) -> bytes:
    """All bytes of a body; 413 for more than `MOST_BYTES`, of which no more is kept."""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > MOST_BYTES:
        raise of_code(413)
    chunks: list[bytes] = []
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > MOST_BYTES:
            raise of_code(413)
        chunks.append(chunk)
    return b"".join(chunks)
