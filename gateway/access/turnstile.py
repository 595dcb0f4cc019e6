"""Cloudflare Turnstile: check that a person, and not a program, sent a form.

Rules
- Only Cloudflare checks tokens. If Cloudflare does not decide, the form gets an error. An outage or
  a wrong secret is an error of the gateway, not of the visitor.
- A token is valid once. Cloudflare repeats its answer for the same `idempotency_key`, so a form
  that a double click sends twice is accepted
  (developers.cloudflare.com/turnstile/get-started/server-side-validation).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import httpx2
import msgspec

from gateway.errors import ChallengeFailed, ChallengeUnavailable
from gateway.google.wire import AnswerTooLarge, Message, Wire, open_wire
from gateway.settings.model import TurnstileSettings

TIMEOUT_SECONDS = 5.0
MAX_CONNECTIONS = 32
MAX_TOKEN_CHARACTERS = 2048
"""Cloudflare's maximum length of a token."""

_MAX_ANSWER_BYTES = 65_536
_JSON = {"content-type": "application/json", "accept": "application/json"}
_OF_VISITOR = frozenset(
    {"missing-input-response", "invalid-input-response", "timeout-or-duplicate"}
)
"""Cloudflare's error codes for an invalid token. Other codes are faults of the gateway."""
_RETRY_SECONDS = 10


class _Verdict(msgspec.Struct):
    success: bool
    error_codes: list[str] = msgspec.field(default_factory=list, name="error-codes")


class NotChecked(Exception):
    """Cloudflare did not decide about a token. The text is the status or the error codes."""


_decode = msgspec.json.Decoder(_Verdict).decode


@dataclass(frozen=True, kw_only=True)
class Turnstile:
    """Client of Cloudflare that checks tokens of the Turnstile widget with the secret `secret`."""

    wire: Wire = field(repr=False)
    secret: str = field(repr=False)
    url: str

    async def check(self, token: str, repetition: UUID | None) -> None:
        """Check a token. Raises ChallengeFailed, or ChallengeUnavailable if Cloudflare fails.

        Checks with the same `repetition` count as one use of the token. None means that each check
        counts.
        """
        if not token or len(token) > MAX_TOKEN_CHARACTERS:
            raise ChallengeFailed(_FAILED)
        content = {"secret": self.secret, "response": token}
        if repetition is not None:
            content["idempotency_key"] = str(repetition)
        message = Message(
            method="POST", url=self.url, headers=_JSON, content=msgspec.json.encode(content)
        )
        deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
        try:
            answer = await self.wire.exchange(message, deadline, max_bytes=_MAX_ANSWER_BYTES)
            if answer.status != 200:
                raise NotChecked(f"status {answer.status}")
            verdict = _decode(answer.body)
            codes = verdict.error_codes
            if not verdict.success and not (codes and _OF_VISITOR.issuperset(codes)):
                raise NotChecked(" ".join(codes))
        except (httpx2.HTTPError, AnswerTooLarge, msgspec.MsgspecError, NotChecked) as error:
            raise unavailable() from error
        if not verdict.success:
            raise ChallengeFailed(_FAILED)


_FAILED = (
    "The Turnstile check of this form has failed or expired. Load the page again, and then send "
    "the form."
)


def unavailable() -> ChallengeUnavailable:
    return ChallengeUnavailable(retry_after_seconds=_RETRY_SECONDS)


@asynccontextmanager
async def open_turnstile(settings: TurnstileSettings) -> AsyncIterator[Turnstile | None]:
    """Open connections to Cloudflare, or yield None if the settings have no secret."""
    if settings.secret is None:
        yield None
        return
    async with open_wire(
        max_connections=MAX_CONNECTIONS, connect_timeout_seconds=TIMEOUT_SECONDS
    ) as wire:
        yield Turnstile(wire=wire, secret=settings.secret.get_secret_value(), url=settings.url)
