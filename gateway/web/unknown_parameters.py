"""Parameters that an operation does not take: an error with advice, or ignored.

Rules
- Errors are parameters of other operations, misspelt parameters, and parameters of other services
  for the same purpose. Without an error, the request would list or change other rows than meant.
- A name is misspelt if it has the same letters as a known name, but other capitals, blanks, dashes
  or signs, is encoded once more, or has `amp;` in front, from an `&` that was escaped for HTML.
- Names of fields are errors too, which needs the header: `judge` returns the fields that a name can
  mean. Operators of other services are cut off (`population_gte`, `state[eq]`). After a comparison
  sign, a value needs no `=` (`population>5`).
- A write refuses a request for a dry run, which it would carry out.
- Cache busters, such as `_=1700000000`, are ignored, even if a field has the name. All other words
  and names without a value are ignored too.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final
from urllib.parse import unquote

from gateway.table.header import letters
from gateway.table.quoting import quoted
from gateway.web.signature import BRACKETED, CREDENTIALS, CURSOR, PARAMETERS, SELECTING, Signature

CACHE_BUSTERS: Final = frozenset(
    {"_", "_ts", "ts", "t", "v", "cb", "nocache", "noCache", "no_cache"}
)
"""Parameters with random values, to bypass caches. `nocache` is not a misspelt `no-cache`."""

_PAGE = "a list is paged with limit and skip, as in limit=20&skip=40."
_CURSOR = "a list is paged with cursor: send cursor= first, then the cursor of each answer."
_ORDER = "a list is sorted with order, as in order=-population,name."
_WHERE = 'rows are found with where, a percent-encoded JSON object such as {"state":"Texas"}.'
_KEYS = "fields are chosen with keys, as in keys=name,state."
_COUNT = "count=true adds the number of rows that match."
_UPSERT = "an upsert needs on_conflict with the fields that identify a row, as in on_conflict=sku."
_ROW = "a row is named in the path, as in /v2/sheets/Cities/7, or in where."
_SHEET = "the worksheet is named in the path, as in /v2/sheets/Cities."
_SPREADSHEET = "the spreadsheet is named with spreadsheetId, or with the header X-Spreadsheet-Id."
_ROWS_ALONE = "a list cannot group rows or add related rows. Remove the parameter."
_VALUES = "values=typed returns numbers, booleans and ISO dates; values=displayed returns texts."
_EXPORT = "rows are exported with format, as in format=csv."
_VALUE = "did you mean values, as in values=typed? To filter by a field of this name, use where."
_OBJECTS = "rows are always JSON objects. Remove the parameter."

WORDS: Final[Mapping[str, str]] = {
    word: advice
    for advice, words in {
        _PAGE: (
            "page pageno pagenumber pageindex perpage pagesize offset start end startindex top "
            "take maxrecords maxresults pagination before endingbefore startat endat endbefore "
            "limittofirst limittolast"
        ),
        _CURSOR: (
            "after startafter startingafter pagetoken nexttoken nextpagetoken skiptoken "
            "continuationtoken"
        ),
        _ORDER: (
            "sort sortby sortorder sortdir sortdirection sorttype sortmethod sortdateformat "
            "orderby ordering asc desc"
        ),
        _WHERE: (
            "filter filters filterby filterbyformula search searchor searchexact q query tq and or "
            "not notand notor condition conditions criteria casesensitive view equalto"
        ),
        _KEYS: "fields field select columns cols attributes",
        _COUNT: "inlinecount",
        _UPSERT: "upsert performupsert conflict fieldstomergeon",
        _ROW: "rowindex records",
        _SHEET: "sheet sheetname sheetid worksheet gid",
        _SPREADSHEET: "spreadsheet",
        _ROWS_ALONE: (
            "distinct group groupby aggregate apply compute having expand embed include "
            "recordmetadata"
        ),
        _VALUES: (
            "raw castnumbers cast cellformat typecast valuerenderoption datetimerenderoption"
        ),
        _VALUE: "value",
        _EXPORT: "tqx",
        _OBJECTS: ("mode singleobject timezone userlocale returnfieldsbyfieldid majordimension"),
    }.items()
    for word in words.split()
}
"""Advice for parameters of SheetDB, Stein, sheet.best, PostgREST, json-server, Airtable, OData,
Google, Strapi, Stripe and Firebase, by the letters of the parameter in lower case."""

DRY_RUNS: Final[Mapping[str, str]] = dict.fromkeys(
    ("dryrun", "validateonly", "preview", "simulate", "whatif"),
    "the gateway has no dry run, and wrote nothing. A list with the same where shows the rows, and "
    "max-affected limits how many rows a write can change.",
)
"""Advice for parameters that ask a write to change nothing, by their letters in lower case."""

_SPELLED = re.compile(r"(?P<escaped>amp;)?(?P<name>[^\[=]+)(?:\[[^\]=]*\]?)?")
"""A name and its brackets at the beginning of a text."""


def by_letters(names: Iterable[str]) -> Mapping[str, str]:
    """Return names to find misspellings: the key is the letters and digits in lower case."""
    return {letters(name): name for name in names}


def misspelling(name: str, names: Mapping[str, str], bracketless: Collection[str] = ()) -> str:
    """Return a message's end that corrects a misspelt name, or "" if the name is not misspelt.

    `names` is a result of `by_letters`. Names in `bracketless` are misspelt with brackets.
    """
    found = _SPELLED.match(unquote(name) if "%" in name else name)
    if found is None:
        return ""
    right = names.get(letters(found["name"]), "")
    is_exact = found["name"] == right and not found["escaped"]
    if not right or (is_exact and right not in bracketless):
        return ""
    return f"{quoted(found[0])}: send {right} instead."


_NAMES = by_letters((*PARAMETERS, *CREDENTIALS))
_BRACKETLESS = frozenset((*PARAMETERS, *CREDENTIALS)) - frozenset(BRACKETED)
_NAME = re.compile(r"(?:amp;)?(?P<base>[^\[=]*)[^=]*=?(?P<value>.*)", re.DOTALL)
"""Decoded name: `base` before its brackets, `value` after a `=` that was percent-encoded."""
_OPERATOR = re.compile(
    r"(?P<field>.+?)(?:[\[.:<>!~=]|->"
    r"|__?(?:eq|neq?|gte?|lte?|i?like|n?in|i?contains|i?starts_?with|i?ends_?with|i?exact"
    r"|is_?null|range|between|i?regex|min|max)$)",
    re.IGNORECASE | re.DOTALL,
)
_COMPARED = re.compile(r"(?P<name>[^<>~!:=\[]+[<>~!:])[^=]", re.DOTALL)
"""A condition without `=`, such as `population>5`: the name with the sign, then a value."""


_IGNORED: Final = ("", ())


def judge(name: str, operation: Signature, *, has_value: bool) -> tuple[str, tuple[str, ...]]:
    """Decide about a parameter that the operation does not take.

    `has_value`: the query has a value after the name. Returns an error message or "", and names of
    fields. If the worksheet has one of these fields, the parameter is an error. Otherwise the
    parameter is ignored.
    """
    if name in CACHE_BUSTERS or name.startswith("utm_"):
        return _IGNORED
    written = unquote(name) if "%" in name else name
    if not has_value and (compared := _COMPARED.match(written)):
        written, has_value = compared["name"], True
    parts = _NAME.match(written)
    base = parts["base"] if parts else written
    is_filled = has_value or bool(parts and parts["value"])
    if base in PARAMETERS and base not in operation.parameters:
        counts = base == CURSOR or (base in SELECTING and operation.is_write)  # even if empty
        return (operation.refusal(base), ()) if is_filled or counts else _IGNORED
    if mistake := misspelling(written, _NAMES, _BRACKETLESS):
        return f"Unknown parameter {mistake}", ()
    advice = DRY_RUNS.get(letters(base)) if operation.is_write else None  # even if empty
    if not advice and (not is_filled or operation.ignores_unknown_parameters):
        return _IGNORED
    if advice := advice or WORDS.get(letters(base)):
        return f"Unknown parameter {quoted(base)}: {advice}", ()
    found = _OPERATOR.match(written)
    names = (name, base) if found is None else (name, base, found["field"])
    return "", tuple(dict.fromkeys(names))
