"""Lifespan state, available in every request."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypedDict

from gateway.google.pipeline import Accounts
from gateway.google.sheets import Sheets
from gateway.settings.model import AdminSettings, ApiSettings, ServerSettings
from gateway.storage.key_store import KeyStore
from gateway.web.admission import Admission
from gateway.web.parsing import Parsing
from gateway.web.title_aliases import TitleAliases
from gateway.worksheets.catalogue import Catalogue
from gateway.worksheets.cursors import Cursors
from gateway.worksheets.rows import RowService

if TYPE_CHECKING:
    from gateway.web.forms import Forms


class State(TypedDict):
    admission: Admission
    parsing: Parsing
    forms: "Forms"
    store: KeyStore
    reread_keys: Callable[[], Awaitable[None]]
    """Function that makes changes of keys active in this process now, unless the store fails."""
    sheets: Sheets
    flush_usage: Callable[[], Awaitable[None]]
    """Function that stores the use of keys that was counted so far."""
    ready: Callable[[], Awaitable[None]]
    """Function that raises an error if keys cannot be looked up now."""
    outlasts_outage: Callable[[], bool]
    """True if known keys are served without the key store."""
    is_redis_available: Callable[[], bool | None]
    """True if Redis is available; None without Redis."""
    was_accepted: Callable[[], Awaitable[bool]]
    """True if Google accepted an account since the start."""
    accounts: Accounts
    """Google's accounts, with their quota."""
    title_aliases: TitleAliases
    rows: RowService
    cursors: Cursors
    catalogue: Catalogue
    api: ApiSettings
    admin: AdminSettings
    server: ServerSettings
