"""Submissions: creates with create-only keys, as forms of static pages send them.

Rules
- Three fields of a form are never stored: `_next`, `_gotcha`, `_id`. JSON fields with these names
  are stored.
- `_next` must be an absolute URL whose origin the key allows. With another URL nothing is written.
  A relative URL would lead to the gateway.
- People do not see the field `_gotcha`. If a program fills it, the form is not written, and the
  program gets the answer of a stored form.
- `_id` and the fields together are the idempotency key: a double click creates one row, another
  text creates another row. A repetition waits for the first submission, because the browser
  displays only the answer to the repetition.
- A create-only key with origins is public, because pages contain it. So all its requests have two
  more limits: requests per client address (refused requests count, too), and writes to a worksheet
  per minute. Forms with other create-only keys have the same limits.
- If the key needs a Turnstile token, all its creates need one, JSON too. Cloudflare accepts a token
  for 5 minutes, but a repetition can come later. So the process stores the accepted token of each
  submission. A repetition with another token is checked again: otherwise a program could find out
  whether somebody has submitted the same fields.
- In `multipart/form-data` a part with a file name is an error, because cells hold no files. A body
  without its last boundary is an error, so that no cut text is stored. Browsers send `"`, CR and LF
  in names as `%22`, `%0D` and `%0A`.
- No answer contains data of the sheet: it has only the stored fields with the values of the client,
  without number, path or ETag of the row. Error messages that could quote the sheet are replaced by
  fixed texts. The problems in an error name only fields that the client sent.
"""

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlencode
from uuid import UUID
from weakref import WeakValueDictionary

from cachetools import LRUCache, TTLCache

from gateway import errors
from gateway.access.address_rates import AddressRates
from gateway.access.caller import Caller, web_url
from gateway.access.rates import RateLease
from gateway.access.turnstile import Turnstile, unavailable
from gateway.gcra import Gcra, rate_limit
from gateway.settings.address import Proxy
from gateway.settings.model import FormSettings
from gateway.table.record import WHOLE_BODY, pointer
from gateway.telemetry.events import form_discarded
from gateway.web.admission import Admitted
from gateway.web.answers import Answer, header_lines, json_answer, written_headers
from gateway.web.body import JSON_STARTS, Form, form_fields, parse_form, parse_rows, read_body
from gateway.web.client_address import client_address
from gateway.web.form_pages import FORM_TYPES, is_browser_form, thanks_page
from gateway.web.head import media_type_of
from gateway.web.idempotency import HEADER, digest_of, fingerprint, parse_key
from gateway.web.media_types import FORM, MULTIPART
from gateway.web.method_override import without_override
from gateway.web.parsing import invalid_body, unstorable
from gateway.web.request import Request
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import Fields

NEXT, GOTCHA, ID = "_next", "_gotcha", "_id"
CHALLENGE = "cf-turnstile-response"
"""The field with the token that Turnstile's widget adds to a form."""

Run = Callable[[], Awaitable[tuple[object, object, Settled]]]
"""Function that creates the row. The last item of its result is the result of the write."""

MAX_PACED = 1000
"""Maximum number of worksheets whose rate of writes is stored, those with the latest writes."""

MAX_PASSED = 10_000
PASSED_SECONDS = 86_400.0
"""At most `MAX_PASSED` accepted tokens are stored, each for these seconds: a day."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A checked row of a create-only key, before it is written."""

    fields: Fields
    next_url: str
    """URL of the page that the browser opens next; "" for the gateway's own page."""
    key: str | None = None
    """Idempotency key from `_id` and the fields; None without `_id`."""
    is_discarded: bool = False
    """True if the client gets the answer of a stored form, but nothing is written."""
    not_before: float = 0.0
    """Earliest time of the write, in seconds of the timer; 0 means at once."""


class Forms:
    """Rate limits and Turnstile checks of submitted forms."""

    def __init__(
        self,
        settings: FormSettings,
        turnstile: Turnstile | None,
        proxies: Sequence[Proxy],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_minute = settings.per_address_per_minute
        self._addresses = AddressRates(self._per_minute, timer)
        self._writes = rate_limit(
            settings.writes_per_minute, burst=math.ceil(settings.writes_per_minute / 3)
        )
        self._turnstile = turnstile
        self._proxies = proxies
        self._timer = timer
        self._paces: LRUCache[WorksheetId, _Pace] = LRUCache(MAX_PACED)
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        self._passed: TTLCache[str, bool] = TTLCache(MAX_PASSED, PASSED_SECONDS, timer=timer)
        """Digests of a submission and the token that Cloudflare accepted; values are True."""

    def count(self, request: Request, caller: Caller, lease: RateLease) -> None:
        """Count a create-only key's request for its client address. Raises RateLimited.

        A request beyond the limit is not charged to the key, so that one address cannot use up the
        key's rate.
        """
        if not _is_limited(request, caller):
            return
        wait_seconds = self._addresses.count(client_address(request.scope, self._proxies))
        if wait_seconds:
            lease.refund()
            raise errors.RateLimited(
                f"Too many forms: an address can send at most {self._per_minute} a minute. Wait, "
                "then send the form again.",
                retry_after_seconds=math.ceil(wait_seconds),
            )

    async def check_person(self, token: str, repetition: str | None) -> None:
        """Check a Turnstile token. Raises ChallengeFailed or ChallengeUnavailable.

        `repetition` is the digest of a submission with an idempotency key, else None. A token that
        was accepted with this digest is accepted again: by this process for a day, by Cloudflare
        for 5 minutes.
        """
        if self._turnstile is None:
            raise unavailable() from LookupError("turnstile.secret is not configured")
        if repetition is None:
            await self._turnstile.check(token, None)
            return
        passed = digest_of([repetition, token])
        if passed not in self._passed:
            await self._turnstile.check(token, UUID(hex=passed[:32], version=4))
            self._passed[passed] = True

    def turn(self, submission: Submission) -> AbstractAsyncContextManager[None]:
        """Return a lock for submissions with the same key, so that a repetition waits.

        Without a key, the submission waits for no other.
        """
        if submission.key is None:
            return nullcontext()
        return self._turns.setdefault(submission.key, asyncio.Lock())

    def not_before(self, worksheet: WorksheetId) -> float:
        """Count a submission to this worksheet, and return when it can be written; 0 means at once.

        The time is in seconds of the timer. Submissions with the same time are written together.
        """
        now, pace = self._timer(), self._paces.setdefault(worksheet, _Pace())
        if pace.due <= now:
            wait_seconds = pace.gcra.take(self._writes, now)
            if not wait_seconds:
                return 0.0
            pace.due = now + wait_seconds
            pace.gcra.take(self._writes, pace.due)
        return pace.due


@dataclass
class _Pace:
    """Rate at which submissions to a worksheet are written.

    `due` is the time of the next write, in seconds of the timer.
    """

    gcra: Gcra = field(default_factory=Gcra)
    due: float = -math.inf


async def read_submission(request: Request, admitted: Admitted) -> Submission:
    """Read and check a submission.

    Raises OriginNotAllowed, CreateOnlyKey, InvalidBody, UnsupportedMediaType,
    InvalidIdempotencyKey, ChallengeFailed and ChallengeUnavailable.
    """
    forms, caller = request.state["forms"], admitted.caller
    grants = caller.key.grants
    is_form = media_type_of(request.head) in FORM_TYPES
    if is_form and grants.origins and b"origin" not in request.head.lines:
        raise errors.OriginNotAllowed(
            "A form with this key needs the header Origin. Browsers omit the header if the page "
            "has the referrer policy no-referrer. Remove this policy."
        )
    parse = partial(_parse, request=request, has_challenge=grants.needs_challenge)
    fields, own = await read_body(request, caller.key.id, parse)
    asked_next = own.get(NEXT, "")
    next_url = _checked_next(asked_next, caller) if asked_next else grants.next_url
    worksheet, repetition = admitted.target.worksheet, None
    has_id = bool(own.get(ID, "").strip())
    repeated = own[ID] if has_id else parse_key(request.head.values(HEADER))
    if repeated is not None:
        of_key = [caller.key.id, worksheet, admitted.is_typed, has_id, repeated]
        repetition = digest_of([*of_key, fingerprint(fields)])
    if own.get(GOTCHA, "").strip():
        form_discarded(caller.key.id)
        # Nobody looked for the worksheet, so the name can be any text, and does not count as use.
        request.event.spreadsheet = request.event.worksheet = None
        return Submission(fields=fields, next_url=next_url, is_discarded=True)
    if grants.needs_challenge:
        await forms.check_person(own.get(CHALLENGE, ""), repetition)
    not_before = forms.not_before(worksheet) if _is_limited(request, caller) else 0.0
    key = repetition if has_id else None
    return Submission(fields=fields, next_url=next_url, key=key, not_before=not_before)


async def submit(request: Request, submission: Submission, run: Run) -> Answer:
    """Store a submission with `run`. Returns JSON, or for a browser a redirect or a page."""
    stored, rows = submission.fields, 0
    headers: Mapping[str, str] = {}
    if not submission.is_discarded:
        async with request.state["forms"].turn(submission):
            stored, headers = await create_only(stored, run)
        rows = 1
    if not is_browser_form(request):
        return json_answer(stored, status=201, headers=headers, rows=rows)
    if not submission.next_url:
        return thanks_page(request, headers, rows)
    lines = {"Cache-Control": "no-store", "Vary": "Accept", **headers}
    return Answer(303, header_lines({**lines, "Location": submission.next_url}), rows=rows)


_OUTCOMES: Mapping[errors.Outcome, str] = {
    "applied": "The row was stored. Do not send it again.",
    "unknown": "It is not known whether the row was stored. Repeat the request with the same "
    "Idempotency-Key: the row is not stored twice.",
}
_REFUSED = "Nothing was stored, because these fields were rejected."
_NO_ACCESS = "The gateway has no access to this spreadsheet. Tell the gateway's operator."
_FIELD = "The key cannot write this field, or the field does not accept this value."


async def create_only(sent: Fields, run: Run) -> tuple[Fields, Mapping[str, str]]:
    """Create the row with `run`. Raises errors without data of the worksheet.

    Returns the stored fields and the headers of the answer.
    """
    try:
        *_, settled = await run()
    except errors.GatewayError as error:
        text = _OUTCOMES.get(errors.write_outcome(error)) or (
            _REFUSED if error.problems else error.description().replace("`", "'")
        )
        known = {pointer(name) for name in sent}
        hidden = error.without_sheet(
            _NO_ACCESS if isinstance(error, errors.SpreadsheetNotShared) else text,
            [
                errors.Problem(each.pointer if each.pointer in known else WHOLE_BODY, _FIELD)
                for each in error.problems
            ],
        )
        raise hidden from error.__cause__
    (written,) = settled.results
    stored = {name: value for name, value in sent.items() if name not in written.ignored}
    return stored, written_headers(settled)


def _is_limited(request: Request, caller: Caller) -> bool:
    """True if the limit per client address applies: to forms, and to keys with origins."""
    return bool(caller.key.grants.origins) or media_type_of(request.head) in FORM_TYPES


def _parse(
    body: bytes, content_type: str, *, request: Request, has_challenge: bool
) -> tuple[Fields, Mapping[str, str]]:
    """Return the fields to store, and the control fields such as `_next`.

    With `has_challenge`, the Turnstile token is a control field. Raises CreateOnlyKey for a list.
    """
    names = {CHALLENGE} if has_challenge else set()
    if content_type == MULTIPART:
        given = request.head.first(b"content-type") or ""
        body, content_type = without_override(request, as_urlencoded(body, given)), FORM
    if content_type != FORM or body.lstrip().startswith(JSON_STARTS):
        rows = parse_rows(body, content_type)
        if rows.is_array:
            raise errors.CreateOnlyKey
        fields = {**rows.rows[0]}
        return fields, {name: str(fields.pop(name, "")) for name in names}
    names |= {NEXT, GOTCHA, ID}
    form, own = Form(), {}
    for name, value in parse_form(body):
        if name in names and name in own:
            raise unstorable(
                [errors.Problem(pointer(name), "The form has this field twice. Send it once.")]
            )
        if name in names:
            own[name] = value
        else:
            form.append((name, value.replace("\r\n", "\n")))  # browsers send CR LF
    return form_fields(form), own


def _checked_next(text: str, caller: Caller) -> str:
    """Return the normal form of the URL in `_next`. Raises InvalidBody."""
    found = web_url(text)
    if found is None or found[0] not in caller.key.grants.origins:
        no_page = "This must be an absolute URL, and the key must allow its origin, as in "
        raise unstorable([errors.Problem(pointer(NEXT), f"{no_page}https://example.org/thanks.")])
    return found[1]


_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|\Z)', re.IGNORECASE)
_DISPOSITION = re.compile(
    r'content-disposition:\s*form-data\s*;\s*name="([^"]*)"\s*', re.IGNORECASE
)
_FILE = re.compile(r"content-disposition:.*;\s*filename\*?\s*=", re.IGNORECASE)
_CODING = re.compile(r"content-transfer-encoding:(?!\s*(?:7bit|8bit|binary)\s*\Z)", re.IGNORECASE)
_ESCAPES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
_ESCAPE = re.compile("|".join(_ESCAPES))

_NO_FILES = "A form with a file is not allowed: cells cannot hold files. Remove the file field."
_BROKEN = "The form is not valid multipart/form-data. Send a form without an enctype."


def as_urlencoded(body: bytes, content_type: str) -> bytes:
    """Convert a body of `multipart/form-data` (RFC 7578) to `x-www-form-urlencoded`.

    Raises InvalidBody, and UnsupportedMediaType for a file.
    """
    try:
        return urlencode([*_fields(body, content_type)]).encode("ascii")
    except UnicodeDecodeError as error:
        raise invalid_body(
            "The form is not UTF-8. Save the web page with the form as UTF-8."
        ) from error


def _fields(body: bytes, content_type: str) -> Iterator[tuple[str, str]]:
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise invalid_body(_BROKEN)
    delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1")
    preamble, *parts = (b"\r\n" + body).split(delimiter)
    if preamble or not parts or not parts.pop().startswith(b"--"):
        raise invalid_body(_BROKEN)
    for part in parts:
        start, blank, value = part.partition(b"\r\n\r\n")
        padding, *lines = start.decode("utf-8").split("\r\n")
        if not blank or padding.strip(" \t") or any(map(_CODING.match, lines)):
            raise invalid_body(_BROKEN)
        if any(map(_FILE.match, lines)):
            raise errors.UnsupportedMediaType(_NO_FILES)
        names = [found[1] for found in map(_DISPOSITION.fullmatch, lines) if found is not None]
        if len(names) != 1:
            raise invalid_body(_BROKEN)
        yield _ESCAPE.sub(lambda found: _ESCAPES[found[0]], names[0]), value.decode("utf-8")
