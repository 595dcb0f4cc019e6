"""Request bodies with a size limit."""

from starlette.requests import Request

from sheets_emulator.refusal import of_code

MAX_BYTES = 32 * 1024 * 1024  # limit of the emulator; Google's limit is unknown


async def whole_body(request: Request) -> bytes:
    """Read a request body. Raises a 413 if the body has more than `MAX_BYTES` bytes."""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > MAX_BYTES:
        raise of_code(413)
    chunks: list[bytes] = []
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > MAX_BYTES:
            raise of_code(413)
        chunks.append(chunk)
    return b"".join(chunks)
