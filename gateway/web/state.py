"""Lifespan state of the application: the objects that requests share."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypedDict

from gateway.google.pipeline import Accounts
from gateway.google.sheets import Sheets
from gateway.query.place import Cursors
from gateway.settings.model import AdminSettings, ApiSettings, ServerSettings
from gateway.storage.key_store import KeyStore
from gateway.web.admission import Admission
from gateway.web.parsing import Parsing
from gateway.web.title_aliases import TitleAliases
from gateway.worksheets.catalogue import Catalogue
from gateway.worksheets.rows import RowService

if TYPE_CHECKING:
    from gateway.web.forms import Forms


class State(TypedDict):
    admission: Admission
    parsing: Parsing
    forms: "Forms"
    store: KeyStore
    reread_keys: Callable[[], Awaitable[None]]
    """Function that rereads the key store, so that this process uses all changes of keys."""
    sheets: Sheets
    flush_usage: Callable[[], Awaitable[None]]
    """Function that writes the counted use of keys to the key store."""
    ready: Callable[[], Awaitable[None]]
    """Function that raises an error if the key store does not answer."""
    outlasts_outage: Callable[[], bool]
    """Function that returns True if known keys still work without the key store."""
    is_redis_available: Callable[[], bool | None]
    """Function that returns True if Redis is available, None if no Redis is configured."""
    was_accepted: Callable[[], Awaitable[bool]]
    """Function that returns True if Google has accepted an account since the start."""
    accounts: Accounts
    """The service accounts and their quotas."""
    title_aliases: TitleAliases
    rows: RowService
    cursors: Cursors
    catalogue: Catalogue
    api: ApiSettings
    admin: AdminSettings
    server: ServerSettings
